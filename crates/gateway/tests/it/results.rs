//! Limits and checks of results.

use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_access::Rights;
use toolbay_access::{Access, Principal};
use toolbay_config::{ServerConfig, ServerOptions, ValidateOutput};
use toolbay_gateway::{Gateway, GatewayOptions};
use toolbay_host::{Connector, Endpoint, Host, HostOptions, LogLine};
use toolbay_protocol::Revision;
use toolbay_results::LazyResultStore;
use toolbay_testkit::{TestServer, ToolError};

use crate::{
    http::Ask,
    principals::{Tokens, config},
    test_gateway::{modern, rpc},
};

/// A hub whose server `s` has limits, with the tokens `ann` and `ben`.
struct LimitedHub {
    host: Host,
    address: String,
    _results: TempDir,
    _tasks: TaskTracker,
}

/// The result that a call was given.
fn given(params: &str) -> Result<String, ToolError> {
    let params: Value = serde_json::from_str(params).unwrap();
    let mut result = params["arguments"]["result"].clone();
    result["resultType"] = "complete".into();
    Ok(result.to_string())
}

/// A server whose results are what it is given.
fn server() -> TestServer {
    let structured = json!({"type": "object", "required": ["rows"], "properties": {
        "rows": {"type": "array", "items": {"type": "integer"}}}});
    let strict = json!({"type": "object", "required": ["rows"], "properties": {
        "rows": {"type": "array", "minItems": 1000, "items": {"type": "integer"}}}});
    TestServer::new("s")
        .with_raw_tool("give", given)
        .with_raw_tool("rows", given)
        .describe_tool("rows", json!({ "outputSchema": structured }))
        .with_raw_tool("many_rows", given)
        .describe_tool("many_rows", json!({ "outputSchema": strict }))
}

impl LimitedHub {
    async fn start(tuning: ServerOptions, server: TestServer) -> Self {
        let connection = server.in_process();
        let connector = Connector::new(move |_| Some(Endpoint::InProcess(connection.clone())));
        let options = HostOptions { connector: Some(connector), ..HostOptions::default() };
        let host = Host::start(&[ServerConfig { tuning, ..config("s") }], Vec::new(), &options);
        host.settled().await;
        let results = tempfile::tempdir().unwrap();
        let user = |name: &str| {
            let access = Access {
                principal: Principal::user("https://idp", name),
                rights: Rights::default(),
                expires: None,
                revoked: CancellationToken::new(),
            };
            (name.to_owned(), Arc::new(access))
        };
        let options = GatewayOptions {
            authenticators: vec![Arc::new(Tokens([user("ann"), user("ben")].into()))],
            results: Some(Arc::new(LazyResultStore::new(results.path().join("results")))),
            ..GatewayOptions::default()
        };
        let gateway = Gateway::new(host.clone(), options);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let tasks = TaskTracker::new();
        tasks.spawn(async move { gateway.serve_http(listener, CancellationToken::new()).await });
        Self { host, address, _results: results, _tasks: tasks }
    }

    async fn ask(&self, user: &str, message: Value) -> Value {
        let ask = modern(message).header("authorization", &format!("Bearer {user}"));
        ask.send(&self.address).await.json().await
    }

    async fn call(&self, tool: &str, result: Value) -> Value {
        let params = json!({ "name": format!("s__{tool}"), "arguments": { "result": result } });
        self.ask("ann", rpc(1, "tools/call", params)).await["result"].clone()
    }

    fn log(&self) -> String {
        let lines = self.host.server("s").unwrap().log().tail(100);
        lines.iter().map(|line: &LogLine| format!("{}\n", line.text)).collect()
    }
}

fn limit(bytes: usize) -> ServerOptions {
    ServerOptions { max_result: Some(bytes), ..ServerOptions::default() }
}

fn text(text: impl Into<String>) -> Value {
    json!({ "type": "text", "text": text.into() })
}

fn uri(result: &Value) -> String {
    let text = result.to_string();
    let rest = text.split_once("toolbay-result://").unwrap_or_else(|| panic!("no link: {text}")).1;
    format!("toolbay-result://{}", rest.chars().take_while(char::is_ascii_alphanumeric).collect::<String>())
}

