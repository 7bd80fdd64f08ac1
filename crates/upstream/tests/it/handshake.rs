//! Both kinds of revisions, and servers that break the rules.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};
use toolbay_protocol::Revision;
use toolbay_testkit::{SupportedRevisions, TestServer};
use toolbay_upstream::{Failure, RevisionPolicy, UpstreamState};

use crate::harness::{Harness, discovery, hello, in_memory, scripted, tools};

/// What a server gets from us until it is ready, with the revision that is used then.
async fn received(era: SupportedRevisions, policy: RevisionPolicy) -> (Option<Revision>, Vec<String>) {
    let server = TestServer::new("s").revisions(era).with_tool("t", |_| Ok(json!(1)));
    let harness = Harness::new(in_memory(&server), |settings| settings.revision = policy);
    let status = harness.until_ready().await;
    let method = |text: &String| {
        let message: serde_json::Value = serde_json::from_str(text).unwrap();
        message["method"].as_str().unwrap().to_owned()
    };
    let received = server.handle().received();
    let received = received.iter().map(method);
    (status.revision, received.filter(|method| method != "subscriptions/listen").collect())
}

#[tokio::test(start_paused = true)]
async fn legacy_and_modern_servers_get_their_handshake() {
    let (legacy, modern) = (Some(Revision::LATEST_LEGACY), Some(Revision::LATEST));
    let shaken = ["initialize", "notifications/initialized", "tools/list"];
    let probed = ["server/discover", "initialize", "notifications/initialized", "tools/list"];
    let asked = ["server/discover", "tools/list"];
    for (era, policy, revision, methods) in [
        (SupportedRevisions::Legacy, RevisionPolicy::Legacy, legacy, &shaken[..]),
        (SupportedRevisions::Both, RevisionPolicy::Legacy, legacy, &shaken),
        (SupportedRevisions::Legacy, RevisionPolicy::Auto, legacy, &probed),
        (SupportedRevisions::Both, RevisionPolicy::Auto, modern, &asked),
        (SupportedRevisions::Modern, RevisionPolicy::Auto, modern, &asked),
        (SupportedRevisions::Modern, RevisionPolicy::Modern, modern, &asked),
    ] {
        let (found, received) = received(era, policy).await;
        assert_eq!(found, revision, "{era:?} {policy:?}");
        assert_eq!(received, methods, "{era:?} {policy:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_silent_to_the_probe_gets_a_handshake_after_three_seconds() {
    let source = scripted(|_, mut script| async move {
        let probe = script.next().await;
        assert_eq!(probe["method"], "server/discover");
        script.until("never").await;
    });
    let started = Instant::now();
    let harness = Harness::new(source, |_| {});
    let status = harness.until_ready().await;
    assert_eq!(status.revision, Some(Revision::LATEST_LEGACY));
    assert_eq!(started.elapsed().as_secs(), 3);
}

#[tokio::test(start_paused = true)]
async fn any_legacy_error_to_the_probe_means_a_handshake_at_once() {
    for code in [-32601, -32600, -32602, -32000, -32603, -32002] {
        let source = scripted(move |_, mut script| async move {
            let probe = script.next().await;
            script.refuse(&probe, code).await;
            script.until("never").await;
        });
        let started = Instant::now();
        let harness = Harness::new(source, |_| {});
        assert_eq!(harness.until_ready().await.revision, Some(Revision::LATEST_LEGACY), "{code}");
        assert!(started.elapsed() < Duration::from_secs(1), "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_returns_empty_results_for_anything_gets_a_handshake_at_once() {
    let source = scripted(|_, mut script| async move {
        let probe = script.next().await;
        script.answer(&probe, json!({})).await;
        script.until("never").await;
    });
    let harness = Harness::new(source, |_| {});
    assert_eq!(harness.until_ready().await.revision, Some(Revision::LATEST_LEGACY));
}

#[tokio::test(start_paused = true)]
async fn a_late_response_to_the_probe_wins_while_initialize_is_open() {
    let source = scripted(|_, mut script| async move {
        let probe = script.next().await;
        let handshake = script.next().await;
        assert_eq!(handshake["method"], "initialize");
        sleep(Duration::from_secs(1)).await;
        script.answer(&probe, discovery()).await;
        let list = script.next().await;
        assert_eq!(list["method"], "tools/list");
        script.answer(&list, tools(&["t"])).await;
        script.until("never").await;
    });
    let started = Instant::now();
    let harness = Harness::new(source, |_| {});
    assert_eq!(harness.until_ready().await.revision, Some(Revision::LATEST));
    assert_eq!(started.elapsed().as_secs(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_late_refusal_of_the_probe_changes_nothing() {
    let source = scripted(|_, mut script| async move {
        let probe = script.next().await;
        let handshake = script.next().await;
        script.refuse(&probe, -32601).await;
        sleep(Duration::from_secs(1)).await;
        script.answer(&handshake, hello()).await;
        script.until("never").await;
    });
    let harness = Harness::new(source, |_| {});
    assert_eq!(harness.until_ready().await.revision, Some(Revision::LATEST_LEGACY));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_dies_of_the_probe_is_started_again_with_a_handshake() {
    let source = scripted(|life, mut script| async move {
        let first = script.next().await;
        if life == 0 {
            assert_eq!(first["method"], "server/discover");
            return;
        }
        assert_eq!(first["method"], "initialize");
        script.answer(&first, hello()).await;
        script.until("never").await;
    });
    let started = Instant::now();
    let harness = Harness::new(source, |_| {});
    let status = harness.until_ready().await;
    assert_eq!((status.revision, status.starts), (Some(Revision::LATEST_LEGACY), 2));
    assert!(started.elapsed() < Duration::from_secs(1), "this is no failure that is backed off from");
}

/// A modern server that merely crashed at its first start must not be taken for an old one for ever.
#[tokio::test(start_paused = true)]
async fn a_modern_server_that_crashed_once_is_found_to_be_modern_later() {
    let source = scripted(|life, mut script| async move {
        let first = script.next().await;
        match (life, first["method"].as_str()) {
            (0, _) => {}
            (_, Some("server/discover")) => {
                script.answer(&first, discovery()).await;
                script.until("never").await;
            }
            _ => {
                script.refuse(&first, -32022).await;
                script.until("never").await;
            }
        }
    });
    let harness = Harness::new(source, |_| {});
    assert_eq!(harness.until_ready().await.revision, Some(Revision::LATEST));
}

#[tokio::test(start_paused = true)]
async fn an_unknown_revision_ends_the_handshake_with_a_reason() {
    let source = scripted(|_, mut script| async move {
        let probe = script.next().await;
        script.refuse(&probe, -32601).await;
        let handshake = script.next().await;
        let mut odd = hello();
        odd["protocolVersion"] = json!("1999-01-01");
        script.answer(&handshake, odd).await;
        script.until("never").await;
    });
    let harness = Harness::new(source, |_| {});
    let status = harness.until(|status| matches!(status.state, UpstreamState::Failed { .. })).await;
    let UpstreamState::Failed { failure } = status.state else { unreachable!() };
    assert!(matches!(&*failure, Failure::Handshake { reason } if reason.contains("1999-01-01")), "{failure}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_responds_fails_after_its_start_timeout() {
    let source = scripted(|_, mut script| async move {
        loop {
            script.next().await;
        }
    });
    let started = Instant::now();
    let harness = Harness::new(source, |_| {});
    harness.until(|status| matches!(status.state, UpstreamState::Backoff { .. })).await;
    assert_eq!(started.elapsed().as_secs(), 30);
    let status = harness.until(|status| status.starts == 2).await;
    assert!(matches!(status.state, UpstreamState::Starting { attempt: 2, .. }), "{:?}", status.state);
}

#[tokio::test(start_paused = true)]
async fn modern_only_never_falls_back() {
    let source = scripted(|_, mut script| async move {
        let probe = script.next().await;
        script.refuse(&probe, -32601).await;
        let next = script.next().await;
        panic!("{next}");
    });
    let harness = Harness::new(source, |settings| settings.revision = RevisionPolicy::Modern);
    let status = harness.until(|status| status.state.failure().is_some()).await;
    let failure = status.state.failure().unwrap().to_string();
    assert!(failure.contains("-32601"), "{failure}");
}
