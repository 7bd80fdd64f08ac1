//! Many calls, many ways to end.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use tokio::time::{sleep, timeout};
use toolbay_testkit::{TestServer, ToolContext};
use toolbay_upstream::{CallError, UpstreamState};

use crate::harness::{Harness, call_with, eventually, in_memory, value};

/// What becomes of one call.
#[derive(Debug, Clone, Copy)]
enum Fate {
    /// The server answers after so many milliseconds.
    Answered(u64),
    /// It never does, so the call times out.
    Ignored,
    /// The caller goes away after so many milliseconds.
    Dropped(u64),
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        4 => (0..50_u64).prop_map(Fate::Answered),
        1 => Just(Fate::Ignored),
        2 => (0..50_u64).prop_map(Fate::Dropped),
    ]
}

fn server() -> TestServer {
    TestServer::new("s").with_async_tool("t", |args, context: ToolContext| async move {
        context.progress(0.0, 1.0).await;
        match args["ms"].as_u64() {
            Some(ms) => sleep(Duration::from_millis(ms)).await,
            None => std::future::pending().await,
        }
        Ok(json!({"n": args["n"]}))
    })
}

/// Every waiter ends exactly once, with its own answer or with the reason, and nothing is left behind.
async fn run(fates: Vec<Fate>, in_flight: usize, restart_after: Option<u64>) {
    let harness = Harness::new(in_memory(&server()), |settings| {
        settings.max_in_flight = in_flight;
        settings.timeouts.idle = Duration::from_secs(2);
    });
    let mut callers = tokio::task::JoinSet::new();
    for (n, fate) in fates.into_iter().enumerate() {
        let ms = match fate {
            Fate::Answered(ms) => json!(ms),
            Fate::Ignored | Fate::Dropped(_) => json!(null),
        };
        let call = harness.server.call(call_with("t", &json!({"n": n, "ms": ms})));
        callers.spawn(async move {
            let outcome = match fate {
                Fate::Dropped(after) => match timeout(Duration::from_millis(after), call).await {
                    Err(_) => return,
                    Ok(outcome) => outcome,
                },
                Fate::Answered(_) | Fate::Ignored => call.await,
            };
            match (fate, outcome) {
                (Fate::Answered(_), Ok(answer)) => {
                    assert_eq!(value(&answer)["result"]["structuredContent"]["n"], n, "a foreign answer");
                }
                (Fate::Ignored, Err(CallError::Idle { .. } | CallError::NotReady { .. })) => {}
                // Behind ignored calls, one may never get its turn.
                (Fate::Answered(_), Err(CallError::NotReady { .. })) => {}
                (_, Err(CallError::Died { .. })) if restart_after.is_some() => {}
                (_, other) => panic!("{fate:?} ended as {other:?}"),
            }
        });
    }
    if let Some(after) = restart_after {
        sleep(Duration::from_millis(after)).await;
        harness.server.restart().await;
    }
    timeout(Duration::from_secs(60), callers.join_all()).await.unwrap();
    let empty = || harness.server.counts().in_flight + harness.server.counts().waiting == 0;
    eventually("nothing is left", empty).await;
    assert!(matches!(harness.until_ready().await.state, UpstreamState::Running));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn every_waiter_ends_once_and_nothing_is_left(
        fates in proptest::collection::vec(fate(), 1..80),
        in_flight in 1..20_usize,
        restart_after in proptest::option::of(0..40_u64),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        runtime.unwrap().block_on(run(fates, in_flight, restart_after));
    }
}