#[tokio::test]
async fn a_long_result_is_cut_and_its_owner_alone_reads_the_rest() {
    let hub = LimitedHub::start(limit(1_000), server()).await;
    let all = "line\n".repeat(5_000);
    let result = json!({ "content": [text(&all)], "isError": true, "_meta": { "x/y": 1 } });
    let cut = hub.call("give", result.clone()).await;
    assert_eq!(
        (&cut["isError"], &cut["_meta"]["x/y"], &cut["resultType"]),
        (&json!(true), &json!(1), &json!("complete"))
    );
    assert!(cut["content"][0]["text"].as_str().unwrap().len() < 1_300, "{cut}");
    let read =
        |user: &'static str, uri: String| hub.ask(user, rpc(2, "resources/read", json!({ "uri": uri })));
    let page = read("ann", uri(&cut)).await;
    assert_eq!(page["result"]["contents"][0]["text"], all);
    assert_eq!(page["result"]["resultType"], "complete");
    assert!(page["result"]["ttlMs"].is_number(), "as every resource of that revision: {page}");
    let foreign = read("ben", uri(&cut)).await;
    assert!(foreign["error"].is_object(), "{foreign}");
    let part = read("ann", format!("{}?offset=5&limit=7", uri(&cut))).await;
    assert!(
        part["result"]["contents"][0]["text"].as_str().unwrap().starts_with("line\n[bytes 5 to 10 of 25000"),
        "{part}"
    );
    let bad = read("ann", format!("{}?offset=x", uri(&cut))).await;
    assert!(bad["error"]["message"].as_str().unwrap().contains("needs a number"), "{bad}");
    let short = json!({ "content": [text("short")], "resultType": "complete" });
    assert_eq!(hub.call("give", short.clone()).await["content"], short["content"]);
}

#[tokio::test]
async fn a_limit_of_a_tool_counts_more_than_that_of_its_server() {
    let mut tuning = limit(1_000);
    for (tool, max_result) in [("give", 0), ("rows", 100)] {
        tuning.tool.entry(tool.to_owned()).or_default().max_result = Some(max_result);
    }
    let hub = LimitedHub::start(tuning, server()).await;
    let result = json!({ "content": [text("x".repeat(500)), text("y".repeat(2_000))], "structuredContent": { "rows": [] } });
    assert_eq!(hub.call("give", result.clone()).await["content"], result["content"]);
    let length = |result: &Value| result["content"].to_string().len();
    assert!(length(&hub.call("rows", result.clone()).await) < 500);
    assert!((900..1_500).contains(&length(&hub.call("many_rows", result).await)));
}

#[tokio::test]
async fn structured_content_that_is_cut_matches_its_schema_or_the_result_is_an_error() {
    let hub = LimitedHub::start(limit(2_000), server()).await;
    let rows: Vec<u32> = (0..5_000).collect();
    let result = json!({ "content": [text("rows")], "structuredContent": { "rows": rows } });
    let cut = hub.call("rows", result.clone()).await;
    let kept = cut["structuredContent"]["rows"].as_array().unwrap().len();
    assert!(kept > 100 && cut.get("isError").is_none(), "{cut}");
    // A client that checks would fail without structured content, and with too few rows.
    let cut = hub.call("many_rows", result).await;
    assert!(cut["isError"] == true && cut.get("structuredContent").is_none(), "{cut}");
    assert!(cut["content"][1]["text"].as_str().unwrap().contains("The call succeeded"), "{cut}");
}

#[tokio::test]
async fn images_become_links_that_a_client_of_any_revision_can_read() {
    let hub = LimitedHub::start(limit(1_000), server().revision(Revision::V2025_06_18)).await;
    let image = json!({ "type": "image", "mimeType": "image/png", "data": "QUJD".repeat(1_000) });
    let cut = hub.call("give", json!({ "content": [text("see"), image] })).await;
    assert_eq!(
        (&cut["content"][0]["text"], &cut["content"][1]["type"]),
        (&json!("see"), &json!("resource_link"))
    );
    let read = hub.ask("ann", rpc(2, "resources/read", json!({ "uri": uri(&cut) }))).await;
    let contents = &read["result"]["contents"][0];
    assert_eq!((&contents["mimeType"], &contents["blob"]), (&json!("image/png"), &image["data"]));
    // 2024-11-05 knows no links.
    let mut session = String::new();
    for message in [
        rpc(
            0,
            "initialize",
            json!({ "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": { "name": "old", "version": "0" } }),
        ),
        rpc(1, "tools/call", json!({ "name": "s__give", "arguments": { "result": { "content": [image] } } })),
    ] {
        let mut ask = Ask::post(&message).header("authorization", "Bearer ann");
        if !session.is_empty() {
            ask = ask.header("mcp-session-id", &session);
        }
        let answer = ask.send(&hub.address).await;
        session = answer.header("mcp-session-id").unwrap_or_default().to_owned();
        let response = answer.json().await;
        if response["id"] == 1 {
            let block = &response["result"]["content"][0];
            assert!(
                block["text"]
                    .as_str()
                    .unwrap()
                    .starts_with("[image/png, about 3000 bytes: toolbay-result://"),
                "{block}"
            );
        }
    }
}

