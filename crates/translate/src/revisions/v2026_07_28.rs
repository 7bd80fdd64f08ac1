//! 2025-11-25 → 2026-07-28: no handshake, so that every request and every result says what it needs.
//!
//! Questions are results (`input_required`) and their answers come with a retry; tasks left the core; a structured
//! result may be any value; some error codes are new. Removed methods, subscriptions and lists are not forwarded: the
//! hub answers those itself.

mod errors;
mod result;

use bytes::Bytes;
use toolbay_protocol::{Outcome, Response, encode_string, meta, method};

use super::{RevisionStep, v2025_11_25::TASK};
use crate::{
    input_required::RETRY_FIELDS,
    json::{FieldEdit, Object, changed, mapped},
    related,
    server_request::{ElicitationMode, UnsupportedServerRequest},
};

pub(crate) use result::{add_fields, cut_fields};

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

    fn response_for_older(&self, response: &Response, asked: &str) -> Option<Bytes> {
        match &response.outcome {
            Outcome::Result { .. } => result::for_older(response, asked),
            Outcome::Error { .. } => errors::for_older(response, asked),
        }
    }

    fn response_for_newer(&self, response: &Response, asked: &str) -> Option<Bytes> {
        errors::for_newer(response, asked).or_else(|| related::cut(response))
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
        related::remove(params);
        if method == method::ELICIT {
            params.remove("elicitationId");
        }
        // A question inside a result is no request, so nothing can report how it goes.
        params.change("_meta", |fields| changed(fields, |fields| fields.remove(meta::PROGRESS_TOKEN)));
    }

    fn client_response_for_older(&self, _: &str, answer: &mut Object<'_>) {
        answer.remove("resultType");
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

/// Properties whose schema is `true` or `false`, in the words of those who expect an object.
fn objects_for_booleans(properties: &str) -> Option<String> {
    changed(properties, |properties| {
        properties.sift(|_, schema| match schema {
            "true" => FieldEdit::Becomes("{}".to_owned()),
            "false" => FieldEdit::Becomes("{\"not\":{}}".to_owned()),
            _ => FieldEdit::Stays,
        });
    })
}
