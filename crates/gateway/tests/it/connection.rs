//! One client on a pair of streams.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_transport::{Connection, Incoming, memory};

use crate::{
    http::PATIENCE,
    test_gateway::{Hub, SUBSCRIPTION_KEY, call, eventually, initialize, rpc, with_meta},
};

/// A client on a wire.
struct Client {
    hub: Hub,
    wire: Connection,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Client {
    async fn connect() -> Self {
        let hub = Hub::start().await;
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let (ours, theirs) = memory::pair(&tasks);
        let (gateway, ending) = (Arc::clone(&hub.gateway), stop.clone());
        tasks.spawn(async move { gateway.serve_connection(theirs, ending).await });
        Self { hub, wire: ours, tasks, stop }
    }

    /// One that shook hands.
    async fn legacy() -> Self {
        let mut this = Self::connect().await;
        assert_eq!(this.ask(initialize("2025-11-25")).await["result"]["protocolVersion"], "2025-11-25");
        this
    }

    async fn send(&self, message: Value) {
        self.send_text(&message.to_string()).await;
    }

    async fn send_text(&self, text: &str) {
        self.wire.outgoing.send(text.to_owned().into()).await.unwrap();
    }

    async fn next(&mut self) -> Value {
        match timeout(PATIENCE, self.wire.incoming.recv()).await.unwrap() {
            Some(Incoming::Message(message)) => serde_json::from_slice(message.text()).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    async fn ask(&mut self, message: Value) -> Value {
        let id = message["id"].clone();
        self.send(message).await;
        let answer = self.next().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    async fn ask_code(&mut self, message: Value) -> i64 {
        self.ask(message).await["error"]["code"].as_i64().unwrap_or_default()
    }

    /// Closes our end; gives what still arrives, and how long the gateway took to end.
    async fn close(self) -> (Vec<Value>, Duration) {
        let since = Instant::now();
        let Connection { outgoing, mut incoming } = self.wire;
        drop(outgoing);
        let mut rest = Vec::new();
        while let Some(Incoming::Message(message)) = timeout(PATIENCE, incoming.recv()).await.unwrap() {
            rest.push(serde_json::from_slice(message.text()).unwrap());
        }
        self.tasks.close();
        timeout(PATIENCE, self.tasks.wait()).await.unwrap();
        (rest, since.elapsed())
    }
}

#[tokio::test]
async fn the_handshake_comes_first_and_only_once() {
    let mut client = Client::connect().await;
    let answer = client.ask(rpc(1, "tools/list", json!({}))).await;
    assert!(answer["error"]["message"].as_str().unwrap().starts_with("Not initialized"), "{answer}");
    assert_eq!(client.ask(rpc(2, "ping", json!({}))).await["result"], json!({}));
    client.ask(initialize("2025-06-18")).await;
    let answer = client.ask(initialize("2025-06-18")).await;
    assert_eq!(answer["error"]["message"], "Already initialized");
    let answer = client.ask(rpc(3, "tools/list", json!({}))).await;
    assert_eq!(answer["result"]["tools"][0]["name"], "s__echo");
    assert_eq!(client.ask_code(rpc(4, "no/such", json!({}))).await, -32601);
}

#[tokio::test]
async fn a_line_that_is_no_message_is_answered_and_affects_no_other_request() {
    let mut client = Client::legacy().await;
    for (line, code) in
        [("not json", -32700), ("{\"jsonrpc\":\"2.0\"", -32700), ("[]", -32600), ("{}", -32600)]
    {
        client.send_text(line).await;
        let answer = client.next().await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(null), &json!(code)), "{line}");
    }
    assert!(client.ask(call(1, "echo", json!({}))).await.get("result").is_some());
}

#[tokio::test]
async fn legacy_and_modern_requests_share_one_connection() {
    let mut client = Client::connect().await;
    let modern = with_meta(call("m", "echo", json!({"n": 1})));
    assert_eq!(client.ask(modern.clone()).await["result"]["resultType"], "complete");
    client.ask(initialize("2025-11-25")).await;
    let legacy = client.ask(call("l", "echo", json!({"n": 2}))).await;
    assert!(legacy["result"].get("resultType").is_none(), "{legacy}");
    assert_eq!(client.ask(modern).await["result"]["resultType"], "complete");
    let mut lacking = with_meta(rpc(5, "tools/list", json!({})));
    lacking["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    assert_eq!(client.ask_code(lacking).await, -32022);
    assert_eq!(client.ask_code(with_meta(rpc(6, "ping", json!({})))).await, -32601);
}

/// Ids are free again once they are answered, in either era.
#[tokio::test]
async fn an_id_can_be_used_again_after_its_answer_but_not_before() {
    let mut client = Client::legacy().await;
    for _ in 0..3 {
        assert!(client.ask(with_meta(call(1, "echo", json!({})))).await.get("result").is_some());
        assert!(client.ask(call(1, "echo", json!({}))).await.get("result").is_some());
    }
    client.send(with_meta(call("m", "hang", json!({})))).await;
    client.send(call("l", "hang", json!({}))).await;
    eventually("the server has both", || client.hub.calls() == 8).await;
    assert_eq!(client.ask_code(with_meta(call("m", "echo", json!({})))).await, -32600);
    assert_eq!(client.ask_code(with_meta(call("l", "echo", json!({})))).await, -32600);
    assert_eq!(client.ask_code(call("l", "echo", json!({}))).await, -32600);
    assert_eq!(client.ask_code(call("m", "echo", json!({}))).await, -32600);
}

#[tokio::test]
async fn cancelling_reaches_the_server_in_all_revisions() {
    let mut client = Client::legacy().await;
    for (count, message) in
        [call(1, "hang", json!({})), with_meta(call(2, "hang", json!({})))].iter().enumerate()
    {
        client.send(message.clone()).await;
        eventually("the server has it", || client.hub.calls() == count + 1).await;
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": message["id"]}});
        client.send(cancel).await;
        eventually("it is told", || client.hub.server.count("notifications/cancelled") == count + 1).await;
    }
    // Nothing is answered to a cancelled request: what comes next is the next answer.
    client.ask(rpc(3, "ping", json!({}))).await;
}

#[tokio::test]
async fn progress_comes_before_the_answer_under_the_clients_own_token() {
    let mut client = Client::legacy().await;
    let mut message = call(1, "steps", json!({}));
    message["params"]["_meta"]["progressToken"] = json!("mine");
    client.send(message).await;
    for step in 1..=3 {
        let told = client.next().await;
        assert_eq!(
            (&told["params"]["progressToken"], &told["params"]["progress"]),
            (&json!("mine"), &json!(step))
        );
    }
    assert_eq!(client.next().await["id"], 1);
}

#[tokio::test]
async fn changes_are_pushed() {
    let mut client = Client::legacy().await;
    client.ask(rpc(1, "tools/list", json!({}))).await;
    client.hub.server.add_tool("new", |_| Ok(json!(1)));
    assert_eq!(client.next().await["method"], "notifications/tools/list_changed");
    let listed = client.ask(rpc(2, "tools/list", json!({}))).await;
    assert!(listed.to_string().contains("s__new"));
}

#[tokio::test]
async fn a_modern_subscription_works_on_a_connection() {
    let mut client = Client::connect().await;
    let filter = json!({"notifications": {"toolsListChanged": true}});
    client.send(with_meta(rpc("sub", "subscriptions/listen", filter))).await;
    assert_eq!(client.next().await["method"], "notifications/subscriptions/acknowledged");
    client.hub.server.add_tool("new", |_| Ok(json!(1)));
    assert_eq!(client.next().await["params"]["_meta"][SUBSCRIPTION_KEY], "sub");
    // The end of the client's input ends the subscription, at once and with an answer.
    let (rest, took) = client.close().await;
    assert_eq!(rest.len(), 2, "{rest:?}");
    assert_eq!((&rest[0]["id"], &rest[0]["result"]["resultType"]), (&json!("sub"), &json!("complete")));
    assert_eq!(
        (&rest[1]["method"], &rest[1]["params"]["requestId"]),
        (&json!("notifications/cancelled"), &json!("sub"))
    );
    assert!(took < Duration::from_secs(3), "{took:?}");
}

#[tokio::test]
async fn the_end_of_input_lets_running_requests_finish() {
    let client = Client::legacy().await;
    client.send(call("last", "steps", json!({"ms": 30}))).await;
    let (rest, _) = client.close().await;
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert_eq!(rest[0]["id"], "last");
}

#[tokio::test(start_paused = true)]
async fn what_does_not_finish_in_time_is_cancelled() {
    let client = Client::legacy().await;
    let server = client.hub.server.clone();
    let _hub_lives = (client.hub.host.clone(), client.hub.stop.clone());
    client.send(call(1, "hang", json!({}))).await;
    eventually("the server has it", || server.count("tools/call") == 1).await;
    let (rest, took) = client.close().await;
    assert!(rest.is_empty(), "{rest:?}");
    assert_eq!(took.as_secs(), 5);
    eventually("it is told", || server.count("notifications/cancelled") == 1).await;
}

#[tokio::test]
async fn stop_ends_the_connection() {
    let mut client = Client::legacy().await;
    client.stop.cancel();
    assert!(timeout(PATIENCE, client.wire.incoming.recv()).await.unwrap().is_none());
}
