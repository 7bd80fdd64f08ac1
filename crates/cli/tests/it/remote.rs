//! Servers at a URL behind the hub.

use std::{io, thread};

use serde_json::{Value, json};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_testkit::{SupportedRevisions, TestServer, TlsFront};

use crate::program::Home;

/// Runs something beside the test until it is dropped.
pub(crate) struct Beside {
    stop: CancellationToken,
    thread: Option<thread::JoinHandle<()>>,
}

impl Beside {
    /// Starts servers and gives what `start` gives, such as URLs.
    pub(crate) fn start<T: Send + 'static>(
        start: impl AsyncFnOnce(&TaskTracker, &CancellationToken) -> io::Result<T> + Send + 'static,
    ) -> (Self, T) {
        let stop = CancellationToken::new();
        let (told, started) = std::sync::mpsc::channel();
        let until = stop.clone();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let tasks = TaskTracker::new();
                told.send(start(&tasks, &until).await.unwrap()).unwrap();
                until.cancelled().await;
            });
        });
        (Self { stop, thread: Some(thread) }, started.recv().unwrap())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.stop.cancel();
        let _ = self.thread.take().map(thread::JoinHandle::join);
    }
}

fn server(era: SupportedRevisions) -> TestServer {
    TestServer::new("remote").revisions(era).with_tool("where", move |_| Ok(json!(format!("{era:?}"))))
}

fn health(hub: &crate::program::Serving) -> Vec<Value> {
    let answer = hub.get("/health");
    let body = answer.split("\r\n\r\n").nth(1).unwrap();
    serde_json::from_str::<Value>(body).unwrap()["servers"].as_array().unwrap().clone()
}

#[test]
fn legacy_and_modern_servers_at_urls_run_beside_one_on_stdio() {
    let (_beside, (old, new)) = Beside::start(async |tasks, stop| {
        let old = server(SupportedRevisions::Legacy).start_http(tasks, stop.clone()).await?;
        Ok((old, server(SupportedRevisions::Modern).start_http(tasks, stop.clone()).await?))
    });
    let home = Home::new();
    let remote =
        |url: &str| format!(r#"{{"url": "{url}", "headers": {{"Authorization": "Bearer s3cret"}}}}"#);
    home.write(
        "mcp.json",
        &format!(
            r#"{{"mcpServers": {{"old": {}, "new": {}, {}}}}}"#,
            remote(&old),
            remote(&new),
            home.entry("small")
        ),
    );
    let mut hub = home.serve(&["--config", "mcp.json"]);
    for (call, said) in [("old__where", "Legacy"), ("new__where", "Modern"), ("small__echo", "{}")] {
        let ran = home.run(&["call", call]).expect(0);
        assert_eq!(ran.stdout.trim().trim_matches('"'), said, "{ran:#?}");
    }
    let found: Vec<(String, String, String)> = health(&hub)
        .iter()
        .map(|server| {
            let text = |key: &str| server[key].as_str().unwrap_or_default().to_owned();
            (text("name"), text("transport"), text("revision"))
        })
        .collect();
    let expected = |name: &str, transport: &str, revision: &str| {
        (name.to_owned(), transport.to_owned(), revision.to_owned())
    };
    assert_eq!(
        found,
        [
            expected("old", "http", "2025-11-25"),
            expected("new", "http", "2026-07-28"),
            expected("small", "stdio", "2025-11-25")
        ]
    );
    let status = home.run(&["status"]).expect(0);
    assert!(status.stdout.contains("TRANSPORT") && status.stdout.contains("http"), "{status:#?}");
    for name in ["old", "new"] {
        let logs = home.run(&["logs", name]).expect(0);
        assert!(logs.stdout.contains("`server/discover`"), "{logs:#?}");
        assert!(!format!("{logs:?}{status:?}").contains("s3cret"));
    }
    assert_eq!(hub.stop(), Some(0));
    assert!(!hub.said.contains("s3cret"), "{}", hub.said);
}

#[test]
fn transports_of_urls_are_detected_and_shown() {
    let (_beside, (sse, ws)) = Beside::start(async |tasks, stop| {
        let sse = server(SupportedRevisions::Both).start_sse(tasks, stop.clone()).await?;
        Ok((sse, server(SupportedRevisions::Both).start_ws(tasks, stop.clone()).await?))
    });
    let home = Home::new();
    home.write(
        "mcp.json",
        &format!(
            r#"{{"mcpServers": {{"found": {{"url": "{sse}"}}, "told": {{"type": "sse", "url": "{sse}"}},
                "socket": {{"url": "{ws}"}}}}}}"#
        ),
    );
    let mut hub = home.serve(&["--config", "mcp.json"]);
    for (name, transport, revision) in [
        ("found", "http+sse", "2025-11-25"),
        ("told", "http+sse", "2025-11-25"),
        ("socket", "websocket", "2026-07-28"),
    ] {
        let ran = home.run(&["call", &format!("{name}__where")]).expect(0);
        assert_eq!(ran.stdout.trim().trim_matches('"'), "Both", "{ran:#?}");
        let health = health(&hub);
        let server = health.iter().find(|server| server["name"] == name).unwrap();
        assert_eq!((&server["transport"], &server["revision"]), (&json!(transport), &json!(revision)));
        let logs = home.run(&["logs", name]).expect(0);
        assert!(logs.stdout.contains(&format!(" over {transport}, speaking {revision}")), "{logs:#?}");
    }
    let status = home.run(&["status"]).expect(0);
    assert!(status.stdout.contains("http+sse") && status.stdout.contains("websocket"), "{status:#?}");
    assert_eq!(hub.stop(), Some(0));
}

