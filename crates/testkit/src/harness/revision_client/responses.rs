//! Responses of a client to server requests.

use anyhow::{Result, bail, ensure};
use serde_json::{Map, Value, json};
use toolbay_protocol::Revision;

use super::Respond;

/// A response to a server request.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientResponse {
    Result(Value),
    /// Where the revision has errors for that; otherwise as [`ClientResponse::Nothing`].
    Error {
        code: i64,
        message: String,
    },
    /// None at all.
    Nothing,
}

/// What a client of a revision can declare at most.
pub(super) fn capabilities(revision: Revision) -> Value {
    let mut declared = json!({ "sampling": {}, "roots": {} });
    if !revision.is_modern() {
        declared["roots"]["listChanged"] = true.into();
    }
    if revision >= Revision::V2025_11_25 {
        declared["elicitation"] = json!({ "form": {}, "url": {} });
    } else if revision >= Revision::V2025_06_18 {
        declared["elicitation"] = json!({});
    }
    declared
}

/// Refuses server requests that the client did not declare, or that its revision does not have.
pub(super) fn check(method: &str, params: &Value, revision: Revision, declared: &Value) -> Result<()> {
    let has_params = method == "ping" || method == "roots/list" || params.is_object();
    ensure!(has_params, "`{method}` without parameters");
    let is_declared = match method {
        "elicitation/create" if params["mode"] == "url" => {
            let tagged = params.get("elicitationId").is_some();
            ensure!(tagged != revision.is_modern(), "an `elicitationId` is for 2025-11-25 alone: {params}");
            declared["elicitation"].get("url").is_some()
        }
        "elicitation/create" => {
            let mode = params.get("mode");
            ensure!(mode.is_none() || revision >= Revision::V2025_11_25, "`mode` is unknown here: {params}");
            declared["elicitation"] == json!({}) || declared["elicitation"].get("form").is_some()
        }
        "sampling/createMessage" => declared.get("sampling").is_some(),
        "roots/list" => declared.get("roots").is_some(),
        "ping" => true,
        _ => bail!("an unknown question: {method} {params}"),
    };
    ensure!(is_declared, "a question that was not declared: {method} {params}");
    Ok(())
}

/// Fills every form with `name`, visits every page, samples a text with `name`, and works in `file:///<name>`.
pub fn accepting(name: &str) -> Respond {
    let name = name.to_owned();
    Box::new(move |method, params| {
        ClientResponse::Result(match method {
            "elicitation/create" if params["mode"] == "url" => json!({ "action": "accept" }),
            "elicitation/create" => {
                let fields = params["requestedSchema"]["properties"].as_object();
                let filled: Map<String, Value> = fields
                    .into_iter()
                    .flatten()
                    .map(|(field, _)| (field.clone(), format!("{field} of {name}").into()))
                    .collect();
                json!({ "action": "accept", "content": filled })
            }
            "sampling/createMessage" => {
                let content = json!({ "type": "text", "text": format!("sampled for {name}") });
                json!({ "role": "assistant", "content": content, "model": "test", "stopReason": "endTurn" })
            }
            "roots/list" => {
                json!({ "roots": [{ "uri": format!("file:///{name}"), "name": name }] })
            }
            _ => json!({}),
        })
    })
}

/// Declines every form and page.
pub fn declining() -> Respond {
    Box::new(|_, _| ClientResponse::Result(json!({ "action": "decline" })))
}

/// Answers everything with an error.
pub fn refusing() -> Respond {
    Box::new(|_, _| ClientResponse::Error { code: -1, message: "the person said no".to_owned() })
}
