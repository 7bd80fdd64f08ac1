//! A server of the stateless era wants answers before it gives its own.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::time::{Sleep, sleep};
use toolbay_host::{CallResponse, ClientReply};
use toolbay_protocol::{ErrorCode, ErrorObject, Message, Revision, encode_string, method};
use toolbay_translate::{self as translate, InputRequest, InputRequired};

use super::{
    CallStage, CallStep, ClientCall, FinalResponse,
    server_requests::{OpenServerRequests, RequestOrigin, elicitation_id},
};
use crate::{
    error,
    seal::{Binding, SealedContent},
    suspended::THINKING_TIME,
};

/// A server that asks more often than this asks in circles.
const MAX_ROUNDS: u32 = 32;
/// How long a server that only wants to be asked again later gets.
const LATER: Duration = Duration::from_millis(200);

/// A call that will be made again.
pub(super) struct Retry {
    answers: InputResponses,
    /// The server's own state, as JSON text.
    state: Option<String>,
    pause: Option<Pin<Box<Sleep>>>,
}

/// What the client answered so far.
#[derive(Default)]
pub(super) struct InputResponses {
    /// Results as JSON text, by the server's keys.
    pub(super) given: Vec<(String, String)>,
    /// What the client could not or would not answer.
    pub(super) failed: Option<ErrorObject>,
}

impl Retry {
    /// Ready when nothing is asked any more and it is time.
    pub(super) fn poll_ready(&mut self, context: &mut Context<'_>, asking: &OpenServerRequests) -> Poll<()> {
        if !asking.is_empty() {
            return Poll::Pending;
        }
        self.pause.as_mut().map_or(Poll::Ready(()), |pause| pause.as_mut().poll(context))
    }
}

impl ClientCall {
    /// Passes the questions on; what is given back ends the request.
    pub(super) fn input_required(&mut self, answered: &CallResponse) -> Option<FinalResponse> {
        if self.client.revision.is_modern() {
            return Some(self.wrapped(answered));
        }
        self.input_rounds += 1;
        let wanted = translate::input_requests(&answered.response);
        let (Some(wanted), true) = (wanted, self.input_rounds <= MAX_ROUNDS) else {
            return Some(self.failed(&cannot_answer("more than it can answer")));
        };
        let InputRequired { requests, request_state: state } = wanted;
        let pause = requests.is_empty().then(|| Box::pin(sleep(LATER * self.input_rounds)));
        if let Err(error) = self.ask_session(requests) {
            return Some(self.failed(&error));
        }
        self.source = CallStage::Retry(Retry { answers: InputResponses::default(), state, pause });
        None
    }

    /// Puts questions of a server to the client, each in a message of its own.
    pub(super) fn ask_session(&mut self, requests: Vec<InputRequest>) -> Result<(), ErrorObject> {
        for InputRequest { key, method, params } in requests {
            let (params, to) = (params.as_deref(), self.client.revision);
            let can = self.client.can_answer(&method, params);
            let params =
                translate::translate_server_request(&method, params, Revision::LATEST, to, &elicitation_id());
            let session = self.client.session.as_ref().filter(|_| can);
            let put =
                params.ok().zip(session).and_then(|(params, session)| session.request(&method, &params));
            let put = put.ok_or_else(|| cannot_answer(&method))?;
            self.due.push_back(put.text.clone().into());
            self.asking.add(put, RequestOrigin::Retry { key, method });
        }
        Ok(())
    }

    pub(super) fn answered_for_retry(&mut self, key: String, asked: &str, reply: Option<ClientReply>) {
        let answers = match &mut self.source {
            CallStage::Retry(retry) => &mut retry.answers,
            CallStage::Task(waiting) => &mut waiting.answers,
            _ => return,
        };
        match reply {
            Some(ClientReply::Result(result)) => {
                let result = translate::translate_client_response(
                    asked,
                    &result,
                    self.client.revision,
                    Revision::LATEST,
                );
                answers.given.push((key, result));
            }
            // A person who is not there has not answered; that is something a server understands.
            Some(ClientReply::Error(_)) | None if asked == method::ELICIT => {
                answers.given.push((key, r#"{"action":"cancel"}"#.to_owned()));
            }
            Some(ClientReply::Error(error)) => answers.failed = Some(error),
            None => answers.failed = Some(cannot_answer(asked)),
        }
    }

    /// Makes the call again, with the client's answers.
    pub(super) fn retry(&mut self) -> Option<CallStep> {
        let CallStage::Retry(retry) = std::mem::replace(&mut self.source, CallStage::Gone) else {
            return None;
        };
        if let Some(error) = retry.answers.failed {
            return Some(CallStep::Final(self.failed(&error)));
        }
        let text = translate::retry(&self.request, &retry.answers.given, retry.state.as_deref());
        let request = match Message::parse(text) {
            Ok(Message::Request(request)) => request,
            _ => return Some(CallStep::Final(self.failed(&cannot_answer("more than fits into a request")))),
        };
        match self.send(request.into(), None) {
            Ok(source) => {
                self.source = source;
                None
            }
            Err(known) => Some(CallStep::Final(known)),
        }
    }

    /// The questions as they are, but with the server's state under our seal: it then fits this request alone.
    fn wrapped(&self, answered: &CallResponse) -> FinalResponse {
        let plain = self.answered(answered);
        let Some(span) = answered.response.result_field("requestState") else { return plain };
        let CallStage::Call(live) = &self.source else { return plain };
        let carried = SealedContent::Upstream {
            server: live.server().to_string(),
            state: answered.response.raw(span).to_owned(),
        };
        let binding = Binding::of(self.client.principal(), &self.request.call);
        let Some(state) = self.gateway.seal.close(carried, THINKING_TIME, &binding) else {
            return self.failed(&error::too_many_server_requests());
        };
        let mut splice = answered.response.with_id(self.id());
        splice.replace(span, encode_string(&state));
        FinalResponse { text: answered.response.edited(splice), error: None }
    }
}

fn cannot_answer(asked: &str) -> ErrorObject {
    let message = format!("the server asks for `{asked}`, which this client cannot answer");
    ErrorObject::new(ErrorCode::INVALID_REQUEST, message)
}
