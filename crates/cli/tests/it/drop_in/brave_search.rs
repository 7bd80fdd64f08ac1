//! `@brave/brave-search-mcp-server`, whose requests a loader of Node sends to a service of this test.

use std::{collections::BTreeSet, path::Path};

use serde_json::json;
use tokio::runtime::Runtime;
use tokio_util::task::TaskTracker;
use toolbay_testkit::{HttpScript, RecordedRequest, Responder};

use super::{ARGUMENTS, Call, Comparison, Servers, UNKNOWN_TOOL, call};

const SCRIPT: &str = "npm/node_modules/@brave/brave-search-mcp-server/dist/index.js";

// Where ours is better, in the words of docs/brave-search.md.
const FAILURES: &str = "Failures say what to do: a wrong key, a used-up quota, a service that is down or slow, a response that is no JSON.";
const SUMMARY: &str = "A summary that is not available says why in a second block.";
const PLACES: &str = "Places are shown without descriptions if only those cannot be retrieved.";
const SCHEMAS: &str = "Responses of `brave_place_search` and `brave_llm_context` are passed on even if they do not match the schemas of the original.";

#[test]
fn brave_search() {
    let runtime = Runtime::new().unwrap();
    let tasks = TaskTracker::new();
    let service = runtime.block_on(HttpScript::start(&tasks, answer)).unwrap();
    let url = service.url.trim_end_matches("/mcp").to_owned();
    let loader = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/interop/redirect-fetch.mjs");
    let loader = format!("--import={}", loader.canonicalize().unwrap().display());
    let servers = Servers {
        page: "brave-search",
        program: "bin/node",
        script: Some(SCRIPT),
        ours: leaked(
            ["brave-search".to_owned(), "--base-url".to_owned(), url.clone()].map(|text| &*text.leak()),
        ),
        arguments: &[],
        environment: leaked([
            ("BRAVE_API_KEY", "key"),
            ("TEST_BRAVE_SERVICE", url.leak()),
            ("NODE_OPTIONS", loader.leak()),
        ]),
        own_files: &[],
    };
    let mut servers = Comparison::start(&servers, |_| ());
    servers.tools();
    servers.calls(calls());
    let [theirs, ours] = requests(&service);
    assert_eq!(theirs, ours, "the same requests");
}

fn leaked<T, const N: usize>(values: [T; N]) -> &'static [T] {
    Box::leak(Box::new(values))
}

/// The different requests of both, but those that fail and are repeated, with sorted parameters.
fn requests(service: &HttpScript) -> [BTreeSet<String>; 2] {
    let all = service.requests();
    let shown = |request: &RecordedRequest| {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let mut parameters: Vec<&str> = query.split('&').collect();
        parameters.sort_unstable();
        let key = request.header("x-subscription-token");
        format!("{path} {} {key} {}", parameters.join("&"), request.header("x-loc-lat"))
    };
    let of = |is_ours: bool| {
        let is_of = |request: &&RecordedRequest| {
            let is_repeated = ["unknown-key", "broken"].iter().any(|word| request.path.contains(word));
            request.header("user-agent").starts_with("toolbay") == is_ours && !is_repeated
        };
        all.iter().filter(is_of).map(shown).collect::<BTreeSet<String>>()
    };
    [of(false), of(true)]
}

