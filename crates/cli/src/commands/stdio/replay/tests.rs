//! Each test is a state with a hub that is lost in the middle.

use serde_json::{Value, json};

use super::*;

fn line(value: &Value) -> Bytes {
    value.to_string().into()
}

/// Feeds lines to a replay state and returns its verdicts; `>` is the client, `<` the hub.
fn feed(state: &mut ReplayState, lines: &[(char, Value)]) -> Vec<Verdict> {
    let feed_line = |(who, value): &(char, Value)| match who {
        '>' => state.client_line(&line(value)),
        _ => state.hub_line(&line(value)),
    };
    lines.iter().map(feed_line).collect()
}

fn parsed(lines: Vec<Bytes>) -> Vec<Value> {
    lines.iter().map(|line| serde_json::from_slice(line).unwrap()).collect()
}

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}})
}

fn asks(id: u64, method: &str, params: Value) -> (char, Value) {
    ('>', json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

fn result(id: u64) -> (char, Value) {
    ('<', json!({"jsonrpc": "2.0", "id": id, "result": {}}))
}

fn tells(who: char, method: &str, params: Value) -> (char, Value) {
    (who, json!({"jsonrpc": "2.0", "method": method, "params": params}))
}

#[test]
fn a_new_hub_gets_the_replayed_state_and_its_responses_are_dropped() {
    let mut state = ReplayState::default();
    let verdicts = feed(
        &mut state,
        &[
            ('>', initialize()),
            result(0),
            tells('>', "notifications/initialized", json!({})),
            asks(1, "logging/setLevel", json!({"level": "debug"})),
            result(1),
            asks(2, "resources/subscribe", json!({"uri": "a:1"})),
            result(2),
            asks(3, "resources/subscribe", json!({"uri": "a:2"})),
            result(3),
            asks(4, "resources/unsubscribe", json!({"uri": "a:1"})),
            result(4),
            asks(5, "resources/subscribe", json!({"uri": "refused"})),
            ('<', json!({"jsonrpc": "2.0", "id": 5, "error": {"code": -32602, "message": "no"}})),
            asks(6, "tools/call", json!({"name": "x"})),
            result(6),
        ],
    );
    assert!(verdicts.iter().all(|verdict| *verdict == Verdict::HandOn));
    assert!(state.lose_hub().is_empty(), "everything was answered");
    let repeated = parsed(state.repeat());
    let lines: Vec<(&Value, &Value)> =
        repeated.iter().map(|message| (&message["method"], &message["params"])).collect();
    let expected = [
        (json!("initialize"), json!({"protocolVersion": "2025-11-25"})),
        (json!("notifications/initialized"), json!({})),
        (json!("logging/setLevel"), json!({"level": "debug"})),
        (json!("resources/subscribe"), json!({"uri": "a:2"})),
    ];
    assert_eq!(lines, expected.each_ref().map(|(method, params)| (method, params)));
    for message in repeated.iter().filter(|message| message["id"] != Value::Null) {
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": {}});
        assert_eq!(state.hub_line(&line(&answer)), Verdict::Drop);
        assert_eq!(state.hub_line(&line(&answer)), Verdict::HandOn, "once");
    }
    assert_eq!(state.changes().len(), 3);
}

#[test]
fn pending_requests_get_one_error_and_are_not_sent_again() {
    let mut state = ReplayState::default();
    let lines = [
        ('>', initialize()),
        result(0),
        asks(1, "tools/call", json!({"name": "x"})),
        asks(2, "tools/list", json!({})),
        asks(3, "tools/call", json!({"name": "cancelled"})),
        tells('>', "notifications/cancelled", json!({"requestId": 3})),
    ];
    feed(&mut state, &lines);
    let mut messages = parsed(state.lose_hub());
    messages.sort_by_key(|message| message["id"].as_u64());
    assert_eq!(messages.iter().map(|message| message["id"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2]);
    assert!(messages[0]["error"]["message"].as_str().unwrap().contains("not sent again"), "{messages:?}");
    assert!(state.lose_hub().is_empty());
    let repeated = parsed(state.repeat());
    assert!(repeated.iter().all(|message| message["method"] == "initialize"), "{repeated:?}");
}

#[test]
fn lines_that_the_hub_never_read_are_sent_again() {
    let mut state = ReplayState::default();
    let lines = [
        ('>', initialize()),
        tells('>', "notifications/initialized", json!({})),
        asks(1, "tools/call", json!({})),
        asks(2, "subscriptions/listen", json!({})),
    ];
    feed(&mut state, &lines);
    for (_, value) in &lines {
        state.take_back(&line(value));
    }
    assert!(state.lose_hub().is_empty() && state.repeat().is_empty());
}

#[test]
fn a_pending_handshake_is_repeated_and_its_response_forwarded() {
    let mut state = ReplayState::default();
    feed(&mut state, &[('>', initialize())]);
    assert!(state.lose_hub().is_empty());
    assert_eq!(parsed(state.repeat()), [initialize()]);
    assert_eq!(feed(&mut state, &[result(0)]), [Verdict::HandOn]);
    assert!(state.changes().is_empty(), "it has no lists yet");
}

#[test]
fn a_server_request_of_a_lost_hub_is_cancelled_and_its_response_reaches_no_other_hub() {
    let mut state = ReplayState::default();
    let question = ('<', json!({"jsonrpc": "2.0", "id": 1, "method": "roots/list"}));
    let answer = ('>', json!({"jsonrpc": "2.0", "id": 1, "result": {"roots": []}}));
    feed(&mut state, std::slice::from_ref(&question));
    let messages = parsed(state.lose_hub());
    assert_eq!(
        (&messages[0]["method"], &messages[0]["params"]["requestId"]),
        (&json!("notifications/cancelled"), &json!(1))
    );
    assert_eq!(feed(&mut state, std::slice::from_ref(&answer)), [Verdict::Drop]);
    assert_eq!(feed(&mut state, &[question, answer]), [Verdict::HandOn; 2]);
}

#[test]
fn a_subscription_goes_on_and_is_acknowledged_once() {
    let mut state = ReplayState::default();
    let acknowledged = || {
        let id = json!({"io.modelcontextprotocol/subscriptionId": 7});
        tells('<', "notifications/subscriptions/acknowledged", json!({"_meta": id}))
    };
    let listen = asks(7, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    assert_eq!(feed(&mut state, &[listen.clone(), acknowledged()]), [Verdict::HandOn; 2]);
    assert!(state.lose_hub().is_empty());
    assert_eq!(parsed(state.repeat()), [listen.1]);
    assert_eq!(feed(&mut state, &[acknowledged()]), [Verdict::Drop]);
    feed(&mut state, &[tells('>', "notifications/cancelled", json!({"requestId": 7}))]);
    assert!(state.repeat().is_empty());
}

#[test]
fn what_cannot_be_read_is_handed_on_and_batches_are_looked_into() {
    let mut state = ReplayState::default();
    assert_eq!(state.client_line(&"no json".into()), Verdict::HandOn);
    assert_eq!(state.hub_line(&"no json".into()), Verdict::HandOn);
    let batch = json!([asks(1, "ping", json!({})).1, asks(2, "ping", json!({})).1]);
    state.client_line(&line(&batch));
    state.hub_line(&line(&json!([result(1).1])));
    assert_eq!(parsed(state.lose_hub())[0]["id"], 2);
    assert_eq!(feed(&mut state, &[tells('<', GOODBYE, json!({}))]), [Verdict::Goodbye]);
}

#[test]
fn a_conversation_is_idle_when_neither_side_waits() {
    let mut state = ReplayState::default();
    let question = ('<', json!({"jsonrpc": "2.0", "id": 1, "method": "roots/list"}));
    let answer = ('>', json!({"jsonrpc": "2.0", "id": 1, "result": {"roots": []}}));
    for (lines, is_idle) in [
        (('>', initialize()), false),
        (result(0), true),
        (asks(1, "tools/call", json!({"name": "x"})), false),
        (asks(2, "tools/list", json!({})), false),
        (result(2), false),
        (tells('>', "notifications/cancelled", json!({"requestId": 1})), true),
        (question, false),
        (answer, true),
        (asks(3, "subscriptions/listen", json!({})), true),
    ] {
        feed(&mut state, std::slice::from_ref(&lines));
        assert_eq!(state.is_idle(), is_idle, "after {lines:?}");
    }
    state.repeat();
    assert!(!state.is_idle(), "the handshake with the next hub");
}
