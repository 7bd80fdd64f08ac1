//! Endpoints that are complete only when a server is started.

use std::{fmt, future::Future, pin::Pin, sync::Arc};

use crate::Endpoint;

/// Completes an endpoint for one start, with values that are looked up then, such as secrets.
///
/// A changed value is used from the next start on, and no value is kept in between.
#[derive(Clone)]
pub struct Completion(Arc<dyn Fn(Endpoint) -> CompletionFuture + Send + Sync>);

type CompletionFuture = Pin<Box<dyn Future<Output = Result<Endpoint, Incomplete>> + Send>>;

/// Why an endpoint cannot be completed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{reason}")]
pub struct Incomplete {
    /// What is missing and what to do, without any value.
    pub reason: String,
    /// Whether the same may work later without a restart by the user, so that it is worth looking again now and then.
    pub may_change: bool,
}

impl Completion {
    /// Completes endpoints with a function. It must end in a bounded time.
    pub fn new<F>(complete: impl Fn(Endpoint) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Endpoint, Incomplete>> + Send + 'static,
    {
        Self(Arc::new(move |endpoint| Box::pin(complete(endpoint))))
    }

    pub(crate) fn complete(&self, endpoint: Endpoint) -> CompletionFuture {
        (self.0)(endpoint)
    }
}

impl fmt::Debug for Completion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Completion")
    }
}