fn calls() -> Vec<Call> {
    let search = |tool: &'static str, query: &str| call(tool, json!({ "query": query }));
    let everything = json!({
        "query": "a+b & c/\u{fc}*~'()!", "country": "DE", "search_lang": "de", "ui_lang": "de-DE", "count": 3, "offset": 2,
        "safesearch": "off", "freshness": "2026-01-01to2026-02-01", "text_decorations": false, "spellcheck": false,
        "result_filter": ["web", "faq", "news", "videos", "discussions"], "units": "metric", "extra_snippets": true,
        "goggles": ["https://x/y", "http://z", " def "]
    });
    vec![
        search("brave_web_search", "plain"),
        call("brave_web_search", everything),
        call("brave_web_search", json!({ "query": "plain", "summary": true, "goggles": "one" })),
        call("brave_web_search", json!({ "query": "plain", "count": 10, "offset": 0 })),
        search("brave_web_search", "nothing"),
        search("brave_web_search", ""),
        search("brave_local_search", "places"),
        search("brave_local_search", "plain"),
        search("brave_local_search", "nothing"),
        search("brave_local_search", "undescribed").better(PLACES),
        search("brave_news_search", "plain"),
        search("brave_news_search", "nothing"),
        search("brave_video_search", "plain"),
        search("brave_image_search", "plain"),
        search("brave_image_search", "nothing"),
        call("brave_summarizer", json!({ "key": "{\"k\": 1}", "inline_references": true })),
        call("brave_summarizer", json!({ "key": "empty" })),
        call("brave_summarizer", json!({ "key": "broken" })).better(SUMMARY),
        call(
            "brave_llm_context",
            json!({ "query": " plain ", "x-loc-lat": 1.5, "maximum_number_of_urls": 3 }),
        ),
        call("brave_llm_context", json!({ "query": "local", "enable_local": true })),
        search("brave_llm_context", "nothing").better(SCHEMAS),
        call(
            "brave_place_search",
            json!({ "query": "pizza", "latitude": 1.5, "longitude": 2, "location": " rome italy " }),
        ),
        call("brave_place_search", json!({ "query": "nothing" })).better(SCHEMAS),
        search("brave_web_search", "unknown-key").better(FAILURES),
        search("brave_web_search", "broken").better(FAILURES),
        call("brave_web_search", json!({ "query": "x", "count": 21 })).better(ARGUMENTS),
        call("brave_web_search", json!({ "query": "x ".repeat(51) })).better(ARGUMENTS),
        call("brave_summarizer", json!({})).better(ARGUMENTS),
        call("brave_maps", json!({})).better(UNKNOWN_TOOL),
    ]
}

async fn answer(request: RecordedRequest, responder: Responder) {
    let path = request.path.split('?').next().unwrap_or_default().trim_start_matches("/res/v1/").to_owned();
    let has = |text: &str| request.path.contains(text);
    if has("unknown-key") {
        let detail =
            json!({ "error": { "code": "SUBSCRIPTION_TOKEN_INVALID", "detail": "The token is invalid." } });
        return responder.json("422 Unprocessable Entity", &detail).await;
    }
    if has("broken") || has("ids=undescribed") {
        return responder.respond("400 Bad Request", &[], "<html>no</html>").await;
    }
    let json = [("content-type", "application/json")];
    responder.respond("200 OK", &json, body(&path, has)).await;
}

