//! HTTP+SSE and WebSocket over a bad network.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use futures_util::future::join_all;
use serde_json::json;
use tokio::time::{sleep, timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_testkit::{FaultProxy, TestServer, Toxics};
use toolbay_upstream::{CallError, Endpoint, Timeouts, UpstreamState, UpstreamStatus};

use super::{PATIENCE, target};
use crate::harness::{Harness, call, call_with, value};

/// A server, a bad network in front of it, and us.
struct Far {
    harness: Harness,
    network: FaultProxy,
    /// How often `hang` was called.
    hanging: Arc<AtomicUsize>,
    _tasks: TaskTracker,
}

impl Far {
    async fn all() -> [(&'static str, Self); 2] {
        [("sse", Self::new("sse").await), ("ws", Self::new("ws").await)]
    }

    async fn new(speaks: &str) -> Self {
        let hanging = Arc::<AtomicUsize>::default();
        let called = hanging.clone();
        let server = TestServer::new("s").with_tool("echo", Ok).with_async_tool("hang", move |_, _| {
            called.fetch_add(1, Relaxed);
            async { std::future::pending().await }
        });
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let url = match speaks {
            "ws" => server.start_ws(&tasks, stop).await.unwrap(),
            _ => server.start_sse(&tasks, stop).await.unwrap(),
        };
        let address: std::net::SocketAddr = url.split('/').nth(2).unwrap().parse().unwrap();
        let network = FaultProxy::start(&tasks, address).await.unwrap();
        let url = url.replace(&address.to_string(), &network.address().to_string());
        let harness = Harness::new(Endpoint::Auto(target(&url)), |settings| {
            settings.timeouts = Timeouts { idle: Duration::from_secs(10), ..settings.timeouts };
        });
        timeout(PATIENCE, harness.until_ready()).await.expect("it never gets ready");
        Self { harness, network, hanging, _tasks: tasks }
    }

    /// Makes calls at once, of which every response must be its own.
    async fn echo(&self, calls: usize, length: usize) -> Result<(), CallError> {
        let text = "ä".repeat(length / 2);
        let calls = (0..calls).map(|number| {
            let sent = json!({"number": number, "text": text});
            let call = self.harness.server.call(call_with("echo", &sent));
            async move {
                let answer = call.await?;
                assert!(value(&answer)["result"]["structuredContent"] == sent, "the answer of another call");
                Ok(())
            }
        });
        let outcomes = timeout(PATIENCE, join_all(calls)).await.expect("a call hangs");
        outcomes.into_iter().collect()
    }
}

#[tokio::test]
async fn a_slow_line_in_small_pieces_changes_no_response() {
    for (speaks, far) in Far::all().await {
        far.network.to_server(Toxics {
            slice: Some(67),
            ..Toxics::latency(Duration::from_millis(5), Duration::from_millis(5))
        });
        far.network.to_client(Toxics {
            slice: Some(71),
            ..Toxics::latency(Duration::from_millis(5), Duration::from_millis(5))
        });
        far.echo(16, 200).await.unwrap_or_else(|error| panic!("{speaks}: {error}"));
        far.network.to_server(Toxics::bandwidth(1 << 20));
        far.network.to_client(Toxics::bandwidth(1 << 20));
        far.echo(4, 100_000).await.unwrap_or_else(|error| panic!("{speaks}: {error}"));
        assert_eq!(far.harness.server.status().borrow().starts, 1, "{speaks}");
    }
}

#[tokio::test]
async fn a_reset_fails_the_call_that_the_server_had_and_no_other() {
    for (speaks, far) in Far::all().await {
        let hanging = far.harness.server.call(call("hang"));
        while far.hanging.load(Relaxed) == 0 {
            sleep(Duration::from_millis(5)).await;
        }
        far.network.reset_all();
        let lost = timeout(PATIENCE, hanging).await.unwrap().unwrap_err();
        assert!(matches!(lost, CallError::Died { .. } | CallError::NoAnswer { .. }), "{speaks}: {lost}");
        assert!(lost.to_string().contains("was lost before the response"), "{speaks}: {lost}");
        let again =
            |status: &UpstreamStatus| status.starts == 2 && matches!(status.state, UpstreamState::Running);
        timeout(PATIENCE, far.harness.until(again))
            .await
            .unwrap_or_else(|_| panic!("{speaks}: it stays down"));
        far.echo(32, 100).await.unwrap_or_else(|error| panic!("{speaks}: {error}"));
        assert_eq!(far.hanging.load(Relaxed), 1, "{speaks}: it was called again");
    }
}

#[tokio::test]
async fn a_black_hole_costs_calls_their_deadline_and_no_more() {
    for (speaks, far) in Far::all().await {
        far.network.black_hole();
        let mut lost = call_with("echo", &json!({"number": 0}));
        let idle = Duration::from_secs(1);
        lost.timeouts = Some(Timeouts { idle, total: idle * 2, ..Timeouts::default() });
        let lost = timeout(PATIENCE, far.harness.server.call(lost)).await.unwrap().unwrap_err();
        assert!(matches!(lost, CallError::Idle { .. }), "{speaks}: {lost}");
        far.network.heal();
        far.echo(32, 100).await.unwrap_or_else(|error| panic!("{speaks}: {error}"));
    }
}
