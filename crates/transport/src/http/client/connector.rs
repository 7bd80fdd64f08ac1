//! How a connection comes about: directly or through a proxy, with TLS where the URL says so, and in time.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::{
    client::legacy::connect::{
        Connected, Connection, HttpConnector,
        dns::{GaiAddrs, GaiResolver, Name},
        proxy::Tunnel,
    },
    client::proxy::matcher::Intercept,
    rt::TokioIo,
};
use tokio::{net::TcpStream, time::timeout};
use tower_service::Service;

use super::{
    ConnectOptions, Proxies,
    error::{UnknownHost, reason},
    pool::Purpose,
    target::shown,
    tls,
};

/// A peer that is gone without a word is noticed after a minute, however quiet a stream is.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEP_ALIVE_RETRIES: u32 = 3;

/// Opens connections to one server.
#[derive(Clone)]
pub(super) struct Connector {
    connector: HttpsConnector<PlainConnector>,
    patience: Duration,
}

impl Connector {
    pub(super) fn new(scheme: Option<&str>, route: &ConnectOptions, purpose: Purpose) -> Self {
        let config = match scheme {
            Some("https" | "wss") => tls::trusting(&route.ca),
            _ => tls::trusting_nobody(),
        };
        let mut tcp = HttpConnector::new_with_resolver(Resolver(GaiResolver::new()));
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(KEEP_ALIVE));
        tcp.set_keepalive_interval(Some(KEEP_ALIVE_INTERVAL));
        tcp.set_keepalive_retries(Some(KEEP_ALIVE_RETRIES));
        let wires = PlainConnector { tcp, proxies: route.proxies.clone(), purpose };
        let builder = HttpsConnectorBuilder::new().with_tls_config(config).https_or_http();
        let connector = match purpose {
            Purpose::Requests => builder.enable_all_versions().wrap_connector(wires),
            Purpose::Upgrade => builder.enable_http1().wrap_connector(wires),
        };
        Self { connector, patience: route.timeouts.connect }
    }
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
        let (connecting, patience) = (self.connector.call(url), self.patience);
        Box::pin(async move {
            match timeout(patience, connecting).await {
                Ok(connected) => connected.map_err(io::Error::other),
                Err(_) => Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!("no connection within {} s (`connect_timeout`)", patience.as_secs_f32()),
                )),
            }
        })
    }
}

/// The resolver of the system, whose failures can be told from those of a connection.
#[derive(Clone)]
pub(super) struct Resolver(GaiResolver);

impl Service<Name> for Resolver {
    type Response = GaiAddrs;
    type Error = UnknownHost;
    type Future = Pin<Box<dyn Future<Output = Result<GaiAddrs, UnknownHost>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), UnknownHost>> {
        self.0.poll_ready(context).map_err(UnknownHost)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let looking = self.0.call(name);
        Box::pin(async move { looking.await.map_err(UnknownHost) })
    }
}

/// Connections without TLS.
#[derive(Clone)]
pub(super) struct PlainConnector {
    tcp: HttpConnector<Resolver>,
    proxies: Proxies,
    purpose: Purpose,
}

impl Service<Uri> for PlainConnector {
    type Response = PlainStream;
    type Error = io::Error;
    type Future = ConnectFuture<PlainStream>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(())) // a `HttpConnector` always is
    }

    fn call(&mut self, url: Uri) -> Self::Future {
        let mut tcp = self.tcp.clone();
        let (proxy, is_forwarded) = (self.proxies.of(&url), self.purpose.is_sent_on(&url));
        Box::pin(async move {
            let Some(proxy) = proxy else {
                let io = tcp.call(url).await.map_err(io::Error::other)?;
                return Ok(PlainStream { io, is_forwarded: false });
            };
            let name = shown(proxy.uri());
            through(proxy, tcp, url, is_forwarded)
                .await
                .map_err(|why| io::Error::other(format!("through the proxy {name}: {why}")))
        })
    }
}

/// Goes through a proxy: in a tunnel, or to the proxy itself, which then sends requests on.
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
