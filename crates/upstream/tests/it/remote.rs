//! Servers at a URL, over real sockets and in real time.

mod auto; // detection of the protocol at a URL
mod down; // servers that are not there, go away, and come back
mod faults; // HTTP+SSE and WebSocket over a bad network
mod headers; // arguments that are repeated in headers
mod revisions; // detection of the revision
mod server_requests; // server requests on the stream of a call
mod transports; // HTTP+SSE and WebSocket

use std::time::Duration;

use serde_json::json;
use tokio::{net::TcpListener, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_protocol::Revision;
use toolbay_testkit::{SupportedRevisions, TestServer, own_loopback};
use toolbay_upstream::{CallEvent, Endpoint, Target};

use crate::harness::{Harness, call, call_with_events, value};

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn at(url: &str) -> Endpoint {
    Endpoint::Http(target(url))
}

pub(crate) fn target(url: &str) -> Box<Target> {
    let (url, headers) = (url.parse().unwrap(), Default::default());
    Box::new(Target {
        url,
        headers,
        max_message: 1 << 24,
        max_running: 512,
        route: Default::default(),
        authorizer: None,
    })
}

/// What a test server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaks {
    Http,
    Sse,
    WebSocket,
}

/// A test server on a port of its own, which it can leave and come back to.
pub(crate) struct Remote {
    pub(crate) url: String,
    address: std::net::SocketAddr,
    speaks: Speaks,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Remote {
    pub(crate) async fn start(server: &TestServer) -> Self {
        Self::start_as(Speaks::Http, server).await
    }

    pub(crate) async fn start_as(speaks: Speaks, server: &TestServer) -> Self {
        let listener = TcpListener::bind((own_loopback(), 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut remote = Self {
            url: match speaks {
                Speaks::Http => format!("http://{address}/mcp"),
                Speaks::Sse => format!("http://{address}/sse"),
                Speaks::WebSocket => format!("ws://{address}/ws"),
            },
            address,
            speaks,
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        remote.serve(server, listener);
        remote
    }

    fn serve(&mut self, server: &TestServer, listener: TcpListener) {
        self.stop = CancellationToken::new();
        let (server, stop, speaks) = (server.clone(), self.stop.clone(), self.speaks);
        self.tasks.spawn(async move {
            match speaks {
                Speaks::Http => server.serve_http(listener, stop).await,
                Speaks::Sse => server.serve_sse(listener, stop).await,
                Speaks::WebSocket => server.serve_ws(listener, stop).await,
            }
        });
    }

    /// How it is reached when that is known.
    pub(crate) fn source(&self) -> Endpoint {
        let target = target(&self.url);
        match self.speaks {
            Speaks::Http => Endpoint::Http(target),
            Speaks::Sse => Endpoint::Sse(target),
            Speaks::WebSocket => Endpoint::WebSocket(target),
        }
    }

    pub(crate) async fn leave(&mut self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.tasks.reopen();
    }

    pub(crate) async fn come_back(&mut self, server: &TestServer) {
        let listener = TcpListener::bind(self.address).await.unwrap();
        self.serve(server, listener);
    }
}

fn with_progress(era: SupportedRevisions) -> TestServer {
    TestServer::new("talkative")
        .revisions(era)
        .with_tool("quick", |_| Ok(json!("done")))
        .with_async_tool("steps", |_, context| async move {
            for step in 1..=3 {
                context.progress(f64::from(step), 3.0).await;
                context.log("error", json!(step)).await;
            }
            Ok(json!("done"))
        })
        .with_async_tool("hang", |_, _| async { std::future::pending().await })
}

#[tokio::test]
async fn legacy_and_modern_servers_work_as_over_any_transport() {
    for (speaks, era, revision) in [
        (Speaks::Http, SupportedRevisions::Legacy, Revision::LATEST_LEGACY),
        (Speaks::Http, SupportedRevisions::Modern, Revision::LATEST),
        (Speaks::Sse, SupportedRevisions::Both, Revision::LATEST_LEGACY),
        (Speaks::WebSocket, SupportedRevisions::Legacy, Revision::LATEST_LEGACY),
        (Speaks::WebSocket, SupportedRevisions::Modern, Revision::LATEST),
    ] {
        let server = with_progress(era);
        let remote = Remote::start_as(speaks, &server).await;
        let harness = Harness::new(remote.source(), |_| {});
        let ready = timeout(PATIENCE, harness.until_ready()).await.expect("it never gets ready");
        assert_eq!(ready.revision, Some(revision), "{speaks:?}");

        let calls = (0..64).map(|_| harness.call("quick"));
        let answers = timeout(PATIENCE, futures_util::future::join_all(calls)).await.unwrap();
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");

        let (steps, mut events) = call_with_events("steps");
        let answer = harness.server.call(steps).await.unwrap();
        assert!(value(&answer)["result"].to_string().contains("done"));
        let mut progress = 0;
        while let Some(event) = events.try_recv() {
            progress += usize::from(matches!(event, CallEvent::Progress(_)));
        }
        assert_eq!(progress, 3, "{speaks:?} {era:?}");

        // Others do not suffer from one that hangs, and dropping it is told.
        let hanging = harness.server.call(call("hang"));
        assert!(harness.call("quick").await.is_ok());
        drop(hanging);

        // What changes is heard: on the GET stream, or on a subscription.
        server.handle().add_tool("late", |_| Ok(json!(1)));
        let knows = |status: &toolbay_upstream::UpstreamStatus| {
            status.catalog.list(toolbay_upstream::CatalogKind::Tools).len() == 4
        };
        timeout(PATIENCE, harness.until(knows)).await.unwrap();
        if era != SupportedRevisions::Modern || speaks != Speaks::Http {
            let told = || server.handle().count("notifications/cancelled") == 1;
            crate::harness::eventually("cancelling is told", told).await;
        }
    }
}

#[tokio::test]
async fn log_messages_reach_the_call_they_came_with() {
    let server = with_progress(SupportedRevisions::Legacy);
    let remote = Remote::start(&server).await;
    let harness = Harness::new(at(&remote.url), |_| {});
    harness.until_ready().await;
    // With two calls at the server, only the stream tells whose a message is.
    let _hanging = harness.server.call(call("hang"));
    let (steps, mut events) = call_with_events("steps");
    harness.server.call(steps).await.unwrap();
    let mut logged = 0;
    while let Some(event) = events.try_recv() {
        logged += usize::from(matches!(event, CallEvent::Log(_)));
    }
    assert_eq!(logged, 3);
}

#[tokio::test]
async fn stopping_ends_the_session() {
    let server = with_progress(SupportedRevisions::Legacy);
    let remote = Remote::start(&server).await;
    let harness = Harness::new(at(&remote.url), |_| {});
    harness.until_ready().await;
    assert_eq!(server.handle().sessions(), 1);
    let Harness { server: handle, tasks, .. } = harness;
    handle.stop();
    tasks.close();
    timeout(PATIENCE, tasks.wait()).await.unwrap();
    assert_eq!(server.handle().sessions(), 0);
}
