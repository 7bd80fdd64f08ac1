//! Servers that are not there, go away, and come back.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use tokio::time::{sleep, timeout};
use tokio_util::task::TaskTracker;
use toolbay_testkit::{HttpScript, SupportedRevisions, TestServer};
use toolbay_upstream::{CallError, UpstreamState};

use super::{PATIENCE, Remote, at};
use crate::harness::{Harness, call, call_with, discovery, tools, value};

fn server(era: SupportedRevisions) -> TestServer {
    TestServer::new("s").revisions(era).with_tool("t", |_| Ok(json!("done"))).with_async_tool(
        "slow",
        |_, _| async {
            sleep(Duration::from_secs(60)).await;
            Ok(json!(1))
        },
    )
}

#[tokio::test]
async fn a_forgotten_session_costs_no_call() {
    let server = server(SupportedRevisions::Legacy);
    let remote = Remote::start(&server).await;
    let harness = Harness::new(at(&remote.url), |_| {});
    harness.until_ready().await;
    for _ in 0..3 {
        server.handle().expire_sessions();
        // All at once: each is refused, and each is sent again in the new session.
        let answers = timeout(PATIENCE, join_all((0..32).map(|_| harness.call("t")))).await.unwrap();
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    }
    assert_eq!(harness.server.status().borrow().starts, 4, "one new session each time");
}

#[tokio::test]
async fn a_server_that_comes_back_serves_again() {
    for era in [SupportedRevisions::Legacy, SupportedRevisions::Modern] {
        let server = server(era);
        let mut remote = Remote::start(&server).await;
        let harness = Harness::new(at(&remote.url), |_| {});
        harness.until_ready().await;
        let running = harness.server.call(call("slow"));
        sleep(Duration::from_millis(50)).await;
        remote.leave().await;
        server.handle().expire_sessions();
        // What it had is lost, and says so.
        let lost = timeout(PATIENCE, running).await.unwrap().unwrap_err();
        assert!(matches!(lost, CallError::NoAnswer { .. } | CallError::Died { .. }), "{era:?} {lost}");
        // What it never had waits.
        let waiting = harness.server.call(call("t"));
        let seen = |status: &toolbay_upstream::UpstreamStatus| status.state.failure().is_some();
        let status = timeout(PATIENCE, harness.until(seen)).await.unwrap();
        let failure = status.state.failure().unwrap().to_string();
        assert!(failure.contains("cannot connect to"), "{failure}");
        remote.come_back(&server).await;
        assert!(timeout(PATIENCE, waiting).await.unwrap().is_ok(), "{era:?}");
        assert!(harness.call("t").await.is_ok());
    }
}

#[tokio::test]
async fn a_subscription_that_breaks_is_made_again() {
    let server = HttpScript::start(&TaskTracker::new(), |asked, mut answering| async move {
        match asked.rpc() {
            "server/discover" => answering.result(&asked, discovery()).await,
            "tools/list" => answering.result(&asked, tools(&["t"])).await,
            _ => answering.stream().await, // and no more
        }
    })
    .await
    .unwrap();
    let harness = Harness::new(at(&server.url), |_| {});
    timeout(PATIENCE, harness.until_ready()).await.unwrap();
    let listening = || server.requests().iter().filter(|asked| asked.rpc() == "subscriptions/listen").count();
    let again = async {
        while listening() < 2 {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, again).await.expect("it stays deaf");
}

#[tokio::test]
async fn a_server_that_stays_down_fails_calls_but_is_found_by_the_first_that_comes_after_it() {
    let server = server(SupportedRevisions::Both);
    let mut remote = Remote::start(&server).await;
    remote.leave().await;
    let harness = Harness::new(at(&remote.url), |settings| {
        settings.restart = toolbay_upstream::RestartMode::Fixed { delay: Duration::from_millis(10) };
    });
    let failed = harness.until(|status| matches!(status.state, UpstreamState::Failed { .. }));
    timeout(PATIENCE, failed).await.unwrap();
    let error = timeout(PATIENCE, harness.call("t")).await.unwrap().unwrap_err();
    assert!(matches!(error, CallError::Down { .. }), "{error}");
    assert!(error.hint().unwrap().contains("check that the server runs"), "{error:?}");
    remote.come_back(&server).await;
    sleep(Duration::from_millis(1100)).await;
    assert!(timeout(PATIENCE, harness.call("t")).await.unwrap().is_ok());
}

/// Every call ends, none with the response of another, and those that never arrived are answered after all.
#[tokio::test]
async fn a_server_that_restarts_under_load_mixes_nothing_up() {
    for era in [SupportedRevisions::Legacy, SupportedRevisions::Modern] {
        let server = TestServer::new("s").revisions(era).with_async_tool("echo", |arguments, _| async move {
            sleep(Duration::from_millis(5)).await;
            Ok(arguments)
        });
        let mut remote = Remote::start(&server).await;
        let harness = Harness::new(at(&remote.url), |settings| {
            settings.restart = toolbay_upstream::RestartMode::Fixed { delay: Duration::from_millis(300) };
        });
        harness.until_ready().await;
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
                        Err(error) => assert!(
                            matches!(
                                error,
                                CallError::NoAnswer { .. } | CallError::Died { .. } | CallError::Down { .. }
                            ),
                            "{error}"
                        ),
                    }
                }
            }
            answered
        };
        let restarts = async {
            for _ in 0..2 {
                sleep(Duration::from_millis(40)).await;
                remote.leave().await;
                server.handle().expire_sessions();
                remote.come_back(&server).await;
            }
        };
        let (answered, ()) = tokio::join!(calls, restarts);
        // Only those can be lost that were at the server when it went.
        assert!(answered >= 640 - 2 * 32, "{era:?}: only {answered} of 640 calls were answered");
        assert!(harness.call("echo").await.is_ok());
    }
}
