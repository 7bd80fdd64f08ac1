//! Server requests during a call, and their responses.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use futures_util::future::join_all;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};
use toolbay_protocol::{ErrorCode, ErrorObject, MethodCall, Outcome, Request, Revision, meta, request};
use toolbay_transport::Outgoing;

use super::{
    server_request::{ServerRequest, ServerRequestError},
    session::Session,
};

/// What a running call needs to ask its client.
#[derive(Debug, Clone)]
pub(super) struct Asking {
    pub(super) revision: Revision,
    capabilities: Arc<Value>,
    way: Way,
}

#[derive(Debug, Clone)]
enum Way {
    /// As requests of our own, beside the running call.
    Requests { session: Arc<Session>, sink: mpsc::Sender<Outgoing> },
    /// In place of the result: the client comes back with the answers, and the call runs anew.
    Rounds(Arc<Rounds>),
}

/// One round of a call of a modern revision.
#[derive(Debug)]
struct Rounds {
    /// Answers of this and earlier rounds; null for what needed none.
    given: Map<String, Value>,
    /// How many server requests this run has made.
    met: AtomicU64,
    /// Takes the result that ends this round.
    required: Mutex<Option<oneshot::Sender<Value>>>,
}

/// Resolves to the result that asks the client for more, if the call comes to that.
pub(super) type Required = Option<oneshot::Receiver<Value>>;

impl Asking {
    pub(super) fn legacy(revision: Revision, session: Arc<Session>, sink: mpsc::Sender<Outgoing>) -> Self {
        Self { revision, capabilities: session.capabilities(), way: Way::Requests { session, sink } }
    }

    pub(super) fn modern(revision: Revision, request: &Request) -> Result<(Self, Required), ErrorObject> {
        let (sender, required) = oneshot::channel();
        let given = given(&request.call)?;
        let rounds = Rounds { given, met: AtomicU64::new(0), required: Mutex::new(Some(sender)) };
        let capabilities = request.call.meta(meta::CLIENT_CAPABILITIES).map(|span| request.call.raw(span));
        let capabilities = capabilities.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let way = Way::Rounds(Arc::new(rounds));
        Ok((Self { revision, capabilities: Arc::new(capabilities), way }, Some(required)))
    }

    /// Whether this client takes this request.
    pub(super) fn check(&self, question: &ServerRequest) -> Result<(), ServerRequestError> {
        question.check(self.revision, &self.capabilities)
    }

    /// Asks all at once; gives an answer for each, in order.
    pub(super) async fn ask(&self, questions: &[ServerRequest]) -> Result<Vec<Value>, ServerRequestError> {
        questions.iter().try_for_each(|question| self.check(question))?;
        match &self.way {
            Way::Requests { session, sink } => {
                let answers = questions.iter().map(|question| {
                    let number = session.next_question();
                    self.request(session, sink, question, number)
                });
                join_all(answers).await.into_iter().collect()
            }
            Way::Rounds(rounds) => Ok(rounds.ask(questions).await),
        }
    }

    /// Has the client retry at once, where the revision has that.
    pub(super) async fn pause(&self) {
        if let Way::Rounds(rounds) = &self.way {
            rounds.pause().await;
        }
    }

    async fn request(
        &self,
        session: &Session,
        sink: &mpsc::Sender<Outgoing>,
        question: &ServerRequest,
        number: u64,
    ) -> Result<Value, ServerRequestError> {
        let id = number.into();
        let waiting = session.expect_answer(&id);
        let params = question.legacy_params(self.revision, number).map(|params| params.to_string());
        let text = request(&id, question.method, params.as_deref());
        sink.send(Outgoing::to_client(text)).await.map_err(|_| ServerRequestError::Gone)?;
        let response = waiting.answer().await.ok_or(ServerRequestError::Gone)?;
        match &response.outcome {
            Outcome::Result { fields, .. } => {
                Ok(serde_json::from_str(response.raw(fields.span)).unwrap_or_default())
            }
            Outcome::Error { .. } => {
                let error = response.error();
                let (code, message) = error
                    .map_or((ErrorCode::INTERNAL_ERROR, String::new()), |error| (error.code, error.message));
                Err(ServerRequestError::Refused { method: question.method, code, message })
            }
        }
    }
}

impl Rounds {
    async fn ask(&self, questions: &[ServerRequest]) -> Vec<Value> {
        let keys: Vec<String> = questions.iter().map(|_| self.next_key()).collect();
        let answers: Option<Vec<Value>> = keys.iter().map(|key| self.given.get(key).cloned()).collect();
        if let Some(answers) = answers {
            return answers;
        }
        let missing = keys.into_iter().zip(questions).filter(|(key, _)| !self.given.contains_key(key));
        let requests: Map<String, Value> =
            missing.map(|(key, question)| (key, question.input_request())).collect();
        let mut result = json!({"resultType": "input_required", "inputRequests": requests});
        // Without anything to remember the answers alone are enough.
        if !self.given.is_empty() {
            result["requestState"] = Value::from(self.given.clone()).to_string().into();
        }
        self.end(result).await
    }

    async fn pause(&self) {
        let key = self.next_key();
        if self.given.contains_key(&key) {
            return;
        }
        let mut state = self.given.clone();
        state.insert(key, Value::Null);
        self.end(json!({"resultType": "input_required", "requestState": Value::from(state).to_string()}))
            .await
    }

    /// A run makes the same requests in the same order as the one before.
    fn next_key(&self) -> String {
        format!("question-{}", self.met.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Ends this round; its future is dropped.
    async fn end<T>(&self, result: Value) -> T {
        if let Some(required) = self.required.lock().take() {
            let _ = required.send(result); // the call may just have been cancelled
        }
        std::future::pending().await
    }
}

/// What a client knows to answer so far: `requestState` keeps the answers of earlier rounds.
fn given(call: &MethodCall) -> Result<Map<String, Value>, ErrorObject> {
    let invalid =
        |what: &str| ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("`{what}` cannot be used"));
    let mut given = Map::new();
    if call.param("requestState").is_some() {
        let state = call.string_param("requestState");
        let state = state.and_then(|text| serde_json::from_str::<Map<String, Value>>(&text).ok());
        given = state.ok_or_else(|| invalid("requestState"))?;
    }
    if let Some(span) = call.param("inputResponses") {
        let answers: Map<String, Value> =
            serde_json::from_str(call.raw(span)).map_err(|_| invalid("inputResponses"))?;
        if answers.values().any(|answer| !answer.is_object()) {
            return Err(invalid("inputResponses"));
        }
        given.extend(answers);
    }
    Ok(given)
}
