//! The test server and clients that shake hands.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio_util::task::TaskTracker;
use toolbay_testkit::{MemoryClient, SupportedRevisions, TestServer, ToolContext};

#[tokio::test]
async fn the_handshake_declares_what_is_there() {
    let tasks = TaskTracker::new();
    let server = TestServer::new("empty").instructions("Be kind.");
    let mut client = MemoryClient::new(server.in_memory(&tasks));
    let early = client.request("tools/list", json!({})).await;
    assert_eq!(early["error"]["code"], -32600);
    let hello = client.request("initialize", json!({"protocolVersion": "1999-01-01"})).await;
    assert_eq!(hello["result"]["protocolVersion"], "2025-11-25", "an unknown version is answered with ours");
    assert_eq!(hello["result"]["serverInfo"]["name"], "empty");
    assert_eq!(hello["result"]["instructions"], "Be kind.");
    assert_eq!(hello["result"]["capabilities"], json!({"tools": {"listChanged": true}, "logging": {}}));
    drop(client);
    tasks.close();
    tasks.wait().await; // nothing is left behind
}

#[tokio::test]
async fn discover_is_unknown_to_a_legacy_server() {
    let server = TestServer::new("old").revisions(SupportedRevisions::Legacy);
    let mut client = MemoryClient::modern(server.in_memory(&TaskTracker::new()));
    assert_eq!(client.request("server/discover", json!({})).await["error"]["code"], -32601);
}

#[tokio::test]
async fn results_of_tools() {
    let server = TestServer::new("tools")
        .with_tool("object", |args| Ok(json!({"got": args})))
        .with_tool("text", |_| Ok(json!("just text")))
        .with_tool("whole", |_| Ok(json!({"content": [], "extra": 1})))
        .with_tool("fail", |_| Err("it broke".into()))
        .with_tool("panic", |_| panic!("on purpose"));
    let mut client = MemoryClient::legacy(server.in_memory(&TaskTracker::new()), "2025-11-25").await;
    let result = client.call("object", json!({"x": 1})).await;
    assert_eq!(result["structuredContent"], json!({"got": {"x": 1}}));
    assert_eq!(result["content"][0]["text"], r#"{"got":{"x":1}}"#);
    assert_eq!(
        client.call("text", json!({})).await,
        json!({"content": [{"type": "text", "text": "\"just text\""}]})
    );
    assert_eq!(client.call("whole", json!({})).await, json!({"content": [], "extra": 1}));
    let failed = client.call("fail", json!({})).await;
    assert_eq!((&failed["isError"], &failed["content"][0]["text"]), (&json!(true), &json!("it broke")));
    let unknown = client.request("tools/call", json!({"name": "none"})).await;
    assert_eq!(unknown["error"]["code"], -32602);
    let panicked = client.request("tools/call", json!({"name": "panic"})).await;
    assert_eq!(panicked["error"]["code"], -32603);
    let mut older = MemoryClient::legacy(server.in_memory(&TaskTracker::new()), "2024-11-05").await;
    assert!(older.call("object", json!({})).await.get("structuredContent").is_none());
}

#[tokio::test]
async fn lists_come_in_pages() {
    let mut server = TestServer::new("pages").page_size(2);
    for number in 0..5 {
        server = server.with_tool(format!("tool-{number}"), |_| Ok(json!({})));
    }
    let mut client = MemoryClient::legacy(server.in_memory(&TaskTracker::new()), "2025-11-25").await;
    let mut names = Vec::new();
    let mut params = json!({});
    loop {
        let result = client.request("tools/list", params).await["result"].take();
        let page = result["tools"].as_array().unwrap();
        names.extend(page.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
        let Some(cursor) = result.get("nextCursor") else { break };
        params = json!({"cursor": cursor});
    }
    assert_eq!(names, ["tool-0", "tool-1", "tool-2", "tool-3", "tool-4"]);
    assert_eq!(client.request("tools/list", json!({"cursor": "x"})).await["error"]["code"], -32602);
}

#[tokio::test]
async fn resources_prompts_and_completion() {
    let server = TestServer::demo();
    let mut client = MemoryClient::legacy(server.in_memory(&TaskTracker::new()), "2025-11-25").await;
    let listed = client.request("resources/list", json!({})).await;
    assert_eq!(listed["result"]["resources"][0]["uri"], "test://readme");
    let templates = client.request("resources/templates/list", json!({})).await;
    assert_eq!(templates["result"]["resourceTemplates"][0]["uriTemplate"], "test://user/{id}");
    let read = client.request("resources/read", json!({"uri": "test://user/7"})).await;
    assert_eq!(read["result"]["contents"][0]["text"], "The user 7");
    let missing = client.request("resources/read", json!({"uri": "test://none"})).await;
    assert_eq!(missing["error"]["code"], -32002);
    let prompts = client.request("prompts/list", json!({})).await;
    assert_eq!(prompts["result"]["prompts"][1]["arguments"], json!([{"name": "name", "required": true}]));
    let prompt = client.request("prompts/get", json!({"name": "greet", "arguments": {"name": "Ada"}})).await;
    assert_eq!(prompt["result"]["messages"][0]["content"]["text"], "Greet Ada.");
    assert_eq!(client.request("prompts/get", json!({"name": "greet"})).await["error"]["code"], -32602);
    let params =
        json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "name", "value": "A"}});
    let completed = client.request("completion/complete", params).await;
    assert_eq!(completed["result"]["completion"]["values"], json!(["Ada", "Alan"]));
}