fn body(path: &str, has: impl Fn(&str) -> bool) -> &'static str {
    match path {
        "summarizer/search" if has("empty") => r#"{"status": "complete", "summary": []}"#,
        "summarizer/search" => {
            r#"{"status": "complete", "summary": [{"type": "token", "data": "Short"}, {"type": "enum_item", "data": 1},
                {"type": "inline_reference", "data": {"url": "https://r"}}, {"type": "token", "data": "."}]}"#
        }
        "llm/context" if has("nothing") => r#"{"grounding": {"generic": []}, "sources": {}}"#,
        "llm/context" if has("local") => {
            r#"{"sources": {"https://g": {"title": "G", "hostname": "g", "age": []}}, "grounding": {"generic": [],
                "poi": {"name": "P", "url": "https://p", "title": "P", "snippets": ["x"]},
                "map": [{"name": "M", "url": "", "title": "M", "snippets": [], "more": 1}]}}"#
        }
        "llm/context" => {
            r#"{"grounding": {"generic": [{"title": "G", "url": "https://g", "snippets": ["{\"a\": 1}", "text"], "more": 1}],
                "poi": null, "map": []}, "sources": {"https://g": {"title": "G", "hostname": "g"}}, "query": "q"}"#
        }
        "local/place_search" if has("nothing") => r#"{"type": "something else"}"#,
        "local/place_search" => r#"{"type": "locations", "results": [], "query": {"original": "pizza"}}"#,
        "local/descriptions" => {
            r#"{"type": "local_descriptions", "results": [{"id": "1", "description": "Good food."}]}"#
        }
        _ if has("nothing") => {
            r#"{"results": [], "web": {"results": []}, "extra": {"might_be_offensive": false}}"#
        }
        "web/search" if has("places") => {
            r#"{"locations": {"results": [
                {"id": "1", "title": "Zuni", "price_range": "$$", "contact": {"telephone": "+1"}, "postal_address": {"displayAddress": "Market St"},
                 "rating": {"ratingValue": 4.5, "reviewCount": 7}, "opening_hours": {
                    "current_day": [{"full_name": "Friday", "opens": "11:00", "closes": "15:00"}, {"full_name": "Friday", "opens": "17:00", "closes": "21:30"}],
                    "days": [[{"full_name": "Tuesday", "opens": "17:00", "closes": "21:30"}], {"full_name": "Sunday", "opens": "1", "closes": "2"}]}},
                {"id": "2", "title": "B", "opening_hours": {}, "rating": null}]},
                "web": {"results": [{"title": "W", "url": "https://w"}]}}"#
        }
        "web/search" if has("undescribed") => {
            r#"{"locations": {"results": [{"id": "undescribed", "title": "Zuni"}]}}"#
        }
        "web/search" => {
            r#"{"web": {"results": [
                {"title": "One", "url": "https://one", "description": "<strong>First</strong>", "age": "1 day", "extra_snippets": ["a", "b"]},
                {"title": "Zwei \u00fc \u2028", "url": "https://two", "description": null, "profile": {"name": "x"}}]},
              "faq": {"results": [{"question": "Q?", "answer": "A", "title": "T", "url": "https://q", "meta_url": {}}]},
              "discussions": {"mutated_by_goggles": false, "results": [{"url": "https://d", "data": {"z": 1, "a": [2, 3.50]}, "x": 1}]},
              "news": {"mutated_by_goggles": true, "results": [{"title": "N", "url": "https://n", "breaking": true, "source": "S"}]},
              "videos": {"results": [{"url": "https://v", "title": "V", "age": "2 d", "video": {"duration": "1:00", "views": 3, "tags": ["t"]},
                "thumbnail": {"src": "https://t", "original": "https://o"}}]},
              "summarizer": {"type": "summarizer", "key": "k1"}}"#
        }
        "news/search" => {
            r#"{"results": [{"title": "N", "url": "https://n", "age": "1h", "page_age": "2026-01-01", "description": "D",
                 "thumbnail": {"src": "https://t"}}, {"title": "B", "url": "https://b", "breaking": true, "extra_snippets": []}]}"#
        }
        "videos/search" => {
            r#"{"results": [{"title": "V", "url": "https://v", "description": "D", "video": {"duration": "2:00"}},
                {"title": "W", "url": "https://w", "thumbnail": {"src": "https://t"}}]}"#
        }
        "images/search" => {
            r#"{"results": [
                {"title": "I", "url": "https://i", "page_fetched": "2026-01-01T00:00:00Z", "confidence": "high", "source": "s",
                 "properties": {"url": "https://p", "width": 1, "height": 2, "placeholder": "x"}, "thumbnail": {"src": "https://t"}},
                {"title": "incomplete"},
                {"title": "J", "url": "no url", "page_fetched": "2026-01-01T00:00:00Z", "confidence": "low",
                 "properties": {"url": "https://p", "width": 1, "height": 2}},
                {"title": "K", "url": "https://k", "page_fetched": "yesterday", "confidence": "low",
                 "properties": {"url": "https://p", "width": 1, "height": 2}},
                {"title": "L", "url": "https://l", "page_fetched": "2026-01-01T00:00:00.123Z", "confidence": "unknown",
                 "properties": {"url": "https://p", "width": 1, "height": 2}}],
              "extra": {"might_be_offensive": true}}"#
        }
        _ => "{}",
    }
}
