//! Profiles and rules: what callers see and what happens to their calls.

mod ask; // calls that a person has to allow

use std::{collections::HashMap, sync::Arc};

use futures_util::{FutureExt, future::BoxFuture};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolbay_access::{Access, Authenticator, Principal, Refusal, Rights};
use toolbay_config::{PolicySection, ProfileEntry};
use toolbay_gateway::{ExposureOptions, GatewayOptions, ProtectedResource};
use toolbay_policy::{Exposure, PolicySet, Profile};
use toolbay_testkit::TestServer;

use crate::{
    http::Ask,
    test_gateway::{Hub, eventually, initialize, modern, rpc},
};

/// The profiles and rules of a file.
fn set(text: &str) -> PolicySet {
    let file = toolbay_config::parse(text, std::path::Path::new("toolbay.toml")).unwrap();
    assert!(file.problems.is_empty(), "{:?}", file.problems);
    let profile = |entry: ProfileEntry| match entry {
        ProfileEntry::Valid(profile) => Profile::clone(&profile),
        ProfileEntry::Invalid(name) => panic!("{name}"),
    };
    let rules = match file.policy {
        PolicySection::Absent => Default::default(),
        PolicySection::Valid(rules) => rules,
        PolicySection::Invalid => panic!("the rules have errors"),
    };
    PolicySet::new(file.profiles.into_iter().map(profile).collect(), rules)
}

fn options(text: &str) -> GatewayOptions {
    GatewayOptions { policy: set(text), ..GatewayOptions::default() }
}

/// A server with a reading, an adding and a destructive tool, a resource and a prompt.
fn tiered(name: &str) -> TestServer {
    TestServer::new(name)
        .with_tool("look", Ok)
        .with_tool("add", Ok)
        .with_tool("delete", Ok)
        .describe_tool("look", json!({"annotations": {"readOnlyHint": true}}))
        .describe_tool("add", json!({"annotations": {"readOnlyHint": false, "destructiveHint": false}}))
        .with_resource(format!("{name}://r"), "text")
        .with_prompt("p", |_| json!("Hello."))
}

async fn hub(text: &str) -> Hub {
    Hub::of_all(vec![("s", tiered("s")), ("t", tiered("t"))], options(text)).await
}

/// The names of all tools, as a list that was answered has them.
fn names(listed: &Value) -> Vec<String> {
    let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
    let mut names: Vec<String> = tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    names.sort_unstable();
    names
}

/// The tools that a client at a path sees, in a modern revision and in a legacy one.
async fn tools_at(hub: &Hub, path: &str) -> Vec<String> {
    let list = rpc(1, "tools/list", json!({}));
    let of_modern = names(&hub.send(modern(list.clone()).to(path)).await.json().await);
    let of_legacy = names(&hub.send(Ask::post(&list).to(path)).await.json().await);
    assert_eq!(of_modern, of_legacy);
    of_modern
}

