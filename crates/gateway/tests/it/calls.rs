//! Cancelling, going away, streams.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use toolbay_gateway::GatewayOptions;
use toolbay_host::CatalogKind;

use crate::{
    http::{Answer, Ask},
    test_gateway::{AT_ONCE, Hub, call, eventually, modern, rpc, server},
};

async fn cancelled_soon(hub: &Hub) {
    let since = Instant::now();
    eventually("the server is told", || hub.server.count("notifications/cancelled") == 1).await;
    assert!(since.elapsed() < AT_ONCE, "{:?}", since.elapsed());
}

fn with_progress(mut message: Value, token: Value) -> Value {
    message["params"]["_meta"]["progressToken"] = token;
    message
}

#[tokio::test]
async fn a_client_that_disconnects_in_mid_call_cancels_it() {
    for ask in [Ask::post(&call(1, "hang", json!({}))), modern(call(1, "hang", json!({})))] {
        let hub = Hub::start().await;
        let connection = ask.open(&hub.address).await;
        eventually("the server has it", || hub.calls() == 1).await;
        drop(connection);
        cancelled_soon(&hub).await;
    }
}

#[tokio::test]
async fn a_client_that_leaves_a_stream_in_mid_call_cancels_it() {
    let hub = Hub::start().await;
    let endless = with_progress(call(1, "steps", json!({"steps": 1_000_000, "ms": 5})), json!("p"));
    let mut stream = hub.send(Ask::post(&endless)).await;
    assert!(stream.is_stream());
    stream.event().await.unwrap();
    drop(stream);
    cancelled_soon(&hub).await;
}

#[tokio::test]
async fn cancelling_in_a_session_reaches_the_server_and_ends_the_request() {
    let hub = Hub::start().await;
    let (session, other) = (hub.session("2025-11-25").await, hub.session("2025-11-25").await);
    let hang = Ask::post(&call(7, "hang", json!({}))).header("mcp-session-id", &session);
    let running = hang.open(&hub.address).await;
    eventually("the server has it", || hub.calls() == 1).await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    // S5: neither another session nor another type of id cancels it.
    assert_eq!(hub.send(Ask::post(&cancel).header("mcp-session-id", &other)).await.status, 202);
    assert_eq!(hub.send(Ask::post(&cancel)).await.status, 202);
    let text = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "7"}});
    assert_eq!(hub.send(Ask::post(&text).header("mcp-session-id", &session)).await.status, 202);
    hub.send(Ask::post(&call(8, "echo", json!({})))).await;
    assert_eq!(hub.server.count("notifications/cancelled"), 0);
    assert_eq!(hub.send(Ask::post(&cancel).header("mcp-session-id", &session)).await.status, 202);
    cancelled_soon(&hub).await;
    let answer = Answer::read(running).await.json().await;
    assert_eq!((&answer["id"], answer.get("error").is_some()), (&json!(7), true), "{answer}");
}

#[tokio::test]
async fn an_id_that_is_in_flight_cannot_be_used_again_in_its_session() {
    let hub = Hub::start().await;
    let (session, other) = (hub.session("2025-11-25").await, hub.session("2025-11-25").await);
    let ask = |tool: &str, id: Value, session: &str| {
        Ask::post(&call(id, tool, json!({}))).header("mcp-session-id", session)
    };
    let _running = ask("hang", json!(1), &session).open(&hub.address).await;
    eventually("the server has it", || hub.calls() == 1).await;
    assert_eq!(hub.send(ask("echo", json!(1), &session)).await.refusal().await, (200, -32600));
    assert_eq!(hub.calls(), 1);
    for (id, session) in [(json!("1"), &session), (json!(2), &session), (json!(1), &other)] {
        let answer = hub.send(ask("echo", id.clone(), session)).await.json().await;
        assert_eq!(answer["id"], id);
        assert!(answer.get("result").is_some(), "{answer}");
    }
}

/// The id of a cancelled request is free at once; its end must not end whoever has the id next.
#[tokio::test]
async fn the_id_of_a_cancelled_request_can_be_used_again() {
    let hub = Hub::start().await;
    let session = hub.session("2025-11-25").await;
    let ask = |tool: &str| Ask::post(&call(1, tool, json!({"ms": 20}))).header("mcp-session-id", &session);
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    for round in 1..=20 {
        let running = ask("hang").open(&hub.address).await;
        eventually("it runs", || hub.server.count("tools/call") == 2 * round - 1).await;
        hub.send(Ask::post(&cancel).header("mcp-session-id", &session)).await;
        let ended = Answer::read(running);
        let next = async {
            loop {
                let answer = hub.send(ask("steps")).await.json().await;
                if answer["error"]["code"] != -32600 {
                    return answer; // else the first one is just ending
                }
            }
        };
        let (_, answer) = tokio::join!(ended, next);
        assert!(answer.get("result").is_some(), "{answer}");
    }
}

