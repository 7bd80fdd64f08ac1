//! How a connection comes about: directly or through a proxy, with TLS where the URL says so, and in time.

use std::{
    ffi::OsStr,
    fmt, io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::{Arc, LazyLock},
    task::{Context, Poll},
    time::Duration,
    vec,
};

use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::{
    client::{
        legacy::connect::{
            Connected, Connection, HttpConnector,
            dns::{GaiResolver, Name},
            proxy::Tunnel,
        },
        proxy::matcher::{Intercept, Matcher},
    },
    rt::TokioIo,
};
use rustls::{ClientConfig, RootCertStore, crypto::ring, pki_types::CertificateDer};
use tokio::{net::TcpStream, time::timeout};
use tower_service::Service;

use crate::http::client::{
    addresses::{AddressPolicy, refuse_private},
    error::{UnknownHost, reason},
    origin_client::Purpose,
    target::shown,
};

/// A half-open connection is noticed after a minute, however quiet a stream is.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEP_ALIVE_RETRIES: u32 = 3;

/// Opens connections to one server.
#[derive(Clone)]
pub(super) struct Connector {
    connector: HttpsConnector<PlainConnector>,
    limit: Duration,
}

impl Connector {
    pub(super) fn new(scheme: Option<&str>, route: &ConnectOptions, purpose: Purpose) -> Self {
        let config = match scheme {
            Some("https" | "wss") => trusting(&route.ca),
            _ => trusting_nobody(),
        };
        let plain = PlainConnector {
            direct: tcp(route.addresses),
            to_proxy: tcp(AddressPolicy::Any),
            proxies: route.proxies.clone(),
            purpose,
            addresses: route.addresses,
        };
        let builder = HttpsConnectorBuilder::new().with_tls_config(config).https_or_http();
        let connector = match purpose {
            Purpose::Requests => builder.enable_all_versions().wrap_connector(plain),
            Purpose::Upgrade => builder.enable_http1().wrap_connector(plain),
        };
        Self { connector, limit: route.timeouts.connect }
    }
}

fn tcp(addresses: AddressPolicy) -> HttpConnector<Resolver> {
    let mut tcp = HttpConnector::new_with_resolver(Resolver { system: GaiResolver::new(), addresses });
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(KEEP_ALIVE));
    tcp.set_keepalive_interval(Some(KEEP_ALIVE_INTERVAL));
    tcp.set_keepalive_retries(Some(KEEP_ALIVE_RETRIES));
    tcp
}

type ConnectFuture<T> = Pin<Box<dyn Future<Output = Result<T, io::Error>> + Send>>;

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<PlainStream>;
    type Error = io::Error;
    type Future = ConnectFuture<Self::Response>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// The time is for everything: the name, the proxy, TLS. A server that accepts and then says nothing is not there.
    fn call(&mut self, url: Uri) -> Self::Future {
        let (connecting, limit) = (self.connector.call(url), self.limit);
        Box::pin(async move {
            match timeout(limit, connecting).await {
                Ok(connected) => connected.map_err(io::Error::other),
                Err(_) => Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!("no connection within {} s (`connect_timeout`)", limit.as_secs_f32()),
                )),
            }
        })
    }
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The resolver of the system, whose failures are distinguished from those of a connection.
#[derive(Clone)]
pub(super) struct Resolver {
    system: GaiResolver,
    addresses: AddressPolicy,
}

impl Service<Name> for Resolver {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.system.poll_ready(context).map_err(|error| UnknownHost(error).into())
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let (looking, policy) = (self.system.call(name.clone()), self.addresses);
        Box::pin(async move {
            let found: Vec<SocketAddr> = looking.await.map_err(UnknownHost)?.collect();
            if policy == AddressPolicy::Public {
                refuse_private(name.as_str(), found.iter().map(SocketAddr::ip))?;
            }
            Ok(found.into_iter())
        })
    }
}

/// Connections without TLS.
#[derive(Clone)]
pub(super) struct PlainConnector {
    direct: HttpConnector<Resolver>,
    to_proxy: HttpConnector<Resolver>,
    proxies: Proxies,
    purpose: Purpose,
    /// Where connections may go that do not go to a proxy.
    addresses: AddressPolicy,
}

