//! Servers that do not come up at the first attempt, and what those see who wait for them.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use serde_json::Value;
use tokio::time::{Instant, sleep};
use toolbay_agent::{Agent, Client, Error, ServerState, transport::InProcess};

use crate::troupe::{Troupe, config};

/// A server whose first attempts fail.
fn failing(attempts: u64) -> InProcess {
    let troupe = Arc::new(Troupe::default());
    // The first attempt ends twice: once because of the question for its revisions.
    troupe.broken_lives.store(attempts.saturating_add(1), Ordering::Relaxed);
    troupe.in_process(config("a", &["t"]))
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_a_start_covers_all_its_attempts() {
    let began = Instant::now();
    let agent = Agent::builder().in_process("a", failing(3)).build().await.unwrap();
    assert!(agent.status("a").unwrap().state.is_up());
    assert_eq!(began.elapsed().as_millis(), 700, "100, 200 and 400 ms between the attempts");
    let agent =
        Agent::builder().in_process("a", failing(3)).wait_timeout(Duration::ZERO).build().await.unwrap();
    agent.call_tool("a__t", Value::Null).await.unwrap();
    let agent =
        Agent::builder().in_process("a", failing(4)).wait_timeout(Duration::ZERO).build().await.unwrap();
    assert!(agent.wait_for("a").await.unwrap().is_up());
    Client::in_process(failing(4)).connect().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_start_fails_after_the_fifth_attempt() {
    let began = Instant::now();
    let error = Client::in_process(failing(u64::MAX - 1)).connect().await.unwrap_err();
    assert!(matches!(error, Error::Init { .. }), "{error:?}");
    assert_eq!(began.elapsed().as_millis(), 1500);
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_seen_while_attempts_go_on() {
    let agent = Agent::builder()
        .in_process("a", failing(u64::MAX - 1))
        .wait_timeout(Duration::ZERO)
        .build()
        .await
        .unwrap();
    let first = agent.status("a").unwrap().state;
    assert!(matches!(first, ServerState::Starting { failure: None, .. }), "{first}");
    sleep(Duration::from_millis(50)).await;
    let retried = agent.status("a").unwrap().state;
    assert_eq!(retried.word(), "starting", "the same start goes on");
    assert!(retried.failure().is_some_and(|why| why.to_string().contains("handshake")), "{retried}");
    agent.wait_for("a").await.unwrap();
    let backoff = agent.status("a").unwrap().state;
    assert!(backoff.next_attempt().is_some_and(|at| at > Instant::now()), "{backoff}");
    assert!(backoff.to_string().starts_with("failed, next attempt in "), "{backoff}");
    assert!(backoff.failure().is_some(), "{backoff}");
    sleep(Duration::from_secs(60)).await;
    let over = agent.status("a").unwrap().state;
    assert_eq!((over.word(), over.next_attempt()), ("failed", None));
}

#[tokio::test(start_paused = true)]
async fn each_start_is_measured_for_itself() {
    let troupe = Arc::new(Troupe::default());
    troupe.start_ms.store(3000, Ordering::Relaxed);
    let agent = toolbay_host::Host::start(&[config("a", &["t"])], Vec::new(), &troupe.options());
    let took = || agent.status("a").unwrap().start_took.unwrap().as_millis();
    agent.wait_for("a").await.unwrap();
    assert_eq!(took(), 3000);
    sleep(Duration::from_secs(100)).await;
    troupe.start_ms.store(500, Ordering::Relaxed);
    agent.restart_server("a").await.unwrap();
    agent.wait_for("a").await.unwrap();
    assert_eq!(took(), 500);
}
