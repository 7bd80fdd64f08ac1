//! A server with something of everything.

mod fate;
mod server_requests;

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::time::sleep;
use toolbay_protocol::{Revision, meta};

use super::{TestServer, ToolContext, ToolError, ToolResult};

pub(super) fn server() -> TestServer {
    let counter = AtomicU64::new(0);
    let text = json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    let numbers = json!({"type": "object", "required": ["a", "b"],
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}}});
    let server = TestServer::new("toolbay-test-server")
        .instructions("For tests only.")
        .with_tool_schema("echo", text, |args| Ok(text_result(args["text"].as_str().unwrap_or_default())))
        .with_tool_schema("add", numbers, |args| add(&args))
        .describe_tool(
            "add",
            json!({"title": "Add", "annotations": {"readOnlyHint": true},
                "outputSchema": {"type": "object", "properties": {"sum": {"type": "number"}}}}),
        )
        .with_async_tool("sleep", sleep_tool)
        .with_raw_tool("raw", raw)
        .with_raw_tool("mirror", |params| Ok(mirror(params)))
        .with_async_tool("log", async |args, context: ToolContext| {
            let level = args["level"].as_str().unwrap_or("info");
            for number in 1..=args["count"].as_u64().unwrap_or(1) {
                let mut data = json!({"number": number});
                if let Some(text) = args.get("text") {
                    data["text"] = text.clone();
                }
                context.log(level, data).await;
            }
            Ok(text_result("logged"))
        })
        .with_tool("counter", move |_| Ok(json!({"count": counter.fetch_add(1, Ordering::Relaxed) + 1})))
        .with_tool("fail", |args| Err(args["text"].as_str().unwrap_or("failed").into()))
        .with_async_tool("progress", progress)
        .with_async_tool("update", async |args, context: ToolContext| {
            context.server().notify_updated(args["uri"].as_str().unwrap_or("test://readme"));
            Ok(text_result("told"))
        })
        .with_async_tool("kinds", async |_, context: ToolContext| Ok(kinds(context.revision())))
        .with_async_tool("change", async |args, context: ToolContext| change(&args, &context))
        .with_resource("test://readme", "Read me.")
        .with_resource("test://license", "Do what you want.")
        .with_resource_template("test://user/{id}", |variables| {
            Ok(format!("The user {}", variables["id"].as_str().unwrap_or_default()))
        })
        .with_prompt("hello", |_| json!("Say hello."))
        .with_prompt_arguments("greet", &["name"], |args| {
            json!(format!("Greet {}.", args["name"].as_str().unwrap_or_default()))
        })
        .with_completion("greet", "name", &["Ada", "Alan", "Grace"])
        .with_completion("test://user/{id}", "id", &["1", "10", "2"]);
    server_requests::add(fate::add(server))
}

fn text_result(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

fn add(args: &Value) -> ToolResult {
    let (a, b) =
        (args["a"].as_f64().ok_or("`a` is no number")?, args["b"].as_f64().ok_or("`b` is no number")?);
    Ok(match (args["a"].as_i64(), args["b"].as_i64()) {
        (Some(a), Some(b)) => json!({"sum": a.wrapping_add(b)}),
        _ => json!({"sum": a + b}),
    })
}

/// Sleeps `ms`, reporting every `progress_ms` if that is given.
async fn sleep_tool(args: Value, context: ToolContext) -> ToolResult {
    let total = args["ms"].as_u64().unwrap_or(100);
    let step = args["progress_ms"].as_u64().unwrap_or(total).clamp(1, total.max(1));
    let mut slept = 0;
    while slept < total {
        let next = step.min(total - slept);
        sleep(Duration::from_millis(next)).await;
        slept += next;
        if args.get("progress_ms").is_some() {
            context.progress(slept as f64, total as f64).await;
        }
    }
    Ok(text_result(&format!("slept {total} ms")))
}

/// Reports `steps` times at once.
async fn progress(args: Value, context: ToolContext) -> ToolResult {
    let steps = args["steps"].as_u64().unwrap_or(3);
    for step in 1..=steps {
        context.progress(step as f64, steps as f64).await;
    }
    Ok(text_result(args["text"].as_str().unwrap_or("done")))
}

/// A block of every kind of content that a revision has.
fn kinds(revision: Revision) -> Value {
    let contents = json!({"uri": "test://readme", "mimeType": "text/plain", "text": "Read me."});
    let mut blocks = vec![
        json!({"type": "text", "text": "words"}),
        json!({"type": "image", "data": "aW1hZ2U=", "mimeType": "image/png"}),
        json!({"type": "resource", "resource": contents}),
    ];
    if revision >= Revision::V2025_03_26 {
        blocks.push(json!({"type": "audio", "data": "YXVkaW8=", "mimeType": "audio/wav"}));
    }
    if revision >= Revision::V2025_06_18 {
        blocks.push(json!({"type": "resource_link", "uri": "test://license", "name": "The license"}));
    }
    json!({"content": blocks})
}

/// Adds the item `name` to a list: `tools`, `resources` or `prompts`.
fn change(args: &Value, context: &ToolContext) -> ToolResult {
    let name = args["name"].as_str().ok_or("`name` is missing")?.to_owned();
    match args["list"].as_str() {
        Some("tools") => context.server().add_tool(name, |_| Ok(text_result("new"))),
        Some("resources") => context.server().add_resource(format!("test://{name}"), "New."),
        Some("prompts") => context.server().add_prompt(name, "New."),
        other => return Err(format!("there is no list {other:?}").into()),
    }
    Ok(text_result("changed"))
}

/// The argument `json` is the result, to the letter.
fn raw(params: &str) -> Result<String, ToolError> {
    let params: Value = serde_json::from_str(params)?;
    let text = params["arguments"]["json"].as_str().ok_or("`json` is missing")?;
    Ok(text.to_owned())
}

/// The text of the result is the text of `params`.
fn mirror(params: &str) -> String {
    let content = format!(r#""content":[{{"type":"text","text":{}}}]"#, Value::from(params));
    if params.contains(meta::PROTOCOL_VERSION) {
        return format!(r#"{{"resultType":"complete",{content}}}"#);
    }
    format!("{{{content}}}")
}
