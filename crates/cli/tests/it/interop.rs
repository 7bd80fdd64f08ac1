//! Five published servers behind one hub, seen through the official SDKs.
//!
//! Each client lists and calls every server twice: directly, and through the hub. What it receives must be the same
//! but for what [`compare`] lists. The drivers and the calls are in `tests/interop`; `cargo xtask peers` installs the
//! SDKs and the servers.
#![expect(clippy::disallowed_methods, reason = "runs real programs, with an environment made for them")]

mod compare;
mod hub;
mod stage;
mod urls;

use compare::Comparison;
use hub::Front;
pub(crate) use hub::free_port;
use serde_json::{Value, json};
pub(crate) use stage::peers;
use stage::{Remote, Stage, Target};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Client {
    /// `@modelcontextprotocol/sdk`, 1.x.
    TypeScript1,
    /// `@modelcontextprotocol/client`, 2.x.
    TypeScript2,
    /// `mcp` for Python.
    Python,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RevisionKind {
    /// A session that starts with `initialize`.
    Legacy,
    /// 2026-07-28: every request stands alone.
    Modern,
}

#[derive(Clone, Copy, Debug)]
struct Server {
    name: &'static str,
    /// Whether it speaks the modern revision itself; if not, the hub must bridge.
    modern: bool,
    /// Tools that it registers only for clients with certain capabilities, so that either side may lack them.
    by_capability: &'static [&'static str],
    /// A tool or prompt that says its lists are complete.
    landmark: &'static str,
}

const SERVERS: [Server; 5] = [
    Server {
        name: "everything",
        modern: false,
        by_capability: &[
            "get-roots-list",
            "simulate-research-query",
            "trigger-elicitation-request",
            "trigger-elicitation-request-async",
            "trigger-sampling-request",
            "trigger-sampling-request-async",
            "trigger-url-elicitation",
        ],
        landmark: "simple-prompt",
    },
    Server { name: "filesystem", modern: false, by_capability: &[], landmark: "read_text_file" },
    Server { name: "memory", modern: false, by_capability: &[], landmark: "read_graph" },
    Server { name: "time", modern: true, by_capability: &[], landmark: "convert_time" },
    Server { name: "git", modern: true, by_capability: &[], landmark: "git_status" },
];

/// Lists everything and makes every call of `tests/interop/calls`, on all five servers.
fn everything_is_the_same(front: Front, client: Client, revision: RevisionKind) {
    let stage = Stage::new(&format!("{front:?}-{client:?}-{revision:?}"));
    let sets: Vec<(Server, Vec<Value>)> =
        SERVERS.into_iter().map(|server| (server, stage.calls(server.name))).collect();
    check(&stage, front, client, revision, &sets, None);
}

/// Makes calls in the middle of which the server asks the client something: in the modern revision, the hub turns that
/// into rounds of one call.
fn questions_reach_the_client(front: Front, client: Client, revision: RevisionKind) {
    let stage = Stage::new(&format!("questions-{front:?}-{client:?}-{revision:?}"));
    check(&stage, front, client, revision, &[(SERVERS[0], stage.calls("questions"))], None);
}

/// A server that the hub reaches over Streamable HTTP answers, and asks, as on stdio.
fn a_remote_server_is_the_same(front: Front, client: Client, revision: RevisionKind) {
    let stage = Stage::new(&format!("remote-{front:?}-{client:?}-{revision:?}"));
    let server = SERVERS[0];
    let calls = [stage.calls(server.name), stage.calls("questions")].concat();
    let remote = Remote { server: server.name, speaks: "streamableHttp" };
    check(&stage, front, client, revision, &[(server, calls)], Some(remote));
}

/// And so does one that knows HTTP+SSE of 2024-11-05 only.
fn a_server_of_2024_is_the_same(front: Front, client: Client, revision: RevisionKind) {
    let stage = Stage::new(&format!("sse-{front:?}-{client:?}-{revision:?}"));
    let server = SERVERS[0];
    let calls = [stage.calls(server.name), stage.calls("questions")].concat();
    let remote = Remote { server: server.name, speaks: "sse" };
    check(&stage, front, client, revision, &[(server, calls)], Some(remote));
}

