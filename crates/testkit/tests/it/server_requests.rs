//! The test server's questions, as they stand on the wire.

use serde_json::{Value, json};
use tokio_util::task::TaskTracker;
use toolbay_testkit::{MemoryClient, ServerRequest, TestServer, ToolContext};

const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Calls a tool as a client of a modern revision that declares all capabilities.
async fn ask(client: &mut MemoryClient, tool: &str, more: Value) -> Value {
    let mut params = json!({"name": tool, "arguments": {}});
    for (key, value) in more.as_object().unwrap() {
        params[key] = value.clone();
    }
    declare(client, json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}));
    client.request("tools/call", params).await
}

fn name(name: &str) -> Value {
    json!({"action": "accept", "content": {"name": name}})
}

#[tokio::test]
async fn the_first_request_needs_no_state_and_the_next_ones_do() {
    let mut client = MemoryClient::modern(TestServer::demo().in_memory(&TaskTracker::new()));
    let first = ask(&mut client, "elicit_rounds", json!({})).await["result"].take();
    assert_eq!(first["resultType"], "input_required");
    assert_eq!(first["inputRequests"]["question-1"]["method"], "elicitation/create");
    assert!(first.get("requestState").is_none() && first.get("ttlMs").is_none());
    let answers = json!({"inputResponses": {"question-1": name("Ada"), "unknown": {}}});
    let second = ask(&mut client, "elicit_rounds", answers).await["result"].take();
    assert!(second["inputRequests"].get("question-1").is_none(), "{second}");
    let answers =
        json!({"inputResponses": {"question-2": name("Alan")}, "requestState": second["requestState"]});
    let last = ask(&mut client, "elicit_rounds", answers).await["result"].take();
    assert_eq!(last["resultType"], "complete");
    assert_eq!(last["content"][0]["text"], "Ada then Alan");
}

#[tokio::test]
async fn requests_without_a_response_are_sent_again() {
    let mut client = MemoryClient::modern(TestServer::demo().in_memory(&TaskTracker::new()));
    let answers = json!({"inputResponses": {"question-2": {"action": "decline"}}});
    let again = ask(&mut client, "elicit_several", answers).await["result"].take();
    assert_eq!(again["inputRequests"].as_object().unwrap().len(), 1, "{again}");
    let answers =
        json!({"inputResponses": {"question-1": name("Ada")}, "requestState": again["requestState"]});
    let last = ask(&mut client, "elicit_several", answers).await["result"].take();
    assert_eq!(last["content"][0]["text"], "Ada and declined");
}

#[tokio::test]
async fn answers_that_are_none_are_refused() {
    let mut client = MemoryClient::modern(TestServer::demo().in_memory(&TaskTracker::new()));
    for more in [
        json!({"inputResponses": []}),
        json!({"inputResponses": {"question-1": "Ada"}}),
        json!({"requestState": "forged"}),
        json!({"requestState": 1}),
    ] {
        assert_eq!(ask(&mut client, "elicit", more.clone()).await["error"]["code"], -32602, "{more}");
    }
}

#[tokio::test]
async fn a_pause_has_state_and_no_requests() {
    let mut client = MemoryClient::modern(TestServer::demo().in_memory(&TaskTracker::new()));
    let pause = ask(&mut client, "pause", json!({})).await["result"].take();
    assert!(pause.get("inputRequests").is_none(), "{pause}");
    let state = json!({"requestState": pause["requestState"]});
    assert_eq!(ask(&mut client, "pause", state).await["result"]["content"][0]["text"], "back again");
}

#[tokio::test]
async fn a_client_without_capabilities_gets_no_requests() {
    let mut client = MemoryClient::modern(TestServer::demo().in_memory(&TaskTracker::new()));
    let refused = client.request("tools/call", json!({"name": "elicit_url"})).await["error"].take();
    assert_eq!(refused["code"], -32021);
    assert_eq!(refused["data"]["requiredCapabilities"], json!({"elicitation": {"url": {}}}));
    let mut older =
        MemoryClient::legacy(TestServer::demo().in_memory(&TaskTracker::new()), "2025-11-25").await;
    let told = older.call("sample", json!({})).await;
    assert_eq!((&told["isError"], &told["content"][0]["text"]), (&json!(true), &json!(NOT_DECLARED)));
}

const NOT_DECLARED: &str = "the client did not declare {\"sampling\":{}}";

#[tokio::test]
async fn legacy_server_requests_have_ids_of_their_own() {
    let server = TestServer::new("asking").with_async_tool("ask", async |_, context: ToolContext| {
        let questions = [ServerRequest::roots(), ServerRequest::sample("Go on.")];
        Ok(json!({"answers": context.send_requests(&questions).await?}))
    });
    let capabilities = json!({"roots": {}, "sampling": {}});
    let mut client = MemoryClient::new(server.in_memory(&TaskTracker::new()));
    let hello = json!({"protocolVersion": "2024-11-05", "capabilities": capabilities});
    assert_eq!(client.request("initialize", hello).await["result"]["protocolVersion"], "2024-11-05");
    let call = client.start("tools/call", json!({"name": "ask"})).await;
    let (roots, sample) = (client.next().await, client.next().await);
    assert_eq!((&roots["id"], &roots["method"]), (&json!(1), &json!("roots/list")));
    assert_eq!(sample["params"]["messages"][0]["content"]["text"], "Go on.");
    for (question, result) in [(&sample, json!({"model": "m"})), (&roots, json!({"roots": []}))] {
        client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result})).await;
    }
    let answer = client.next().await;
    assert_eq!(answer["id"], call);
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(text, r#"{"answers":[{"roots":[]},{"model":"m"}]}"#);
    client.start("tools/call", json!({"name": "ask"})).await;
    let question = client.next().await;
    client.next().await;
    let error = json!({"code": -1, "message": "no"});
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "error": error})).await;
    client.send(&json!({"jsonrpc": "2.0", "id": 4, "result": {}})).await;
    let refused = client.next().await;
    assert_eq!(refused["result"]["content"][0]["text"], "the client refused `roots/list`: -1 no");
}

fn declare(client: &mut MemoryClient, capabilities: Value) {
    client.meta.as_mut().unwrap()[CAPABILITIES] = capabilities;
}
