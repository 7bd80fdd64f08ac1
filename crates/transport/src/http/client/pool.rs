//! Connections to servers, kept and used again.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::Full;
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder, builderstates::WantsProtocols1};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioTimer,
};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use tokio_util::task::TaskTracker;

use crate::http::serve::Tracked;

/// How long a connection may take to come about.
pub(crate) const CONNECT: Duration = Duration::from_secs(10);
/// How long an unused connection is kept. Common servers close theirs after 5 s, and a request that crosses that end
/// would be lost.
const IDLE: Duration = Duration::from_secs(4);

/// How long a connection may be silent before the other machine is asked whether it is there, how often, and how many
/// times in vain.
const PROBE: Duration = Duration::from_secs(20);
const PROBES: u32 = 3;

pub(crate) type Pool = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// A pool of its own for one server; its connections are tasks of `tasks` and end with it.
pub(crate) fn pool(scheme: Option<&str>, tasks: &TaskTracker) -> Pool {
    client(connector(scheme).enable_all_versions().wrap_connector(tcp()), tasks)
}

/// As [`pool`], but HTTP/1.1 alone, whose connections can become something else.
pub(crate) fn upgradable(scheme: Option<&str>, tasks: &TaskTracker) -> Pool {
    client(connector(scheme).enable_http1().wrap_connector(tcp()), tasks)
}

fn tcp() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECT));
    // A machine that is gone without a word is noticed on streams, too, on which only the server speaks.
    tcp.set_keepalive(Some(PROBE));
    tcp.set_keepalive_interval(Some(PROBE));
    tcp.set_keepalive_retries(Some(PROBES));
    tcp
}

fn connector(scheme: Option<&str>) -> HttpsConnectorBuilder<WantsProtocols1> {
    let config = if matches!(scheme, Some("https" | "wss")) { TRUSTING.clone() } else { trusting_nobody() };
    HttpsConnectorBuilder::new().with_tls_config(config).https_or_http()
}

fn client(connector: HttpsConnector<HttpConnector>, tasks: &TaskTracker) -> Pool {
    Client::builder(Tracked(tasks.clone()))
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .http2_keep_alive_interval(Duration::from_secs(20))
        .build(connector)
}

/// Trusts whom this machine trusts. Read when first needed: there are many certificates.
static TRUSTING: LazyLock<ClientConfig> = LazyLock::new(|| match builder().with_native_roots() {
    Ok(builder) => builder.with_no_client_auth(),
    Err(error) => {
        tracing::warn!(%error, "this machine trusts no certificates, so no `https` server can be reached");
        trusting_nobody()
    }
});

fn trusting_nobody() -> ClientConfig {
    builder().with_root_certificates(RootCertStore::empty()).with_no_client_auth()
}

fn builder() -> rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier> {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider speaks the usual versions of TLS")
}
