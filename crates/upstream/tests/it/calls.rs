//! Deadlines, cancelling, queues.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use toolbay_testkit::{SupportedRevisions, TestServer};
use toolbay_upstream::{ByteBudget, Call, CallError, RevisionPolicy, Timeouts};

use crate::harness::{Harness, call, call_with, eventually, hanging, in_memory, scripted};

fn timeouts(idle: u64, total: u64) -> Timeouts {
    Timeouts { idle: Duration::from_secs(idle), total: Duration::from_secs(total), ..Timeouts::default() }
}

#[tokio::test(start_paused = true)]
async fn a_call_before_the_server_is_ready_waits_for_it() {
    let source = scripted(|_, mut script| async move {
        sleep(Duration::from_secs(20)).await;
        let asked = script.until("tools/call").await;
        script.answer(&asked, json!({"content": []})).await;
        script.until("never").await;
    });
    let started = Instant::now();
    let harness = Harness::new(source, |_| {});
    let answer = harness.call("t").await.unwrap();
    assert_eq!(answer["result"], json!({"content": []}));
    assert_eq!(started.elapsed().as_secs(), 20);
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_the_server_no_longer_than_its_idle_timeout() {
    let source = scripted(|_, mut script| async move {
        script.until("initialize").await;
        std::future::pending().await
    });
    let harness = Harness::new(source, |settings| {
        settings.timeouts = Timeouts { start: Duration::from_secs(100), ..timeouts(5, 50) };
    });
    let started = Instant::now();
    let error = harness.call("t").await.unwrap_err();
    assert!(matches!(&error, CallError::NotReady { after, .. } if after.as_secs() == 5), "{error}");
    assert!(error.is_retryable());
    assert_eq!(started.elapsed().as_secs(), 5);
    assert_eq!(harness.server.counts().waiting, 0);
}

#[tokio::test(start_paused = true)]
async fn progress_resets_the_idle_timeout_but_not_the_total_one() {
    let server = TestServer::demo();
    let harness = Harness::new(in_memory(&server), |settings| settings.timeouts = timeouts(2, 7));
    harness.until_ready().await;
    let sleeper = |ms: u64| call_with("sleep", &json!({"ms": ms, "progress_ms": 1000}));
    let started = Instant::now();
    harness.server.call(sleeper(6000)).await.unwrap();
    assert_eq!(started.elapsed().as_secs(), 6);
    let started = Instant::now();
    let error = harness.server.call(sleeper(60_000)).await.unwrap_err();
    assert!(matches!(error, CallError::TooLong { .. }), "{error}");
    assert_eq!(started.elapsed().as_secs(), 7);
}

/// F3: the caller learns it in time, and the server is told.
#[tokio::test(start_paused = true)]
async fn a_tool_without_a_response_times_out_and_is_cancelled() {
    let server = hanging();
    let harness = Harness::new(in_memory(&server), |settings| settings.timeouts = timeouts(2, 60));
    harness.until_ready().await;
    let started = Instant::now();
    let error = harness.call("hang").await.unwrap_err();
    assert!(matches!(error, CallError::Idle { .. }), "{error}");
    assert!(!error.is_retryable(), "the server had it");
    let took = started.elapsed();
    assert!(took >= Duration::from_secs(2) && took < Duration::from_millis(2200), "{took:?}");
    let cancelled = cancelled(&server, 1).await;
    assert_eq!(cancelled[0]["params"]["reason"], "timed out");
    assert_eq!(harness.server.counts().in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_is_cancelled_at_the_server_under_the_id_it_was_sent_with() {
    let server = hanging();
    let harness = Harness::ready(&server).await;
    let in_flight = harness.server.call(call("hang"));
    eventually("the server has the call", || server.handle().count("tools/call") == 1).await;
    drop(in_flight);
    let cancelled = cancelled(&server, 1).await;
    let sent = received(&server, "tools/call");
    assert_eq!(cancelled[0]["params"]["requestId"], sent[0]["id"]);
    eventually("nothing is in flight", || harness.server.counts().in_flight == 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_dropped_before_it_was_sent_never_reaches_the_server() {
    let server = hanging();
    let harness = Harness::ready(&server).await;
    drop(harness.server.call(call("hang")));
    harness.call("quick").await.unwrap();
    assert_eq!(received(&server, "tools/call").len(), 1);
    assert_eq!(server.handle().count("notifications/cancelled"), 0);
}

#[tokio::test(start_paused = true)]
async fn limits_of_one_call_win_over_those_of_the_server() {
    let harness = Harness::ready(&hanging()).await;
    let started = Instant::now();
    let hurried = Call { timeouts: Some(timeouts(1, 10)), ..call("hang") };
    assert!(matches!(harness.server.call(hurried).await, Err(CallError::Idle { .. })));
    assert_eq!(started.elapsed().as_secs(), 1);
}

#[tokio::test(start_paused = true)]
async fn beyond_the_limits_calls_are_refused_at_once_and_room_is_used_again() {
    let server = hanging();
    let harness = Harness::new(in_memory(&server), |settings| {
        settings.max_in_flight = 2;
        settings.max_waiting = 3;
    });
    harness.until_ready().await;
    let mut running = Vec::new();
    for expected in 1..=5 {
        running.push(harness.server.call(call("hang")));
        let counts = || harness.server.counts();
        eventually("it is counted", || counts().in_flight + counts().waiting == expected).await;
    }
    assert_eq!((harness.server.counts().in_flight, harness.server.counts().waiting), (2, 3));
    let error = harness.call("quick").await.unwrap_err();
    assert!(matches!(error, CallError::Busy { in_flight: 2, waiting: 3, .. }), "{error}");
    assert!(error.is_retryable());
    running.clear();
    harness.call("quick").await.unwrap();
    assert_eq!(server.handle().count("tools/call"), 3, "those that waited were never sent");
}

#[tokio::test(start_paused = true)]
async fn long_calls_are_bounded_in_bytes_per_server_and_in_all() {
    let all = ByteBudget::new(150_000);
    let harness = || {
        let budget = all.clone();
        Harness::new(in_memory(&hanging()), move |settings| {
            settings.max_bytes = 100_000;
            settings.budget = budget;
        })
    };
    let (first, second) = (harness(), harness());
    let long = || call_with("hang", &json!({"text": "x".repeat(60_000)}));
    let running = first.server.call(long());
    let error = first.server.call(long()).await.unwrap_err();
    assert!(matches!(error, CallError::Full { limit: 100_000, .. }) && error.is_retryable(), "{error}");
    first.call("quick").await.unwrap();
    let elsewhere = second.server.call(long());
    let third = harness();
    let error = third.server.call(long()).await.unwrap_err();
    assert!(matches!(error, CallError::Full { limit: 150_000, .. }), "{error}");
    drop((running, elsewhere));
    drop(third.server.call(long()));
    let again = third.server.call(call_with("quick", &json!({"text": "x".repeat(60_000)})));
    again.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_burst_beyond_the_queue_is_refused_without_waiting_for_the_task() {
    let harness = Harness::new(in_memory(&hanging()), |settings| settings.max_waiting = 4);
    let calls: Vec<_> = (0..10).map(|_| harness.server.call(call("quick"))).collect();
    let mut busy = 0;
    for call in calls {
        busy += usize::from(matches!(call.await, Err(CallError::Busy { .. })));
    }
    assert_eq!(busy, 6);
}

#[tokio::test(start_paused = true)]
async fn calls_are_sent_in_the_order_in_which_they_were_made() {
    let server = TestServer::new("s").with_tool("t", Ok);
    let harness = Harness::new(in_memory(&server), |settings| settings.max_in_flight = 1);
    let calls: Vec<_> = (0..50).map(|n| harness.server.call(call_with("t", &json!({"n": n})))).collect();
    for call in calls {
        call.await.unwrap();
    }
    let order: Vec<u64> = received(&server, "tools/call")
        .iter()
        .map(|sent| sent["params"]["arguments"]["n"].as_u64().unwrap())
        .collect();
    assert_eq!(order, (0..50).collect::<Vec<_>>());
}

/// The legacy server must not see fields of the new era, and both see our id as progress token.
#[tokio::test(start_paused = true)]
async fn calls_are_translated_to_the_revision_of_the_server() {
    const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    for (era, policy) in [
        (SupportedRevisions::Legacy, RevisionPolicy::Legacy),
        (SupportedRevisions::Modern, RevisionPolicy::Modern),
    ] {
        let server = TestServer::new("s").revisions(era).with_tool("t", |_| Ok(json!({})));
        let harness = Harness::new(in_memory(&server), |settings| settings.revision = policy);
        harness.call("t").await.unwrap();
        let sent = &received(&server, "tools/call")[0];
        assert_eq!(sent["params"]["_meta"]["progressToken"], sent["id"]);
        assert_eq!(
            sent["params"]["_meta"].get(VERSION).is_some(),
            era == SupportedRevisions::Modern,
            "{sent}"
        );
    }
}

fn received(server: &TestServer, method: &str) -> Vec<Value> {
    let parsed = server.handle().received();
    let parsed = parsed.iter().map(|text| serde_json::from_str::<Value>(text).unwrap());
    parsed.filter(|message| message["method"] == method).collect()
}

async fn cancelled(server: &TestServer, count: usize) -> Vec<Value> {
    let handle = server.handle();
    eventually("the server is told", || handle.count("notifications/cancelled") == count).await;
    received(server, "notifications/cancelled")
}
