//! 2025-11-25 → 2026-07-28: no handshake, so that every request and every result says what it needs.
//!
//! Server requests are results (`input_required`) and their responses come with a retry; tasks left the core; a structured
//! result may be any value; some error codes are new. Removed methods, subscriptions and lists are not forwarded: the
//! hub answers those itself.

use bytes::Bytes;
use smallvec::SmallVec;
use toolbay_protocol::{ErrorCode, ErrorObject, Outcome, Response, Splice, encode_string, meta, method};

use crate::{
    content::put_structured_text,
    input_required::{MAY_ASK, RETRY_FIELDS, url_elicitations},
    json::{FieldEdit, Object, changed, mapped},
    meta::{remove_related_task, without_related_task},
    revisions::{
        RevisionStep,
        v2025_11_25::{TASK, page_as_plain_error},
        with_outcome,
    },
    server_request::{ElicitationMode, UnsupportedServerRequest},
};

pub(super) struct Changes;

impl RevisionStep for Changes {
    fn params_unknown_to_older(&self, method: &str) -> &'static [&'static str] {
        // A client of this revision that says `task` does not mean the experiment: it must be overlooked.
        const OF_TOOLS: [&str; 3] = [RETRY_FIELDS[0], RETRY_FIELDS[1], TASK];
        if method == method::TOOLS_CALL { &OF_TOOLS } else { &RETRY_FIELDS }
    }

    fn params_unknown_to_newer(&self, method: &str) -> &'static [&'static str] {
        if method == method::TOOLS_CALL { &[TASK] } else { &[] }
    }

    fn response_for_older(&self, response: &Response, method: &str) -> Option<Bytes> {
        match &response.outcome {
            Outcome::Result { .. } => result_for_older(response, method),
            Outcome::Error { .. } => error_for_older(response, method),
        }
    }

    fn response_for_newer(&self, response: &Response, method: &str) -> Option<Bytes> {
        error_for_newer(response, method).or_else(|| without_related_task(response))
    }

    fn server_request_for_older(
        &self,
        method: &str,
        params: &mut Object<'_>,
        elicitation_id: &str,
    ) -> Result<(), UnsupportedServerRequest> {
        match method {
            method::ELICIT
                if ElicitationMode::of(params) == ElicitationMode::Url
                    && params.string("elicitationId").is_none() =>
            {
                params.set("elicitationId", encode_string(elicitation_id));
            }
            method::SAMPLE => {
                params.change("tools", |tools| {
                    mapped(tools, |tool| changed(tool, |tool| self.tool_for_older(tool)))
                });
                params.change("messages", |messages| {
                    mapped(messages, |message| {
                        changed(message, |message| message.change("content", tool_results_for_older))
                    })
                });
            }
            _ => {}
        }
        Ok(())
    }

    fn server_request_for_newer(&self, method: &str, params: &mut Object<'_>) {
        params.remove(TASK);
        remove_related_task(params);
        if method == method::ELICIT {
            params.remove("elicitationId");
        }
        // Inside a result it is no request of its own, so there is no progress to report.
        params.change("_meta", |fields| changed(fields, |fields| fields.remove(meta::PROGRESS_TOKEN)));
    }

    fn client_response_for_older(&self, _: &str, response: &mut Object<'_>) {
        response.remove("resultType");
    }

    /// Schemas: one bad definition makes older clients refuse the whole list.
    fn tool_for_older(&self, tool: &mut Object<'_>) {
        let describes_object = |schema: &str| {
            Object::parse(schema)
                .is_some_and(|schema| schema.string("type").is_some_and(|kind| kind == "object"))
        };
        if tool.get("outputSchema").is_some_and(|schema| !describes_object(schema)) {
            tool.remove("outputSchema");
        }
        for name in ["inputSchema", "outputSchema"] {
            tool.change(name, |schema| {
                changed(schema, |schema| schema.change("properties", objects_for_booleans))
            });
        }
    }
}

/// One block or several, in which results of tools are structured as objects only.
fn tool_results_for_older(content: &str) -> Option<String> {
    let block = |block: &str| {
        changed(block, |block| {
            if block.get("type") == Some("\"tool_result\"") && !block.has_object("structuredContent") {
                block.remove("structuredContent");
            }
        })
    };
    mapped(content, block).or_else(|| block(content))
}

