//! A modern server requires input of the client before it responds.

use std::time::Duration;

use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio::time::sleep;
use toolbay_audit::CallOutcome;
use toolbay_host::{CallResponse, ClientReply, RunningCall};
use toolbay_protocol::{ErrorCode, ErrorObject, Message, Revision, encode_string, method};
use toolbay_translate::{self as translate, InputRequest, InputRequired};

use super::{CallRun, FinalResponse, OrResponse, event_slot, server_requests::elicitation_id};
use crate::{
    error,
    seal::{Binding, SealedContent},
    suspended::THINKING_TIME,
};

/// A server that requires input more often than this asks in circles.
const MAX_EXCHANGES: u32 = 32;
/// How long a server gets that only wants the request again later.
const LATER: Duration = Duration::from_millis(200);

/// Results of the client as JSON text, by the keys of the server.
pub(super) type InputResponses = Vec<(String, String)>;

impl CallRun {
    /// Asks the client of a session for the required input, and sends the request again with it.
    pub(super) async fn provide_input(
        &mut self,
        response: &CallResponse,
        exchange: u32,
    ) -> OrResponse<RunningCall> {
        let wanted = translate::input_requests(&response.response).filter(|_| exchange <= MAX_EXCHANGES);
        let Some(InputRequired { requests, request_state }) = wanted else {
            return Err(self.failed(&cannot_answer("more than it can answer")));
        };
        if requests.is_empty() {
            sleep(LATER * exchange).await;
        }
        let input = self.ask_for_input(requests).await.map_err(|error| self.failed(&error))?;
        let text = translate::retry(&self.request, &input, request_state.as_deref());
        match Message::parse(text) {
            Ok(Message::Request(request)) => self.send(request.into(), None),
            _ => Err(self.failed(&cannot_answer("more than fits into a request"))),
        }
    }

    /// Sends input requests of a server to the client of a session, each as a request of its own, and collects the results.
    pub(super) async fn ask_for_input(
        &self,
        requests: Vec<InputRequest>,
    ) -> Result<InputResponses, ErrorObject> {
        let mut open = Vec::new();
        for InputRequest { key, method, params } in requests {
            let (params, to) = (params.as_deref(), self.client.revision);
            let can = self.client.supports(&method, params);
            let params =
                translate::translate_server_request(&method, params, Revision::LATEST, to, &elicitation_id());
            let session = self.client.session.as_ref().filter(|_| can);
            let request =
                params.ok().zip(session).and_then(|(params, session)| session.request(&method, &params));
            open.push((key, request.ok_or_else(|| cannot_answer(&method))?, method));
        }
        let replies = FuturesUnordered::new();
        for (key, request, method) in open {
            event_slot::put(request.text.into()).await;
            replies.push(async move { (key, method, request.reply.await.ok()) });
        }
        let replies: Vec<_> = replies.collect().await;
        replies.into_iter().map(|(key, method, reply)| Ok((key, self.input(&method, reply)?))).collect()
    }

    /// The input that a reply of the client means for a modern server.
    fn input(&self, method_name: &str, reply: Option<ClientReply>) -> Result<String, ErrorObject> {
        match reply {
            Some(ClientReply::Result(result)) => {
                let from = self.client.revision;
                Ok(translate::translate_client_response(method_name, &result, from, Revision::LATEST))
            }
            // A person who is not there has not answered; that is something a server understands.
            Some(ClientReply::Error(_)) | None if method_name == method::ELICIT => {
                Ok(r#"{"action":"cancel"}"#.to_owned())
            }
            Some(ClientReply::Error(error)) => Err(error),
            None => Err(cannot_answer(method_name)),
        }
    }

    /// Passes `input_required` on to a modern client, with the server's state sealed: it then fits this request alone.
    pub(super) fn sealed_input_required(&self, answered: &CallResponse) -> FinalResponse {
        let plain = self.translated(answered);
        let Some(span) = answered.response.result_field("requestState") else { return plain };
        let Some(server) = &self.server else { return plain };
        let content = SealedContent::Upstream {
            server: server.to_string(),
            state: answered.response.raw(span).to_owned(),
        };
        let binding = Binding::of(self.client.principal(), &self.request.call);
        let Some(state) = self.gateway.seal.close(content, THINKING_TIME, &binding) else {
            return self.failed(&error::too_many_server_requests());
        };
        let mut splice = answered.response.with_id(self.id());
        splice.replace(span, encode_string(&state));
        let text = answered.response.edited(splice);
        FinalResponse { text, error: None, outcome: CallOutcome::InputRequired }
    }
}

fn cannot_answer(method_name: &str) -> ErrorObject {
    let message = format!("the server requests `{method_name}`, which this client does not support");
    ErrorObject::new(ErrorCode::INVALID_REQUEST, message)
}
