//! Clients that are listed fewer tools than there are, and the hub's own tools that find and call the others.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolbay_gateway::{ExposureOptions, Gateway, GatewayOptions};
use toolbay_host::{Host, HostOptions, InProcess, Naming};
use toolbay_policy::{Exposure, Policy, PolicySet, Profile, ProfileName};
use toolbay_protocol::{Message, ServerName};
use toolbay_testkit::{ElicitResult, TestServer, ToolContext};
use toolbay_transport::{Connection, Incoming, memory};

use crate::test_gateway::{Hub, modern, rpc};

const OURS: [&str; 5] =
    ["search_tools", "get_tool_details", "call_tool", "call_tool_write", "call_tool_destructive"];

/// A server with tools of every tier.
fn notes() -> TestServer {
    let schema = json!({"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}});
    TestServer::new("notes")
        .with_tool_schema("get_note", schema.clone(), Ok)
        .describe_tool(
            "get_note",
            json!({"description": "Read a note", "annotations": {"readOnlyHint": true}}),
        )
        .with_tool_schema("create_note", schema.clone(), Ok)
        .describe_tool(
            "create_note",
            json!({"description": "Write a new note", "annotations": {"destructiveHint": false}}),
        )
        .with_tool_schema("delete_note", schema, Ok)
        .describe_tool("delete_note", json!({"description": "Remove a note for good"}))
        .with_async_tool("steps", |args, context: ToolContext| async move {
            context.progress(1.0, 2.0).await;
            Ok(args)
        })
        .with_async_tool("confirm", |_, context: ToolContext| async move {
            let form = json!({"type": "object", "properties": {}});
            match context.elicit("Sure?", form).await? {
                ElicitResult::Accepted(_) => Ok(json!("yes")),
                ElicitResult::Declined | ElicitResult::Cancelled => Ok(json!("no")),
            }
        })
}

fn exposed(mode: Exposure) -> GatewayOptions {
    let exposure = ExposureOptions { mode, ..ExposureOptions::default() };
    GatewayOptions { exposure, ..GatewayOptions::default() }
}

async fn host(servers: Vec<(&str, TestServer)>, naming: Naming) -> Host {
    let connect = |(name, server): (&str, TestServer)| -> (ServerName, InProcess) {
        (ServerName::new(name), Arc::new(move |tasks| server.in_memory(tasks)))
    };
    let options = HostOptions { naming, ..HostOptions::default() };
    let host = Host::start(&[], servers.into_iter().map(connect).collect(), &options);
    host.settled().await;
    host
}

/// A client on a connection in memory.
struct Client {
    wire: Connection,
    initialized: Value,
    /// Notifications and server requests that came so far.
    before: Vec<Value>,
}

impl Client {
    async fn open(options: GatewayOptions, name: &str) -> Self {
        Self::of(&host(vec![("notes", notes())], Naming::Prefix).await, options, name).await
    }

    async fn of(host: &Host, options: GatewayOptions, name: &str) -> Self {
        let gateway = Gateway::new(host.clone(), options);
        let (wire, theirs) = memory::pair(host.tasks());
        host.tasks().spawn(async move { gateway.serve_connection(theirs, CancellationToken::new()).await });
        let mut client = Self { wire, initialized: Value::Null, before: Vec::new() };
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": name, "version": "1"},
        });
        client.initialized = client.ask("initialize", params).await["result"].take();
        client
    }

    async fn send(&mut self, message: &Value) {
        self.wire.outgoing.send(message.to_string().into()).await.unwrap();
    }

    async fn next(&mut self) -> Value {
        let Some(Incoming::Message(message)) = self.wire.incoming.recv().await else { panic!("it ended") };
        serde_json::from_slice(message.text()).unwrap()
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.send(&rpc(1, method, params)).await;
        loop {
            let Some(Incoming::Message(message)) = self.wire.incoming.recv().await else {
                panic!("it ended")
            };
            let value: Value = serde_json::from_slice(message.text()).unwrap();
            if let Message::Response(_) = message {
                return value;
            }
            if value["method"] == "elicitation/create" {
                self.send(&json!({"jsonrpc": "2.0", "id": value["id"], "result": {"action": "accept", "content": {}}}))
                    .await;
            }
            self.before.push(value);
        }
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments})).await["result"].take()
    }

    async fn names(&mut self) -> Vec<String> {
        names(&self.ask("tools/list", json!({})).await["result"])
    }
}

