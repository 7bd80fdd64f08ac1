//! The server `brave-search`, on a loopback service.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio_util::task::TaskTracker;
use toolbay_builtin::{
    brave_search::{BraveSearch, BraveSearchConfig, brave_search},
    secret::{SecretFile, SecretValue},
};
use toolbay_testkit::{HttpScript, RecordedRequest, Responder};
use toolbay_transport::Incoming;

use crate::client::Client;

fn config(service: &HttpScript) -> BraveSearchConfig {
    BraveSearchConfig {
        api_key: Some(Arc::new(SecretValue::new("BRAVE_API_KEY", "s3cret"))),
        base_url: Some(service.url.trim_end_matches("/mcp").to_owned()),
        ..BraveSearchConfig::default()
    }
}

/// A service that answers by a script, the server, and a client of it.
async fn start<F, R>(script: F) -> (HttpScript, BraveSearch, Client)
where
    F: Fn(RecordedRequest, Responder) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = ()> + Send + 'static,
{
    let service = HttpScript::start(&TaskTracker::new(), script).await.unwrap();
    let server = brave_search(config(&service)).unwrap();
    let client = Client::new(server.connector()).await;
    (service, server, client)
}

async fn call(client: &mut Client, tool: &str, arguments: Value) -> Value {
    client.request("tools/call", json!({ "name": tool, "arguments": arguments })).await["result"].take()
}

fn texts(result: &Value) -> Vec<&str> {
    result["content"].as_array().unwrap().iter().map(|block| block["text"].as_str().unwrap()).collect()
}

const WEB: &str = r#"{"web": {"results": [
    {"title": "One", "url": "https://one", "description": "First", "age": "1 day", "extra_snippets": ["a", "b"]},
    {"title": "Two", "url": "https://two", "description": null}]},
  "faq": {"results": [{"question": "Q?", "answer": "A", "title": "T", "url": "https://q", "meta_url": {}}]},
  "discussions": {"mutated_by_goggles": false, "results": [{"url": "https://d", "data": {"z": 1, "a": [2]}}]},
  "news": {"mutated_by_goggles": true, "results": [{"title": "N", "url": "https://n", "breaking": true}]},
  "videos": {"results": [{"url": "https://v", "title": "V", "video": {"duration": "1:00", "views": 3}, "thumbnail": {"src": "https://t"}}]},
  "summarizer": {"key": "k1"}}"#;

