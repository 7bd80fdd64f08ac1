//! `input_required`: what a server requires, and the retry that brings it.

use std::collections::HashSet;

use bytes::Bytes;
use toolbay_protocol::{ErrorCode, ObjectBuilder, Outcome, Request, Response, Splice, method};

use crate::json::{Object, items};

/// The fields of `params` that only a retry has.
pub(crate) const RETRY_FIELDS: [&str; 2] = ["inputResponses", "requestState"];
/// The methods whose result may be `input_required`.
pub(crate) const MAY_ASK: [&str; 3] = [method::TOOLS_CALL, method::RESOURCES_READ, method::PROMPTS_GET];

/// The content of an `input_required` result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputRequired {
    /// The server requests, in the order they were written.
    pub requests: Vec<InputRequest>,
    /// What the retry must give back: JSON text, as it was written.
    pub request_state: Option<String>,
}

/// One server request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputRequest {
    /// What the server calls it.
    pub key: String,
    /// `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: String,
    /// Its parameters as JSON text.
    pub params: Option<String>,
}

impl InputRequired {
    /// Returns the `input_required` result, as JSON text.
    pub fn to_result(&self) -> String {
        let mut requests = Object::default();
        for request in &self.requests {
            let mut entry = ObjectBuilder::new().string("method", &request.method);
            if let Some(params) = &request.params {
                entry = entry.raw("params", params);
            }
            requests.push(&request.key, entry.finish());
        }
        let mut result = Object::default();
        result.set("resultType", "\"input_required\"");
        if !self.requests.is_empty() {
            result.set("inputRequests", requests.text());
        }
        if let Some(state) = &self.request_state {
            result.set("requestState", state.as_str());
        }
        result.text()
    }
}

/// Returns what a result requires; nothing if it is complete, an error, or not as the specification says.
pub fn input_requests(response: &Response) -> Option<InputRequired> {
    let Outcome::Result { .. } = &response.outcome else { return None };
    let field = |name| response.result_field(name).map(|span| response.raw(span));
    if field("resultType") != Some("\"input_required\"") {
        return None;
    }
    let requests = requests(response)?;
    Some(InputRequired { requests, request_state: field("requestState").map(str::to_owned) })
}

/// Returns what a task requires, if the response to `tasks/get` says so.
pub fn task_input_requests(response: &Response) -> Option<Vec<InputRequest>> {
    let status = response.result_field("status").map(|span| response.raw(span));
    if status == Some("\"input_required\"") { requests(response) } else { None }
}

fn requests(response: &Response) -> Option<Vec<InputRequest>> {
    let Some(requests) = response.result_field("inputRequests") else { return Some(Vec::new()) };
    let requests = Object::parse(response.raw(requests))?;
    let requests: Vec<_> =
        requests.entries().map(|(key, request)| read(&key, request)).collect::<Option<_>>()?;
    let mut keys = HashSet::new();
    if !requests.iter().all(|request| keys.insert(request.key.as_str())) {
        return None; // two requests under one key: a response could belong to either
    }
    Some(requests)
}

/// Responses to server requests as a request carries them: each a key and a result (JSON text).
pub fn input_responses(responses: &[(String, String)]) -> String {
    let mut object = Object::default();
    for (key, result) in responses {
        object.push(key, result.as_str());
    }
    object.text()
}

fn read(key: &str, request: &str) -> Option<InputRequest> {
    let request = Object::parse(request)?;
    Some(InputRequest {
        key: key.to_owned(),
        method: request.string("method")?.into_owned(),
        params: request.get("params").map(str::to_owned),
    })
}

/// The pages that must be visited before a request can succeed, if that is what an error of 2025-11-25 says: in the form of
/// modern revisions, which have no `elicitationId`.
pub fn url_elicitations(response: &Response) -> Option<InputRequired> {
    let error = response.error().filter(|error| error.code == ErrorCode::URL_ELICITATION_REQUIRED)?;
    let data = Object::parse(error.data.as_ref()?.get())?;
    let request = |(index, params): (usize, &str)| {
        let mut params = Object::parse(params)?;
        params.string("url")?;
        params.set("mode", "\"url\"");
        params.remove("elicitationId");
        Some(InputRequest {
            key: format!("url-{}", index + 1),
            method: method::ELICIT.to_owned(),
            params: Some(params.text()),
        })
    };
    let requests: Vec<_> =
        items(data.get("elicitations")?)?.into_iter().enumerate().map(request).collect::<Option<_>>()?;
    (!requests.is_empty()).then_some(InputRequired { requests, request_state: None })
}

/// The same request again with the client's input: each a key and a result (JSON text). `request_state` is
/// JSON text as [`InputRequired`] gives it. Those of an earlier round are replaced.
pub fn retry(request: &Request, responses: &[(String, String)], request_state: Option<&str>) -> Bytes {
    let call = &request.call;
    let mut params = call.params_text().and_then(Object::parse).unwrap_or_default();
    for name in RETRY_FIELDS {
        params.remove(name);
    }
    if !responses.is_empty() {
        params.set("inputResponses", input_responses(responses));
    }
    if let Some(state) = request_state {
        params.set("requestState", state);
    }
    let Some(old) = &call.params else {
        return toolbay_protocol::request(&request.id, call.method(), Some(&params.text()));
    };
    let mut splice = Splice::new(&call.text);
    splice.replace(old.span, params.text());
    call.edited(splice).into_bytes()
}
