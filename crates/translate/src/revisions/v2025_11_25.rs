//! 2025-06-18 → 2025-11-25: more kinds of forms, pages to visit, tools and several blocks in sampling, tasks.
//!
//! Icons, descriptions of implementations and `execution` of tools are overlooked by older readers.

use std::collections::HashSet;

use bytes::Bytes;
use toolbay_protocol::{ErrorCode, ObjectBuilder, Response, Revision, decode_string, encode_string, method};

use crate::{
    content::text_block,
    input_required::url_elicitations,
    json::{FieldEdit, Object, array, items},
    meta::{remove_related_task, without_related_task},
    revisions::{RevisionStep, with_outcome},
    server_request::{ElicitationMode, UnsupportedServerRequest, wants_tools},
};

pub(super) struct Changes;

/// Tasks were an experiment of this revision alone; for others the parameter is dropped, and the call runs without a task.
pub(super) const TASK: &str = "task";

fn lacks(what: &'static str) -> UnsupportedServerRequest {
    UnsupportedServerRequest { what, revision: Revision::V2025_06_18 }
}

impl RevisionStep for Changes {
    fn params_unknown_to_older(&self, method: &str) -> &'static [&'static str] {
        if method == method::TOOLS_CALL { &[TASK] } else { &[] }
    }

    fn response_for_older(&self, response: &Response, _: &str) -> Option<Bytes> {
        page_as_plain_error(response).or_else(|| without_related_task(response))
    }

    fn server_request_for_older(
        &self,
        method: &str,
        params: &mut Object<'_>,
        _: &str,
    ) -> Result<(), UnsupportedServerRequest> {
        params.remove(TASK);
        remove_related_task(params);
        match method {
            method::ELICIT => match ElicitationMode::of(params) {
                ElicitationMode::Form => {
                    params.remove("mode");
                    form_for_older(params)
                }
                ElicitationMode::Url => Err(lacks("elicitation in URL mode")),
                ElicitationMode::Unknown => Err(lacks("such mode of elicitation")),
            },
            method::SAMPLE => sampling_for_older(params),
            _ => Ok(()),
        }
    }

    fn client_response_for_older(&self, method: &str, response: &mut Object<'_>) {
        if method == method::SAMPLE {
            response.change("content", one_block);
        }
    }
}

/// The error "URL elicitation required" for revisions without its code: the message names the URLs.
pub(super) fn page_as_plain_error(response: &Response) -> Option<Bytes> {
    let error = response.error().filter(|error| error.code == ErrorCode::URL_ELICITATION_REQUIRED)?;
    let mut message = error.message;
    for request in url_elicitations(response).map(|required| required.requests).unwrap_or_default() {
        let params = request.params.as_deref().and_then(Object::parse);
        if let Some(url) = params.as_ref().and_then(|params| params.string("url")) {
            message.push_str(&format!(" Visit {url} and try again."));
        }
    }
    let toolbay_protocol::Outcome::Error { span } = response.outcome else { return None };
    let mut error = Object::parse(response.raw(span))?;
    error.set("code", ErrorCode::INTERNAL_ERROR.to_string());
    error.set("message", encode_string(&message));
    Some(with_outcome(response, &error.text()))
}

/// Converts a form to 2025-06-18, which has no multi-select: such a field is dropped if it is optional.
fn form_for_older(params: &mut Object<'_>) -> Result<(), UnsupportedServerRequest> {
    let Some(mut schema) = params.get("requestedSchema").and_then(Object::parse) else { return Ok(()) };
    let Some(mut properties) = schema.get("properties").and_then(Object::parse) else { return Ok(()) };
    let required = schema.get("required").and_then(items).unwrap_or_default();
    let required: HashSet<_> =
        required.into_iter().filter_map(|name| decode_string(name.as_bytes())).collect();
    let mut must_choose_several = false;
    properties.sift(|name, property| {
        if is_choice_of_several(property) {
            must_choose_several |= required.contains(name);
            return FieldEdit::Goes;
        }
        titles_beside_values(property).map_or(FieldEdit::Stays, FieldEdit::Becomes)
    });
    if must_choose_several {
        return Err(lacks("multi-select in a form"));
    }
    if let Some(properties) = properties.changed_text() {
        schema.set("properties", properties);
        let schema = schema.text();
        params.set("requestedSchema", schema);
    }
    Ok(())
}

