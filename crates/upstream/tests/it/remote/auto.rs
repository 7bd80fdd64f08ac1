//! Finding out what is spoken at a URL.

use serde_json::json;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use toolbay_testkit::{HttpScript, RecordedRequest, Responder, TestServer};
use toolbay_upstream::{Endpoint, Failure, UpstreamState};

use super::{PATIENCE, Remote, Speaks, target};
use crate::harness::{Harness, hello, tools};

fn auto(url: &str) -> Harness {
    Harness::new(Endpoint::Auto(target(url)), |_| {})
}

fn log(harness: &Harness) -> String {
    let lines = harness.server.log().tail(50);
    lines.iter().map(|line| format!("{}\n", line.text)).collect()
}

#[tokio::test]
async fn the_protocol_is_detected_remembered_and_shown() {
    for (speaks, transport) in
        [(Speaks::Http, "http"), (Speaks::Sse, "http+sse"), (Speaks::WebSocket, "websocket")]
    {
        let server = TestServer::new("s").with_tool("t", |_| Ok(json!("done")));
        let mut remote = Remote::start_as(speaks, &server).await;
        let harness = auto(&remote.url);
        assert_eq!(harness.server.transport(), if transport == "websocket" { transport } else { "auto" });
        let ready = timeout(PATIENCE, harness.until_ready()).await.unwrap();
        assert_eq!((ready.transport, harness.server.transport()), (transport, transport));
        assert_eq!(ready.starts, 1, "looking for it is no restart");
        assert!(log(&harness).contains(&format!(" over {transport}, speaking ")), "{}", log(&harness));
        assert!(harness.call("t").await.is_ok(), "{speaks:?}");

        remote.leave().await;
        server.handle().expire_sessions();
        let is_down =
            |status: &toolbay_upstream::UpstreamStatus| !matches!(status.state, UpstreamState::Running);
        harness.server.restart().await;
        timeout(PATIENCE, harness.until(is_down)).await.unwrap();
        assert_eq!(harness.server.transport(), transport, "it is remembered while the server is down");
        remote.come_back(&server).await;
        timeout(PATIENCE, harness.until_ready()).await.unwrap();
        assert!(harness.call("t").await.is_ok(), "{speaks:?}");
    }
}

/// A server of the old transport under a path that does not say so; it refuses POSTs there.
async fn old(status: &'static str) -> HttpScript {
    let (stream, _) = tokio::sync::broadcast::channel::<String>(16);
    HttpScript::start(&TaskTracker::new(), move |asked: RecordedRequest, mut answering: Responder| {
        let stream = stream.clone();
        async move {
            match (asked.method.as_str(), asked.path.as_str()) {
                ("GET", "/mcp") => {
                    let mut said = stream.subscribe();
                    answering.stream().await;
                    answering.raw("event: endpoint\ndata: /messages\n\n").await;
                    while let Ok(text) = said.recv().await {
                        answering.raw(&format!("data: {text}\n\n")).await;
                    }
                }
                ("POST", "/messages") => {
                    let result = match asked.rpc() {
                        "initialize" => hello(),
                        "tools/list" => tools(&["t"]),
                        _ => json!({}),
                    };
                    answering.respond("202 Accepted", &[], "").await;
                    if !asked.body["id"].is_null() {
                        let text = json!({"jsonrpc": "2.0", "id": asked.body["id"], "result": result});
                        let _ = stream.send(text.to_string());
                    }
                }
                _ => answering.respond(status, &[], "no such thing").await,
            }
        }
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn a_server_that_refuses_to_be_posted_to_is_listened_to() {
    for status in ["404 Not Found", "405 Method Not Allowed", "400 Bad Request"] {
        let server = old(status).await;
        let harness = auto(&server.url);
        let ready =
            timeout(PATIENCE, harness.until_ready()).await.unwrap_or_else(|_| panic!("{}", log(&harness)));
        assert_eq!(ready.transport, "http+sse", "{status}");
        let asked: Vec<_> = server
            .requests()
            .into_iter()
            .map(|asked| (asked.method.clone(), asked.rpc().to_owned()))
            .collect();
        let first: Vec<_> =
            asked.iter().take(3).map(|(method, rpc)| (method.as_str(), rpc.as_str())).collect();
        assert_eq!(first, [("POST", "server/discover"), ("POST", "initialize"), ("GET", "")], "{status}");
        assert!(
            log(&harness).contains("no response over http (") && log(&harness).contains("trying http+sse")
        );
        // The next connection begins where this one was found.
        let before = server.requests().len();
        harness.server.restart().await;
        timeout(
            PATIENCE,
            harness.until(|status| status.starts == 2 && matches!(status.state, UpstreamState::Running)),
        )
        .await
        .unwrap();
        assert_eq!(server.requests()[before].method, "GET", "{status}");
    }
}

#[tokio::test]
async fn a_path_that_ends_in_sse_is_tried_with_legacy_sse_first() {
    // A server of Streamable HTTP under such a path, which it may be.
    let server = TestServer::new("s").with_tool("t", |_| Ok(json!("done")));
    let remote = Remote::start(&server).await;
    let harness = auto(&remote.url.replace("/mcp", "/sse"));
    let ready = timeout(PATIENCE, harness.until_ready()).await.unwrap();
    assert_eq!(ready.transport, "http");
    assert!(log(&harness).contains("no response over http+sse ("), "{}", log(&harness));
}

#[tokio::test]
async fn a_server_without_a_known_protocol_reports_both_reasons() {
    let server =
        HttpScript::start(&TaskTracker::new(), |asked: RecordedRequest, answering: Responder| async move {
            let said = if asked.method == "GET" { "<html>" } else { "" };
            let status = if asked.method == "GET" { "200 OK" } else { "404 Not Found" };
            answering.respond(status, &[("content-type", "text/html")], said).await;
        })
        .await
        .unwrap();
    let harness = auto(&server.url);
    let seen = |status: &toolbay_upstream::UpstreamStatus| status.state.failure().is_some();
    let status = timeout(PATIENCE, harness.until(seen)).await.unwrap();
    let failure = status.state.failure().unwrap();
    assert!(matches!(**failure, Failure::Neither { .. }), "{failure}");
    let said = failure.to_string();
    assert!(said.starts_with("it speaks neither Streamable HTTP (http://"), "{said}");
    assert!(
        said.contains("returned 404 Not Found) nor HTTP+SSE (http://") && said.contains("`text/html`"),
        "{said}"
    );
    assert!(failure.hint().unwrap().contains("check that the URL"), "{failure:?}");
    assert_eq!(status.transport, "auto");
}

#[tokio::test]
async fn a_server_that_requires_a_login_is_not_tried_with_another_protocol() {
    let server = HttpScript::start(&TaskTracker::new(), |_, answering: Responder| async move {
        answering.respond("401 Unauthorized", &[], "").await;
    })
    .await
    .unwrap();
    let harness = auto(&server.url);
    let seen =
        |status: &toolbay_upstream::UpstreamStatus| matches!(status.state, UpstreamState::Failed { .. });
    let status = timeout(PATIENCE, harness.until(seen)).await.unwrap();
    assert!(status.state.failure().unwrap().to_string().contains("returned 401"));
    assert!(server.requests().iter().all(|asked| asked.method == "POST"));
}
