//! What may happen to a call that waits for answers.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    across_revisions::{asking, elicit},
    server::{self, Seen},
};
use crate::test_gateway::{Hub, call, eventually};

async fn parked(hub: &Hub, rounds: &Value) -> (String, Value) {
    let answer = hub.send(asking(1, json!({"arguments": {"rounds": rounds}}))).await.json().await;
    let requests = answer["result"]["inputRequests"].as_object().unwrap();
    let said = json!({"action": "accept", "content": {"name": "x"}});
    let answers = requests.keys().map(|key| (key.clone(), said.clone())).collect();
    (answer["result"]["requestState"].as_str().unwrap().to_owned(), answers)
}

fn retry(id: u64, rounds: &Value, state: &str, answers: &Value) -> Value {
    json!({"id": id, "params":
        {"arguments": {"rounds": rounds}, "requestState": state, "inputResponses": answers}})
}

async fn send(hub: &Hub, retry: &Value) -> Value {
    hub.send(asking(retry["id"].clone(), retry["params"].clone())).await.json().await
}

#[tokio::test]
async fn modified_and_foreign_request_states_are_refused_and_never_reach_the_server() {
    for era in [server::legacy, server::modern] {
        let seen = Seen::default();
        let hub = Hub::around(era(&seen)).await;
        let rounds = json!([[elicit("a")]]);
        let (state, answers) = parked(&hub, &rounds).await;
        let calls = seen.calls();
        let flip = |index: usize| {
            let mut changed = state.clone().into_bytes();
            changed[index] = if changed[index] == b'x' { b'y' } else { b'x' };
            String::from_utf8(changed).unwrap()
        };
        for state in [flip(0), flip(40), flip(state.len() / 2), String::new(), "x".repeat(99)] {
            let refused = send(&hub, &retry(2, &rounds, &state, &answers)).await;
            assert_eq!(refused["error"]["code"], -32602, "{refused}");
        }
        let refused = send(&hub, &retry(3, &json!([[elicit("b")]]), &state, &answers)).await;
        assert_eq!(refused["error"]["code"], -32602, "other arguments: {refused}");
        let mut other = call(4, "other", json!({"rounds": rounds}));
        other["params"]["requestState"] = json!(state);
        let refused = hub.send(crate::test_gateway::modern(other)).await.json().await;
        assert_eq!(refused["error"]["code"], -32602, "another tool: {refused}");
        assert_eq!(seen.calls(), calls);
        let done = send(&hub, &retry(5, &rounds, &state, &answers)).await;
        assert_eq!(done["result"]["resultType"], "complete", "{done}");
    }
}

#[tokio::test]
async fn the_same_answers_get_the_same_result_and_others_none() {
    let seen = Seen::default();
    let hub = Hub::around(server::legacy(&seen)).await;
    let rounds = json!([[elicit("a")], [elicit("b")]]);
    let (state, answers) = parked(&hub, &rounds).await;
    let second = send(&hub, &retry(2, &rounds, &state, &answers)).await;
    assert_eq!(second["result"]["resultType"], "input_required", "{second}");
    let again = send(&hub, &retry(3, &rounds, &state, &answers)).await;
    assert_eq!(again["result"], second["result"]);
    let mut others = answers.clone();
    others.as_object_mut().unwrap().values_mut().for_each(|answer| *answer = json!({"action": "decline"}));
    let refused = send(&hub, &retry(4, &rounds, &state, &others)).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    // What is missing is asked for again.
    let state = second["result"]["requestState"].as_str().unwrap();
    let third = send(&hub, &retry(5, &rounds, state, &json!({}))).await;
    assert_eq!(third["result"]["inputRequests"], second["result"]["inputRequests"]);
    let state = third["result"]["requestState"].as_str().unwrap();
    let keys = third["result"]["inputRequests"].as_object().unwrap().keys();
    let answers = keys.map(|key| (key.clone(), json!({"action": "cancel"}))).collect();
    let done = send(&hub, &retry(6, &rounds, state, &answers)).await;
    let again = send(&hub, &retry(7, &rounds, state, &answers)).await;
    assert_eq!(done["result"]["structuredContent"]["answers"][1], json!([{"action": "cancel"}]), "{done}");
    assert_eq!(again["result"], done["result"]);
    assert_eq!(seen.calls(), 1);
}

#[tokio::test]
async fn a_client_that_lost_its_stream_finds_its_call_again() {
    let seen = Seen::default();
    let hub = Hub::around(server::legacy(&seen)).await;
    // The second question is never answered by the first retry's reader: it hangs up at once.
    let rounds = json!([[elicit("a")], [elicit("b")]]);
    let (state, answers) = parked(&hub, &rounds).await;
    let once = retry(2, &rounds, &state, &answers);
    drop(asking(2, once["params"].clone()).open(&hub.address).await);
    tokio::time::sleep(Duration::from_millis(50)).await;
    let again = send(&hub, &retry(3, &rounds, &state, &answers)).await;
    assert_eq!(again["result"]["resultType"], "input_required", "{again}");
    assert_eq!((seen.calls(), seen.cancelled()), (1, 0));
}

#[tokio::test]
async fn a_client_that_never_comes_back_is_waited_for_ten_minutes_and_the_call_is_cancelled() {
    let seen = Seen::default();
    let hub = Hub::around(server::legacy(&seen)).await;
    let rounds = json!([[elicit("a")]]);
    let (state, answers) = parked(&hub, &rounds).await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(599)).await;
    assert_eq!(seen.cancelled(), 0, "the clocks of the call stand still");
    tokio::time::advance(Duration::from_secs(2)).await;
    tokio::time::resume();
    eventually("the server is told", || seen.cancelled() == 1).await;
    let refused = send(&hub, &retry(2, &rounds, &state, &answers)).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert_eq!(seen.calls(), 1);
}