impl Service<Uri> for PlainConnector {
    type Response = PlainStream;
    type Error = io::Error;
    type Future = ConnectFuture<PlainStream>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(())) // a `HttpConnector` always is
    }

    fn call(&mut self, url: Uri) -> Self::Future {
        let (mut direct, to_proxy, addresses) = (self.direct.clone(), self.to_proxy.clone(), self.addresses);
        let (proxy, is_forwarded) = (self.proxies.of(&url), self.purpose.is_sent_on(&url));
        Box::pin(async move {
            let Some(proxy) = proxy else {
                if addresses == AddressPolicy::Public {
                    // An address is not resolved, so the resolver does not see it.
                    let host = url.host().unwrap_or_default().trim_matches(['[', ']']);
                    refuse_private(host, host.parse()).map_err(io::Error::other)?;
                }
                let io = direct.call(url).await.map_err(io::Error::other)?;
                return Ok(PlainStream { io, is_forwarded: false });
            };
            let name = shown(proxy.uri());
            through(proxy, to_proxy, url, is_forwarded)
                .await
                .map_err(|why| io::Error::other(format!("through the proxy {name}: {why}")))
        })
    }
}

/// Connects through a proxy: in a tunnel, or to the proxy itself, which then forwards requests.
async fn through(
    proxy: Intercept,
    mut tcp: HttpConnector<Resolver>,
    url: Uri,
    is_forwarded: bool,
) -> Result<PlainStream, String> {
    if proxy.uri().scheme_str() != Some("http") {
        return Err("only proxies with `http://` URLs are supported".to_owned());
    }
    let io = if is_forwarded {
        tcp.call(proxy.uri().clone()).await.map_err(|error| reason(&error))?
    } else {
        let mut tunnel = Tunnel::new(proxy.uri().clone(), tcp);
        if let Some(password) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(password.clone());
        }
        tunnel.call(url).await.map_err(|error| reason(&error))?
    };
    Ok(PlainStream { io, is_forwarded })
}

/// A connection without TLS.
pub(super) struct PlainStream {
    io: TokioIo<TcpStream>,
    /// Whether the other end is a proxy that sends requests on.
    is_forwarded: bool,
}

impl Connection for PlainStream {
    fn connected(&self) -> Connected {
        self.io.connected().proxy(self.is_forwarded)
    }
}

impl Read for PlainStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl Write for PlainStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(context, pieces)
    }
}

/// Trusts whom this machine trusts, and `extra` besides.
pub(super) fn trusting(extra: &[CertificateDer<'static>]) -> ClientConfig {
    let mut roots = MACHINE.clone();
    let (_, ignored) = roots.add_parsable_certificates(extra.iter().cloned());
    if ignored > 0 {
        tracing::warn!(ignored, "some certificates in the file `toolbay.ca` are invalid");
    }
    if roots.is_empty() {
        tracing::warn!("no trusted certificates are installed, so no `https` server can be reached");
    }
    config(roots)
}

/// For servers without TLS.
pub(super) fn trusting_nobody() -> ClientConfig {
    config(RootCertStore::empty())
}

/// Read when first needed: there are many.
static MACHINE: LazyLock<RootCertStore> = LazyLock::new(|| {
    let found = rustls_native_certs::load_native_certs();
    for error in found.errors {
        tracing::debug!(%error, "cannot read a trusted certificate of this machine");
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    roots
});

fn config(roots: RootCertStore) -> ClientConfig {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider speaks the usual versions of TLS")
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// How a server is connected to.
#[derive(Debug, Clone, Default)]
pub struct ConnectOptions {
    /// Trusted besides those whom the machine trusts.
    pub ca: Vec<CertificateDer<'static>>,
    /// The proxies to use.
    pub proxies: Proxies,
    /// Where connections may go. A proxy may be anywhere.
    pub addresses: AddressPolicy,
    /// Timeouts.
    pub timeouts: HttpTimeouts,
}

/// Timeouts of connections to a server. Calls have deadlines of their own, which mostly end them sooner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpTimeouts {
    /// Until there is a connection, TLS and proxy included.
    pub connect: Duration,
    /// From sending a request until the head of its response.
    pub first_byte: Duration,
    /// How long a stream of events may be silent. Servers need not say anything for hours, so by default it may be for
    /// ever: a peer that is gone is noticed by the keep-alive of TCP.
    pub stream_idle: Option<Duration>,
}

impl Default for HttpTimeouts {
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), first_byte: Duration::from_secs(600), stream_idle: None }
    }
}

