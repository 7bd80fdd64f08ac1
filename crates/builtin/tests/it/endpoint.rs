//! Embeddings from an endpoint, over HTTP.

use serde_json::{Value, json};
use tokio_util::task::TaskTracker;
use toolbay_builtin::codebase::EmbeddingEndpoint;
use toolbay_search::semantic::{Code, Embedder};
use toolbay_testkit::{HttpScript, RecordedRequest, Responder};
use toolbay_transport::http::client::{ConnectOptions, Target};

/// Returns the length of each text as its vector, last text first, as servers may.
async fn embed(request: RecordedRequest, responder: Responder) {
    let texts = request.body["input"].as_array().cloned().unwrap_or_default();
    if request.header("authorization") != "Bearer key" || request.body["model"] != "tiny" {
        return responder.json("401 Unauthorized", &json!({"error": {"message": "who are you"}})).await;
    }
    let rows = texts.iter().enumerate().rev().map(|(index, text)| {
        let length = text.as_str().map_or(0, str::len);
        json!({"object": "embedding", "index": index, "embedding": [length, 1]})
    });
    let rows: Vec<Value> = rows.collect();
    responder.json("200 OK", &json!({"object": "list", "data": rows, "usage": {}})).await;
}

async fn endpoint(key: &str, model: &str) -> (EmbeddingEndpoint, HttpScript) {
    let tasks = TaskTracker::new();
    let server = HttpScript::start(&tasks, embed).await.unwrap();
    let mut target = Target {
        url: server.url.parse().unwrap(),
        headers: Default::default(),
        max_message: 1 << 20,
        max_running: 4,
        route: ConnectOptions::default(),
        authorizer: None,
    };
    target.headers.insert("authorization", format!("Bearer {key}").parse().unwrap());
    (EmbeddingEndpoint::new(target, model, &tasks), server)
}

#[tokio::test]
async fn every_text_gets_its_own_vector() {
    let (endpoint, server) = endpoint("key", "tiny").await;
    let searched = tokio::task::spawn_blocking(move || {
        let texts: Vec<String> = (0..70).map(|length| "x".repeat(length)).collect();
        let codes: Vec<Code<'_>> = texts.iter().map(|text| Code { path: "a", names: &[], text }).collect();
        let vectors = endpoint.codes(&codes).unwrap();
        let around = "a \n".len();
        assert!(vectors.iter().enumerate().all(|(at, vector)| *vector == [(at + around) as f32, 1.0]));
        assert_eq!(endpoint.query("four").unwrap(), [4.0, 1.0]);
        assert_eq!(endpoint.name(), "tiny at 127.0.0.1");
    });
    searched.await.unwrap();
    assert_eq!(server.requests().len(), 4, "70 texts in three batches, and a query");
}

#[tokio::test]
async fn errors_do_not_contain_the_key() {
    let (endpoint, _server) = endpoint("s3cret", "tiny").await;
    let refused = tokio::task::spawn_blocking(move || endpoint.query("x").unwrap_err().to_string());
    let refused = refused.await.unwrap();
    assert!(refused.contains("401") && refused.contains("tiny at 127.0.0.1"), "{refused}");
    assert!(!refused.contains("s3cret"), "{refused}");
}
