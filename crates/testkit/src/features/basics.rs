//! What a client does by itself.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use toolbay_protocol::Revision;

use super::{FeatureContext, Support};

pub(super) fn tools(place: &mut FeatureContext<'_>) -> Result<Support> {
    let listed = place.client.list("tools")?;
    let add = listed.iter().find(|tool| tool["name"] == place.named("add").as_str());
    let add = add.with_context(|| format!("no `add`: {listed:?}"))?;
    ensure!(add["inputSchema"]["required"] == json!(["a", "b"]), "{add}");
    let both = place.server.min(place.client.revision());
    for (field, since) in [
        ("annotations", Revision::V2025_03_26),
        ("title", Revision::V2025_06_18),
        ("outputSchema", Revision::V2025_06_18),
    ] {
        ensure!(both < since || add.get(field).is_some(), "no `{field}`: {add}");
    }
    let text = "\"ünï\u{1F980}\"\n";
    ensure!(place.text("echo", json!({ "text": text }))? == text, "not an echo");
    let exchange = place.call("add", json!({ "a": 1, "b": 2 }))?;
    ensure!(exchange.text()? == r#"{"sum":3}"#, "{exchange:?}");
    if both >= Revision::V2025_06_18 {
        ensure!(exchange.response["result"]["structuredContent"] == json!({ "sum": 3 }), "{exchange:?}");
    }
    Ok(Support::Works)
}

/// What a client does not know it gets as something that it does.
pub(super) fn kinds(place: &mut FeatureContext<'_>) -> Result<Support> {
    let client = place.client.revision();
    let kinds = [
        ("text", Revision::V2024_11_05, ""),
        ("image", Revision::V2024_11_05, ""),
        ("resource", Revision::V2024_11_05, ""),
        ("audio", Revision::V2025_03_26, "resource"),
        ("resource_link", Revision::V2025_06_18, "text"),
    ];
    let sent = kinds.into_iter().filter(|(_, since, _)| place.server >= *since);
    let expected: Vec<&str> =
        sent.map(|(kind, since, instead)| if client >= since { kind } else { instead }).collect();
    let exchange = place.call("kinds", json!({}))?;
    let blocks =
        exchange.response["result"]["content"].as_array().with_context(|| format!("{exchange:?}"))?;
    let received: Vec<&str> = blocks.iter().filter_map(|block| block["type"].as_str()).collect();
    ensure!(received == expected, "{exchange:?}");
    let is_readable = |block: &Value| block["type"] != "text" || block["text"].is_string();
    ensure!(blocks.iter().all(is_readable), "{exchange:?}");
    ensure!(blocks[2]["resource"]["uri"] == "test://readme", "{exchange:?}");
    Ok(Support::Works)
}

pub(super) fn errors(place: &mut FeatureContext<'_>) -> Result<Support> {
    let failed = place.call("fail", json!({ "text": "no luck" }))?;
    ensure!(failed.failure()? == (0, "no luck".to_owned()), "{failed:?}");
    ensure!(place.call("none", json!({}))?.failure()?.0 == -32602, "an unknown tool");
    let code = if place.client.revision().is_modern() { -32602 } else { -32002 };
    // A hub has a server for the first one, and none for the second.
    for uri in ["test://readme/none", "test://none"] {
        let missing = place.client.request("resources/read", json!({ "uri": uri }))?.response;
        ensure!(missing["error"]["code"] == code, "{missing}");
        ensure!(missing["error"]["data"]["uri"] == uri, "{missing}");
    }
    let unknown = place.client.request("no/such/method", json!({}))?;
    ensure!(unknown.failure()?.0 == -32601, "{unknown:?}");
    Ok(Support::Works)
}

pub(super) fn progress(place: &mut FeatureContext<'_>) -> Result<Support> {
    for token in [json!("p"), json!(7)] {
        let arguments = json!({ "steps": 3, "text": "done" });
        let exchange = place.call_with_token("progress", arguments, token.clone())?;
        ensure!(exchange.text()? == "done", "{exchange:?}");
        let steps: Vec<Value> =
            (1..=3).map(|step| json!({ "progressToken": token, "progress": step, "total": 3 })).collect();
        ensure!(exchange.progress == steps, "{exchange:?}");
    }
    ensure!(place.call("progress", json!({}))?.progress.is_empty(), "nobody asked for progress");
    Ok(Support::Works)
}

pub(super) fn cancel(place: &mut FeatureContext<'_>) -> Result<Support> {
    cancel_hanging(place, json!({ "key": format!("cancel {}", place.tag) }), &["notifications/progress"])
}

/// Only between legacy revisions does a call go on during a server request.
pub(super) fn cancel_while_asked(place: &mut FeatureContext<'_>) -> Result<Support> {
    match (place.client.revision().is_modern(), place.server.is_modern()) {
        (_, true) => return Ok(Support::ServerLacksIt),
        (true, _) => return Ok(Support::ClientLacksIt),
        (false, false) => {}
    }
    let arguments = json!({ "key": format!("cancel while asked {}", place.tag), "ask": true });
    cancel_hanging(place, arguments, &["notifications/progress", "roots/list"])
}

/// Cancels a call that hangs after these messages.
fn cancel_hanging(place: &mut FeatureContext<'_>, arguments: Value, messages: &[&str]) -> Result<Support> {
    let key = arguments["key"].as_str().unwrap_or_default().to_owned();
    let params =
        json!({ "name": place.named("hang"), "arguments": arguments, "_meta": { "progressToken": "h" } });
    let mut pending = place.client.start("tools/call", params)?;
    for expected in messages {
        let heard = place.client.next_message_of(&mut pending)?;
        ensure!(heard["method"] == *expected, "not {expected}: {heard}");
    }
    place.client.cancel(pending)?;
    wait_for_fate(place, &key, "cancelled")?;
    Ok(Support::Works)
}

fn wait_for_fate(place: &mut FeatureContext<'_>, key: &str, expected: &str) -> Result<()> {
    let start = Instant::now();
    loop {
        let fate: Value = serde_json::from_str(&place.text("fate", json!({ "key": key }))?)?;
        if fate["fate"] == expected {
            return Ok(());
        }
        if start.elapsed() > Duration::from_secs(5) {
            bail!("{fate}, and not {expected}");
        }
        thread::sleep(Duration::from_millis(2));
    }
}

pub(super) fn resources(place: &mut FeatureContext<'_>) -> Result<Support> {
    let listed = place.client.list("resources")?;
    ensure!(listed.iter().any(|resource| resource["uri"] == "test://readme"), "{listed:?}");
    reads(place, "test://readme", "Read me.")
}

pub(super) fn templates(place: &mut FeatureContext<'_>) -> Result<Support> {
    let listed = place.client.list("resourceTemplates")?;
    ensure!(listed.iter().any(|template| template["uriTemplate"] == "test://user/{id}"), "{listed:?}");
    reads(place, "test://user/7", "The user 7")
}

fn reads(place: &mut FeatureContext<'_>, uri: &str, text: &str) -> Result<Support> {
    let result = place.client.result("resources/read", json!({ "uri": uri }))?;
    let expected = json!({ "uri": uri, "mimeType": "text/plain", "text": text });
    ensure!(result["contents"] == json!([expected]), "{result}");
    let hints = (result.get("ttlMs").is_some(), result.get("cacheScope").is_some());
    let modern = place.client.revision().is_modern();
    ensure!(hints == (modern, modern), "cache hints belong to modern revisions: {result}");
    Ok(Support::Works)
}

pub(super) fn prompts(place: &mut FeatureContext<'_>) -> Result<Support> {
    let name = place.named("greet");
    let listed = place.client.list("prompts")?;
    let greet = listed.iter().find(|prompt| prompt["name"] == name.as_str());
    let greet = greet.with_context(|| format!("no `{name}`: {listed:?}"))?;
    ensure!(greet["arguments"] == json!([{ "name": "name", "required": true }]), "{greet}");
    let result =
        place.client.result("prompts/get", json!({ "name": name, "arguments": { "name": "Ada" } }))?;
    ensure!(result["messages"][0]["content"]["text"] == "Greet Ada.", "{result}");
    let incomplete = place.client.request("prompts/get", json!({ "name": name }))?;
    ensure!(incomplete.failure()?.0 == -32602, "{incomplete:?}");
    Ok(Support::Works)
}

pub(super) fn completion(place: &mut FeatureContext<'_>) -> Result<Support> {
    let cases = [
        (json!({ "type": "ref/prompt", "name": place.named("greet") }), "name", "A", json!(["Ada", "Alan"])),
        (json!({ "type": "ref/resource", "uri": "test://user/{id}" }), "id", "1", json!(["1", "10"])),
    ];
    for (reference, argument, begun, expected) in cases {
        let params = json!({ "ref": reference, "argument": { "name": argument, "value": begun } });
        let result = place.client.result("completion/complete", params)?;
        ensure!(result["completion"]["values"] == expected, "{reference}: {result}");
    }
    Ok(Support::Works)
}

pub(super) fn logging(place: &mut FeatureContext<'_>) -> Result<Support> {
    if place.client.revision().is_modern() {
        let exchange = place.call("log", json!({ "count": 2, "level": "emergency" }))?;
        ensure!(exchange.logs.is_empty(), "nobody asked for log messages: {exchange:?}");
    }
    place.client.set_level("warning")?;
    let quiet = place.call("log", json!({ "count": 2, "level": "info" }))?;
    ensure!(quiet.logs.is_empty(), "these are too quiet: {quiet:?}");
    let loud = place.call("log", json!({ "count": 2, "level": "error" }))?;
    let expected: Vec<Value> = (1..=2)
        .map(|number| json!({ "level": "error", "logger": "test", "data": { "number": number } }))
        .collect();
    ensure!(loud.logs == expected, "{loud:?}");
    place.client.set_level("debug")?;
    let all = place.call("log", json!({ "count": 1, "level": "debug" }))?;
    ensure!(all.logs.len() == 1, "{all:?}");
    Ok(Support::Works)
}