fn check(
    stage: &Stage,
    front: Front,
    client: Client,
    revision: RevisionKind,
    sets: &[(Server, Vec<Value>)],
    remote: Option<Remote>,
) {
    let through: Vec<Value> = sets
        .iter()
        .flat_map(|(server, calls)| calls.iter().map(|call| prefixed(server.name, call)))
        .collect();
    let hub = stage.hub(front, remote);
    stage.reset();
    let seen = stage.drive(client, revision, hub.target(), &through);

    let mut comparison = Comparison::new(revision, &seen);
    let mut calls = seen["calls"].as_array().expect("the driver prints its calls").iter();
    for (server, made) in sets {
        stage.reset();
        let spoken = if server.modern { revision } else { RevisionKind::Legacy };
        let direct = stage.drive(client, spoken, &Target::Stdio(stage.launch(server.name)), made);
        comparison.lists(server, &direct["lists"]);
        let answers = direct["calls"].as_array().expect("the driver prints its calls");
        for (call, direct) in made.iter().zip(answers) {
            let through = calls.next().expect("the driver prints every call");
            comparison.call(server, call, direct, through);
        }
    }
    if sets.len() == SERVERS.len() {
        comparison.nothing_else();
    }
    let differences = comparison.differences();
    assert!(
        differences.is_empty(),
        "{} differences between direct and through the hub:\n{}\n\nthe hub said:\n{}",
        differences.len(),
        differences.join("\n"),
        hub.log_tail()
    );
}

/// The call as a client of the hub makes it.
fn prefixed(server: &str, call: &Value) -> Value {
    let mut call = call.clone();
    for pointer in ["/params/name", "/params/ref/name"] {
        if let Some(name) = call.pointer_mut(pointer) {
            *name = json!(format!("{server}__{}", name.as_str().expect("a name is a string")));
        }
    }
    call
}

macro_rules! cases {
    ($drive:ident: $($name:ident($front:ident, $client:ident, $revision:ident);)*) => {
        $(#[test]
        fn $name() {
            $drive(Front::$front, Client::$client, RevisionKind::$revision);
        })*
    };
}

cases! { everything_is_the_same:
    http_typescript_1_legacy(Http, TypeScript1, Legacy);
    http_typescript_2_legacy(Http, TypeScript2, Legacy);
    http_typescript_2_modern(Http, TypeScript2, Modern);
    http_python_legacy(Http, Python, Legacy);
    http_python_modern(Http, Python, Modern);
    stdio_typescript_1_legacy(Stdio, TypeScript1, Legacy);
    stdio_typescript_2_legacy(Stdio, TypeScript2, Legacy);
    stdio_typescript_2_modern(Stdio, TypeScript2, Modern);
    stdio_python_legacy(Stdio, Python, Legacy);
    stdio_python_modern(Stdio, Python, Modern);
    sse_typescript_1_legacy(Sse, TypeScript1, Legacy);
    sse_python_legacy(Sse, Python, Legacy);
    web_socket_typescript_1_legacy(WebSocket, TypeScript1, Legacy);
}

cases! { questions_reach_the_client:
    questions_http_typescript_1_legacy(Http, TypeScript1, Legacy);
    questions_http_typescript_2_modern(Http, TypeScript2, Modern);
    questions_http_python_legacy(Http, Python, Legacy);
    questions_http_python_modern(Http, Python, Modern);
    questions_stdio_typescript_2_legacy(Stdio, TypeScript2, Legacy);
    questions_stdio_python_modern(Stdio, Python, Modern);
    questions_sse_typescript_2_legacy(Sse, TypeScript2, Legacy);
    questions_web_socket_typescript_1_legacy(WebSocket, TypeScript1, Legacy);
}

cases! { a_remote_server_is_the_same:
    remote_http_typescript_1_legacy(Http, TypeScript1, Legacy);
    remote_http_python_modern(Http, Python, Modern);
    remote_stdio_typescript_2_modern(Stdio, TypeScript2, Modern);
}

cases! { a_server_of_2024_is_the_same:
    sse_sse_python_legacy(Sse, Python, Legacy);
    sse_http_typescript_1_legacy(Http, TypeScript1, Legacy);
    sse_stdio_python_modern(Stdio, Python, Modern);
}
