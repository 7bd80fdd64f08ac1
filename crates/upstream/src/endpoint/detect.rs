//! How a server is spoken to, and finding that out.
//!
//! A URL does not name its protocol. The order is that of the specification: Streamable HTTP, and if the server
//! refuses that, HTTP+SSE of 2024-11-05. A path that ends in `/sse` nearly always means the latter, so there it is tried
//! first; `ws` and `wss` leave no choice.

use toolbay_transport::http::client::{HttpError, Target};

use crate::{Endpoint, Failure};

/// How a server is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerProtocol {
    Stdio,
    Http,
    Sse,
    WebSocket,
    InProcess,
    Custom(&'static str),
}

impl ServerProtocol {
    /// For people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "http+sse",
            Self::WebSocket => "websocket",
            Self::InProcess => "in process",
            Self::Custom(name) => name,
        }
    }
}

/// The protocols that a server may use, and which of them is tried.
///
/// Invariant: `at` is the place of one of `candidates`, of which there is at least one.
#[derive(Debug)]
pub(crate) struct ProtocolDetection {
    candidates: Vec<ServerProtocol>,
    at: usize,
    /// Whether a server was found at the end of it.
    is_found: bool,
    /// Why those before `at` were wrong.
    wrong: Vec<Failure>,
}

impl ProtocolDetection {
    pub(crate) fn of(source: &Endpoint) -> Self {
        let candidates = match source {
            Endpoint::Process(_) => vec![ServerProtocol::Stdio],
            Endpoint::Auto(target) => guess(target),
            Endpoint::Http(_) => vec![ServerProtocol::Http],
            Endpoint::Sse(_) => vec![ServerProtocol::Sse],
            Endpoint::WebSocket(_) => vec![ServerProtocol::WebSocket],
            Endpoint::InProcess(_) => vec![ServerProtocol::InProcess],
            Endpoint::Custom(transport) => vec![ServerProtocol::Custom(transport.name())],
        };
        Self { is_found: candidates.len() == 1, candidates, at: 0, wrong: Vec::new() }
    }

    /// Begins anew if the server may be spoken to in other protocols than before.
    pub(crate) fn retarget(&mut self, of_endpoint: Self) {
        if self.candidates != of_endpoint.candidates {
            *self = of_endpoint;
        }
    }

    /// Returns the protocol to try now.
    pub(crate) fn current(&self) -> ServerProtocol {
        self.candidates[self.at]
    }

    /// What people see.
    pub(crate) fn name(&self) -> &'static str {
        if self.is_found { self.current().name() } else { "auto" }
    }

    /// Whether another protocol was tried before.
    pub(crate) fn goes_on(&self) -> bool {
        !self.wrong.is_empty()
    }

    /// Records that the protocol works: the next connections use it.
    pub(crate) fn found(&mut self) {
        self.is_found = true;
        self.wrong.clear();
    }

    /// Takes why a connection failed before it was ready. Returns it if it is not about the protocol, or if no protocol is
    /// left.
    pub(crate) fn failed(&mut self, failure: Failure) -> Option<Failure> {
        if self.candidates.len() == 1 {
            return Some(failure);
        }
        if !is_wrong(&failure) {
            if !self.is_found {
                self.start_over();
            }
            return Some(failure);
        }
        if self.is_found {
            // It spoke so once. Whatever is there now is looked at with fresh eyes.
            self.is_found = false;
            self.start_over();
            return None;
        }
        self.wrong.push(failure);
        if self.at + 1 < self.candidates.len() {
            self.at += 1;
            return None;
        }
        let mut tried =
            self.candidates.iter().copied().zip(std::mem::take(&mut self.wrong)).collect::<Vec<_>>();
        self.start_over();
        tried.sort_by_key(|(protocol, _)| *protocol != ServerProtocol::Http);
        let mut failures = tried.into_iter().map(|(_, failure)| Box::new(failure));
        match (failures.next(), failures.next()) {
            (Some(http), Some(sse)) => Some(Failure::Neither { http, sse }),
            (only, _) => only.map(|failure| *failure),
        }
    }

    fn start_over(&mut self) {
        self.at = 0;
        self.wrong.clear();
    }
}

fn guess(target: &Target) -> Vec<ServerProtocol> {
    let is_sse = target.url.path().trim_end_matches('/').ends_with("/sse");
    match target.url.scheme_str() {
        Some("ws" | "wss") => vec![ServerProtocol::WebSocket],
        _ if is_sse => vec![ServerProtocol::Sse, ServerProtocol::Http],
        _ => vec![ServerProtocol::Http, ServerProtocol::Sse],
    }
}

/// Whether a failure shows that the server is there and uses another protocol.
fn is_wrong(failure: &Failure) -> bool {
    let Failure::Remote { why } = failure else { return false };
    match why {
        // Not those that would be the same for whatever is spoken: who are you, later, not so often.
        HttpError::Status { status, .. } => {
            status.is_client_error() && !matches!(status.as_u16(), 401 | 403 | 407 | 408 | 425 | 429)
        }
        // A stream without an endpoint is one of Streamable HTTP.
        HttpError::ContentType { .. } | HttpError::Garbled { .. } | HttpError::Slow { .. } => true,
        _ => false,
    }
}
