//! The listener that the browser is sent back to at the end of a login.

use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr},
    time::Duration,
};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::timeout,
};

use crate::{
    error::OAuthError,
    login::authorize::{AuthorizationResponse, PendingLogin},
};

const PATH: &str = "/callback";
/// The longest head of a request. Codes may be JSON Web Tokens.
const MAX_HEAD: usize = 32 * 1024;
/// Browsers open connections in advance and send nothing on them.
const MAX_CONNECTIONS: usize = 16;
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// A port of this machine, open until the login has ended.
#[derive(Debug)]
pub(crate) struct Callback {
    listener: TcpListener,
    /// `localhost` may mean this one. It is missing where there is no IPv6.
    listener_v6: Option<TcpListener>,
    port: u16,
}

/// Whether a redirect URI is that of a [`Callback`].
pub(super) fn is_login_port(redirect_uri: &str) -> bool {
    let hosts = ["http://127.0.0.1:", "http://localhost:"];
    let mut rests = hosts.iter().filter_map(|host| redirect_uri.strip_prefix(host));
    rests.any(|rest| rest.trim_start_matches(|digit: char| digit.is_ascii_digit()) == PATH)
}

impl Callback {
    /// Opens a port, any free one unless given.
    pub(crate) async fn bind(port: Option<u16>) -> Result<Self, OAuthError> {
        let failed = |source| OAuthError::Callback { port: port.unwrap_or_default(), source };
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or_default())).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let listener_v6 = TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await.ok();
        Ok(Self { listener, listener_v6, port })
    }

    /// The URIs to register, the preferred one first.
    pub(crate) fn redirect_uris(&self) -> [String; 2] {
        ["127.0.0.1", "localhost"].map(|host| format!("http://{host}:{}{PATH}", self.port))
    }

    /// Waits for the response of a login. Every other request is refused, so that no page can end the login of a user.
    pub(crate) async fn wait(&self, pending: &PendingLogin) -> Result<AuthorizationResponse, OAuthError> {
        let mut connections = FuturesUnordered::new();
        loop {
            tokio::select! {
                accepted = self.accept(), if connections.len() < MAX_CONNECTIONS => match accepted {
                    Ok(stream) => connections.push(timeout(REQUEST_TIMEOUT, serve(stream, pending))),
                    Err(source) => return Err(OAuthError::Callback { port: self.port, source }),
                },
                Some(served) = connections.next() => {
                    if let Ok(Ok(Some(response))) = served {
                        return Ok(response);
                    }
                }
            }
        }
    }

    async fn accept(&self) -> io::Result<TcpStream> {
        let Some(listener_v6) = &self.listener_v6 else { return Ok(self.listener.accept().await?.0) };
        tokio::select! {
            accepted = self.listener.accept() => Ok(accepted?.0),
            accepted = listener_v6.accept() => Ok(accepted?.0),
        }
    }
}

/// Serves one request. Returns the response of the login if it is that.
async fn serve(mut stream: TcpStream, pending: &PendingLogin) -> io::Result<Option<AuthorizationResponse>> {
    let head = read_head(&mut stream).await?;
    let target = head.strip_prefix("GET ").and_then(|rest| rest.split(' ').next()).unwrap_or_default();
    let response = match target.split_once('?') {
        Some((PATH, query)) => Some(AuthorizationResponse::parse(query)),
        _ => None,
    };
    let response = response.filter(|response| pending.is_answered_by(response));
    let (status, text) = match response {
        Some(_) => ("200 OK", "Toolbay has received the response. You can close this window."),
        None => ("404 Not Found", "This page does not belong to a login that is in progress."),
    };
    stream.write_all(page(status, text).as_bytes()).await?;
    stream.shutdown().await?;
    Ok(response)
}

async fn read_head(stream: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let before = head.len();
        if before >= MAX_HEAD || stream.read_buf(&mut head).await? == 0 {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
    String::from_utf8(head).map_err(io::Error::other)
}

fn page(status: &str, text: &str) -> String {
    let body = format!("<!doctype html><meta charset=utf-8><title>Toolbay</title><p>{text}</p>\n");
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         Referrer-Policy: no-referrer\r\nContent-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
}
