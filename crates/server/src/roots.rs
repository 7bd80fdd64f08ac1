//! The roots of a client: the directories that its user works on.
//!
//! Legacy clients return them when a server asks. They are requested once, after the handshake, and again when the client
//! says that they changed. Calls wait for the response, but not longer than [`ANSWER_TIMEOUT`].

use std::{path::PathBuf, sync::Arc, time::Duration};

use serde::{Deserialize, de::IgnoredAny};
use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};
use toolbay_protocol::{Request, RequestId, Response, Rope, file_uri, method, request};

/// How long calls wait for the roots. They go on without them then.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// How many roots are kept; more are ignored.
const MAX_ROOTS: usize = 256;

/// A directory, or another place, that the user of a client works on.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ClientRoot {
    /// A URI, `file://…` by the specification.
    pub uri: String,
    /// A name for people.
    #[serde(default)]
    pub name: Option<String>,
}

impl ClientRoot {
    /// Returns the path of a `file` URI on this machine.
    pub fn path(&self) -> Option<PathBuf> {
        file_uri::path(&self.uri)
    }
}

/// The roots of the client of one connection.
#[derive(Debug, Default)]
pub(crate) struct SessionRoots {
    /// Whether the server wants them and the client has them.
    is_available: bool,
    /// How often they were requested.
    requests: u64,
    pending: Option<RequestId>,
    state: watch::Sender<RootsState>,
}

#[derive(Debug, Clone, Default)]
struct RootsState {
    known: Option<Arc<[ClientRoot]>>,
    /// Until when calls wait for a response.
    deadline: Option<Instant>,
}

impl SessionRoots {
    /// Learns from `initialize` whether the client has roots.
    pub(crate) fn introduce(&mut self, initialize: &Request) {
        #[derive(Deserialize)]
        struct Capabilities {
            roots: Option<IgnoredAny>,
        }
        let capabilities = initialize.call.param("capabilities").map(|span| initialize.call.raw(span));
        let capabilities = capabilities.and_then(|text| serde_json::from_str::<Capabilities>(text).ok());
        self.is_available = capabilities.is_some_and(|capabilities| capabilities.roots.is_some());
    }

    /// Returns the first request for the roots, if it was not sent yet and the client has some.
    pub(crate) fn ask_once(&mut self) -> Option<Rope> {
        if self.requests > 0 { None } else { self.ask() }
    }

    /// Returns a request for the roots, if the client has some. The response to an older one is ignored then.
    pub(crate) fn ask(&mut self) -> Option<Rope> {
        if !self.is_available {
            return None;
        }
        self.requests += 1;
        let id = RequestId::from(self.requests);
        let text = request(&id, method::ROOTS_LIST, None);
        self.pending = Some(id);
        self.state.send_modify(|state| state.deadline = Some(Instant::now() + ANSWER_TIMEOUT));
        Some(text.into())
    }

    /// Takes the response to a request, also one that comes late.
    pub(crate) fn take(&mut self, response: &Response) {
        #[derive(Deserialize)]
        struct Listed {
            roots: Vec<ClientRoot>,
        }
        if self.pending.is_none() || response.id != self.pending {
            return;
        }
        self.pending = None;
        let listed = response.result_text().map(serde_json::from_str::<Listed>);
        self.state.send_modify(|state| {
            state.deadline = None;
            match listed {
                Some(Ok(listed)) => state.known = Some(listed.roots.into_iter().take(MAX_ROOTS).collect()),
                Some(Err(error)) => tracing::debug!(%error, "cannot read the roots of a client"),
                None => tracing::debug!("a client did not return its roots"),
            }
        });
    }

    /// Returns what a call learns the roots from.
    pub(crate) fn reader(&self) -> RootsReader {
        RootsReader(self.state.subscribe())
    }
}

/// Reads the roots for one call.
#[derive(Debug)]
pub(crate) struct RootsReader(watch::Receiver<RootsState>);

impl RootsReader {
    /// Returns the roots, if the client has named any. Waits while they are requested.
    pub(crate) async fn read(mut self) -> Option<Arc<[ClientRoot]>> {
        let deadline = self.0.borrow().deadline;
        if let Some(deadline) = deadline {
            let _ = timeout_at(deadline, self.0.wait_for(|state| state.deadline.is_none())).await;
        }
        self.0.borrow().known.clone()
    }
}