fn is_choice_of_several(property: &str) -> bool {
    Object::parse(property)
        .is_some_and(|property| property.string("type").is_some_and(|kind| kind == "array"))
}

/// `oneOf` with a title for each value, as `enum` with `enumNames`.
fn titles_beside_values(property: &str) -> Option<String> {
    let mut property = Object::parse(property)?;
    let options: Vec<Object<'_>> =
        items(property.get("oneOf")?)?.into_iter().map(Object::parse).collect::<Option<_>>()?;
    let values: Vec<&str> = options.iter().map(|option| option.get("const")).collect::<Option<_>>()?;
    let titles: Vec<&str> =
        options.iter().map(|option| option.get("title").or(option.get("const"))).collect::<Option<_>>()?;
    let (values, titles) = (array(&values), array(&titles));
    property.remove("oneOf");
    property.set("enum", values);
    property.set("enumNames", titles);
    Some(property.text())
}

/// A sampling request without tools, each message of one block.
fn sampling_for_older(params: &mut Object<'_>) -> Result<(), UnsupportedServerRequest> {
    if wants_tools(params) {
        return Err(lacks("tools in sampling"));
    }
    params.remove("tools");
    params.remove("toolChoice");
    let Some(messages) = params.get("messages").and_then(items) else { return Ok(()) };
    let mut apart = Vec::new();
    for text in &messages {
        let message = Object::parse(text);
        let content = message.as_ref().and_then(|message| message.get("content"));
        let (Some(message), Some(content)) = (&message, content) else {
            apart.push((*text).to_owned());
            continue;
        };
        let blocks = blocks(content);
        if blocks.as_deref().unwrap_or(&[content]).iter().any(|block| is_about_tools(block)) {
            return Err(lacks("tools in sampling"));
        }
        match blocks {
            Some(blocks) => take_apart(message, &blocks, &mut apart),
            None => apart.push((*text).to_owned()),
        }
    }
    if apart != messages {
        params.set("messages", array(&apart));
    }
    Ok(())
}

/// The blocks of a message that holds several.
fn blocks(content: &str) -> Option<Vec<&str>> {
    items(content).filter(|blocks| blocks.iter().all(|block| block.starts_with('{')))
}

fn is_about_tools(block: &str) -> bool {
    let kind = Object::parse(block);
    let kind = kind.as_ref().and_then(|block| block.string("type"));
    matches!(kind.as_deref(), Some("tool_use" | "tool_result"))
}

/// Appends a message for each block, all of the same role. Other fields of the message are copied once.
fn take_apart(message: &Object<'_>, blocks: &[&str], apart: &mut Vec<String>) {
    let role = message.get("role").filter(|role| matches!(*role, "\"user\"" | "\"assistant\""));
    let mut whole = message.clone();
    for (index, block) in blocks.iter().enumerate() {
        if index == 0 {
            whole.set("content", (*block).to_owned());
            apart.push(whole.text());
        } else {
            let message = ObjectBuilder::new().raw("role", role.unwrap_or("\"user\"")).raw("content", block);
            apart.push(message.finish());
        }
    }
}

/// A model's response as one block: the only one, else all text in one, else the first.
fn one_block(content: &str) -> Option<String> {
    let blocks = blocks(content)?;
    if let [block] = blocks.as_slice() {
        return Some((*block).to_owned());
    }
    let text = |block: &&str| {
        let block = Object::parse(block)?;
        Some(block.string("text")?.into_owned())
    };
    let texts: Vec<String> = blocks.iter().filter_map(text).collect();
    match blocks.first() {
        Some(first) if texts.is_empty() => Some((*first).to_owned()),
        _ => Some(text_block(&texts.join("\n"))),
    }
}
