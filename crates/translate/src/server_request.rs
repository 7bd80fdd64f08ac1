//! Server requests, and the responses of clients.

use toolbay_protocol::Revision;

use crate::{
    json::{Object, items},
    revisions,
};

/// A server request that a revision does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("revision {revision} has no {what}")]
pub struct UnsupportedServerRequest {
    /// What is missing.
    pub what: &'static str,
    /// The newest revision that lacks it.
    pub revision: Revision,
}

/// The mode of an elicitation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ElicitationMode {
    Form,
    Url,
    Unknown,
}

impl ElicitationMode {
    pub(crate) fn of(params: &Object<'_>) -> Self {
        match (params.get("mode"), params.string("mode").as_deref()) {
            (None, _) | (_, Some("form")) => Self::Form,
            (_, Some("url")) => Self::Url,
            _ => Self::Unknown,
        }
    }
}

/// Whether a sampling request offers tools to the model.
pub(crate) fn wants_tools(params: &Object<'_>) -> bool {
    params.get("tools").is_some_and(|tools| items(tools).is_none_or(|tools| !tools.is_empty()))
}

/// The parameters (JSON text) of a server request, as a client of revision `to` understands them.
///
/// `elicitation_id` names a page to visit, for the one revision that wants such pages named.
pub fn translate_server_request(
    method: &str,
    params: Option<&str>,
    from: Revision,
    to: Revision,
    elicitation_id: &str,
) -> Result<String, UnsupportedServerRequest> {
    let text = params.unwrap_or("{}");
    let Some(mut params) = Object::parse(text) else { return Ok(text.to_owned()) };
    for step in revisions::down(from, to) {
        step.server_request_for_older(method, &mut params, elicitation_id)?;
    }
    for step in revisions::up(from, to) {
        step.server_request_for_newer(method, &mut params);
    }
    Ok(params.changed_text().unwrap_or_else(|| text.to_owned()))
}

/// A client's result (JSON text) for a server request, as that server understands it.
pub fn translate_client_response(method: &str, result: &str, from: Revision, to: Revision) -> String {
    let Some(mut response) = Object::parse(result) else { return result.to_owned() };
    for step in revisions::down(from, to) {
        step.client_response_for_older(method, &mut response);
    }
    response.changed_text().unwrap_or_else(|| result.to_owned())
}