/// Replaces the schemas `true` and `false` by equivalent objects, which older clients expect.
fn objects_for_booleans(properties: &str) -> Option<String> {
    changed(properties, |properties| {
        properties.sift(|_, schema| match schema {
            "true" => FieldEdit::Becomes("{}".to_owned()),
            "false" => FieldEdit::Becomes("{\"not\":{}}".to_owned()),
            _ => FieldEdit::Stays,
        });
    })
}

fn error_for_older(response: &Response, method: &str) -> Option<Bytes> {
    let error = response.error()?;
    let names_uri = || {
        let data = error.data.as_ref().and_then(|data| Object::parse(data.get()));
        data.is_some_and(|data| data.string("uri").is_some())
    };
    let code = match error.code {
        ErrorCode::INVALID_PARAMS if method == method::RESOURCES_READ && names_uri() => {
            ErrorCode::RESOURCE_NOT_FOUND
        }
        ErrorCode::HEADER_MISMATCH | ErrorCode::MISSING_CLIENT_CAPABILITY => ErrorCode::INVALID_REQUEST,
        // The code that `initialize` returns for an unsupported version.
        ErrorCode::UNSUPPORTED_PROTOCOL_VERSION => ErrorCode::INVALID_PARAMS,
        _ => return None,
    };
    with_code(response, code)
}

fn error_for_newer(response: &Response, method: &str) -> Option<Bytes> {
    match response.error()?.code {
        ErrorCode::RESOURCE_NOT_FOUND => with_code(response, ErrorCode::INVALID_PARAMS),
        ErrorCode::URL_ELICITATION_REQUIRED => {
            let required = url_elicitations(response).filter(|_| MAY_ASK.contains(&method));
            match (required, &response.id) {
                (Some(required), Some(id)) => Some(toolbay_protocol::result(id, &required.to_result())),
                _ => page_as_plain_error(response),
            }
        }
        _ => None,
    }
}

/// The error under another code; message and data stay.
fn with_code(response: &Response, code: ErrorCode) -> Option<Bytes> {
    let Outcome::Error { span } = response.outcome else { return None };
    let mut error = Object::parse(response.raw(span))?;
    error.set("code", code.to_string());
    Some(with_outcome(response, &error.text()))
}

const TYPE: &str = "resultType";
const COMPLETE: &str = "\"complete\"";

/// Adds the fields that modern results have and legacy ones lack.
pub(crate) fn add_fields(response: &Response, method: &str, splice: &mut Splice<'_>) {
    let Outcome::Result { fields, .. } = &response.outcome else { return };
    let mut add: SmallVec<[(&str, &str); 3]> = SmallVec::new();
    let mut missing = |key, value| {
        if response.result_field(key).is_none() {
            add.push((key, value));
        }
    };
    missing(TYPE, COMPLETE);
    let is_input_required =
        response.result_field(TYPE).is_some_and(|kind| response.raw(kind) == "\"input_required\"");
    if method == method::RESOURCES_READ && !is_input_required {
        // A legacy server does not allow caching, so it is forbidden.
        missing("ttlMs", "0");
        missing("cacheScope", "\"private\"");
    }
    if !add.is_empty() {
        splice.insert_fields(fields, &add);
    }
}

/// Removes the fields that only modern results have.
pub(crate) fn cut_fields(response: &Response, splice: &mut Splice<'_>) {
    let Outcome::Result { fields, .. } = &response.outcome else { return };
    for cut in fields.cuts(&response.text, &[TYPE, "ttlMs", "cacheScope"]) {
        splice.replace(cut, "");
    }
}

fn result_for_older(response: &Response, method: &str) -> Option<Bytes> {
    if let Some(kind) =
        response.result_field(TYPE).map(|kind| response.raw(kind)).filter(|kind| *kind != COMPLETE)
    {
        // To cut the type would pass it off as a complete result.
        let why = format!("the server's result has the type {kind}, which legacy clients do not support");
        let error = ErrorObject::new(ErrorCode::INTERNAL_ERROR, why);
        return Some(toolbay_protocol::error(response.id.as_ref(), &error));
    }
    let structured = response.result_field("structuredContent")?;
    if method != method::TOOLS_CALL || response.text[structured.range()].starts_with(b"{") {
        return None;
    }
    let mut result = Object::parse(response.result_text()?)?;
    put_structured_text(&mut result);
    result.remove("structuredContent");
    Some(with_outcome(response, &result.text()))
}
