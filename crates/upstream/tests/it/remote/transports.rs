//! HTTP+SSE and WebSocket: servers that go away, come back, and hang up.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt, future::join_all};
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    time::{sleep, timeout},
};
use toolbay_testkit::TestServer;
use toolbay_upstream::{CallError, Endpoint, RestartMode};

use super::{PATIENCE, Remote, Speaks, target};
use crate::harness::{Harness, call, call_with, hello, tools, value};

const BOTH: [Speaks; 2] = [Speaks::Sse, Speaks::WebSocket];

fn server() -> TestServer {
    TestServer::new("s").with_tool("t", |_| Ok(json!("done"))).with_tool("echo", Ok).with_async_tool(
        "slow",
        |_, _| async {
            sleep(Duration::from_secs(60)).await;
            Ok(json!(1))
        },
    )
}

#[tokio::test]
async fn a_long_message_passes_in_both_directions() {
    for speaks in BOTH {
        let server = server();
        let remote = Remote::start_as(speaks, &server).await;
        let harness = Harness::new(remote.source(), |_| {});
        timeout(PATIENCE, harness.until_ready()).await.unwrap();
        let text = "ä".repeat(2 << 20);
        let answer = harness.server.call(call_with("echo", &json!({ "text": text })));
        let answer = timeout(PATIENCE, answer).await.unwrap().unwrap();
        assert!(value(&answer)["result"]["structuredContent"]["text"] == text, "{speaks:?}");
    }
}

#[tokio::test]
async fn a_server_that_comes_back_serves_again() {
    for speaks in BOTH {
        let server = server();
        let mut remote = Remote::start_as(speaks, &server).await;
        let harness = Harness::new(remote.source(), |_| {});
        timeout(PATIENCE, harness.until_ready()).await.unwrap();
        let running = harness.server.call(call("slow"));
        sleep(Duration::from_millis(50)).await;
        remote.leave().await;
        // What it had is lost, and says so.
        let lost = timeout(PATIENCE, running).await.unwrap().unwrap_err();
        assert!(matches!(lost, CallError::Died { .. }), "{speaks:?} {lost}");
        let said = lost.to_string();
        assert!(
            said.contains(&remote.url) && (said.contains("closed") || said.contains("was lost")),
            "{said}"
        );
        // What it never had waits.
        let waiting = harness.server.call(call("t"));
        let seen = |status: &toolbay_upstream::UpstreamStatus| status.state.failure().is_some();
        timeout(PATIENCE, harness.until(seen)).await.unwrap();
        remote.come_back(&server).await;
        assert!(timeout(PATIENCE, waiting).await.unwrap().is_ok(), "{speaks:?}");
        assert!(harness.call("t").await.is_ok());
    }
}

/// Every call ends, none with the response of another, and calls resume by themselves.
#[tokio::test]
async fn a_server_that_restarts_under_load_mixes_nothing_up() {
    for speaks in BOTH {
        let server = TestServer::new("s").with_async_tool("echo", |arguments, _| async move {
            sleep(Duration::from_millis(5)).await;
            Ok(arguments)
        });
        let mut remote = Remote::start_as(speaks, &server).await;
        let harness = Harness::new(remote.source(), |settings| {
            settings.restart = RestartMode::Fixed { delay: Duration::from_millis(300) };
        });
        timeout(PATIENCE, harness.until_ready()).await.unwrap();
        let calls = async {
            let mut answered = 0;
            for round in 0..20 {
                let calls = (0..32).map(|n| {
                    let number = round * 32 + n;
                    let call = harness.server.call(call_with("echo", &json!({ "n": number })));
                    async move { (number, call.await) }
                });
                for (number, outcome) in timeout(PATIENCE, join_all(calls)).await.expect("a call hangs") {
                    match outcome {
                        Ok(answer) => {
                            assert_eq!(value(&answer)["result"]["structuredContent"]["n"], number);
                            answered += 1;
                        }
                        Err(CallError::NoAnswer { .. } | CallError::Died { .. } | CallError::Down { .. }) => {
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            }
            answered
        };
        let restarts = async {
            for _ in 0..2 {
                sleep(Duration::from_millis(40)).await;
                remote.leave().await;
                remote.come_back(&server).await;
            }
        };
        let (answered, ()) = tokio::join!(calls, restarts);
        // Only those can be lost that were at the server when it went.
        assert!(answered >= 640 - 2 * 32, "{speaks:?}: only {answered} of 640 calls were answered");
        assert!(harness.call("echo").await.is_ok());
    }
}

#[tokio::test]
async fn stopping_closes_the_connection() {
    for speaks in BOTH {
        let server = server();
        let remote = Remote::start_as(speaks, &server).await;
        let harness = Harness::new(remote.source(), |_| {});
        timeout(PATIENCE, harness.until_ready()).await.unwrap();
        let Harness { server: handle, tasks, .. } = harness;
        handle.stop();
        tasks.close();
        timeout(PATIENCE, tasks.wait()).await.unwrap_or_else(|_| panic!("{speaks:?} goes on"));
    }
}

/// As servers built on old SDKs do, which exit on any request before the handshake.
#[tokio::test]
async fn a_server_that_hangs_up_on_the_probe_gets_a_handshake() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/", listener.local_addr().unwrap());
    let harness = Harness::new(Endpoint::WebSocket(target(&url)), |_| {});
    harness.tasks.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            #[expect(clippy::result_large_err, reason = "what the library wants")]
            let agree = |_: &_, mut response: http::Response<()>| {
                response.headers_mut().insert("sec-websocket-protocol", "mcp".parse().unwrap());
                Ok(response)
            };
            let mut socket = tokio_tungstenite::accept_hdr_async(stream, agree).await.unwrap();
            while let Some(Ok(message)) = socket.next().await {
                let Ok(asked) = serde_json::from_slice::<Value>(&message.into_data()) else { continue };
                let result = match asked["method"].as_str() {
                    Some("initialize") => hello(),
                    Some("tools/list") => tools(&["t"]),
                    Some("notifications/initialized") => continue,
                    _ => break,
                };
                let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string();
                socket.send(answer.into()).await.unwrap();
            }
        }
    });
    let ready = timeout(PATIENCE, harness.until_ready()).await.expect("it never gets ready");
    assert_eq!(ready.revision.unwrap().as_str(), "2025-11-25");
}
