//! Services that are no MCP servers, asked over the same roads.

use std::time::Duration;

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method,
    header::{ACCEPT, CONTENT_TYPE},
};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use super::{NoAnswer, Target, caller::Caller, explain::explain, failure::reason, pool::Purpose};
use crate::http::{ReadBodyError, read_body};

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A service that takes a JSON text by POST and answers with another.
///
/// It has what servers have: proxies, certificates, a pool of connections, limits, and a URL that is never shown with its
/// secrets.
pub struct Service(Caller);

impl Service {
    /// Nothing is sent before the first question is.
    pub fn new(target: Target, tasks: &TaskTracker) -> Self {
        Self(Caller::new(target, Purpose::Requests, tasks))
    }

    /// Asks, and waits for the whole answer, but no longer than `patience`.
    pub async fn ask(&self, question: Bytes, patience: Duration) -> Result<Bytes, NoAnswer> {
        match timeout(patience, self.exchange(question, patience)).await {
            Ok(answer) => answer,
            Err(_) => Err(NoAnswer::Slow { url: self.0.shown(), after: patience }),
        }
    }

    async fn exchange(&self, question: Bytes, patience: Duration) -> Result<Bytes, NoAnswer> {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, JSON), (ACCEPT, JSON)]);
        let response = self.0.send(Method::POST, headers, question).await?;
        let url = self.0.shown();
        if !response.status().is_success() {
            return Err(explain(url, response).await.1);
        }
        match read_body(response.into_body(), self.0.target().max_message, patience).await {
            Ok(answer) => Ok(answer),
            Err(ReadBodyError::TooSlow { limit }) => Err(NoAnswer::Slow { url, after: limit }),
            Err(ReadBodyError::TooLong { limit }) => {
                Err(NoAnswer::Broken { url, reason: format!("its answer is longer than {limit} bytes") })
            }
            Err(ReadBodyError::Broken(error)) => Err(NoAnswer::Broken { url, reason: reason(&*error) }),
        }
    }
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Service({})", self.0.shown())
    }
}