/// The proxies that a machine's environment names. Loopback is never reached through one.
#[derive(Clone, Default)]
pub struct Proxies(Option<Arc<Matcher>>);

impl Proxies {
    /// Takes them from environment variables as curl does: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`, each
    /// also in lower case.
    pub fn from_variables<'a>(get: impl Fn(&str) -> Option<&'a OsStr>) -> Self {
        let get = |name: &str| {
            let named = get(name).or_else(|| get(&name.to_ascii_lowercase()));
            named.and_then(OsStr::to_str).unwrap_or_default().to_owned()
        };
        let [http, https, all] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].map(get);
        if [&http, &https, &all].into_iter().all(String::is_empty) {
            return Self::default();
        }
        let matcher = Matcher::builder().http(http).https(https).all(all).no(get("NO_PROXY"));
        Self(Some(Arc::new(matcher.build())))
    }

    /// The proxy for a URL, if there is one.
    pub(super) fn of(&self, url: &Uri) -> Option<Intercept> {
        let matcher = self.0.as_ref()?;
        let host = url.host()?.trim_matches(['[', ']']);
        let is_loopback = host.parse::<IpAddr>().map_or_else(
            |_| {
                let host = host.trim_end_matches('.').to_ascii_lowercase();
                host == "localhost" || host.ends_with(".localhost")
            },
            |address| address.to_canonical().is_loopback(),
        );
        if is_loopback { None } else { matcher.intercept(url) }
    }
}

impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // URLs of proxies may hold passwords.
        f.debug_tuple("Proxies").field(&self.0.is_some()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(variables: &[(&str, &'static str)], url: &str) -> Option<String> {
        let find = |name: &str| variables.iter().find(|(known, _)| *known == name);
        let proxies = Proxies::from_variables(|name| find(name).map(|(_, value)| OsStr::new(*value)));
        proxies.of(&url.parse().unwrap()).map(|proxy| proxy.uri().to_string())
    }

    #[test]
    fn variables_count_in_either_case_and_by_scheme() {
        let both = [("https_proxy", "http://safe:1"), ("HTTP_PROXY", "plain:2")];
        assert_eq!(proxy(&both, "https://host/x").as_deref(), Some("http://safe:1/"));
        assert_eq!(proxy(&both, "http://host/x").as_deref(), Some("http://plain:2/"));
        let all = [("ALL_PROXY", "http://all:3"), ("no_proxy", "a.example, 10.0.0.0/8")];
        assert_eq!(proxy(&all, "http://host/x").as_deref(), Some("http://all:3/"));
        for beside in ["https://a.example/x", "https://b.a.example/x", "http://10.1.2.3/x"] {
            assert_eq!(proxy(&all, beside), None, "{beside}");
        }
        assert_eq!(proxy(&[], "http://host/x"), None);
    }

    #[test]
    fn loopback_is_never_reached_through_a_proxy() {
        let all = [("ALL_PROXY", "http://all:3")];
        for url in [
            "http://127.0.0.1:4100/mcp",
            "http://127.8.9.1/",
            "https://localhost/",
            "http://LOCALHOST.:1/",
            "http://x.localhost/",
            "http://[::1]:1/",
            "http://[::ffff:127.0.0.1]/",
        ] {
            assert_eq!(proxy(&all, url), None, "{url}");
        }
        assert!(proxy(&all, "http://localhost.example/").is_some());
    }

    #[test]
    fn passwords_are_not_shown() {
        let proxies = Proxies::from_variables(|_| Some(OsStr::new("http://me:s3cret@proxy:1")));
        assert!(!format!("{proxies:?}").contains("s3cret"));
    }
}