#[tokio::test]
async fn definitions_are_short_and_complete() {
    let (_service, _server, mut client) =
        start(|_, responder| async { responder.respond("200 OK", &[], "{}").await }).await;
    let list = client.request("tools/list", json!({})).await["result"]["tools"].take();
    let bytes = list.to_string().len();
    println!("8 tools: {bytes} bytes");
    assert!(bytes < 8 * 1024, "{bytes}");
    let tools = list.as_array().unwrap();
    let required: Vec<String> =
        tools.iter().map(|tool| format!("{} {}", tool["name"], tool["inputSchema"]["required"])).collect();
    let query = r#"["query"]"#;
    assert_eq!(
        required,
        [
            format!(r#""brave_web_search" {query}"#),
            format!(r#""brave_local_search" {query}"#),
            format!(r#""brave_video_search" {query}"#),
            format!(r#""brave_image_search" {query}"#),
            format!(r#""brave_news_search" {query}"#),
            r#""brave_summarizer" ["key"]"#.to_owned(),
            format!(r#""brave_llm_context" {query}"#),
            r#""brave_place_search" null"#.to_owned(),
        ]
    );
    for tool in tools {
        assert_eq!(tool["annotations"], json!({ "readOnlyHint": true, "openWorldHint": true }), "{tool}");
        assert!(tool["title"].is_string() && tool["outputSchema"].is_object(), "{tool}");
    }
}

#[tokio::test]
async fn results_are_those_of_the_published_server() {
    let script = |request: RecordedRequest, responder: Responder| async move {
        let json = [("content-type", "application/json")];
        let body = match request.path.split('?').next().unwrap() {
            "/res/v1/web/search" if request.path.contains("q=places") => {
                r#"{"locations": {"results": [{"id": "1", "title": "Zuni", "rating": {"ratingValue": 4.5, "reviewCount": 7},
                    "opening_hours": {"days": [{"full_name": "Monday", "opens": "9", "closes": "17"}]}}, {"id": "2", "title": "B"}]}}"#
            }
            "/res/v1/web/search" if request.path.contains("q=nothing") => r#"{"web": {"results": []}}"#,
            "/res/v1/web/search" => WEB,
            "/res/v1/local/descriptions" => r#"{"results": [{"id": "1", "description": "Good"}]}"#,
            "/res/v1/news/search" => {
                r#"{"results": [{"title": "N", "url": "https://n", "age": "1h", "thumbnail": {"src": "https://t"}}]}"#
            }
            "/res/v1/videos/search" => {
                r#"{"results": [{"title": "V", "url": "https://v", "video": {"duration": "2:00"}}]}"#
            }
            "/res/v1/images/search" => {
                r#"{"results": [{"title": "I", "url": "https://i", "page_fetched": "2026-01-01T00:00:00Z", "confidence": "high",
                    "properties": {"url": "https://p", "width": 1, "height": 2}}, {"title": "incomplete"}],
                    "extra": {"might_be_offensive": true}}"#
            }
            "/res/v1/summarizer/search" => {
                r#"{"status": "complete", "summary": [{"type": "token", "data": "Short"},
                    {"type": "inline_reference", "data": {"url": "https://r"}}, {"type": "enum_item"}]}"#
            }
            "/res/v1/llm/context" => {
                r#"{"grounding": {"generic": [{"url": "https://g", "title": "G", "snippets": ["s"], "x": 1}], "map": []},
                    "sources": {"https://g": {"title": "G"}}}"#
            }
            "/res/v1/local/place_search" => r#"{"type": "locations", "results": [ ]}"#,
            path => panic!("{path}"),
        };
        responder.respond("200 OK", &json, body).await;
    };
    let (service, _server, mut client) = start(script).await;

    let result = call(&mut client, "brave_web_search", json!({ "query": "a b" })).await;
    let expected = [
        "Summarizer key: k1",
        r#"{"url":"https://one","title":"One","description":"First","extra_snippets":["a","b"]}"#,
        r#"{"url":"https://two","title":"Two","description":null}"#,
        r#"{"question":"Q?","answer":"A","title":"T","url":"https://q"}"#,
        r#"{"mutated_by_goggles":false,"url":"https://d","data":{"z":1,"a":[2]}}"#,
        r#"{"mutated_by_goggles":true,"breaking":true,"url":"https://n","title":"N"}"#,
        r#"{"url":"https://v","title":"V","thumbnail_url":"https://t","duration":"1:00","view_count":3}"#,
    ];
    assert_eq!(texts(&result), expected);
    assert_eq!(result["structuredContent"]["results"][1]["title"], "One");
    let request = service.requests().remove(0);
    assert_eq!((request.method.as_str(), request.header("x-subscription-token")), ("GET", "s3cret"));
    let mut parameters: Vec<&str> = request.path.split_once('?').unwrap().1.split('&').collect();
    parameters.sort_unstable();
    let expected = "count=10 country=US offset=0 q=a+b result_filter=web%2Cquery safesearch=moderate search_lang=en \
                    spellcheck=true text_decorations=true ui_lang=en-US";
    assert_eq!(parameters.join(" "), expected);

    let nothing = call(&mut client, "brave_web_search", json!({ "query": "nothing" })).await;
    assert_eq!((texts(&nothing), &nothing["isError"]), (vec!["No web results found"], &json!(true)));
    let places = call(&mut client, "brave_local_search", json!({ "query": "places" })).await;
    assert_eq!(
        texts(&places),
        [
            r#"{"name":"Zuni","rating":4.5,"hours":{"monday":"9-17"},"rating_count":7,"description":"Good"}"#,
            r#"{"name":"B"}"#
        ]
    );
    for (tool, arguments, expected) in [
        (
            "brave_news_search",
            json!({ "query": "x" }),
            r#"{"url":"https://n","title":"N","age":"1h","breaking":false,"thumbnail":"https://t"}"#,
        ),
        (
            "brave_video_search",
            json!({ "query": "x" }),
            r#"{"url":"https://v","title":"V","duration":"2:00"}"#,
        ),
        (
            "brave_image_search",
            json!({ "query": "x" }),
            r#"{"type":"object","items":[{"title":"I","url":"https://i","page_fetched":"2026-01-01T00:00:00Z","confidence":"high","properties":{"url":"https://p","width":1,"height":2}}],"count":1,"might_be_offensive":true}"#,
        ),
        ("brave_summarizer", json!({ "key": "k1" }), "Short (https://r)"),
        (
            "brave_llm_context",
            json!({ "query": "x", "x-loc-lat": 1.5, "user-agent": "me" }),
            r#"{"grounding":{"generic":[{"url":"https://g","title":"G","snippets":["s"]}],"map":[]},"sources":{"https://g":{"title":"G"}}}"#,
        ),
        (
            "brave_place_search",
            json!({ "latitude": 1.5, "longitude": 2 }),
            r#"{"type":"locations","results":[]}"#,
        ),
    ] {
        let result = call(&mut client, tool, arguments).await;
        assert_eq!(texts(&result), [expected], "{tool}");
        assert!(result["structuredContent"].is_object() && result["isError"].is_null(), "{tool} {result}");
    }
    let located = service.requests().into_iter().find(|request| request.path.contains("llm")).unwrap();
    assert_eq!((located.header("x-loc-lat"), located.header("user-agent")), ("1.5", "me"));
    assert_eq!(located.path, "/res/v1/llm/context?q=x");
}

