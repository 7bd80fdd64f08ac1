//! Waiting for what happens next.

use std::time::Duration;

use serde_json::json;
use toolbay_control::{About, Api, ControlClient, HubStatus, method};
use toolbay_host::{ConfigProblem, Host, HostOptions};

fn hub() -> (Host, ControlClient) {
    let host = Host::start(&[], Vec::new(), &HostOptions::default());
    (host.clone(), ControlClient::Local(Api::new(host, About::default())))
}

async fn after(client: &ControlClient, revision: u64) -> HubStatus {
    client
        .request_as(method::EVENTS, Some(&json!({ "after": revision }).to_string()))
        .await
        .expect("the hub answers")
}

#[tokio::test(start_paused = true)]
async fn past_events_are_returned_at_once_and_later_ones_are_awaited() {
    let (host, client) = hub();
    let first = client.snapshot().await.unwrap();
    assert_eq!(first.config_problems, []);
    let problems =
        [ConfigProblem { server: Some("a".to_owned()), message: "toolbay.toml:1:1: no".to_owned() }];
    host.reject(&problems);
    let rejected = after(&client, first.revision).await;
    assert_eq!(rejected.config_problems, problems);
    host.reject(&problems); // no news
    let waiting = tokio::time::timeout(Duration::from_secs(3600), after(&client, rejected.revision));
    assert!(waiting.await.is_err(), "nothing happened");
    let accepts = async { host.accept() };
    let (accepted, ()) = tokio::join!(after(&client, rejected.revision), accepts);
    assert_eq!(accepted.config_problems, []);
    assert_eq!(accepted.revision, rejected.revision + 1);
}

#[tokio::test(start_paused = true)]
async fn a_number_of_another_hub_is_answered_at_once() {
    let (_host, client) = hub();
    let answer = tokio::time::timeout(Duration::from_secs(3600), after(&client, 1000)).await;
    assert_eq!(answer.unwrap().revision, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_event_is_missed_between_two_requests() {
    let (host, client) = hub();
    let last = 2000;
    let busy = tokio_util::task::TaskTracker::new().spawn(async move {
        for number in 1..=last {
            host.reject(&[ConfigProblem::general(number.to_string())]);
            if number % 7 == 0 {
                tokio::task::yield_now().await;
            }
        }
    });
    let mut seen = client.snapshot().await.unwrap();
    // Whoever always asks for what comes after the last answer ends up with the last word.
    while seen.config_problems != [ConfigProblem::general(last.to_string())] {
        let next = tokio::time::timeout(Duration::from_secs(30), after(&client, seen.revision)).await;
        seen = next.expect("an event was missed");
    }
    assert_eq!(seen.revision, last);
    busy.await.unwrap();
}
