//! Services that are no MCP servers, asked over the same roads.

use std::time::Duration;

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method,
    header::{ACCEPT, CONTENT_TYPE},
};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use super::{
    HttpError, Target, error::reason, origin_client::OriginClient, pool::Purpose, response_kind::explain,
};
use crate::http::{ReadBodyError, read_body};

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A service that takes a JSON text by POST and answers with another.
///
/// It has what servers have: proxies, certificates, a pool of connections, limits, and a URL that is never shown with its
/// secrets.
pub struct JsonService(OriginClient);

impl JsonService {
    /// Nothing is sent before the first question is.
    pub fn new(target: Target, tasks: &TaskTracker) -> Self {
        Self(OriginClient::new(target, Purpose::Requests, tasks))
    }

    /// Asks, and waits for the whole answer, but no longer than `patience`.
    pub async fn post(&self, question: Bytes, patience: Duration) -> Result<Bytes, HttpError> {
        match timeout(patience, self.exchange(question, patience)).await {
            Ok(answer) => answer,
            Err(_) => Err(HttpError::Slow { url: self.0.shown(), after: patience }),
        }
    }

    async fn exchange(&self, question: Bytes, patience: Duration) -> Result<Bytes, HttpError> {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, JSON), (ACCEPT, JSON)]);
        let response = self.0.send(Method::POST, headers, question).await?;
        let url = self.0.shown();
        if !response.status().is_success() {
            return Err(explain(url, response).await.1);
        }
        match read_body(response.into_body(), self.0.target().max_message, patience).await {
            Ok(answer) => Ok(answer),
            Err(ReadBodyError::TooSlow { limit }) => Err(HttpError::Slow { url, after: limit }),
            Err(ReadBodyError::TooLong { limit }) => {
                Err(HttpError::Broken { url, reason: format!("its response is longer than {limit} bytes") })
            }
            Err(ReadBodyError::Broken(error)) => Err(HttpError::Broken { url, reason: reason(&*error) }),
        }
    }
}

impl std::fmt::Debug for JsonService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Service({})", self.0.shown())
    }
}
