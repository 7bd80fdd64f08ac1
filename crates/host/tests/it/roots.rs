//! Servers that are bound to a folder: one instance per project of a client.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use toolbay_config::parse;
use toolbay_host::{Connector, Endpoint, Host, HostOptions, Routed};
use toolbay_testkit::TestServer;

use crate::test_host::dispatch_in;

/// A server whose tool tells where it is.
fn server_in(place: &Path) -> Endpoint {
    let place = place.to_owned();
    let server = TestServer::new("code").with_tool("place", move |_| Ok(json!({ "place": place })));
    Endpoint::InProcess(Arc::new(move |tasks| server.in_memory(tasks)))
}

/// Where the tool is that a client in `root` calls.
async fn place(host: &Host, tool: &str, root: Option<&str>) -> PathBuf {
    let params = json!({ "name": tool }).to_string();
    let Routed::Sent(call) = dispatch_in(host, root.map(Path::new), "tools/call", &params) else {
        panic!("it is sent")
    };
    let answer: Value = serde_json::from_slice(&call.await.unwrap().response.text).unwrap();
    answer["result"]["structuredContent"]["place"].as_str().unwrap().into()
}

#[tokio::test]
async fn each_project_has_an_instance_that_its_clients_share() {
    let started: Arc<AtomicUsize> = Arc::default();
    let count = started.clone();
    let connector =
        Connector::new(|_| Some(server_in(Path::new("/default")))).with_roots(move |server, root| {
            // Not every server is bound, and not every folder is a project.
            let is_bound = server.name.as_str() == "code" && root != Path::new("/");
            is_bound.then(|| {
                count.fetch_add(1, Ordering::Relaxed);
                server_in(root)
            })
        });
    let entries = r#"{"mcpServers": {"code": {"builtin": "codebase"}, "fixed": {"builtin": "codebase"}}}"#;
    let servers = parse(entries, Path::new("/x.json")).unwrap().servers;
    let options = HostOptions { connector: Some(connector), ..HostOptions::default() };
    let host = Host::start(&servers, Vec::new(), &options);
    host.settled().await;
    for (tool, root, expected) in [
        ("code__place", Some("/one"), "/one"),
        ("code__place", Some("/two"), "/two"),
        ("code__place", Some("/one"), "/one"),
        ("code__place", None, "/default"),
        ("code__place", Some("/"), "/default"),
        ("fixed__place", Some("/one"), "/default"),
    ] {
        assert_eq!(place(&host, tool, root).await, Path::new(expected), "{tool} in {root:?}");
    }
    assert_eq!(started.load(Ordering::Relaxed), 2, "two projects");
    assert_eq!(host.servers().len(), 2, "nothing else is seen of it");
    host.stop(Duration::from_secs(5)).await;
}

/// A server whose instances hold a token for as long as they are in memory.
fn holding(token: &Arc<()>) -> Connector {
    let token = token.clone();
    Connector::new(|_| Some(server_in(Path::new("/default")))).with_roots(move |_, root| {
        let (token, root) = (token.clone(), root.to_owned());
        let server = TestServer::new("code").with_tool("place", move |_| {
            let _held = &token;
            Ok(json!({ "place": root }))
        });
        Some(Endpoint::InProcess(Arc::new(move |tasks| server.in_memory(tasks))))
    })
}

#[tokio::test(start_paused = true)]
async fn instances_are_few_and_end_some_time_after_their_last_call() {
    let token = Arc::new(());
    let servers = parse(r#"{"mcpServers": {"code": {"builtin": "codebase"}}}"#, Path::new("/x.json"));
    let options = HostOptions { connector: Some(holding(&token)), ..HostOptions::default() };
    let host = Host::start(&servers.unwrap().servers, Vec::new(), &options);
    host.settled().await;
    let none = Arc::strong_count(&token);
    for number in 0..40 {
        place(&host, "code__place", Some(&format!("/{number}"))).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let kept = Arc::strong_count(&token) - none;
    assert!((1..=32).contains(&kept), "{kept} instances");
    // One that is called goes on, the others end.
    tokio::time::sleep(Duration::from_secs(200)).await;
    place(&host, "code__place", Some("/39")).await;
    tokio::time::sleep(Duration::from_secs(200)).await;
    assert_eq!(Arc::strong_count(&token) - none, 1);
    tokio::time::sleep(Duration::from_secs(200)).await;
    assert_eq!(Arc::strong_count(&token) - none, 0);
    host.stop(Duration::from_secs(5)).await;
}
