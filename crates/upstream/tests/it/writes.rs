//! Calls that may change something, one at a time.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use smallvec::smallvec;
use tokio::time::{Instant, sleep};
use toolbay_testkit::TestServer;
use toolbay_upstream::{Call, CallError, Timeouts};

use crate::harness::{Harness, call, call_with, eventually, in_memory};

/// What happened at the server: seconds, tool, `+` for its begin and `-` for its end.
type Diary = Arc<Mutex<Vec<String>>>;

/// A server whose tools `look`, which is read-only, `write` and `other`, which are not, take ten seconds.
fn server() -> (TestServer, Diary) {
    let (began, diary) = (Instant::now(), Diary::default());
    let tool = |name: &'static str| {
        let diary = diary.clone();
        move |_: Value, _| {
            let diary = diary.clone();
            async move {
                let note = |sign| {
                    let line = format!("{}{sign}{name}", began.elapsed().as_secs());
                    diary.lock().unwrap().push(line);
                };
                note('+');
                sleep(Duration::from_secs(10)).await;
                note('-');
                Ok(json!("done"))
            }
        }
    };
    let server = TestServer::new("s")
        .with_async_tool("look", tool("look"))
        .describe_tool("look", json!({"annotations": {"readOnlyHint": true}}))
        .with_async_tool("write", tool("write"))
        .describe_tool("write", json!({"annotations": {"readOnlyHint": false}}))
        .with_async_tool("other", tool("other"));
    (server, diary)
}

async fn harness(server: &TestServer, idle: u64, is_on: bool) -> Harness {
    let harness = Harness::new(in_memory(server), |settings| {
        settings.serialize_writes = is_on;
        settings.timeouts = Timeouts { idle: Duration::from_secs(idle), ..Timeouts::default() };
    });
    harness.until_ready().await;
    harness
}

async fn diary_of(is_on: bool) -> String {
    let (server, diary) = server();
    let harness = harness(&server, 60, is_on).await;
    let calls = ["write", "look", "other", "look"].map(|tool| harness.server.call(call(tool)));
    eventually("all are there", || harness.server.counts().in_flight + harness.server.counts().waiting == 4)
        .await;
    assert_eq!(harness.server.counts().waiting, usize::from(is_on));
    for call in calls {
        call.await.unwrap();
    }
    let counts = harness.server.counts();
    assert_eq!((counts.in_flight, counts.waiting), (0, 0));
    let diary = diary.lock().unwrap();
    diary.join(" ")
}

#[tokio::test(start_paused = true)]
async fn writes_run_one_at_a_time_and_reads_beside_them() {
    assert_eq!(diary_of(true).await, "0+write 0+look 0+look 10-write 10-look 10-look 10+other 20-other");
}

#[tokio::test(start_paused = true)]
async fn writes_run_concurrently_by_default() {
    assert_eq!(diary_of(false).await, "0+write 0+look 0+other 0+look 10-write 10-look 10-other 10-look");
}

#[tokio::test(start_paused = true)]
async fn a_write_waits_no_longer_than_its_deadline_and_one_given_up_takes_no_turn() {
    let (server, diary) = server();
    let harness = harness(&server, 15, true).await;
    let started = Instant::now();
    let first = harness.server.call(call("write"));
    let given_up = harness.server.call(call("write"));
    let second = harness.server.call(call("write"));
    let third = harness.server.call(call("write"));
    eventually("they wait", || harness.server.counts().waiting == 3).await;
    drop(given_up);
    first.await.unwrap();
    let error = third.await.unwrap_err();
    assert!(matches!(error, CallError::NotReady { .. }), "{error}");
    assert_eq!(started.elapsed().as_secs(), 15);
    second.await.unwrap();
    assert_eq!(started.elapsed().as_secs(), 20);
    assert_eq!(*diary.lock().unwrap(), ["0+write", "10-write", "10+write", "20-write"]);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_is_cancelled_makes_room_for_the_next() {
    let (server, diary) = server();
    let harness = harness(&server, 60, true).await;
    let first = harness.server.call(call("write"));
    let second = harness.server.call(call("other"));
    eventually("the second waits", || harness.server.counts().waiting == 1).await;
    drop(first);
    second.await.unwrap();
    assert_eq!(diary.lock().unwrap().last().unwrap(), "10-other");
}

/// Clients know tools by other names than their servers.
#[tokio::test(start_paused = true)]
async fn tools_are_identified_by_the_names_of_the_server() {
    let (server, _) = server();
    let harness = harness(&server, 60, true).await;
    let renamed = |client: &str, raw: &str| {
        let call = call_with(client, &json!({}));
        let span = call.request.call.param("name").unwrap();
        Call { renamed: smallvec![(span, format!("\"{raw}\"").into())], ..call }
    };
    let calls = [("s__look", "look"), ("look", "write"), ("look", "other")]
        .map(|(client, raw)| harness.server.call(renamed(client, raw)));
    eventually("all are there", || harness.server.counts().in_flight + harness.server.counts().waiting == 3)
        .await;
    assert_eq!(harness.server.counts().waiting, 1);
    for call in calls {
        call.await.unwrap();
    }
}
