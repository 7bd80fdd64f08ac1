//! Each test is a conversation with a hub that is lost in the middle.

use serde_json::{Value, json};

use super::*;

fn line(value: &Value) -> Bytes {
    value.to_string().into()
}

/// What a conversation hands on of what was said; `>` is the client, `<` the hub.
fn talk(conversation: &mut ReplayState, said: &[(char, Value)]) -> Vec<Verdict> {
    let say = |(who, value): &(char, Value)| match who {
        '>' => conversation.client_line(&line(value)),
        _ => conversation.hub_line(&line(value)),
    };
    said.iter().map(say).collect()
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
    let mut conversation = ReplayState::default();
    let verdicts = talk(
        &mut conversation,
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
    assert!(conversation.lose_hub().is_empty(), "everything was answered");
    let repeated = parsed(conversation.repeat());
    let said: Vec<(&Value, &Value)> =
        repeated.iter().map(|message| (&message["method"], &message["params"])).collect();
    let expected = [
        (json!("initialize"), json!({"protocolVersion": "2025-11-25"})),
        (json!("notifications/initialized"), json!({})),
        (json!("logging/setLevel"), json!({"level": "debug"})),
        (json!("resources/subscribe"), json!({"uri": "a:2"})),
    ];
    assert_eq!(said, expected.each_ref().map(|(method, params)| (method, params)));
    for message in repeated.iter().filter(|message| message["id"] != Value::Null) {
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": {}});
        assert_eq!(conversation.hub_line(&line(&answer)), Verdict::Drop);
        assert_eq!(conversation.hub_line(&line(&answer)), Verdict::HandOn, "once");
    }
    assert_eq!(conversation.changes().len(), 3);
}

#[test]
fn pending_requests_get_one_error_and_are_not_sent_again() {
    let mut conversation = ReplayState::default();
    let said = [
        ('>', initialize()),
        result(0),
        asks(1, "tools/call", json!({"name": "x"})),
        asks(2, "tools/list", json!({})),
        asks(3, "tools/call", json!({"name": "cancelled"})),
        tells('>', "notifications/cancelled", json!({"requestId": 3})),
    ];
    talk(&mut conversation, &said);
    let mut told = parsed(conversation.lose_hub());
    told.sort_by_key(|message| message["id"].as_u64());
    assert_eq!(told.iter().map(|message| message["id"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2]);
    assert!(told[0]["error"]["message"].as_str().unwrap().contains("not sent again"), "{told:?}");
    assert!(conversation.lose_hub().is_empty());
    let repeated = parsed(conversation.repeat());
    assert!(repeated.iter().all(|message| message["method"] == "initialize"), "{repeated:?}");
}

#[test]
fn lines_that_the_hub_never_read_are_sent_again() {
    let mut conversation = ReplayState::default();
    let said = [
        ('>', initialize()),
        tells('>', "notifications/initialized", json!({})),
        asks(1, "tools/call", json!({})),
        asks(2, "subscriptions/listen", json!({})),
    ];
    talk(&mut conversation, &said);
    for (_, value) in &said {
        conversation.take_back(&line(value));
    }
    assert!(conversation.lose_hub().is_empty() && conversation.repeat().is_empty());
}

#[test]
fn a_pending_handshake_is_repeated_and_its_response_forwarded() {
    let mut conversation = ReplayState::default();
    talk(&mut conversation, &[('>', initialize())]);
    assert!(conversation.lose_hub().is_empty());
    assert_eq!(parsed(conversation.repeat()), [initialize()]);
    assert_eq!(talk(&mut conversation, &[result(0)]), [Verdict::HandOn]);
    assert!(conversation.changes().is_empty(), "it has no lists yet");
}

#[test]
fn a_server_request_of_a_lost_hub_is_cancelled_and_its_response_reaches_no_other_hub() {
    let mut conversation = ReplayState::default();
    let question = ('<', json!({"jsonrpc": "2.0", "id": 1, "method": "roots/list"}));
    let answer = ('>', json!({"jsonrpc": "2.0", "id": 1, "result": {"roots": []}}));
    talk(&mut conversation, std::slice::from_ref(&question));
    let told = parsed(conversation.lose_hub());
    assert_eq!(
        (&told[0]["method"], &told[0]["params"]["requestId"]),
        (&json!("notifications/cancelled"), &json!(1))
    );
    assert_eq!(talk(&mut conversation, std::slice::from_ref(&answer)), [Verdict::Drop]);
    assert_eq!(talk(&mut conversation, &[question, answer]), [Verdict::HandOn; 2]);
}

#[test]
fn a_subscription_goes_on_and_is_acknowledged_once() {
    let mut conversation = ReplayState::default();
    let acknowledged = || {
        let id = json!({"io.modelcontextprotocol/subscriptionId": 7});
        tells('<', "notifications/subscriptions/acknowledged", json!({"_meta": id}))
    };
    let listen = asks(7, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    assert_eq!(talk(&mut conversation, &[listen.clone(), acknowledged()]), [Verdict::HandOn; 2]);
    assert!(conversation.lose_hub().is_empty());
    assert_eq!(parsed(conversation.repeat()), [listen.1]);
    assert_eq!(talk(&mut conversation, &[acknowledged()]), [Verdict::Drop]);
    talk(&mut conversation, &[tells('>', "notifications/cancelled", json!({"requestId": 7}))]);
    assert!(conversation.repeat().is_empty());
}

#[test]
fn what_cannot_be_read_is_handed_on_and_batches_are_looked_into() {
    let mut conversation = ReplayState::default();
    assert_eq!(conversation.client_line(&"no json".into()), Verdict::HandOn);
    assert_eq!(conversation.hub_line(&"no json".into()), Verdict::HandOn);
    let batch = json!([asks(1, "ping", json!({})).1, asks(2, "ping", json!({})).1]);
    conversation.client_line(&line(&batch));
    conversation.hub_line(&line(&json!([result(1).1])));
    assert_eq!(parsed(conversation.lose_hub())[0]["id"], 2);
    assert_eq!(talk(&mut conversation, &[tells('<', GOODBYE, json!({}))]), [Verdict::Goodbye]);
}

#[test]
fn a_conversation_is_idle_when_neither_side_waits() {
    let mut conversation = ReplayState::default();
    let question = ('<', json!({"jsonrpc": "2.0", "id": 1, "method": "roots/list"}));
    let answer = ('>', json!({"jsonrpc": "2.0", "id": 1, "result": {"roots": []}}));
    for (said, is_idle) in [
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
        talk(&mut conversation, std::slice::from_ref(&said));
        assert_eq!(conversation.is_idle(), is_idle, "after {said:?}");
    }
    conversation.repeat();
    assert!(!conversation.is_idle(), "the handshake with the next hub");
}
