//! A host to test with.

use std::{path::Path, sync::Arc, time::Duration};

use serde_json::{Value, json};
use toolbay_config::{ServerOptions, Validate};
use toolbay_host::{
    Caller, CallerId, CatalogKind, ClientIdentity, Host, HostOptions, HostRequest, InProcess, LogFilter,
    Naming, RouteTable, Routed, ServerPart, slugs,
};
use toolbay_protocol::{Message, Revision, ServerName};
use toolbay_testkit::TestServer;

/// A host with these servers, all up.
pub(crate) async fn host(servers: &[(&str, &TestServer)], naming: Naming) -> Host {
    let connect = |server: &TestServer| -> InProcess {
        let server = server.clone();
        Arc::new(move |tasks| server.in_memory(tasks))
    };
    let servers = servers.iter().map(|(name, server)| (ServerName::new(*name), connect(server))).collect();
    let options = HostOptions { naming, ..HostOptions::default() };
    let host = Host::start(&[], servers, &options);
    host.settled().await;
    host
}

/// The offers of a host's servers, in order.
pub(crate) fn offers(host: &Host, validate: Validate) -> Vec<ServerPart> {
    let servers = host.servers();
    let names: Vec<ServerName> = servers.iter().map(|server| server.name().clone()).collect();
    let offer = |(server, slug): (toolbay_host::ServerHandle, String)| {
        let catalogue = server.status().borrow().catalog.clone();
        ServerPart {
            server,
            slug,
            catalog: catalogue,
            tuning: Arc::new(ServerOptions { validate, ..ServerOptions::default() }),
            is_kept: false,
            rules: Default::default(),
            has_resources: true,
        }
    };
    servers.into_iter().zip(slugs(&names)).map(offer).collect()
}

/// All items of a list, over all pages.
pub(crate) fn items(table: &RouteTable, kind: CatalogKind) -> Vec<Value> {
    let mut all = Vec::new();
    let mut cursor = None;
    loop {
        let (page, next) = table.page(kind, cursor.as_deref()).unwrap();
        all.extend(serde_json::from_slice::<Vec<Value>>(page).unwrap());
        let Some(next) = next else { return all };
        cursor = Some(next);
    }
}

pub(crate) fn names(table: &RouteTable, kind: CatalogKind) -> Vec<String> {
    let name = |item: &Value| {
        let key = match kind {
            CatalogKind::Resources => "uri",
            CatalogKind::ResourceTemplates => "uriTemplate",
            CatalogKind::Tools | CatalogKind::Prompts => "name",
        };
        item[key].as_str().unwrap().to_owned()
    };
    items(table, kind).iter().map(name).collect()
}

pub(crate) fn dispatch(host: &Host, method: &str, params: &str) -> Routed {
    dispatch_in(host, None, method, params)
}

/// As [`dispatch`], for a client that works in a project.
pub(crate) fn dispatch_in(host: &Host, root: Option<&Path>, method: &str, params: &str) -> Routed {
    let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    let Ok(Message::Request(request)) = Message::parse(text.clone().into()) else { panic!("{text}") };
    let identity = ClientIdentity::new(Revision::LATEST_LEGACY, "{}", "{}");
    let caller = Caller {
        revision: Revision::LATEST_LEGACY,
        identity: Arc::new(identity),
        id: CallerId::new(),
        accepts_server_requests: false,
        awaits_tasks: false,
        logs: LogFilter::Nothing,
        root: root.map(Arc::from),
    };
    host.dispatch(HostRequest { request: request.into(), caller, events: None, resumes: None })
}

/// Sends a request and waits: the answer of the server, our own result, or the error.
pub(crate) async fn ask(host: &Host, method: &str, params: Value) -> Value {
    match dispatch(host, method, &params.to_string()) {
        Routed::Sent(call) => serde_json::from_slice(&call.await.unwrap().response.text).unwrap(),
        Routed::Answered(result) => json!({"result": serde_json::from_str::<Value>(&result).unwrap()}),
        Routed::Refused(error) => json!({"error": serde_json::to_value(&error).unwrap()}),
        Routed::Denied(denial) => json!({ "denied": denial.to_string() }),
        Routed::Ask(asked) => json!({ "asked": *asked.rule.name }),
    }
}

/// Calls a tool that takes so long, and gives its text or why there is none.
pub(crate) async fn text_of(host: &Host, tool: &str, ms: u64) -> Result<String, String> {
    let params = json!({ "name": tool, "arguments": { "ms": ms } }).to_string();
    match dispatch(host, "tools/call", &params) {
        Routed::Sent(call) => {
            let response = call.await.map_err(|error| error.to_string())?.response;
            let answer: Value = serde_json::from_slice(&response.text).unwrap();
            Ok(answer["result"]["content"][0]["text"].as_str().unwrap().to_owned())
        }
        Routed::Answered(result) => Err(result),
        Routed::Refused(error) => Err(error.message),
        Routed::Denied(denial) => Err(denial.to_string()),
        Routed::Ask(asked) => Err(asked.rule.name.to_string()),
    }
}

/// Calls a tool that tells the name of its server.
pub(crate) async fn owner(host: &Host, tool: &str) -> Value {
    ask(host, "tools/call", json!({"name": tool})).await["result"]["structuredContent"]["server"].take()
}

/// A server whose tools tell whose they are.
pub(crate) fn server(name: &'static str, tools: &[&str]) -> TestServer {
    tools.iter().fold(TestServer::new(name), |server, &tool| {
        server.with_tool(tool, move |_| Ok(json!({"server": name, "tool": "any"})))
    })
}

/// Waits, in virtual or real time, until something holds.
pub(crate) async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..5000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("it never came about that {what}");
}
