//! Streams that break, and clients that come back to them.

use std::time::Duration;

use serde_json::{Value, json};
use toolbay_gateway::GatewayOptions;
use toolbay_testkit::ToolContext;

use crate::{
    http::{Answer, Ask},
    test_gateway::{Hub, call, eventually, modern, rpc},
};

/// Its tool `wait` reports one step, waits for its gate, and reports another.
async fn hub() -> Hub {
    let server =
        crate::test_gateway::server().with_async_tool("wait", |args, context: ToolContext| async move {
            context.progress(1.0, 9.0).await;
            while !context.is_cancelled() && !gate(&args).is_open() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            context.progress(2.0, 9.0).await;
            Ok(args)
        });
    Hub::of(server, GatewayOptions::default()).await
}

/// Something that the test opens and a tool waits for.
struct Gate(std::path::PathBuf);

impl Gate {
    fn open(&self) {
        std::fs::write(&self.0, "").unwrap();
    }

    fn is_open(&self) -> bool {
        self.0.exists()
    }
}

fn gate(args: &Value) -> Gate {
    Gate(args["gate"].as_str().unwrap().into())
}

fn new_gate(folder: &std::path::Path, name: &str) -> (Value, Gate) {
    let args = json!({"gate": folder.join(name).to_str().unwrap(), "name": name});
    let gate = gate(&args);
    (args, gate)
}

fn of_session(ask: Ask, session: &str) -> Ask {
    ask.header("mcp-session-id", session)
}

fn waiting(id: u64, arguments: Value) -> Value {
    let mut message = call(id, "wait", arguments);
    message["params"]["_meta"]["progressToken"] = json!(id);
    message
}

/// One event of a stream.
#[derive(Debug)]
struct Event {
    id: Option<String>,
    retry: Option<String>,
    data: String,
}

async fn next(stream: &mut Answer) -> Option<Event> {
    loop {
        let text = stream.raw_event().await?;
        if text.starts_with(':') {
            continue;
        }
        let field = |name: &str| {
            let prefix = format!("{name}: ");
            text.lines().find_map(|line| line.strip_prefix(&prefix).map(str::to_owned))
        };
        return Some(Event { id: field("id"), retry: field("retry"), data: field("data").unwrap() });
    }
}

fn json_of(event: &Event) -> Value {
    serde_json::from_str(&event.data).unwrap()
}

async fn come_back(hub: &Hub, session: &str, last_event: &str) -> Answer {
    hub.send(of_session(Ask::new("GET", "/mcp"), session).header("last-event-id", last_event)).await
}

#[tokio::test]
async fn a_broken_stream_goes_on_where_it_was_and_its_call_was_not_cancelled() {
    let (hub, folder) = (hub().await, tempfile::tempdir().unwrap());
    let session = hub.session("2025-11-25").await;
    let (arguments, gate) = new_gate(folder.path(), "a");
    let mut stream = hub.send(of_session(Ask::post(&waiting(1, arguments)), &session)).await;
    let primer = next(&mut stream).await.unwrap();
    assert_eq!((primer.data.as_str(), primer.retry.as_deref()), ("", Some("1000")));
    let first = next(&mut stream).await.unwrap();
    assert_eq!(json_of(&first)["params"]["progress"], 1.0);
    drop(stream);
    gate.open();
    let mut rest = come_back(&hub, &session, first.id.as_deref().unwrap()).await;
    assert!(rest.status == 200 && rest.is_stream());
    assert_eq!(json_of(&next(&mut rest).await.unwrap())["params"]["progress"], 2.0);
    let last = next(&mut rest).await.unwrap();
    assert_eq!((&json_of(&last)["id"], &json_of(&last)["result"]["isError"]), (&json!(1), &Value::Null));
    assert!(next(&mut rest).await.is_none(), "nothing follows the answer");
    assert_eq!((hub.calls(), hub.server.count("notifications/cancelled")), (1, 0));
    // What was sent may have been lost, so it can be read once more.
    let mut again = come_back(&hub, &session, first.id.as_deref().unwrap()).await;
    next(&mut again).await.unwrap();
    assert_eq!(next(&mut again).await.unwrap().id, last.id);
}

