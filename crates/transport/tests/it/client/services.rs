//! Services that are no MCP servers.

use std::time::Duration;

use serde_json::json;
use tokio_util::task::TaskTracker;
use toolbay_testkit::HttpScript;
use toolbay_transport::http::client::{HttpError, JsonService, Target};

use super::{PATIENCE, target};

#[tokio::test]
async fn a_request_gets_its_response_and_each_failure_its_name() {
    let tasks = TaskTracker::new();
    let server = HttpScript::start(&tasks, |asked, answering| async move {
        match asked.body["ask"].as_str() {
            Some("wait") => std::future::pending().await,
            Some("much") => answering.json("200 OK", &json!("x".repeat(2000))).await,
            Some("refuse") => answering.json("503 Service Unavailable", &json!({"error": "no model"})).await,
            _ => answering.json("200 OK", &json!({"told": asked.body, "key": asked.header("x-key")})).await,
        }
    });
    let server = server.await.unwrap();
    let mut target: Target = target(&server.url);
    target.max_message = 1000;
    target.headers.insert("x-key", "k".parse().unwrap());
    let service = JsonService::new(target, &tasks);
    let ask = |what: &str, patience| service.post(json!({"ask": what}).to_string().into(), patience);

    let answer = ask("hello", PATIENCE).await.unwrap();
    assert_eq!(answer, json!({"told": {"ask": "hello"}, "key": "k"}).to_string());
    let slow = ask("wait", Duration::from_millis(50)).await.unwrap_err();
    assert!(matches!(slow, HttpError::Slow { .. }), "{slow:?}");
    let long = ask("much", PATIENCE).await.unwrap_err();
    assert!(long.to_string().contains("longer than 1000 bytes"), "{long}");
    let refused = ask("refuse", PATIENCE).await.unwrap_err();
    assert_eq!(refused.status().map(|status| status.as_u16()), Some(503), "{refused:?}");
}

#[tokio::test]
async fn a_get_request_returns_status_and_headers() {
    let tasks = TaskTracker::new();
    let server = HttpScript::start(&tasks, |asked, answering| async move {
        let body =
            json!({"path": asked.path, "key": asked.header("x-key"), "agent": asked.header("user-agent")});
        match asked.path.as_str() {
            "/limited" => {
                answering.respond("429 Too Many Requests", &[("retry-after", "7")], "slow down").await
            }
            "/wait" => std::future::pending().await,
            _ => answering.json("200 OK", &body).await,
        }
    });
    let server = server.await.unwrap();
    let service = JsonService::new(target(&server.url), &tasks);
    let base = server.url.trim_end_matches("/mcp").to_owned();
    let get = async |path: &str, limit| {
        let headers = [("x-key", "k"), ("user-agent", "me")];
        let headers = headers.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        service.get(format!("{base}{path}").parse().unwrap(), headers.into_iter().collect(), limit).await
    };
    let found = get("/res?q=1", PATIENCE).await.unwrap();
    assert_eq!(found.body, json!({"path": "/res?q=1", "key": "k", "agent": "me"}).to_string());
    let limited = get("/limited", PATIENCE).await.unwrap();
    assert_eq!((limited.status.as_u16(), &limited.headers["retry-after"]), (429, &"7".parse().unwrap()));
    assert_eq!(limited.body, "slow down");
    assert!(matches!(get("/wait", Duration::from_millis(50)).await, Err(HttpError::Slow { .. })));
    // A key is sent to its service only.
    let elsewhere = service.get("http://127.0.0.2:1/".parse().unwrap(), Default::default(), PATIENCE).await;
    assert!(matches!(elsewhere, Err(HttpError::Redirected { .. })), "{elsewhere:?}");
}
