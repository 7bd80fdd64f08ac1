//! Content types, limits, batches, what is no message.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use toolbay_gateway::GatewayOptions;

use crate::{
    http::{Answer, Ask},
    test_gateway::{Hub, call, modern, rpc, server},
};

#[tokio::test]
async fn only_json_is_taken() {
    let hub = Hub::start().await;
    let ask = Ask::post(&call(1, "echo", json!({})));
    for kind in
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonp", ""]
    {
        assert_eq!(hub.send(ask.clone().header("content-type", kind)).await.status, 415, "{kind}");
    }
    assert_eq!(hub.send(ask.clone().without("content-type")).await.status, 415);
    let twice = ask.clone().also("content-type", "text/plain");
    assert_eq!(hub.send(twice).await.status, 415, "two of them");
    assert_eq!(hub.calls(), 0);
    for kind in ["application/json", "Application/JSON; charset=utf-8"] {
        assert_eq!(hub.send(ask.clone().header("content-type", kind)).await.status, 200, "{kind}");
    }
}

#[tokio::test]
async fn clients_must_be_able_to_read_the_answer() {
    let hub = Hub::start().await;
    let ask = Ask::post(&call(1, "echo", json!({})));
    for accept in ["text/html", "image/*", "application/xml, text/plain"] {
        assert_eq!(hub.send(ask.clone().header("accept", accept)).await.status, 406, "{accept}");
    }
    assert_eq!(hub.calls(), 0);
    for accept in
        ["*/*", "application/json", "application/*;q=0.5", "text/event-stream, application/json;q=1"]
    {
        assert_eq!(hub.send(ask.clone().header("accept", accept)).await.status, 200, "{accept}");
    }
    assert_eq!(hub.send(ask.without("accept")).await.status, 200);
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_before_it_arrives() {
    let hub = Hub::start().await;
    // Announced: not a byte is waited for.
    let announced = Ask::new("POST", "/mcp")
        .header("content-type", "application/json")
        .header("content-length", &(64 * 1024 * 1024).to_string());
    assert_eq!(hub.send(announced).await.status, 413);
    // Not announced: no more than the limit is taken.
    let chunked = Ask::new("POST", "/mcp")
        .header("content-type", "application/json")
        .header("transfer-encoding", "chunked");
    let mut stream = chunked.open(&hub.address).await;
    let chunk = format!("{:x}\r\n{}\r\n", 1024 * 1024, " ".repeat(1024 * 1024));
    let mut sent = 0;
    while sent < 64 && stream.get_mut().write_all(chunk.as_bytes()).await.is_ok() {
        sent += 1;
    }
    assert!(sent < 64, "the hub took all of it");
    assert_eq!(hub.calls(), 0);
}

#[tokio::test]
async fn a_large_body_within_the_limit_arrives_whole() {
    let hub = Hub::start().await;
    let text = "x".repeat(8 * 1024 * 1024);
    let answer = hub.send(Ask::post(&call(1, "echo", json!({"text": text})))).await;
    assert_eq!(answer.status, 200);
    let answer = answer.json().await;
    assert_eq!(answer["result"]["content"][0]["text"].as_str().unwrap().len(), text.len() + 11);
}

#[tokio::test]
async fn a_body_that_comes_too_slowly_is_given_up() {
    let mut options = GatewayOptions::default();
    options.limits.body_timeout = Duration::from_millis(100);
    let hub = Hub::with(options).await;
    let slow = Ask::post_text("{").header("content-length", "1000");
    assert_eq!(Answer::read(slow.open(&hub.address).await).await.status, 408);
}

#[tokio::test]
async fn headers_have_limits() {
    let hub = Hub::start().await;
    let ask = Ask::new("GET", "/health");
    let with = |count: usize| (0..count).fold(ask.clone(), |ask, n| ask.also(&format!("x-{n}"), "1"));
    assert_eq!(hub.send(with(50)).await.status, 200);
    assert_eq!(hub.send(with(100)).await.status, 431);
    // The rest of it is not read, so the answer may be lost with the connection; what counts is that it ends.
    let long = ask.header("x-long", &"x".repeat(100 * 1024));
    let answer = Answer::try_read(long.open(&hub.address).await).await;
    assert!(answer.is_none_or(|answer| answer.status == 431));
    assert_eq!(hub.calls(), 0);
}

#[tokio::test]
async fn what_is_no_http_is_told_so() {
    let hub = Hub::start().await;
    for request in ["NONSENSE\r\n\r\n", "GET /health HTTP/1.1\r\nbad header\r\n\r\n"] {
        let mut stream = tokio::net::TcpStream::connect(&hub.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        assert_eq!(Answer::read(tokio::io::BufReader::new(stream)).await.status, 400, "{request}");
    }
}

/// S19: what is ambiguous is refused, and nothing of it reaches a server.
#[tokio::test]
async fn malformed_messages_are_refused_with_the_right_code() {
    let hub = Hub::start().await;
    let params = r#""params":{"name":"s__echo","arguments":{}}"#;
    let cases = [
        ("{", -32700),
        ("", -32700),
        ("nonsense", -32700),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} trailing", -32700),
        ("\"text\"", -32600),
        ("1", -32600),
        ("null", -32600),
        ("{}", -32600),
        (r#"{"id":1,"method":"tools/call",PARAMS}"#, -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"tools/call",PARAMS}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call",PARAMS}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call",PARAMS}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"Method":"tools/call",PARAMS}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call",PARAMS,"Params":{}}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call",PARAMS,"paramſ":{}}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"tools/call",PARAMS}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"tools/call",PARAMS}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":5,PARAMS}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"x"}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"s__echo"}}"#, -32600),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__echo","n\u0061me":"a"}}"#,
            -32600,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__echo","Name":"a"}}"#, -32600),
    ];
    for (text, code) in cases {
        let text = text.replace("PARAMS", params);
        assert_eq!(hub.send(Ask::post_text(text.clone())).await.refusal().await, (400, code), "{text}");
    }
    let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
    let deep = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":{deep}}}}}"#);
    assert_eq!(hub.send(Ask::post_text(deep)).await.refusal().await, (400, -32700));
    let not_utf8 = [&b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}"[..]].concat();
    assert_eq!(hub.send(Ask::post_text(not_utf8)).await.refusal().await, (400, -32700));
    assert_eq!(hub.calls(), 0);
}

#[tokio::test]
async fn malformed_calls_are_refused_in_the_envelope() {
    let hub = Hub::start().await;
    for params in [
        json!({}),
        json!({"name": 5}),
        json!({"name": null}),
        json!({"name": "s__echo", "arguments": []}),
        json!({"name": "s__echo", "arguments": "x"}),
        json!({"name": "s__nothing"}),
        json!({"name": "echo"}),
    ] {
        let answer = hub.send(Ask::post(&rpc(1, "tools/call", params.clone()))).await;
        assert_eq!(answer.refusal().await, (200, -32602), "{params}");
    }
    assert_eq!(hub.calls(), 0);
}

#[tokio::test]
async fn arguments_that_do_not_fit_come_back_as_a_failed_result() {
    let hub = Hub::start().await;
    let message = call(1, "strict", json!({"n": "one"}));
    for (ask, modern) in [(Ask::post(&message), false), (modern(message.clone()), true)] {
        let answer = hub.send(ask).await;
        assert_eq!(answer.status, 200);
        let result = answer.json().await["result"].take();
        assert_eq!(result["isError"], true, "{result}");
        assert!(result["content"][0]["text"].as_str().unwrap().contains("/n"), "{result}");
        assert_eq!(result.get("resultType").is_some(), modern);
    }
    assert_eq!(hub.calls(), 0);
}

#[tokio::test]
async fn batches_exist_in_one_revision_only() {
    let hub = Hub::start().await;
    let batch = json!([
        rpc(1, "ping", json!({})),
        call("two", "echo", json!({"n": 2})),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 3, "Method": "ping"},
        rpc(4, "initialize", json!({"protocolVersion": "2025-03-26"})),
    ]);
    let session = hub.session("2025-03-26").await;
    for ask in [
        Ask::post(&batch),
        Ask::post(&batch).header("mcp-session-id", &session),
        Ask::post(&batch).header("mcp-protocol-version", "2025-03-26"),
    ] {
        let answer = hub.send(ask).await;
        assert_eq!(answer.status, 200);
        let answers = answer.json().await;
        let ids: Vec<&Value> = answers.as_array().unwrap().iter().map(|answer| &answer["id"]).collect();
        assert_eq!(ids, [&json!(1), &json!("two"), &json!(null), &json!(4)], "{answers}");
        assert_eq!(answers[2]["error"]["code"], -32600);
        assert_eq!(answers[3]["error"]["code"], -32600);
    }
    let reached = hub.calls();
    let newer = hub.session("2025-11-25").await;
    for ask in [
        Ask::post(&batch).header("mcp-session-id", &newer),
        Ask::post(&batch).header("mcp-protocol-version", "2025-06-18"),
        Ask::post(&batch).header("mcp-protocol-version", "2026-07-28"),
        Ask::post(&json!([])),
    ] {
        assert_eq!(hub.send(ask).await.refusal().await, (400, -32600));
    }
    assert_eq!(hub.calls(), reached);
    let notifications = json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]);
    assert_eq!(hub.send(Ask::post(&notifications)).await.status, 202);
}

/// A handshake written on several lines must not become several messages to a server that reads lines.
#[tokio::test]
async fn what_a_client_says_about_itself_reaches_servers_on_one_line() {
    let hub =
        Hub::of(server().revisions(toolbay_testkit::SupportedRevisions::Modern), GatewayOptions::default())
            .await;
    let injected = r#"{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"hang"}}"#;
    let hello = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{{\"protocolVersion\":\"2025-11-25\",\
         \"capabilities\":{{\n\r\n}},\"clientInfo\":{{\"name\":\"x\",\"extra\":\n{injected}\n}}}}}}"
    );
    let answer = hub.send(Ask::post_text(hello)).await;
    let session = answer.header("mcp-session-id").unwrap().to_owned();
    let ask = Ask::post(&call(1, "echo", json!({}))).header("mcp-session-id", &session);
    assert_eq!(hub.send(ask).await.status, 200);
    let received = hub.server.received();
    let sent = received.iter().find(|text| text.contains("tools/call")).unwrap();
    assert!(!sent.contains(['\n', '\r']), "{sent}");
}
