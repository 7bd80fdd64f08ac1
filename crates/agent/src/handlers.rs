//! Answers to what servers ask in the middle of a call.
//!
//! A server may want an answer of a model ([`Sampling`]), of a person ([`Elicitation`]), or to know which folders it may
//! look at ([`Roots`]). Each is a trait with one method; closures will do, too. What has no handler is not offered to
//! servers, and one that asks all the same is told so.
//!
//! ```
//! use toolbay_agent::handlers::{ElicitResult, Handlers, Root};
//!
//! let handlers = Handlers::new()
//!     .roots(vec![Root::new("file:///home/ada/project")])
//!     .elicitation(|asked: toolbay_agent::handlers::ElicitRequest| async move {
//!         eprintln!("{} asks: {}", asked.server, asked.message());
//!         ElicitResult::Decline
//!     });
//! assert!(!handlers.is_empty());
//! ```

mod request;

use std::{
    fmt,
    future::Future,
    pin::{Pin, pin},
    sync::Arc,
};

use serde_json::{Value, json};
use toolbay_protocol::{ErrorCode, ErrorObject, ServerName, method};
use toolbay_upstream::{ClientReply, ServerRequest};

pub use request::{ElicitRequest, ElicitResult, Root, SamplingRequest, SamplingResult};

/// What the specification has for a person or a model that will not answer.
const REJECTED: ErrorCode = ErrorCode(-1);

/// A future on the heap, so that traits with it can be used as `dyn`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
/// Why a question has no answer; any error or text will do. The server is told.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Has a model answer for a server.
///
/// Whoever implements this should show people what is asked, and what was answered, before the server gets it.
pub trait Sampling: Send + Sync + 'static {
    /// Gives the next message of a conversation.
    fn sample(&self, asked: SamplingRequest) -> BoxFuture<'_, Result<SamplingResult, BoxError>>;
}

/// Has a person answer for a server.
pub trait Elicitation: Send + Sync + 'static {
    /// Shows a form, or asks to visit a page.
    fn elicit(&self, asked: ElicitRequest) -> BoxFuture<'_, ElicitResult>;
}

/// Says which folders a server may look at.
pub trait Roots: Send + Sync + 'static {
    /// The folders for that server.
    fn roots(&self, server: &ServerName) -> BoxFuture<'_, Vec<Root>>;
}

impl<F, R> Sampling for F
where
    F: Fn(SamplingRequest) -> R + Send + Sync + 'static,
    R: Future<Output = Result<SamplingResult, BoxError>> + Send + 'static,
{
    fn sample(&self, asked: SamplingRequest) -> BoxFuture<'_, Result<SamplingResult, BoxError>> {
        Box::pin(self(asked))
    }
}

impl<F, R> Elicitation for F
where
    F: Fn(ElicitRequest) -> R + Send + Sync + 'static,
    R: Future<Output = ElicitResult> + Send + 'static,
{
    fn elicit(&self, asked: ElicitRequest) -> BoxFuture<'_, ElicitResult> {
        Box::pin(self(asked))
    }
}

/// The same folders for every server.
impl Roots for Vec<Root> {
    fn roots(&self, _server: &ServerName) -> BoxFuture<'_, Vec<Root>> {
        Box::pin(async { self.clone() })
    }
}

/// Who answers what servers ask. Clones are cheap and mean the same handlers.
#[derive(Clone, Default)]
pub struct Handlers {
    sampling: Option<Arc<dyn Sampling>>,
    elicitation: Option<Arc<dyn Elicitation>>,
    roots: Option<Arc<dyn Roots>>,
}

impl Handlers {
    /// Nobody answers anything.
    pub fn new() -> Self {
        Self::default()
    }

    /// Who has a model answer.
    pub fn sampling(self, handler: impl Sampling) -> Self {
        Self { sampling: Some(Arc::new(handler)), ..self }
    }

    /// Who has a person answer.
    pub fn elicitation(self, handler: impl Elicitation) -> Self {
        Self { elicitation: Some(Arc::new(handler)), ..self }
    }

    /// Who says which folders a server may look at.
    pub fn roots(self, handler: impl Roots) -> Self {
        Self { roots: Some(Arc::new(handler)), ..self }
    }

    /// Whether nobody answers anything.
    pub fn is_empty(&self) -> bool {
        self.sampling.is_none() && self.elicitation.is_none() && self.roots.is_none()
    }

    /// What servers are told that they may ask, as `clientCapabilities`.
    pub(crate) fn capabilities(&self) -> Value {
        let mut declared = json!({});
        if self.sampling.is_some() {
            declared["sampling"] = json!({});
        }
        if self.elicitation.is_some() {
            declared["elicitation"] = json!({ "form": {}, "url": {} });
        }
        if self.roots.is_some() {
            declared["roots"] = json!({});
        }
        declared
    }
}

impl Handlers {
    /// Answers a question of a server with a handshake, unless the server loses interest first.
    pub(crate) async fn respond(&self, server: &ServerName, mut question: Box<ServerRequest>) {
        let params = question.params().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let asked = question.method().to_owned();
        let reply = {
            let mut reply = pin!(self.reply(server, &asked, params));
            tokio::select! {
                () = question.withdrawn() => return,
                reply = &mut reply => reply,
            }
        };
        question.respond(match reply {
            Ok(result) => ClientReply::Result(result.to_string()),
            Err(error) => ClientReply::Error(error),
        });
    }

    /// The folders of a server as JSON text, if anyone says which they are.
    pub(crate) async fn roots_of(&self, server: &ServerName) -> Option<String> {
        let roots = self.roots.as_ref()?.roots(server).await;
        serde_json::to_string(&roots).ok()
    }

    /// The result of a question, or why there is none.
    pub(crate) async fn reply(
        &self,
        server: &ServerName,
        asked: &str,
        params: Value,
    ) -> Result<Value, ErrorObject> {
        let server = server.clone();
        match (asked, &self.sampling, &self.elicitation, &self.roots) {
            (method::SAMPLE, Some(handler), ..) => {
                let sampled = handler.sample(SamplingRequest { server, params }).await;
                let sampled = sampled.map_err(|why| ErrorObject::new(REJECTED, why.to_string()))?;
                serde_json::to_value(sampled)
                    .map_err(|why| ErrorObject::new(ErrorCode::INTERNAL_ERROR, why.to_string()))
            }
            (method::ELICIT, _, Some(handler), _) => {
                Ok(handler.elicit(ElicitRequest { server, params }).await.to_result())
            }
            (method::ROOTS_LIST, _, _, Some(handler)) => Ok(json!({ "roots": handler.roots(&server).await })),
            _ => {
                let message = format!("`{asked}` is not supported");
                Err(ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, message))
            }
        }
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handlers")
            .field("sampling", &self.sampling.is_some())
            .field("elicitation", &self.elicitation.is_some())
            .field("roots", &self.roots.is_some())
            .finish()
    }
}