fn call(tool: &str, arguments: Value) -> Value {
    rpc(7, "tools/call", json!({ "name": tool, "arguments": arguments }))
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

const PROFILES: &str = "
    [profiles.work]
    servers = ['s']
    tools = { deny = ['delete'] }
    instructions = 'Only for work.'
    [profiles.bare]
    servers = 't'
    naming = 'none'
    clients = 'editor*'
";

#[tokio::test]
async fn a_profile_has_endpoints_of_its_own() {
    let hub = hub(PROFILES).await;
    let all = ["s__add", "s__delete", "s__look", "t__add", "t__delete", "t__look"];
    assert_eq!(tools_at(&hub, "/mcp").await, all);
    assert_eq!(tools_at(&hub, "/mcp/p/work").await, ["s__add", "s__look"]);
    assert_eq!(tools_at(&hub, "/mcp/p/bare").await, ["add", "delete", "look"]);
    // Tools that are there can be called, and others are unknown.
    for (path, tool, is_there) in [
        ("/mcp/p/work", "s__look", true),
        ("/mcp/p/work", "s__delete", false),
        ("/mcp/p/work", "t__look", false),
        ("/mcp/p/bare", "look", true),
        ("/mcp/p/bare", "t__look", false),
        ("/mcp", "s__delete", true),
    ] {
        let called = hub.send(modern(call(tool, json!({}))).to(path)).await.json().await;
        assert_eq!(called["result"].is_object(), is_there, "{path} {tool}: {called}");
        let said = called["error"]["message"].as_str().unwrap_or("no server offers the tool");
        assert!(said.starts_with("no server offers the tool"), "{said}");
    }
    // Over HTTP+SSE and WebSocket, too.
    let mut stream = hub.send(Ask::new("GET", "/sse/p/work")).await;
    let first = stream.raw_event().await.unwrap();
    let endpoint = first.strip_prefix("event: endpoint\ndata: ").unwrap().trim_end().to_owned();
    for message in [initialize("2025-06-18"), rpc(1, "tools/list", json!({}))] {
        assert_eq!(hub.send(Ask::post(&message).to(&endpoint)).await.status, 202);
    }
    let initialized = stream.event().await.unwrap();
    assert_eq!(initialized["result"]["instructions"], "Only for work.", "{initialized}");
    assert_eq!(names(&stream.event().await.unwrap()), ["s__add", "s__look"]);
    assert_eq!(hub.send(Ask::new("GET", "/ws/p/work")).await.status, 426);
    hub.stop.cancel();
}

#[tokio::test]
async fn an_unknown_profile_is_not_found() {
    let hub = hub(PROFILES).await;
    for path in ["/mcp/p/home", "/mcp/p/", "/mcp/p/work/x", "/sse/p/home", "/ws/p/home"] {
        let method = if path.starts_with("/mcp") { "POST" } else { "GET" };
        let answer = hub.send(Ask::new(method, path)).await;
        assert_eq!(answer.status, 404, "{path}");
        let message = answer.json().await["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.ends_with("there are: work, bare"), "{message}");
    }
}

#[tokio::test]
async fn a_session_keeps_its_profile() {
    let hub = hub(PROFILES).await;
    let started = hub.send(Ask::post(&initialize("2025-11-25")).to("/mcp/p/work")).await;
    let session = started.header("mcp-session-id").unwrap().to_owned();
    for path in ["/mcp/p/work", "/mcp"] {
        let list = Ask::post(&rpc(1, "tools/list", json!({}))).to(path).header("mcp-session-id", &session);
        assert_eq!(names(&hub.send(list).await.json().await), ["s__add", "s__look"], "{path}");
    }
}

#[tokio::test]
async fn clients_get_profiles_by_their_names() {
    let hub = hub(PROFILES).await;
    let named = |name: &str, message: Value| {
        modern(message).with_body(|body| {
            body["params"]["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] = json!(name);
        })
    };
    let list = rpc(1, "tools/list", json!({}));
    let seen = names(&hub.send(named("editor 2", list.clone())).await.json().await);
    assert_eq!(seen, ["add", "delete", "look"]);
    assert_eq!(names(&hub.send(named("other", list.clone())).await.json().await).len(), 6);
    // What the client asks for counts more.
    let seen = names(&hub.send(named("editor", list.clone()).to("/mcp/p/work")).await.json().await);
    assert_eq!(seen, ["s__add", "s__look"]);
    // A legacy client says its name once.
    let first = Ask::post(&initialize("2025-06-18"))
        .with_body(|body| body["params"]["clientInfo"]["name"] = json!("editor"));
    let started = hub.send(first).await;
    let session = started.header("mcp-session-id").unwrap().to_owned();
    let list = Ask::post(&list).header("mcp-session-id", &session);
    assert_eq!(names(&hub.send(list).await.json().await), ["add", "delete", "look"]);
}

#[derive(Debug)]
struct Tokens(HashMap<&'static str, Arc<Access>>);

impl Authenticator for Tokens {
    fn known(&self, token: &str) -> Option<Arc<Access>> {
        self.0.get(token).cloned()
    }

    fn authenticate<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Option<Result<Arc<Access>, Refusal>>> {
        async { None }.boxed()
    }
}

/// A hub with tokens: `owner`, `work` with that profile, and `free` with none.
async fn hub_with_tokens(text: &str) -> Hub {
    let access = |principal, profile: Option<&str>| {
        let rights = Rights { profile: profile.map(Into::into), ..Rights::default() };
        Arc::new(Access { principal, rights, expires: None, revoked: CancellationToken::new() })
    };
    let tokens = Tokens(HashMap::from([
        ("owner", access(Principal::OWNER, None)),
        ("work", access(Principal::hub_token("work"), Some("work"))),
        ("free", access(Principal::hub_token("free"), None)),
        ("gone", access(Principal::hub_token("gone"), Some("gone"))),
    ]));
    let options = GatewayOptions {
        authenticators: vec![Arc::new(tokens)],
        protected_resource: Some(ProtectedResource {
            authorization_servers: vec!["https://idp.example.com".to_owned()],
            scopes: Vec::new(),
        }),
        ..options(text)
    };
    Hub::of_all(vec![("s", tiered("s")), ("t", tiered("t"))], options).await
}

fn by(token: &str, ask: Ask) -> Ask {
    ask.header("authorization", &format!("Bearer {token}"))
}

#[tokio::test]
async fn the_profile_of_a_token_binds() {
    let hub = hub_with_tokens(PROFILES).await;
    let list = modern(rpc(1, "tools/list", json!({})));
    for (token, path, expected) in [
        ("work", "/mcp", Some(2)),
        ("work", "/mcp/p/work", Some(2)),
        ("work", "/mcp/p/bare", None),
        ("work", "/mcp/p/none", None),
        ("free", "/mcp", Some(6)),
        ("free", "/mcp/p/bare", Some(3)),
        ("gone", "/mcp", None),
    ] {
        let answer = hub.send(by(token, list.clone().to(path))).await;
        assert_eq!(answer.status, if expected.is_some() { 200 } else { 404 }, "{token} {path}");
        let answer = answer.json().await;
        match expected {
            Some(count) => assert_eq!(names(&answer).len(), count, "{token} {path}"),
            // Who may not use them all does not learn their names.
            None => assert!(!answer.to_string().contains("there are"), "{answer}"),
        }
    }
    let editor = list.clone().with_body(|body| {
        body["params"]["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] = json!("editor");
    });
    let seen = names(&hub.send(by("work", editor)).await.json().await);
    assert_eq!(seen, ["s__add", "s__look"], "the name of a client does not help it out of its profile");
}

#[tokio::test]
async fn each_endpoint_is_a_protected_resource() {
    let hub = hub_with_tokens(PROFILES).await;
    let base = format!("http://127.0.0.1:{}", hub.port());
    for path in ["/mcp/p/work", "/ws/p/work", "/mcp/p/unknown"] {
        let refused =
            hub.send(Ask::new("POST", path).header("host", &format!("127.0.0.1:{}", hub.port()))).await;
        assert_eq!(refused.status, 401);
        let metadata = format!("{base}/.well-known/oauth-protected-resource{path}");
        let challenge = refused.header("www-authenticate").unwrap().to_owned();
        assert!(challenge.contains(&format!("resource_metadata=\"{metadata}\"")), "{challenge}");
        let document = hub.send(Ask::new("GET", &metadata[base.len()..])).await.json().await;
        assert_eq!(document["resource"], format!("{base}{path}"));
    }
}

#[tokio::test]
async fn an_option_binds_all_clients() {
    let profile = Some("work".parse().unwrap());
    let servers = vec![("s", tiered("s")), ("t", tiered("t"))];
    let hub = Hub::of_all(servers, GatewayOptions { profile, ..options(PROFILES) }).await;
    assert_eq!(tools_at(&hub, "/mcp").await, ["s__add", "s__look"]);
    let other = hub.send(modern(rpc(1, "tools/list", json!({}))).to("/mcp/p/bare")).await;
    assert_eq!(other.status, 404);
    assert!(!other.json().await.to_string().contains("there are"));
}

/// Denied by every kind of rule, and looked for wherever a name could be.
#[tokio::test]
async fn a_denied_tool_is_nowhere() {
    for rules in [
        "tool = 'delete'",
        "tool = 's__delete'\nserver = 's'",
        "tier = 'destructive'\nserver = 's'",
        "server = 's'\ntool = 'del*'\nprincipal = 'owner'",
    ] {
        for naming in ["prefix", "prefix+alias", "none"] {
            let text = format!(
                "[[policy.rules]]\naction = 'deny'\n{rules}\n[profiles.p]\nnaming = '{naming}'\nservers = 's'\n"
            );
            let hub = hub(&text).await;
            let shown = if naming == "none" { ["add", "look"] } else { ["s__add", "s__look"] };
            assert_eq!(tools_at(&hub, "/mcp/p/p").await, shown, "{rules}");
            let known = hub.send(modern(call("s__nothing", json!({}))).to("/mcp/p/p")).await.json().await;
            for name in ["s__delete", "delete", "S__delete", "s__Delete", "s__delet", "elete"] {
                let called = hub.send(modern(call(name, json!({}))).to("/mcp/p/p")).await.json().await;
                assert_eq!(called["error"]["code"], known["error"]["code"], "{called}");
                let said = called["error"]["message"].as_str().unwrap();
                let plain = format!("no server offers the tool `{name}`");
                assert!(said.starts_with(&plain), "{said}");
                assert!(!said[plain.len()..].contains("delete"), "{said}");
                let batch = json!([call("s__look", json!({})), call(name, json!({}))]);
                let batch = hub.send(Ask::post(&batch).to("/mcp/p/p")).await.json().await;
                assert!(batch[1]["error"].is_object(), "{batch}");
            }
            assert_eq!(hub.calls(), hub.server.count("tools/call"));
        }
    }
}

/// Where tools are found by a search, what is denied is not found, and what is asked about is asked about.
#[tokio::test]
async fn rules_hold_for_tools_that_are_searched() {
    let rules = "
        [[policy.rules]]
        tool = 'delete'
        action = 'deny'
        [[policy.rules]]
        tool = 'add'
        action = 'ask'
    ";
    let exposure = ExposureOptions { mode: Exposure::Search, ..ExposureOptions::default() };
    let options = GatewayOptions { exposure, ..options(rules) };
    let hub = Hub::of_all(vec![("s", tiered("s")), ("t", tiered("t"))], options).await;
    let found = hub.send(modern(call("search_tools", json!({ "query": "delete look" })))).await.json().await;
    assert!(text(&found).contains("s__look") && !text(&found).contains("__delete"), "{found}");
    for (tool, arguments) in [
        ("get_tool_details", json!({ "names": ["NAME"] })),
        ("call_tool_destructive", json!({ "name": "NAME", "arguments": {} })),
        ("call_tool", json!({ "name": "NAME", "arguments": {} })),
    ] {
        let mut answers = Vec::new();
        for name in ["s__delete", "s__nothing"] {
            let arguments = serde_json::from_str(&arguments.to_string().replace("NAME", name)).unwrap();
            let answer = hub.send(modern(call(tool, arguments))).await.json().await;
            answers.push(answer.to_string().replace(name, "NAME"));
        }
        assert_eq!(answers[0], answers[1]);
    }
    let add = call("call_tool_write", json!({ "name": "s__add", "arguments": { "n": 1 } }));
    let (answer, ()) = tokio::join!(async { hub.send(modern(add)).await.json().await }, async {
        eventually("a call waits", || !hub.gateway.pending_calls().is_empty()).await;
        let call = &hub.gateway.pending_calls()[0];
        assert_eq!((call.tool.as_str(), call.arguments.as_str()), ("s__add", r#"{"n":1}"#));
        assert!(hub.gateway.decide_pending(call.id, false));
    });
    assert!(text(&answer).contains("the user declined"), "{answer}");
    assert_eq!(hub.calls(), 0);
}

#[tokio::test]
async fn a_denied_server_is_nowhere() {
    let hub = hub("[[policy.rules]]\nserver = 's'\naction = 'deny'\n").await;
    assert_eq!(tools_at(&hub, "/mcp").await, ["t__add", "t__delete", "t__look"]);
    let completion =
        json!({"ref": {"type": "ref/prompt", "name": "s__p"}, "argument": {"name": "a", "value": ""}});
    for (method, params) in [
        ("resources/read", json!({"uri": "s://r"})),
        ("resources/read", json!({"uri": "toolbay://s/s://r"})),
        ("prompts/get", json!({"name": "s__p"})),
        ("completion/complete", completion),
    ] {
        let answer = hub.send(modern(rpc(1, method, params))).await.json().await;
        let said = answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}"));
        assert!(said.starts_with("no server "), "{said}");
    }
    for method in ["resources/list", "prompts/list"] {
        let listed = hub.send(modern(rpc(1, method, json!({})))).await.json().await.to_string();
        assert!(!listed.contains("s__p") && !listed.contains("\"s://r"), "{listed}");
    }
    let health = hub.send(Ask::new("GET", "/health")).await.json().await;
    assert_eq!(health["servers"].as_array().unwrap().len(), 1, "{health}");
}

/// One tool of a server may be left, without its resources and prompts.
#[tokio::test]
async fn a_server_may_have_nothing_but_a_tool() {
    let rules = "
        [[policy.rules]]
        server = 's'
        tool = 'look'
        action = 'allow'
        [[policy.rules]]
        server = 's'
        action = 'deny'
    ";
    let hub = hub(rules).await;
    assert_eq!(tools_at(&hub, "/mcp").await, ["s__look", "t__add", "t__delete", "t__look"]);
    let session = hub.session("2025-06-18").await;
    for (method, params) in [
        ("resources/read", json!({"uri": "s://r"})),
        ("resources/read", json!({"uri": "toolbay://s/s://r"})),
        ("resources/subscribe", json!({"uri": "toolbay://s/s://r"})),
        ("prompts/get", json!({"name": "s__p"})),
    ] {
        let request = Ask::post(&rpc(1, method, params)).header("mcp-session-id", &session);
        let answer = hub.send(request).await.json().await;
        assert!(
            answer["error"]["message"].as_str().unwrap_or_default().starts_with("no server "),
            "{answer}"
        );
    }
    let looked = hub.send(modern(call("s__look", json!({})))).await.json().await;
    assert!(looked["result"].is_object(), "{looked}");
}

#[tokio::test]
async fn rules_look_at_arguments() {
    let rules = "
        [[policy.rules]]
        name = 'home only'
        tool = 's__*'
        arguments = { '/path' = { not = '/home/*' } }
        action = 'deny'
        reason = 'only your own files'
    ";
    let hub = hub(rules).await;
    assert!(tools_at(&hub, "/mcp").await.contains(&"s__look".to_owned()), "the tool is there");
    for (arguments, why) in [
        (json!({"path": "/home/a"}), None),
        (json!({"path": "/etc/passwd"}), Some("rule `home only`: only your own files")),
        (json!({"path": ["/home/a", "/etc/passwd"]}), Some("rule `home only`")),
        (json!({}), Some("rule `home only`")),
        (json!({"Path": "/home/a"}), Some("the key `Path` must be written `path`")),
    ] {
        let before = hub.calls();
        for ask in
            [modern(call("s__look", arguments.clone())), Ask::post(&call("s__look", arguments.clone()))]
        {
            let answer = hub.send(ask).await.json().await;
            assert_eq!(answer["result"]["isError"] == true, why.is_some(), "{arguments}: {answer}");
            assert!(text(&answer).contains(why.unwrap_or_default()), "{arguments}: {answer}");
        }
        assert_eq!(hub.calls() - before, if why.is_some() { 0 } else { 2 }, "{arguments}");
    }
    let other = hub.send(modern(call("t__look", json!({"path": "/etc"})))).await.json().await;
    assert!(other["result"]["isError"] != true, "{other}");
}

#[tokio::test]
async fn calls_are_limited_for_each_principal() {
    let rules = "[[policy.rules]]\nname = 'few'\ntool = 'add'\naction = 'limit'\nrate = '2/h'\n";
    let hub = hub_with_tokens(rules).await;
    let mut made = Vec::new();
    for token in ["free", "free", "free", "owner"] {
        let answer = hub.send(by(token, modern(call("s__add", json!({}))))).await.json().await;
        made.push(answer["result"]["isError"] != true);
        if made.len() == 3 {
            assert!(
                text(&answer).contains("rule `few` of this hub allows no more calls now; try again in"),
                "{answer}"
            );
        }
    }
    assert_eq!(made, [true, true, false, true]);
}

#[tokio::test]
async fn changes_take_effect_while_clients_are_connected() {
    let hub = hub(PROFILES).await;
    assert_eq!(tools_at(&hub, "/mcp/p/work").await, ["s__add", "s__look"]);
    hub.gateway.set_policy(set("[profiles.work]\nservers = 't'\n"));
    let view = hub.gateway.owner_view(Some("work")).unwrap();
    eventually("the profile has another server", || {
        view.server("t").is_some() && view.table().tool("t__add").is_some()
    })
    .await;
    assert_eq!(tools_at(&hub, "/mcp/p/work").await, ["t__add", "t__delete", "t__look"]);
    // A profile that is gone shows nothing to those who have it.
    hub.gateway.set_policy(set("[[policy.rules]]\ntool = 'delete'\naction = 'deny'\n"));
    eventually("nothing is left", || view.servers().is_empty() && view.table().tool("t__add").is_none())
        .await;
    assert_eq!(hub.send(modern(rpc(1, "tools/list", json!({}))).to("/mcp/p/work")).await.status, 404);
    assert_eq!(tools_at(&hub, "/mcp").await, ["s__add", "s__look", "t__add", "t__look"]);
}

#[tokio::test]
async fn without_profiles_and_rules_the_owner_sees_the_host_itself() {
    let hub = hub("").await;
    let view = hub.gateway.owner_view(None).unwrap();
    assert!(Arc::ptr_eq(&view.table(), &hub.host.table()));
    let rules = "[[policy.rules]]\nprincipal = 'token:*'\naction = 'deny'\n";
    hub.gateway.set_policy(set(rules));
    let view = hub.gateway.owner_view(None).unwrap();
    assert!(Arc::ptr_eq(&view.table(), &hub.host.table()), "rules for others cost the owner nothing");
}
