//! The project of a client whose working directory names none: the first folder among its roots.

use std::{path::Path, pin::Pin, sync::Arc, time::Duration};

use serde::Deserialize;
use tokio::time::{Instant, sleep_until};
use toolbay_host::ClientReply;
use toolbay_protocol::{Request, RequestId, file_uri, method};

use crate::{capture::ClientSender, session::Session};

/// How long calls wait for a client to name its roots.
const CALL_WAIT: Duration = Duration::from_secs(2);
/// How many calls wait for that; more are sent without it.
const MAX_WAITING: usize = 64;
/// How many roots are looked at.
const MAX_ROOTS: usize = 64;

type Asking = Pin<Box<dyn Future<Output = Option<Roots>> + Send>>;

/// Asks one client for its roots, and keeps the calls that depend on them.
#[derive(Default)]
pub(crate) struct ClientRoots {
    asking: Option<Asking>,
    waiting: Vec<Request>,
    /// When calls stop waiting.
    deadline: Option<Instant>,
}

/// What a client named.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Roots {
    /// The first of its roots that is a folder of this machine.
    pub(crate) folder: Option<Arc<Path>>,
}

impl ClientRoots {
    /// Requests the roots of the client, also when an older request is still open.
    pub(crate) fn ask(&mut self, session: &Session, outgoing: ClientSender) {
        let Some(pending) = session.request(method::ROOTS_LIST, "{}") else { return };
        self.deadline = Some(Instant::now() + CALL_WAIT);
        self.asking = Some(Box::pin(async move {
            outgoing.send(pending.text.into()).await.ok()?;
            match pending.reply.await.ok()? {
                ClientReply::Result(result) => Roots::read(&result).await,
                ClientReply::Error(error) => {
                    tracing::debug!("a client did not return its roots: {}", error.message);
                    None
                }
            }
        }));
    }

    /// Holds back a request that depends on the roots while they are requested; returns it when it need not wait.
    pub(crate) fn keep(&mut self, request: Box<Request>) -> Option<Box<Request>> {
        let depends = matches!(request.call.method(), method::TOOLS_CALL | method::RESOURCES_READ);
        if !depends || self.deadline.is_none() || self.waiting.len() >= MAX_WAITING {
            return Some(request);
        }
        self.waiting.push(*request);
        None
    }

    /// Forgets a request that was cancelled while it waited.
    pub(crate) fn cancel(&mut self, id: &RequestId) {
        self.waiting.retain(|request| request.id != *id);
    }

    /// The requests that wait no longer.
    pub(crate) fn release(&mut self) -> Vec<Request> {
        self.deadline = None;
        std::mem::take(&mut self.waiting)
    }

    /// Resolves when the client has answered, with what it named if it did, or when calls have waited long enough; then
    /// [`Self::release`] is due. Pending while no roots are requested. Cancel safe.
    pub(crate) async fn answered(&mut self) -> Option<Roots> {
        let (asking, deadline) = (&mut self.asking, self.deadline);
        let answer = async {
            match asking {
                Some(asking) => asking.await,
                None => std::future::pending().await,
            }
        };
        let late = async {
            match deadline {
                Some(deadline) => sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            roots = answer => {
                self.asking = None;
                roots
            }
            () = late => None,
        }
    }
}

impl Roots {
    /// Reads the result of `roots/list`.
    async fn read(result: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Listed {
            roots: Vec<Root>,
        }
        #[derive(Deserialize)]
        struct Root {
            uri: String,
        }
        let listed: Listed = match serde_json::from_str(result) {
            Ok(listed) => listed,
            Err(error) => {
                tracing::debug!(%error, "cannot parse the roots of a client");
                return None;
            }
        };
        for path in listed.roots.iter().take(MAX_ROOTS).filter_map(|root| file_uri::path(&root.uri)) {
            if tokio::fs::metadata(&path).await.is_ok_and(|file| file.is_dir()) {
                return Some(Self { folder: Some(path.into()) });
            }
        }
        Some(Self { folder: None })
    }
}