#[tokio::test]
async fn results_are_checked_by_the_output_schema_where_that_is_wanted() {
    let good = json!({ "content": [], "structuredContent": { "rows": [1] } });
    let bad = json!({ "content": [text("secret")], "structuredContent": { "rows": [1, "two"] }, "_meta": { "a/b": 2 } });
    let missing = json!({ "content": [text("nothing")] });
    let failed = json!({ "content": [text("no")], "isError": true });
    let with = |validate_output| ServerOptions { validate_output, ..ServerOptions::default() };

    let hub = LimitedHub::start(with(ValidateOutput::Off), server()).await;
    assert_eq!(hub.call("rows", bad.clone()).await["structuredContent"], bad["structuredContent"]);
    assert!(!hub.log().contains("outputSchema"));

    let hub = LimitedHub::start(with(ValidateOutput::Warn), server()).await;
    assert_eq!(hub.call("rows", bad.clone()).await["structuredContent"], bad["structuredContent"]);
    assert!(
        hub.log().contains("a result of `rows` does not match its outputSchema: at `/rows/1`"),
        "{}",
        hub.log()
    );

    let hub = LimitedHub::start(with(ValidateOutput::Enforce), server()).await;
    assert_eq!(hub.call("rows", good.clone()).await["structuredContent"], good["structuredContent"]);
    assert_eq!(hub.call("rows", failed.clone()).await["content"], failed["content"]);
    assert_eq!(
        hub.call("give", missing.clone()).await["content"],
        missing["content"],
        "it declares no schema"
    );
    for (result, part) in [(&bad, "at `/rows/1`: "), (&missing, "there is no `structuredContent`")] {
        let refused = hub.call("rows", result.clone()).await;
        let text = refused["content"][0]["text"].as_str().unwrap();
        assert!(refused["isError"] == true && text.contains(part), "{refused}");
        assert!(
            refused.get("structuredContent").is_none() && !refused.to_string().contains("secret"),
            "{refused}"
        );
        assert_eq!(
            (&refused["_meta"]["a/b"], &refused["resultType"]),
            (&result["_meta"]["a/b"], &json!("complete"))
        );
    }
}

#[tokio::test]
async fn a_tool_of_the_hub_reads_parts_where_there_are_limits() {
    let hub = LimitedHub::start(limit(1_000), server()).await;
    let names = |list: Value| -> Vec<String> {
        let tools = list["result"]["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    let listed = names(hub.ask("ann", rpc(1, "tools/list", json!({}))).await);
    assert_eq!(listed.last().unwrap(), "read_result");
    let rows: Vec<Value> = (0..2_000).map(|id| json!({ "id": id })).collect();
    let lines: String = (0..5_000).map(|line| format!("line {line}\n")).collect();
    let cut =
        hub.call("give", json!({ "content": [text(&lines)], "structuredContent": { "rows": rows } })).await;
    let read = async |user: &str, arguments: Value| {
        let params = json!({ "name": "read_result", "arguments": arguments });
        hub.ask(user, rpc(2, "tools/call", params)).await["result"].clone()
    };
    let id = uri(&cut["content"][0]);
    let part = read("ann", json!({ "id": id, "offset": 7, "limit": 9 })).await;
    assert!(part["content"][0]["text"].as_str().unwrap().starts_with("line 1\n[bytes 7 to 14 of "), "{part}");
    let found = read("ann", json!({ "id": id, "grep": "^line 49(98|99)$" })).await;
    assert!(found["content"][0]["text"].as_str().unwrap().contains(": line 4999\n[2 matches"), "{found}");
    let pointed = read("ann", json!({ "id": uri(&cut["content"][1]), "pointer": "/rows/1999/id" })).await;
    assert_eq!(pointed["content"][0]["text"], "1999");
    for (user, arguments) in [
        ("ben", json!({ "id": id })),
        ("ann", json!({ "id": "no" })),
        ("ann", json!({})),
        ("ann", json!({ "id": id, "grep": "(" })),
    ] {
        let refused = read(user, arguments.clone()).await;
        assert_eq!(refused["isError"], true, "{arguments}: {refused}");
    }
    let unlimited = LimitedHub::start(ServerOptions::default(), server()).await;
    let listed = names(unlimited.ask("ann", rpc(1, "tools/list", json!({}))).await);
    assert!(!listed.contains(&"read_result".to_owned()), "{listed:?}");
}
