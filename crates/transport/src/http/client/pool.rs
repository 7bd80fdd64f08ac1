//! Connections to servers, kept and used again.

use std::time::Duration;

use bytes::Bytes;
use http::Uri;
use http_body_util::Full;
use hyper_util::{client::legacy::Client, rt::TokioTimer};
use tokio_util::task::TaskTracker;

use super::{Target, connector::Connector};
use crate::http::server::accept::TrackedExecutor;

/// How long an unused connection is kept. Common servers close theirs after 5 s, and a request that crosses that end
/// would be lost.
const IDLE: Duration = Duration::from_secs(4);
/// How often a peer that speaks HTTP/2 is asked whether it is still there, and how long it may take to say so.
const PING: Duration = Duration::from_secs(20);
const PONG: Duration = Duration::from_secs(10);

pub(super) type Pool = Client<Connector, Full<Bytes>>;

/// What connections are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Requests and their answers. Over TLS they speak HTTP/2 with those who can, and then there is one connection for
    /// everything.
    Requests,
    /// To become something else, which only HTTP/1.1 can, and only when it ends at the server itself.
    Upgrade,
}

impl Purpose {
    /// Whether a proxy on the way to that URL reads requests and sends them on; otherwise it digs a tunnel.
    pub(super) fn is_sent_on(self, url: &Uri) -> bool {
        self == Self::Requests && url.scheme_str() != Some("https")
    }
}

/// A pool of its own for one server; its connections are tasks of `tasks` and end with it.
pub(super) fn pool(target: &Target, purpose: Purpose, tasks: &TaskTracker) -> Pool {
    Client::builder(TrackedExecutor(tasks.clone()))
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .http2_keep_alive_interval(PING)
        .http2_keep_alive_timeout(PONG)
        .build(Connector::new(target.url.scheme_str(), &target.route, purpose))
}