#[tokio::test]
async fn clients_are_notified_of_changes() {
    let server = TestServer::new("changing").with_resource("test://a", "1");
    let handle = server.handle();
    let mut client = MemoryClient::legacy(server.in_memory(&TaskTracker::new()), "2025-11-25").await;
    client.request("ping", json!({})).await;
    handle.add_tool("new", |_| Ok(json!({})));
    assert_eq!(client.next().await["method"], "notifications/tools/list_changed");
    assert_eq!(client.request("tools/list", json!({})).await["result"]["tools"][0]["name"], "new");
    handle.notify_updated("test://a"); // nobody subscribed yet
    client.request("resources/subscribe", json!({"uri": "test://a"})).await;
    handle.set_resource("test://a", "2");
    let update = client.next().await;
    assert_eq!(
        (&update["method"], &update["params"]["uri"]),
        (&json!("notifications/resources/updated"), &json!("test://a"))
    );
    client.request("resources/unsubscribe", json!({"uri": "test://a"})).await;
    handle.notify_updated("test://a");
    handle.remove_tool("new");
    assert_eq!(client.next().await["method"], "notifications/tools/list_changed");
}

#[tokio::test]
async fn calls_run_side_by_side_and_can_be_cancelled() {
    let seen: Arc<Mutex<Vec<ToolContext>>> = Arc::default();
    let kept = seen.clone();
    let server = TestServer::new("slow")
        .with_async_tool("hang", move |_, context| {
            kept.lock().unwrap().push(context);
            std::future::pending()
        })
        .with_tool("quick", |_| Ok(json!({})));
    let handle = server.handle();
    let mut client = MemoryClient::legacy(server.in_memory(&TaskTracker::new()), "2025-11-25").await;
    let hanging = client.start("tools/call", json!({"name": "hang"})).await;
    client.call("quick", json!({})).await;
    let context = seen.lock().unwrap()[0].clone();
    assert!(!context.is_cancelled());
    let params = json!({"requestId": hanging});
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})).await;
    context.cancelled().await;
    client.call("quick", json!({})).await; // and no answer came before this one
    assert_eq!(handle.count("notifications/cancelled"), 1);
    assert_eq!(handle.count("tools/call"), 3);
    client.start("tools/call", json!({"name": "hang"})).await;
    client.call("quick", json!({})).await;
    let context = seen.lock().unwrap()[1].clone();
    drop(client);
    context.cancelled().await; // a client that is gone wants no answer
}

#[tokio::test]
async fn progress_and_log_messages_come_before_the_answer() {
    let server = TestServer::demo();
    let mut client = MemoryClient::legacy(server.in_memory(&TaskTracker::new()), "2025-11-25").await;
    let params = json!({"name": "sleep", "arguments": {"ms": 10, "progress_ms": 5},
        "_meta": {"progressToken": "t"}});
    let id = client.start("tools/call", params).await;
    for done in [5, 10] {
        assert_eq!(
            client.next().await["params"],
            json!({"progressToken": "t", "progress": done, "total": 10})
        );
    }
    assert_eq!(client.next().await["id"], id);
    let id = client.start("tools/call", json!({"name": "log", "arguments": {"count": 2}})).await;
    let first = client.next().await;
    assert_eq!(
        (&first["method"], &first["params"]["data"]),
        (&json!("notifications/message"), &json!({"number": 1}))
    );
    client.next().await;
    assert_eq!(client.next().await["id"], id);
    client.request("logging/setLevel", json!({"level": "error"})).await;
    client.call("log", json!({"count": 2})).await; // too quiet now
}

#[tokio::test]
async fn texts_pass_to_the_letter() {
    let server = TestServer::demo();
    let mut client = MemoryClient::legacy(server.in_memory(&TaskTracker::new()), "2025-11-25").await;
    let odd = r#"{"content":[], "n" : 1e400,"big":123456789012345678901234567890,"f":1.0,"u":"\u0041\/"}"#;
    let params = json!({"name": "raw", "arguments": {"json": odd}});
    client.start("tools/call", params).await;
    assert!(client.next_text().await.ends_with(&format!("\"result\":{odd}}}")));
    let params = r#"{"name":"mirror",  "arguments":{"n":1e400,"x":[1.0,-0]},"unknown":{"a":null}}"#;
    client
        .send_text(format!(r#"{{"jsonrpc":"2.0","id":"m","method":"tools/call","params":{params}}}"#))
        .await;
    let answer: Value = serde_json::from_str(&client.next_text().await).unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], params);
}

#[tokio::test]
async fn what_is_no_message_is_refused_and_remembered() {
    let server = TestServer::new("strict");
    let mut client = MemoryClient::legacy(server.in_memory(&TaskTracker::new()), "2025-11-25").await;
    client.send_text("{bad".to_owned()).await;
    assert_eq!(client.next().await["error"]["code"], -32700);
    assert_eq!(server.handle().received().last().unwrap(), "{bad");
}