fn names(list: &Value) -> Vec<String> {
    list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

#[tokio::test]
async fn a_client_that_searches_is_listed_the_tools_of_the_hub_and_calls_hidden_ones_by_name() {
    let mut client = Client::open(exposed(Exposure::Search), "test").await;
    assert_eq!(client.names().await, OURS);
    let instructions = client.initialized["instructions"].as_str().unwrap();
    assert!(instructions.starts_with("# toolbay\n\n5 of 5 tools are not listed, because"), "{instructions}");
    assert!(instructions.contains("- notes, 5 tools: get_note, create_note"), "{instructions}");
    let got = client.call("notes__get_note", json!({"id": 3})).await;
    assert_eq!(got["structuredContent"], json!({"id": 3}));
}

#[tokio::test]
async fn found_tools_are_appended_to_the_list_of_the_session_and_it_is_told() {
    let mut client = Client::open(exposed(Exposure::Search), "test").await;
    client.names().await;
    let found = client.call("search_tools", json!({"query": "delete a note", "limit": 1})).await;
    assert!(text(&found).starts_with(
        "notes__delete_note(id: integer*) — Remove a note for good [call_tool_destructive]\n1 of "
    ));
    let tool = &found["structuredContent"]["tools"][0];
    assert_eq!(
        (&tool["name"], &tool["server"], &tool["call_with"]),
        (&json!("notes__delete_note"), &json!("notes"), &json!("call_tool_destructive"))
    );
    assert!(
        tool["score"].as_f64().unwrap() > 0.0 && found["structuredContent"]["total"].as_u64().unwrap() >= 1
    );
    let told = match client.before.pop() {
        Some(told) => told,
        None => client.next().await,
    };
    assert_eq!(told["method"], "notifications/tools/list_changed");
    let first: Vec<String> =
        OURS.iter().map(|name| (*name).to_owned()).chain(["notes__delete_note".to_owned()]).collect();
    assert_eq!(client.names().await, first);
    client.call("search_tools", json!({"query": "get_note\ndelete_note", "limit": 1})).await;
    let mut second = first;
    second.push("notes__get_note".to_owned());
    assert_eq!(client.names().await, second, "new ones come last");
}

#[tokio::test]
async fn nothing_is_found_where_nothing_fits_and_the_words_are_named() {
    let mut client = Client::open(exposed(Exposure::Search), "test").await;
    let found = client.call("search_tools", json!({"query": "zymurgy"})).await;
    assert_eq!(found["structuredContent"], json!({"tools": [], "total": 0, "unmatched_terms": ["zymurgy"]}));
    assert_eq!(text(&found), "No tool fits.\nIn no tool: zymurgy");
    assert_eq!(client.names().await, OURS);
    for bad in [json!({}), json!({"query": " "}), json!({"query": "note", "server": "x"})] {
        assert_eq!(client.call("search_tools", bad.clone()).await["isError"], true, "{bad}");
    }
}

#[tokio::test]
async fn tools_are_called_through_the_one_of_their_tier_and_no_other() {
    let server = notes();
    let handle = server.handle();
    let host = host(vec![("notes", server)], Naming::Prefix).await;
    let mut client = Client::of(&host, exposed(Exposure::Search), "test").await;
    let right = [
        ("call_tool", "get_note"),
        ("call_tool_write", "create_note"),
        ("call_tool_destructive", "delete_note"),
    ];
    for through in ["call_tool", "call_tool_write", "call_tool_destructive"] {
        for (fitting, tool) in right {
            let before = handle.count("tools/call");
            let arguments = json!({"name": format!("notes__{tool}"), "arguments": {"id": 1}});
            let result = client.call(through, arguments).await;
            if through == fitting {
                assert_eq!(result["structuredContent"], json!({"id": 1}), "{tool} through {through}");
            } else {
                let why = format!("`notes__{tool}` is called with `{fitting}`, not with `{through}`");
                assert_eq!((text(&result), &result["isError"]), (why.as_str(), &json!(true)));
                assert_eq!(handle.count("tools/call"), before, "{tool} through {through}");
            }
        }
    }
    let wrong = client.call("call_tool", json!({"name": "notes__get_note", "arguments": {"id": "x"}})).await;
    assert!(text(&wrong).contains("The schema:") && text(&wrong).contains(r#""required":["id"]"#), "{wrong}");
    let written =
        client.call("call_tool", json!({"name": "notes__get_note", "arguments": "{\"id\": 2}"})).await;
    assert_eq!(written["structuredContent"], json!({"id": 2}));
    let params = json!({"name": "call_tool", "arguments": {"name": "notes__got_note", "arguments": {}}});
    let unknown = client.ask("tools/call", params).await;
    assert_eq!(unknown["error"]["message"], "no server offers the tool `notes__got_note`");
    let params = json!({"name": "call_tool", "arguments": {"name": "call_tool_destructive", "arguments": {"name": "notes__delete_note"}}});
    assert!(client.ask("tools/call", params).await["error"].is_object(), "no way around the tiers");
}

#[tokio::test]
async fn what_a_server_sends_before_its_response_comes_through() {
    let mut client = Client::open(exposed(Exposure::Search), "test").await;
    let params = json!({
        "name": "call_tool_destructive",
        "arguments": {"name": "notes__steps", "arguments": {"a": 1}},
        "_meta": {"progressToken": "mine"},
    });
    let response = client.ask("tools/call", params).await;
    assert_eq!(response["result"]["structuredContent"], json!({"a": 1}));
    let progress = client.before.iter().find(|it| it["method"] == "notifications/progress").unwrap();
    assert_eq!(progress["params"]["progressToken"], "mine");
    let confirmed = client.call("call_tool_destructive", json!({"name": "notes__confirm"})).await;
    assert_eq!(text(&confirmed), "\"yes\"");
    assert!(client.before.iter().any(|it| it["method"] == "elicitation/create"));
}

#[tokio::test]
async fn details_are_definitions_and_unknown_names_are_named() {
    let mut client = Client::open(exposed(Exposure::Search), "test").await;
    let details = client.call("get_tool_details", json!({"names": ["notes__get_note", "nothing"]})).await;
    let tool = &details["structuredContent"]["tools"][0];
    assert_eq!((&tool["call_with"], &tool["inputSchema"]["required"]), (&json!("call_tool"), &json!(["id"])));
    assert_eq!(details["structuredContent"]["unknown"], json!(["nothing"]));
    assert_eq!(client.call("get_tool_details", json!({"names": "x"})).await["isError"], true);
}

#[tokio::test]
async fn lists_of_modern_clients_do_not_depend_on_what_they_did_or_who_they_are() {
    let hub = Hub::of(notes(), exposed(Exposure::Search)).await;
    let list = || async { hub.send(modern(rpc(1, "tools/list", json!({})))).await.body().await };
    let before = list().await;
    let search =
        rpc(2, "tools/call", json!({"name": "search_tools", "arguments": {"query": "delete a note"}}));
    let found = hub.send(modern(search)).await.json().await;
    assert_eq!(found["result"]["structuredContent"]["tools"][0]["name"], "s__delete_note");
    assert_eq!(found["result"]["resultType"], "complete");
    assert_eq!(list().await, before);
    assert_eq!(names(&serde_json::from_slice::<Value>(&before).unwrap()["result"]), OURS);
    let inner = json!({"name": "s__get_note", "arguments": {"id": 1}});
    let call = rpc(3, "tools/call", json!({"name": "call_tool", "arguments": inner}));
    let called = hub.send(modern(call)).await.json().await;
    assert_eq!(called["result"]["structuredContent"], json!({"id": 1}));
}

#[tokio::test]
async fn auto_hides_tools_beyond_the_budget_and_never_from_clients_that_defer_them() {
    let always_listed = vec!["*__get_*".parse().unwrap()];
    let options = |budget| {
        let exposure = ExposureOptions {
            mode: Exposure::Auto,
            budget,
            always_listed: always_listed.clone(),
            ..ExposureOptions::default()
        };
        GatewayOptions { exposure, ..GatewayOptions::default() }
    };
    let unchanged = Client::open(GatewayOptions::default(), "test").await.ask("tools/list", json!({})).await;
    let small = Client::open(options(20_000), "test").await.ask("tools/list", json!({})).await;
    assert_eq!(small, unchanged);
    let mut large = Client::open(options(10), "test").await;
    let mut expected = vec!["notes__get_note".to_owned()];
    expected.extend(OURS.map(str::to_owned));
    assert_eq!(large.names().await, expected);
    assert!(large.initialized["instructions"].as_str().unwrap().contains("more than 10"));

    let cheat = notes().describe_tool(
        "delete_note",
        json!({"_meta": {"anthropic/alwaysLoad": true, "anthropic/searchHint": "everything", "other": 1}}),
    );
    let host = host(vec![("notes", cheat)], Naming::Prefix).await;
    let mut deferring = Client::of(&host, options(10), "claude-code").await;
    let list = deferring.ask("tools/list", json!({})).await["result"].take();
    assert_eq!(list["tools"].as_array().unwrap().len(), 5);
    let meta = |name: &str| {
        list["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap()["_meta"].clone()
    };
    assert_eq!(meta("notes__get_note")["anthropic/alwaysLoad"], true);
    assert_eq!(
        meta("notes__delete_note"),
        json!({"other": 1, "anthropic/searchHint": "notes delete note id"}),
        "a server does not put its own tools before others"
    );
    let mut plain = Client::of(&host, GatewayOptions::default(), "claude-code").await;
    let list = plain.ask("tools/list", json!({})).await["result"].take();
    assert_eq!(
        list["tools"][2]["_meta"]["anthropic/alwaysLoad"], true,
        "off, everything arrives as it was sent"
    );
}

#[tokio::test]
async fn a_tool_with_the_name_of_one_of_the_hub_is_called_through_the_hub() {
    let server = TestServer::new("s")
        .with_tool("search_tools", |_| Ok(json!({"of": "server"})))
        .with_tool("other", Ok);
    let host = host(vec![("s", server)], Naming::None).await;
    let mut all = Client::of(&host, GatewayOptions::default(), "test").await;
    assert_eq!(all.call("search_tools", json!({})).await["structuredContent"], json!({"of": "server"}));
    let options = GatewayOptions {
        exposure: ExposureOptions {
            mode: Exposure::Search,
            always_listed: vec!["*".parse().unwrap()],
            ..ExposureOptions::default()
        },
        ..GatewayOptions::default()
    };
    let mut client = Client::of(&host, options.clone(), "test").await;
    let mut expected = vec!["other".to_owned()];
    expected.extend(OURS.map(str::to_owned));
    assert_eq!(client.names().await, expected);
    assert!(
        client.call("search_tools", json!({"query": "other"})).await["structuredContent"]["tools"].is_array()
    );
    let through = client.call("call_tool_destructive", json!({"name": "search_tools"})).await;
    assert_eq!(through["structuredContent"], json!({"of": "server"}));
    let gateway = Gateway::new(host, options);
    assert_eq!(gateway.names_taken(), [("s".to_owned(), "search_tools")]);
}

#[tokio::test]
async fn a_profile_says_what_its_clients_are_listed() {
    let name: ProfileName = "work".parse().unwrap();
    let profile = Profile {
        exposure: Some(Exposure::Search),
        always_listed: vec!["get_*".parse().unwrap()],
        ..Profile::new(name.clone())
    };
    let policy = PolicySet::new(vec![profile], Policy::default());
    let host = host(vec![("notes", notes())], Naming::Prefix).await;
    let with = |profile: Option<ProfileName>| GatewayOptions {
        policy: policy.clone(),
        profile,
        ..GatewayOptions::default()
    };
    let mut expected = vec!["notes__get_note".to_owned()];
    expected.extend(OURS.map(str::to_owned));
    assert_eq!(Client::of(&host, with(Some(name)), "test").await.names().await, expected);
    assert_eq!(Client::of(&host, with(None), "test").await.names().await.len(), 5);
    assert!(
        Client::of(&host, with(None), "test").await.names().await.contains(&"notes__get_note".to_owned())
    );
}
