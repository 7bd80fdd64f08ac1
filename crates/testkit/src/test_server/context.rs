//! What a tool can do while it runs.

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use toolbay_protocol::{Revision, method, notification};
use toolbay_transport::Outgoing;

use super::{
    TestServerHandle,
    requesting::Asking,
    server_request::{ElicitResult, ServerRequest, ServerRequestError},
};

pub(super) const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// The place of a level in the order of severity.
pub(super) fn level_of(name: &str) -> Option<usize> {
    LEVELS.iter().position(|level| *level == name)
}

/// A running call, as its tool sees it; resources and prompts that take time get one as well.
///
/// A tool can send requests to its client during a call; the client's revision decides how.
/// With legacy revisions it is a request of its own while the tool waits. With modern revisions it is
/// the result of the call, and when the client comes back with the answer, the tool **runs anew**: this time the
/// request has its response at once. So what a tool does before a request may happen more than once.
#[derive(Debug, Clone)]
pub struct ToolContext {
    pub(super) server: TestServerHandle,
    pub(super) asking: Asking,
    pub(super) sink: mpsc::Sender<Outgoing>,
    /// JSON text.
    pub(super) progress_token: Option<String>,
    /// The least severe log message the caller wants, if any.
    pub(super) level: Option<usize>,
    pub(super) ended: CancellationToken,
    /// JSON text.
    pub(super) params: String,
}

impl ToolContext {
    /// Reports progress, if the client wants it.
    pub async fn progress(&self, done: f64, total: f64) {
        let Some(token) = &self.progress_token else { return };
        let params = format!(r#"{{"progressToken":{token},"progress":{done},"total":{total}}}"#);
        self.send(method::PROGRESS, &params).await;
    }

    /// Sends a log message, if the caller wants this level: `debug`, `info`, … `emergency`.
    pub async fn log(&self, level: &str, data: Value) {
        let wanted = self.level.zip(level_of(level)).is_some_and(|(least, level)| level >= least);
        if wanted {
            let params = json!({"level": level, "logger": "test", "data": data});
            self.send(method::LOG_MESSAGE, &params.to_string()).await;
        }
    }

    /// Sends a notification of any method in the middle of the call.
    pub async fn notify(&self, method: &str, params: Value) {
        self.send(method, &params.to_string()).await;
    }

    /// Has the person fill in a form; `schema` is a flat object.
    pub async fn elicit(
        &self,
        message: impl Into<String>,
        schema: Value,
    ) -> Result<ElicitResult, ServerRequestError> {
        self.send_request(ServerRequest::form(message, schema)).await.map(ElicitResult::from_answer)
    }

    /// Has the person visit a page.
    pub async fn elicit_url(
        &self,
        message: impl Into<String>,
        url: impl Into<String>,
    ) -> Result<ElicitResult, ServerRequestError> {
        self.send_request(ServerRequest::url(message, url)).await.map(ElicitResult::from_answer)
    }

    /// Goes on only when the person has agreed to visit a page. Where a revision has an error for that, the call fails
    /// with it; the person is taken to have visited the page when the client tries again.
    pub async fn visit(&self, message: &str, url: &str) -> Result<(), ServerRequestError> {
        let question = ServerRequest::url(message, url);
        if self.revision().is_modern() {
            let answer = ElicitResult::from_answer(self.send_request(question).await?);
            return if matches!(answer, ElicitResult::Accepted(_)) {
                Ok(())
            } else {
                Err(ServerRequestError::NotVisited)
            };
        }
        self.asking.check(&question)?;
        let number = self.server.shared.visit(url);
        match number.and_then(|number| question.legacy_params(self.revision(), number)) {
            Some(elicitation) => Err(ServerRequestError::VisitFirst { elicitation }),
            None => Ok(()),
        }
    }

    /// Has the client's model continue after a text of the user; gives the message it made.
    pub async fn sample(&self, text: impl Into<String>) -> Result<Value, ServerRequestError> {
        self.send_request(ServerRequest::sample(text)).await
    }

    /// The URIs of the folders that the client works in.
    pub async fn roots(&self) -> Result<Vec<String>, ServerRequestError> {
        let answer = self.send_request(ServerRequest::roots()).await?;
        let roots = answer["roots"].as_array().map(Vec::as_slice).unwrap_or_default();
        Ok(roots.iter().filter_map(|root| root["uri"].as_str().map(str::to_owned)).collect())
    }

    /// Asks anything; gives the result as the client wrote it.
    pub async fn send_request(&self, question: ServerRequest) -> Result<Value, ServerRequestError> {
        let mut answers = self.asking.ask(&[question]).await?;
        Ok(answers.pop().unwrap_or_default())
    }

    /// Asks several things at once; gives the results in the same order.
    pub async fn send_requests(&self, questions: &[ServerRequest]) -> Result<Vec<Value>, ServerRequestError> {
        self.asking.ask(questions).await
    }

    /// With modern revisions, has the client retry at once without any input.
    pub async fn pause(&self) {
        self.asking.pause().await;
    }

    /// The server it runs in, to change it and to tell of changes.
    pub fn server(&self) -> &TestServerHandle {
        &self.server
    }

    /// The revision that the client speaks.
    pub fn revision(&self) -> Revision {
        self.asking.revision
    }

    /// Whether the call is over: cancelled, abandoned or answered. The tool's own future is dropped then, so this is
    /// for clones that outlive it.
    pub fn is_cancelled(&self) -> bool {
        self.ended.is_cancelled()
    }

    /// Waits until the call is over: cancelled, abandoned or answered.
    pub async fn cancelled(&self) {
        self.ended.cancelled().await;
    }

    /// The JSON text of `params` as it arrived.
    pub fn params_text(&self) -> &str {
        &self.params
    }

    async fn send(&self, method: &str, params: &str) {
        let _ = self.sink.send(Outgoing::to_client(notification(method, Some(params)))).await; // the client may be gone
    }
}