#[tokio::test]
async fn a_response_is_kept_for_a_client_that_was_disconnected() {
    let (hub, folder) = (hub().await, tempfile::tempdir().unwrap());
    let session = hub.session("2025-11-25").await;
    let (arguments, gate) = new_gate(folder.path(), "a");
    let mut stream = hub.send(of_session(Ask::post(&waiting(1, arguments)), &session)).await;
    let primer = next(&mut stream).await.unwrap().id.unwrap();
    drop(stream);
    gate.open();
    tokio::time::sleep(Duration::from_millis(100)).await;
    for _ in 0..2 {
        // From the beginning, as often as it breaks before the end.
        let mut again = come_back(&hub, &session, &primer).await;
        assert_eq!(json_of(&next(&mut again).await.unwrap())["params"]["progress"], 1.0);
    }
    let mut again = come_back(&hub, &session, &primer).await;
    for _ in 0..2 {
        next(&mut again).await.unwrap();
    }
    assert_eq!(json_of(&next(&mut again).await.unwrap())["id"], 1);
}

#[tokio::test]
async fn each_stream_tells_its_own_and_only_once() {
    let (hub, folder) = (hub().await, tempfile::tempdir().unwrap());
    let (session, other) = (hub.session("2025-11-25").await, hub.session("2025-11-25").await);
    let mut ids = Vec::new();
    let mut gates = Vec::new();
    for number in [1, 2] {
        let (arguments, gate) = new_gate(folder.path(), &number.to_string());
        let mut stream = hub.send(of_session(Ask::post(&waiting(number, arguments)), &session)).await;
        let primer = next(&mut stream).await.unwrap().id.unwrap();
        let first = next(&mut stream).await.unwrap();
        assert_eq!(json_of(&first)["params"]["progressToken"], number);
        ids.extend([primer, first.id.unwrap()]);
        gates.push(gate);
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4, "ids are unique in the session");
    gates.iter().for_each(Gate::open);
    for number in [2, 1] {
        let last_event = ids.iter().filter(|id| id.starts_with(&format!("r{number}-"))).max().unwrap();
        assert_eq!(come_back(&hub, &other, last_event).await.status, 400, "not that of another session");
        let mut rest = come_back(&hub, &session, last_event).await;
        assert_eq!(json_of(&next(&mut rest).await.unwrap())["params"]["progressToken"], number);
        assert_eq!(
            json_of(&next(&mut rest).await.unwrap())["result"]["structuredContent"]["name"],
            number.to_string()
        );
        assert!(next(&mut rest).await.is_none());
    }
}

#[tokio::test]
async fn who_comes_back_takes_over_from_a_connection_that_only_seemed_alive() {
    let (hub, folder) = (hub().await, tempfile::tempdir().unwrap());
    let session = hub.session("2025-11-25").await;
    let (arguments, gate) = new_gate(folder.path(), "a");
    let mut old = hub.send(of_session(Ask::post(&waiting(1, arguments)), &session)).await;
    next(&mut old).await.unwrap();
    let first = next(&mut old).await.unwrap().id.unwrap();
    let mut new = come_back(&hub, &session, &first).await;
    assert!(next(&mut old).await.is_none(), "no message on two streams");
    gate.open();
    assert_eq!(json_of(&next(&mut new).await.unwrap())["params"]["progress"], 2.0);
}

#[tokio::test]
async fn a_call_whose_client_never_returns_is_cancelled_after_a_minute() {
    // Signs of life keep it from ending for another reason.
    let server =
        crate::test_gateway::server().with_async_tool("alive", |_, context: ToolContext| async move {
            loop {
                context.progress(1.0, 9.0).await;
                tokio::time::sleep(Duration::from_secs(10)).await;
            }
        });
    let hub = Hub::of(server, GatewayOptions::default()).await;
    let session = hub.session("2025-11-25").await;
    let mut message = call(1, "alive", json!({}));
    message["params"]["_meta"]["progressToken"] = json!(1);
    let mut stream = hub.send(of_session(Ask::post(&message), &session)).await;
    next(&mut stream).await.unwrap();
    drop(stream);
    tokio::time::sleep(Duration::from_millis(200)).await; // until the hub has seen it
    tokio::time::pause();
    let mut cancelled_after = None;
    for seconds in (5..=120).step_by(5) {
        tokio::time::advance(Duration::from_secs(5)).await;
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        if hub.server.count("notifications/cancelled") == 1 {
            cancelled_after.get_or_insert(seconds);
        }
    }
    assert!(matches!(cancelled_after, Some(60..=65)), "{cancelled_after:?}");
}

