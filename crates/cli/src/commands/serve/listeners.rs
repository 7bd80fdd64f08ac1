//! The listeners of a hub.

use std::{io, net::SocketAddr, sync::Arc};

use futures_util::future::{BoxFuture, join_all};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use toolbay_config::Listen;
use toolbay_control::McpSocket;
use toolbay_gateway::Gateway;
use toolbay_transport::http::Tls;

use crate::{
    app::{error::CliError, hub::DEFAULT_ADDRESS, port_owner::PortOwner, secrets},
    args::ServeArgs,
};

/// The open listeners of a hub.
#[derive(Debug)]
pub(in crate::commands) struct Listeners {
    http: Vec<(TcpListener, SocketAddr)>,
    pub(super) sockets: Vec<McpSocket>,
    tls: Option<Tls>,
}

impl Listeners {
    /// Opens the listeners that the options name. HTTP is always among them.
    pub(in crate::commands) async fn open(args: &ServeArgs) -> Result<Self, CliError> {
        let mut listeners = Self::open_listed(args).await?;
        if listeners.http.is_empty() {
            listeners.open_http(DEFAULT_ADDRESS, args).await?;
        }
        Ok(listeners)
    }

    /// Opens the listeners that the options name and no others.
    pub(in crate::commands) async fn open_listed(args: &ServeArgs) -> Result<Self, CliError> {
        let tls = match (&args.tls_cert, &args.tls_key) {
            (Some(certificate), Some(key)) => Some(secrets::tls(certificate, key)?),
            _ => None,
        };
        let mut listeners = Self { http: Vec::new(), sockets: Vec::new(), tls };
        for listen in &args.listen {
            match listen {
                Listen::Http(address) => listeners.open_http(*address, args).await?,
                Listen::Unix(path) => listeners.sockets.push(McpSocket::at(path)?),
            }
        }
        Ok(listeners)
    }

    async fn open_http(&mut self, address: SocketAddr, args: &ServeArgs) -> Result<(), CliError> {
        let has_tokens = args.token_file.is_some() || args.has_issuer || args.has_hub_tokens;
        let is_open = !has_tokens && !args.allow_unauthenticated;
        if !address.ip().to_canonical().is_loopback() && is_open {
            return Err(CliError::Exposed { address });
        }
        let failed = |source: io::Error| {
            let is_taken = source.kind() == io::ErrorKind::AddrInUse;
            let holder = if is_taken { PortOwner::of(address) } else { None };
            CliError::Listen { address, holder, source }
        };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        self.http.push((listener, address));
        Ok(())
    }

    /// The addresses for HTTP.
    pub(in crate::commands) fn addresses(&self) -> Vec<SocketAddr> {
        self.http.iter().map(|(_, address)| *address).collect()
    }

    /// The URLs of the hub for clients that speak Streamable HTTP.
    pub(in crate::commands) fn urls(&self) -> Vec<String> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        self.http.iter().map(|(_, address)| format!("{scheme}://{address}/mcp")).collect()
    }

    /// Serves until `stop`, then lets running requests finish.
    pub(in crate::commands) async fn serve(self, gateway: &Arc<Gateway>, stop: &CancellationToken) {
        let never = CancellationToken::new();
        self.serve_hub(gateway, &never, &never, stop).await;
    }

    /// As [`Listeners::serve`], for a hub that may drain: from `drain` on it takes no new clients on HTTP, from `released` on none at all.
    pub(in crate::commands) async fn serve_hub(
        self,
        gateway: &Arc<Gateway>,
        drain: &CancellationToken,
        released: &CancellationToken,
        stop: &CancellationToken,
    ) {
        // Clients on HTTP reconnect to the hub that has the address next.
        let stop_http = stop.child_token();
        let close_http = async {
            drain.cancelled().await;
            stop_http.cancel();
            std::future::pending().await
        };
        let http = self.http.into_iter().map(|(listener, _)| -> BoxFuture<'_, ()> {
            match self.tls.clone() {
                Some(tls) => Box::pin(gateway.serve_https(listener, tls, stop_http.clone())),
                None => Box::pin(gateway.serve_http(listener, stop_http.clone())),
            }
        });
        let sockets = self.sockets.iter().map(|socket| -> BoxFuture<'_, ()> {
            Box::pin(gateway.serve_unix(socket.listener(), released.clone(), stop.clone()))
        });
        tokio::select! {
            _ = join_all(http.chain(sockets)) => {}
            () = close_http => {}
        }
    }
}