#[test]
fn a_server_that_is_not_there_is_named_with_its_url() {
    let home = Home::new();
    home.write(
        "mcp.json",
        &format!(
            r#"{{"mcpServers": {{"gone": {{"url": "http://127.0.0.1:9/mcp?key=s3cret",
                "toolbay": {{"restart_delay": "10ms"}}}}, {}}}}}"#,
            home.entry("small")
        ),
    );
    let ran = home.run(&["call", "small__echo", "--config", "mcp.json"]).expect(0);
    assert!(!ran.stderr.contains("s3cret"), "{ran:#?}");
    let ran = home.run(&["call", "gone__x", "--config", "mcp.json"]).expect(4);
    assert!(ran.stderr.contains("cannot connect to http://127.0.0.1:9/mcp: "), "{ran:#?}");
    assert!(ran.stderr.contains("hint: check that the server runs"), "{ran:#?}");
}

#[test]
fn tls_is_spoken_with_those_whom_the_machine_trusts() {
    let (_beside, (https, wss)) = Beside::start(async |tasks, stop| {
        let http = server(SupportedRevisions::Both).start_http(tasks, stop.clone()).await?;
        let behind = http.trim_start_matches("http://").trim_end_matches("/mcp").parse().unwrap();
        let https = TlsFront::start(tasks, behind, &["h2"]).await?.url;
        let ws = server(SupportedRevisions::Both).start_ws(tasks, stop.clone()).await?;
        let behind = ws.trim_start_matches("ws://").trim_end_matches("/ws").parse().unwrap();
        let wss = TlsFront::start(tasks, behind, &["http/1.1"]).await?.url;
        Ok((https, wss.replace("https", "wss")))
    });
    for url in [https, wss] {
        let home = Home::new();
        home.write("ca.pem", TlsFront::CERTIFICATE);
        home.write(
            "mcp.json",
            &format!(
                r#"{{"mcpServers": {{"safe": {{"url": "{url}", "toolbay": {{"restart_delay": "10ms"}}}}}}}}"#
            ),
        );
        let call = ["call", "safe__where", "--config", "mcp.json"];
        let trusting = home.command(&call).env("SSL_CERT_FILE", home.path("ca.pem")).output().unwrap();
        assert!(trusting.status.success(), "{url}: {trusting:?}");
        // What it offers is known from before, but it is not there.
        let wary = home.run(&call).expect(4);
        assert!(wary.stderr.contains("certificate"), "{url}: {wary:#?}");
    }
}

#[test]
fn https_is_spoken_with_those_whom_the_configuration_trusts() {
    let (_beside, url) = Beside::start(async |tasks, stop| {
        let plain = server(SupportedRevisions::Both).start_http(tasks, stop.clone()).await?;
        let behind = plain.trim_start_matches("http://").trim_end_matches("/mcp").parse().unwrap();
        Ok(TlsFront::start(tasks, behind, &["h2", "http/1.1"]).await?.url)
    });
    let home = Home::new();
    home.write("ca.pem", TlsFront::CERTIFICATE);
    home.write(
        "mcp.json",
        &format!(r#"{{"mcpServers": {{"safe": {{"url": "{url}", "toolbay": {{"ca": "ca.pem"}}}}}}}}"#),
    );
    home.run(&["call", "safe__where", "--config", "mcp.json"]).expect(0);
}

#[test]
fn a_server_is_reached_through_the_proxy_that_the_environment_names() {
    // A server of ours takes whole URLs, so it does for a proxy.
    let (_beside, proxy) = Beside::start(async |tasks, stop| {
        server(SupportedRevisions::Both).start_http(tasks, stop.clone()).await
    });
    let home = Home::new();
    home.write("mcp.json", r#"{"mcpServers": {"far": {"url": "http://server.invalid/mcp"}}}"#);
    let call = ["call", "far__where", "--config", "mcp.json"];
    for variable in ["HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        let ran = home.command(&call).env(variable, proxy.trim_end_matches("/mcp")).output().unwrap();
        assert!(ran.status.success(), "{variable}: {ran:?}");
    }
    let past = home
        .command(&call)
        .env("HTTP_PROXY", proxy.trim_end_matches("/mcp"))
        .env("NO_PROXY", "server.invalid")
        .output()
        .unwrap();
    assert!(!past.status.success(), "{past:?}");
}