#[tokio::test]
async fn the_end_of_the_session_ends_what_waits_for_its_client() {
    let (hub, folder) = (hub().await, tempfile::tempdir().unwrap());
    let session = hub.session("2025-11-25").await;
    let (arguments, _gate) = new_gate(folder.path(), "a");
    let mut stream = hub.send(of_session(Ask::post(&waiting(1, arguments)), &session)).await;
    next(&mut stream).await.unwrap();
    drop(stream);
    hub.send(of_session(Ask::new("DELETE", "/mcp"), &session)).await;
    eventually("the server is told", || hub.server.count("notifications/cancelled") == 1).await;
}

#[tokio::test]
async fn changes_during_a_disconnect_are_sent_when_the_client_returns() {
    let hub = hub().await;
    let session = hub.session("2025-11-25").await;
    let subscribe = rpc(1, "resources/subscribe", json!({"uri": "test://r"}));
    assert_eq!(hub.send(of_session(Ask::post(&subscribe), &session)).await.status, 200);
    let mut stream = hub.send(of_session(Ask::new("GET", "/mcp"), &session)).await;
    let primer = next(&mut stream).await.unwrap().id.unwrap();
    drop(stream);
    hub.server.set_resource("test://r", "new");
    tokio::time::sleep(Duration::from_millis(50)).await;
    let mut stream = come_back(&hub, &session, &primer).await;
    let told = next(&mut stream).await.unwrap();
    assert_eq!(json_of(&told)["method"], "notifications/resources/updated");
    // And on with the same stream.
    hub.server.add_tool("new", |_| Ok(json!(1)));
    assert_eq!(json_of(&next(&mut stream).await.unwrap())["method"], "notifications/tools/list_changed");
    drop(stream);
    // Of changes, a stream that is not kept any more is as good as a new one.
    let mut stream = come_back(&hub, &session, "c999-7").await;
    assert_eq!((stream.status, next(&mut stream).await.unwrap().data.as_str()), (200, ""));
    for nonsense in ["r999-1", "x", "", "1", "é"] {
        assert_eq!(come_back(&hub, &session, nonsense).await.status, 400, "{nonsense:?}");
    }
}

#[tokio::test]
async fn older_revisions_get_ids_but_no_event_without_a_message_and_the_new_one_gets_neither() {
    let (hub, folder) = (hub().await, tempfile::tempdir().unwrap());
    for revision in ["2025-03-26", "2025-06-18"] {
        let session = hub.session(revision).await;
        let (arguments, gate) = new_gate(folder.path(), revision);
        gate.open();
        let mut stream = hub.send(of_session(Ask::post(&waiting(1, arguments)), &session)).await;
        let first = next(&mut stream).await.unwrap();
        assert!(first.id.is_some() && first.retry.is_none(), "{revision}: {first:?}");
        assert_eq!(json_of(&first)["params"]["progress"], 1.0, "{revision}");
    }
    let (arguments, gate) = new_gate(folder.path(), "modern");
    gate.open();
    let mut stream = hub.send(modern(waiting(1, arguments))).await;
    let first = next(&mut stream).await.unwrap();
    assert_eq!((first.id, first.retry), (None, None));
    // There, going away is cancelling.
    let (arguments, _gate) = new_gate(folder.path(), "left");
    let mut stream = hub.send(modern(waiting(2, arguments))).await;
    next(&mut stream).await.unwrap();
    drop(stream);
    eventually("the server is told", || hub.server.count("notifications/cancelled") == 1).await;
}
