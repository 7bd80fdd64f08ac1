//! Handlers for requests of servers.
//!
//! In the middle of a call a server may request a completion of a model ([`Sampling`]), input of the user ([`Elicitation`]), or the
//! workspace roots ([`Roots`]). Each is a trait with one method; closures implement them, too. Only what has a handler is declared
//! as a capability, and a request without a handler gets an error.
//!
//! ```
//! use toolbay_agent::handlers::{ElicitResult, Handlers, Root};
//!
//! let handlers = Handlers::new()
//!     .roots(vec![Root::new("file:///home/ada/project")])
//!     .elicitation(|request: toolbay_agent::handlers::ElicitRequest| async move {
//!         eprintln!("{} asks: {}", request.server, request.message());
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

/// The code of the specification for a request that the user or the model rejected.
const REJECTED: ErrorCode = ErrorCode(-1);

/// A boxed future, so that traits can be used as `dyn`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
/// Why a request was not fulfilled: any error or text. The server receives it.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Runs a model for a server (`sampling/createMessage`).
///
/// An implementation should show users the request and the completion before the server receives it.
pub trait Sampling: Send + Sync + 'static {
    /// Returns the next message of a conversation.
    fn sample(&self, request: SamplingRequest) -> BoxFuture<'_, Result<SamplingResult, BoxError>>;
}

/// Asks the user for a server (`elicitation/create`).
pub trait Elicitation: Send + Sync + 'static {
    /// Shows a form, or asks the user to visit a page.
    fn elicit(&self, request: ElicitRequest) -> BoxFuture<'_, ElicitResult>;
}

/// Provides the workspace roots (`roots/list`).
pub trait Roots: Send + Sync + 'static {
    /// The roots for that server.
    fn roots(&self, server: &ServerName) -> BoxFuture<'_, Vec<Root>>;
}

impl<F, R> Sampling for F
where
    F: Fn(SamplingRequest) -> R + Send + Sync + 'static,
    R: Future<Output = Result<SamplingResult, BoxError>> + Send + 'static,
{
    fn sample(&self, request: SamplingRequest) -> BoxFuture<'_, Result<SamplingResult, BoxError>> {
        Box::pin(self(request))
    }
}

impl<F, R> Elicitation for F
where
    F: Fn(ElicitRequest) -> R + Send + Sync + 'static,
    R: Future<Output = ElicitResult> + Send + 'static,
{
    fn elicit(&self, request: ElicitRequest) -> BoxFuture<'_, ElicitResult> {
        Box::pin(self(request))
    }
}

/// The same roots for every server.
impl Roots for Vec<Root> {
    fn roots(&self, _server: &ServerName) -> BoxFuture<'_, Vec<Root>> {
        Box::pin(async { self.clone() })
    }
}

/// The handlers of an agent or client. Clones are cheap.
#[derive(Clone, Default)]
pub struct Handlers {
    sampling: Option<Arc<dyn Sampling>>,
    elicitation: Option<Arc<dyn Elicitation>>,
    roots: Option<Arc<dyn Roots>>,
}

impl Handlers {
    /// No handlers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the handler for sampling.
    pub fn sampling(self, handler: impl Sampling) -> Self {
        Self { sampling: Some(Arc::new(handler)), ..self }
    }

    /// Sets the handler for elicitation.
    pub fn elicitation(self, handler: impl Elicitation) -> Self {
        Self { elicitation: Some(Arc::new(handler)), ..self }
    }

    /// Sets the handler for roots.
    pub fn roots(self, handler: impl Roots) -> Self {
        Self { roots: Some(Arc::new(handler)), ..self }
    }

    /// Whether there are no handlers.
    pub fn is_empty(&self) -> bool {
        self.sampling.is_none() && self.elicitation.is_none() && self.roots.is_none()
    }

    /// The capabilities that the handlers provide (`clientCapabilities`).
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
    /// Responds to a request of a legacy server, unless the server withdraws it first.
    pub(crate) async fn respond(&self, server: &ServerName, mut request: Box<ServerRequest>) {
        let params = request.params().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let method = request.method().to_owned();
        let reply = {
            let mut reply = pin!(self.reply(server, &method, params));
            tokio::select! {
                () = request.withdrawn() => return,
                reply = &mut reply => reply,
            }
        };
        request.respond(match reply {
            Ok(result) => ClientReply::Result(result.to_string()),
            Err(error) => ClientReply::Error(error),
        });
    }

    /// The roots of a server as JSON text, if there is a handler.
    pub(crate) async fn roots_of(&self, server: &ServerName) -> Option<String> {
        let roots = self.roots.as_ref()?.roots(server).await;
        serde_json::to_string(&roots).ok()
    }

    /// The result of a server request, or the error.
    pub(crate) async fn reply(
        &self,
        server: &ServerName,
        method: &str,
        params: Value,
    ) -> Result<Value, ErrorObject> {
        let server = server.clone();
        match (method, &self.sampling, &self.elicitation, &self.roots) {
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
                let message = format!("`{method}` is not supported");
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
