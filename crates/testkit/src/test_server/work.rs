//! Running what a test gave us: tools, reads and prompts.

use std::sync::Arc;

use serde_json::{Value, json};
use toolbay_protocol::{ErrorCode, ErrorObject, Revision, meta};

use super::{
    TestServerHandle, ToolContext, ToolError, ToolResult,
    answer::{Call, Reply},
    context::level_of,
    methods::{arguments, invalid, uri},
    offers::{Run, Work},
    requesting::{Asking, Required},
    server_request::ServerRequestError,
    template,
};

/// How work ended.
enum Ended {
    /// The result or the error.
    Done(ToolResult),
    /// With a result that asks the client for more.
    Asks(Value),
}

pub(super) async fn call_tool(call: &Call, revision: Revision) -> Result<Reply, ErrorObject> {
    let request = &call.request.call;
    let name = request.string_param("name").unwrap_or_default();
    let run = call.shared.offers().tools.iter().find(|tool| tool.name == name).map(|tool| tool.run.clone());
    let outcome = match run {
        None => return Err(invalid(format!("Unknown tool: {name}"))),
        Some(Run::Raw(run)) => match run(request.params_text().unwrap_or("{}")) {
            Ok(text) => return Ok(Reply::Raw(text)),
            Err(error) => Err(error),
        },
        Some(Run::Work(work)) => match run_work(call, revision, &*work, arguments(&call.request)?).await? {
            Ended::Done(outcome) => outcome,
            Ended::Asks(result) => return Ok(Reply::Value(result)),
        },
    };
    Ok(Reply::Value(tool_result(outcome, revision)))
}

/// A tool's value as a result.
fn tool_result(outcome: ToolResult, revision: Revision) -> Value {
    match outcome {
        Err(error) => json!({"content": [{"type": "text", "text": error.to_string()}], "isError": true}),
        Ok(value) if value.get("content").is_some() => value,
        Ok(value) => {
            let mut result = json!({"content": [{"type": "text", "text": value.to_string()}]});
            // Up to 2025-11-25 it must be an object, and before 2025-06-18 there was none.
            if revision.is_modern() || (revision >= Revision::V2025_06_18 && value.is_object()) {
                result["structuredContent"] = value;
            }
            result
        }
    }
}

pub(super) async fn read_resource(call: &Call, revision: Revision) -> Result<Value, ErrorObject> {
    let uri = uri(&call.request)?;
    let Some((read, variables)) = reader(call, &uri) else {
        let code =
            if revision.is_modern() { ErrorCode::INVALID_PARAMS } else { ErrorCode::RESOURCE_NOT_FOUND };
        return Err(ErrorObject::new(code, "Resource not found").with_data(&json!({"uri": uri})));
    };
    match run_work(call, revision, &*read, variables).await? {
        Ended::Asks(result) => Ok(result),
        Ended::Done(Ok(text)) => {
            Ok(json!({"contents": [{"uri": uri, "mimeType": "text/plain", "text": text}]}))
        }
        Ended::Done(Err(error)) => Err(failed(&error)),
    }
}

/// What reads a URI, and the variables it takes.
fn reader(call: &Call, uri: &str) -> Option<(Arc<Work>, Value)> {
    let offers = call.shared.offers();
    if let Some(read) = offers.resource(uri) {
        return Some((read, json!({})));
    }
    offers.templates.iter().find_map(|template| {
        template::variables(&template.uri, uri).map(|variables| (template.read.clone(), variables))
    })
}

pub(super) async fn get_prompt(call: &Call, revision: Revision) -> Result<Value, ErrorObject> {
    let name = call.request.call.string_param("name").unwrap_or_default();
    let arguments = arguments(&call.request)?;
    let found = call.shared.offers().prompts.iter().find(|prompt| prompt.name == name).map(|prompt| {
        let missing = prompt.required.iter().find(|argument| arguments.get(argument.as_str()).is_none());
        (prompt.get.clone(), missing.cloned())
    });
    let get = match found {
        None => return Err(invalid(format!("Unknown prompt: {name}"))),
        Some((_, Some(missing))) => {
            return Err(invalid(format!("The prompt {name} needs the argument {missing}")));
        }
        Some((get, None)) => get,
    };
    let messages = match run_work(call, revision, &*get, arguments).await? {
        Ended::Asks(result) => return Ok(result),
        Ended::Done(Err(error)) => return Err(failed(&error)),
        Ended::Done(Ok(Value::String(text))) => {
            json!([{"role": "user", "content": {"type": "text", "text": text}}])
        }
        Ended::Done(Ok(messages)) => messages,
    };
    Ok(json!({"messages": messages}))
}

async fn run_work(
    call: &Call,
    revision: Revision,
    work: &Work,
    arguments: Value,
) -> Result<Ended, ErrorObject> {
    let (context, required) = context(call, revision)?;
    let asks = async {
        match required {
            Some(required) => match required.await {
                Ok(result) => result,
                Err(_) => std::future::pending().await, // it never asked
            },
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        done = work(arguments, context) => match done.as_ref().err().and_then(|error| as_answer(error, revision)) {
            Some(answer) => Err(answer),
            None => Ok(Ended::Done(done)),
        },
        result = asks => Ok(Ended::Asks(result)),
    }
}

fn context(call: &Call, revision: Revision) -> Result<(ToolContext, Required), ErrorObject> {
    let request = &call.request.call;
    let level = match request.meta(meta::LOG_LEVEL) {
        _ if !revision.is_modern() => Some(call.session.level()),
        None => None,
        Some(span) => {
            let named: Option<String> = serde_json::from_str(request.raw(span)).ok();
            let level = named.and_then(|name| level_of(&name));
            Some(level.ok_or_else(|| invalid("unknown log level".to_owned()))?)
        }
    };
    let (asking, required) = if revision.is_modern() {
        Asking::modern(revision, &call.request)?
    } else {
        (Asking::legacy(revision, call.session.clone(), call.sink.clone()), None)
    };
    let context = ToolContext {
        server: TestServerHandle { shared: call.shared.clone() },
        asking,
        sink: call.sink.clone(),
        progress_token: request.meta(meta::PROGRESS_TOKEN).map(|span| request.raw(span).to_owned()),
        level,
        ended: call.running.ended.clone(),
        params: request.params_text().unwrap_or("{}").to_owned(),
    };
    Ok((context, required))
}

/// Reasons that the protocol has errors of its own for.
fn as_answer(error: &ToolError, revision: Revision) -> Option<ErrorObject> {
    error.downcast_ref::<ServerRequestError>()?.as_answer(revision)
}

fn failed(error: &ToolError) -> ErrorObject {
    ErrorObject::new(ErrorCode::INTERNAL_ERROR, error.to_string())
}