#[tokio::test]
async fn invalid_arguments_are_not_sent() {
    let (service, _server, mut client) =
        start(|_, responder| async { responder.respond("200 OK", &[], "{}").await }).await;
    for (tool, arguments, expected) in [
        ("brave_web_search", json!({}), "/query is missing"),
        ("brave_web_search", json!({ "query": "x", "count": 21 }), "/count must be an integer from 1 to 20"),
        ("brave_web_search", json!({ "query": "x", "country": "usa" }), "/country"),
        ("brave_web_search", json!({ "query": "x", "freshness": "today" }), "/freshness"),
        ("brave_web_search", json!({ "query": "x ".repeat(51) }), "/query has more than 50 words"),
        (
            "brave_image_search",
            json!({ "query": "x", "safesearch": "moderate" }),
            "/safesearch must be one of off, strict",
        ),
        ("brave_llm_context", json!({ "query": " " }), "/query is empty"),
        ("brave_place_search", json!({ "latitude": 91 }), "/latitude"),
    ] {
        let result = call(&mut client, tool, arguments.clone()).await;
        assert!(result["isError"] == true && texts(&result)[0].contains(expected), "{arguments}: {result}");
    }
    assert!(service.requests().is_empty());
    // As the archived server has it.
    call(&mut client, "brave_web_search", json!({ "query": "x", "count": 20.0, "offset": 9 })).await;
    assert!(
        service.requests()[0].path.contains("count=20&") && service.requests()[0].path.contains("offset=9")
    );
}

#[tokio::test]
async fn goggles_filters_and_summaries_are_sent_as_the_api_wants_them() {
    let (service, _server, mut client) =
        start(|_, responder| async { responder.respond("200 OK", &[], "{}").await }).await;
    let arguments = json!({
        "query": "x", "summary": true, "result_filter": ["web"], "goggles": ["https://x/y", "http://z", " def "]
    });
    call(&mut client, "brave_web_search", arguments).await;
    let path = service.requests().remove(0).path;
    assert!(path.contains("goggles=https%3A%2F%2Fx%2Fy&goggles=def"), "{path}");
    assert!(
        path.contains("summary=true") && !path.contains("result_filter") && !path.contains("z"),
        "{path}"
    );
}

