//! What a server can ask in the middle of a call.

use std::fmt;

use serde_json::{Value, json};
use toolbay_protocol::{ErrorCode, ErrorObject, Revision, method};

pub(super) const ELICIT: &str = "elicitation/create";
pub(super) const SAMPLE: &str = "sampling/createMessage";

/// A request of the server to its client: elicitation, sampling or roots.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerRequest {
    pub(super) method: &'static str,
    pub(super) params: Option<Value>,
}

impl ServerRequest {
    /// Asks the person to fill in a form; `schema` is a flat object.
    pub fn form(message: impl Into<String>, schema: Value) -> Self {
        let params = json!({"message": message.into(), "requestedSchema": schema});
        Self { method: ELICIT, params: Some(params) }
    }

    /// Asks the person to visit a page.
    pub fn url(message: impl Into<String>, url: impl Into<String>) -> Self {
        let params = json!({"mode": "url", "message": message.into(), "url": url.into()});
        Self { method: ELICIT, params: Some(params) }
    }

    /// Asks the model to continue after a text of the user.
    pub fn sample(text: impl Into<String>) -> Self {
        let messages = json!([{"role": "user", "content": {"type": "text", "text": text.into()}}]);
        Self { method: SAMPLE, params: Some(json!({"messages": messages, "maxTokens": 100})) }
    }

    /// Asks which folders the client works in.
    pub fn roots() -> Self {
        Self { method: method::ROOTS_LIST, params: None }
    }

    fn is_url(&self) -> bool {
        self.params.as_ref().is_some_and(|params| params["mode"] == "url")
    }

    /// As it stands in `inputRequests`.
    pub(super) fn input_request(&self) -> Value {
        match &self.params {
            Some(params) => json!({"method": self.method, "params": params}),
            None => json!({"method": self.method}),
        }
    }

    /// The parameters as a revision with a handshake has them; `number` makes them distinct.
    pub(super) fn legacy_params(&self, revision: Revision, number: u64) -> Option<Value> {
        let mut params = self.params.clone()?;
        if self.is_url() {
            params["elicitationId"] = format!("elicitation-{number}").into();
        } else if self.method == ELICIT && revision >= Revision::V2025_11_25 {
            params["mode"] = "form".into();
        }
        Some(params)
    }

    /// The first revision that has it.
    fn since(&self) -> Revision {
        match self.method {
            ELICIT if self.is_url() => Revision::V2025_11_25,
            ELICIT => Revision::V2025_06_18,
            _ => Revision::V2024_11_05,
        }
    }

    /// The capability that the client must declare.
    fn capability(&self) -> Value {
        match self.method {
            ELICIT if self.is_url() => json!({"elicitation": {"url": {}}}),
            ELICIT => json!({"elicitation": {"form": {}}}),
            SAMPLE => json!({"sampling": {}}),
            _ => json!({"roots": {}}),
        }
    }

    /// Whether a client with these capabilities takes this request in this revision.
    pub(super) fn check(&self, revision: Revision, capabilities: &Value) -> Result<(), ServerRequestError> {
        if revision < self.since() {
            return Err(ServerRequestError::NotInRevision { method: self.method, revision });
        }
        let elicitation = &capabilities["elicitation"];
        let declared = match self.method {
            ELICIT if self.is_url() => elicitation.get("url").is_some(),
            // An empty object has always meant forms.
            ELICIT => elicitation.get("form").is_some() || *elicitation == json!({}),
            SAMPLE => capabilities.get("sampling").is_some(),
            _ => capabilities.get("roots").is_some(),
        };
        if declared { Ok(()) } else { Err(ServerRequestError::NotDeclared { needed: self.capability() }) }
    }
}

/// Why a server request failed.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerRequestError {
    /// The revision does not have this request.
    NotInRevision { method: &'static str, revision: Revision },
    /// The client did not declare the capability.
    NotDeclared { needed: Value },
    /// The client answered with an error.
    Refused { method: &'static str, code: ErrorCode, message: String },
    /// A page must be visited before the call can be tried again; 2025-11-25 only.
    VisitFirst { elicitation: Value },
    /// The person did not agree to visit a page.
    NotVisited,
    /// The client is gone.
    Gone,
}

impl ServerRequestError {
    /// The error that answers a call which failed for this reason; nothing where that is the tool's own business.
    pub(super) fn as_answer(&self, revision: Revision) -> Option<ErrorObject> {
        match self {
            Self::NotDeclared { needed } if revision.is_modern() => Some(
                ErrorObject::new(ErrorCode::MISSING_CLIENT_CAPABILITY, self.to_string())
                    .with_data(&json!({"requiredCapabilities": needed})),
            ),
            Self::VisitFirst { elicitation } => Some(
                ErrorObject::new(ErrorCode::URL_ELICITATION_REQUIRED, self.to_string())
                    .with_data(&json!({"elicitations": [elicitation]})),
            ),
            _ => None,
        }
    }
}

impl fmt::Display for ServerRequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotInRevision { method, revision } => write!(f, "{revision} has no `{method}`"),
            Self::NotDeclared { needed } => write!(f, "the client did not declare {needed}"),
            Self::Refused { method, code, message } => {
                write!(f, "the client refused `{method}`: {code} {message}")
            }
            Self::VisitFirst { elicitation } => write!(f, "visit {} first", elicitation["url"]),
            Self::NotVisited => f.write_str("the page was not visited"),
            Self::Gone => f.write_str("the client is gone"),
        }
    }
}

impl std::error::Error for ServerRequestError {}

/// What a person did with a form or a page.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitResult {
    /// Filled it in, or agreed to visit it; the content is null for a page.
    Accepted(Value),
    Declined,
    /// Closed it without a choice.
    Cancelled,
}

impl ElicitResult {
    pub(super) fn from_answer(mut answer: Value) -> Self {
        match answer["action"].as_str() {
            Some("accept") => Self::Accepted(answer["content"].take()),
            Some("decline") => Self::Declined,
            _ => Self::Cancelled,
        }
    }
}