#[tokio::test]
async fn an_answer_is_a_stream_only_when_something_comes_before_it() {
    let hub = Hub::start().await;
    // No token: nobody wants the progress, so the answer is JSON.
    let plain = hub.send(Ask::post(&call(1, "steps", json!({})))).await;
    assert_eq!(plain.header("content-type"), Some("application/json"));
    // A token, but no progress.
    let quiet = with_progress(call(1, "echo", json!({})), json!(5));
    assert!(!hub.send(Ask::post(&quiet)).await.is_stream());
    // Progress, but a client that cannot read streams.
    let telling = with_progress(call(1, "steps", json!({})), json!(5));
    let deaf = hub.send(Ask::post(&telling).header("accept", "application/json")).await;
    assert_eq!(deaf.json().await["id"], 1);
    // Progress.
    for ask in [Ask::post(&telling), modern(telling.clone())] {
        let mut stream = hub.send(ask).await;
        assert!(stream.is_stream());
        for step in 1..=3 {
            let event = stream.event().await.unwrap();
            assert_eq!(
                (&event["params"]["progressToken"], &event["params"]["progress"]),
                (&json!(5), &json!(step))
            );
        }
        let answer = stream.event().await.unwrap();
        assert_eq!(answer["id"], 1);
        assert_eq!(stream.event().await, None);
    }
}

/// In virtual time: the sockets are real, but nobody waits for them.
#[tokio::test(start_paused = true)]
async fn quiet_streams_are_kept_alive() {
    let hub = Hub::start().await;
    let session = hub.session("2025-11-25").await;
    let mut stream = hub.send(Ask::new("GET", "/mcp").header("mcp-session-id", &session)).await;
    assert!(stream.raw_event().await.unwrap().ends_with("data: \n\n"), "an id to come back with");
    let since = Instant::now();
    assert_eq!(stream.raw_event().await.unwrap(), ":\n\n");
    assert_eq!(since.elapsed().as_secs(), 15);
    // A call that takes long becomes a stream, so that nothing between us gives up.
    let since = Instant::now();
    let mut answer = hub.send(modern(call(1, "hang", json!({})))).await;
    assert!(answer.is_stream());
    assert_eq!(answer.raw_event().await.unwrap(), ":\n\n");
    assert_eq!(answer.raw_event().await.unwrap(), ":\n\n");
    assert_eq!(since.elapsed().as_secs(), 30);
}

#[tokio::test]
async fn a_call_that_fails_says_whose_fault_it_is_and_what_to_do() {
    let hub = Hub::start().await;
    let running = Ask::post(&call(1, "hang", json!({}))).open(&hub.address).await;
    eventually("the server has it", || hub.calls() == 1).await;
    hub.host.stop_server("s").await.unwrap();
    let answer = Answer::read(running).await.json().await;
    let error = &answer["error"];
    assert_eq!((&error["code"], &error["data"]["server"]), (&json!(-32603), &json!("s")), "{answer}");
    assert_eq!(error["data"]["retryable"], false, "the server had it already");
    eventually("it is no longer listed", || hub.host.table().count(CatalogKind::Tools) == 0).await;
    let answer = hub.send(Ask::post(&call(2, "echo", json!({})))).await.json().await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("server `s` is stopped"), "{answer}");
}

#[tokio::test]
async fn stopping_lets_running_requests_finish() {
    let hub = Hub::of(server(), GatewayOptions::default()).await;
    let running = Ask::post(&call(1, "steps", json!({"ms": 50}))).open(&hub.address).await;
    eventually("the server has it", || hub.calls() == 1).await;
    hub.stop.cancel();
    let answer = Answer::read(running).await;
    assert_eq!(answer.json().await["id"], 1);
    hub.tasks.close();
    timeout(Duration::from_secs(10), hub.tasks.wait()).await.unwrap();
}

#[tokio::test]
async fn names_uris_and_prompts_reach_the_server_as_it_knows_them() {
    let hub = Hub::start().await;
    let read = hub.send(Ask::post(&rpc(1, "resources/read", json!({"uri": "toolbay://s/test://r"})))).await;
    assert_eq!(read.json().await["result"]["contents"][0]["text"], "text");
    let prompt = hub.send(modern(rpc(1, "prompts/get", json!({"name": "s__p"})))).await;
    assert_eq!(prompt.json().await["result"]["messages"][0]["content"]["text"], "Hello.");
}