#[tokio::test]
async fn twenty_parallel_calls_keep_to_one_request_per_second() {
    let last = Arc::new(parking_lot::Mutex::new(None::<Instant>));
    let script = move |_, responder: Responder| {
        let last = last.clone();
        async move {
            let now = Instant::now();
            let before = last.lock().replace(now);
            let headers = [
                ("x-ratelimit-policy", "1;w=1, 2000;w=2592000"),
                ("x-ratelimit-remaining", "0, 1990"),
                ("x-ratelimit-reset", "1, 1209600"),
            ];
            match before.is_some_and(|before| now - before < Duration::from_secs(1)) {
                true => {
                    responder
                        .respond("429 Too Many Requests", &headers, r#"{"error": {"detail": "too fast"}}"#)
                        .await
                }
                false => responder.respond("200 OK", &headers, WEB).await,
            }
        }
    };
    let (service, server, _client) = start(script).await;
    let mut connection = server.connector()(&TaskTracker::new());
    for id in 0..20 {
        let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
        let params =
            json!({ "name": "brave_web_search", "arguments": { "query": format!("q{id}") }, "_meta": meta });
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        connection.outgoing.send(request.to_string().into()).await.unwrap();
    }
    let begun = Instant::now();
    for _ in 0..20 {
        let Incoming::Message(message) = connection.incoming.recv().await.unwrap() else { panic!() };
        let message: Value = serde_json::from_slice(message.text()).unwrap();
        assert!(message["result"]["isError"].is_null(), "{message}");
    }
    let status = server.status();
    println!("20 calls in {:?}; {status}", begun.elapsed());
    assert_eq!(service.requests().len(), 20, "none was sent too early");
    assert!(begun.elapsed() < Duration::from_secs(25));
    assert!(status.to_string().starts_with("20 requests, 0 from the cache, 0 waiting; "), "{status}");
    assert!(status.to_string().ends_with("1990 of 2000 per 30 days left, resets in 13 days"), "{status}");
}

#[tokio::test]
async fn a_refused_request_is_sent_again_when_the_service_says() {
    let count = Arc::new(AtomicUsize::new(0));
    let script = move |_, responder: Responder| {
        let count = count.clone();
        async move {
            match count.fetch_add(1, Ordering::Relaxed) {
                0 => responder.respond("429 Too Many Requests", &[("retry-after", "1")], "").await,
                1 => responder.respond("503 Service Unavailable", &[], "").await,
                _ => responder.respond("200 OK", &[], WEB).await,
            }
        }
    };
    let (service, _server, mut client) = start(script).await;
    let begun = Instant::now();
    let result = call(&mut client, "brave_web_search", json!({ "query": "x" })).await;
    assert!(result["isError"].is_null(), "{result}");
    assert_eq!(service.requests().len(), 3);
    assert!(begun.elapsed() >= Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn every_failure_has_its_message() {
    let script = |request: RecordedRequest, mut responder: Responder| async move {
        let path = request.path;
        let has = |text: &str| path.contains(&format!("q={text}"));
        if has("slow") {
            std::future::pending().await
        } else if has("long-wait") {
            responder.respond("429 Too Many Requests", &[("retry-after", "3600")], "").await;
        } else if has("quota") {
            let headers = [
                ("x-ratelimit-policy", "1;w=1, 2000;w=2592000"),
                ("x-ratelimit-remaining", "1, 0"),
                ("x-ratelimit-reset", "1, 864000"),
            ];
            responder
                .respond("429 Too Many Requests", &headers, r#"{"error": {"detail": "Quota exceeded"}}"#)
                .await;
        } else if has("key") {
            responder
                .respond("422 Unprocessable Entity", &[], r#"{"error": {"detail": "The token is invalid."}}"#)
                .await;
        } else if has("html") {
            responder.respond("200 OK", &[("content-type", "text/html")], "<html>portal</html>").await;
        } else if has("shape") {
            responder.respond("200 OK", &[], r#"{"web": {"results": "none"}}"#).await;
        } else if has("huge") {
            responder.respond("200 OK", &[], &format!(r#"{{"web": "{}"}}"#, "x".repeat(5 << 20))).await;
        } else if has("cut") {
            responder.raw("HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{\"web\"").await;
        } else {
            responder.respond("500 Internal Server Error", &[], "oops").await;
        }
    };
    let service = HttpScript::start(&TaskTracker::new(), script).await.unwrap();
    let config = BraveSearchConfig {
        timeout: Some(Duration::from_millis(500)),
        max_wait: Some(Duration::from_secs(5)),
        ..config(&service)
    };
    for (query, expected, requests) in [
        ("slow", "did not respond within 0.5 s", 1),
        ("long-wait", "limits the rate of requests: try again in 60 minutes", 1),
        ("quota", "the quota of 2000 requests per 30 days is used up; it resets in 9 days", 1),
        (
            "key",
            "returned 422 Unprocessable Entity: The token is invalid.; check the arguments, and the API key",
            1,
        ),
        (
            "html",
            "returned something unexpected: expected value at line 1 column 1; it begins with \"<html>portal</html>\"",
            1,
        ),
        ("shape", "`results` is no list of objects", 1),
        ("huge", "longer than 4194304 bytes", 3),
        ("cut", "the connection to", 3),
        ("error", "returned 500 Internal Server Error: oops; the service has a problem", 3),
    ] {
        let server = brave_search(config.clone()).unwrap();
        let mut client = Client::new(server.connector()).await;
        let before = service.requests().len();
        let result = call(&mut client, "brave_web_search", json!({ "query": query })).await;
        assert!(result["isError"] == true && texts(&result)[0].contains(expected), "{query}: {result}");
        assert_eq!(service.requests().len() - before, requests, "{query}");
        assert!(!result.to_string().contains("s3cret"));
    }
    // Nothing listens there.
    let down = BraveSearchConfig { base_url: Some("http://127.0.0.1:9".to_owned()), ..config };
    let mut client = Client::new(brave_search(down).unwrap().connector()).await;
    let result = call(&mut client, "brave_web_search", json!({ "query": "x" })).await;
    assert!(texts(&result)[0].starts_with("Brave Search cannot be reached: cannot connect to"), "{result}");
}

#[tokio::test]
async fn the_same_search_is_sent_once() {
    let (service, server, mut client) =
        start(|_, responder| async { responder.respond("200 OK", &[], WEB).await }).await;
    let mut second = Client::new(server.connector()).await;
    let result = call(&mut client, "brave_web_search", json!({ "query": "x" })).await;
    assert_eq!(call(&mut second, "brave_web_search", json!({ "query": "x" })).await, result);
    assert_eq!((service.requests().len(), server.status().cached), (1, 1));
    call(&mut client, "brave_web_search", json!({ "query": "y" })).await;
    assert_eq!(service.requests().len(), 2);
}

#[tokio::test]
async fn keys_come_from_files_and_tools_can_be_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("key");
    let tasks = TaskTracker::new();
    let answer = |_, responder: Responder| async { responder.respond("200 OK", &[], WEB).await };
    let service = HttpScript::start(&tasks, answer).await.unwrap();
    let from_file = BraveSearchConfig {
        api_key: Some(Arc::new(SecretFile(file.clone()))),
        enabled_tools: vec!["brave_web_search".to_owned()],
        ..config(&service)
    };
    let mut client = Client::new(brave_search(from_file).unwrap().connector()).await;
    let missing = call(&mut client, "brave_web_search", json!({ "query": "x" })).await;
    assert!(texts(&missing)[0].contains("cannot read the file"), "{missing}");
    std::fs::write(&file, "from-file\n").unwrap();
    call(&mut client, "brave_web_search", json!({ "query": "x" })).await;
    assert_eq!(service.requests()[0].header("x-subscription-token"), "from-file");
    let tools = client.request("tools/list", json!({})).await["result"]["tools"].take();
    assert_eq!(tools.as_array().unwrap().len(), 1);

    let without = BraveSearchConfig { api_key: None, ..config(&service) };
    let mut client = Client::new(brave_search(without).unwrap().connector()).await;
    let missing = call(&mut client, "brave_web_search", json!({ "query": "x" })).await;
    assert!(texts(&missing)[0].contains("set BRAVE_API_KEY"), "{missing}");
    for (wrong, expected) in [
        (
            BraveSearchConfig { base_url: Some("ftp://x".to_owned()), ..config(&service) },
            "`base_url` must be",
        ),
        (
            BraveSearchConfig { disabled_tools: vec!["x".to_owned()], ..config(&service) },
            "there is no tool `x`",
        ),
    ] {
        assert!(brave_search(wrong).unwrap_err().to_string().starts_with(expected));
    }
}
