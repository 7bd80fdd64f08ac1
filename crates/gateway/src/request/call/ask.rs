//! A call that a rule wants a person to allow.
//!
//! A client that can show forms to its user gets one: as a request in its session, or as `input_required` of modern revisions, whose
//! answer comes back with the call. The calls of others wait for the owner of the hub. Whatever happens, the server gets nothing
//! before the call is allowed.

use std::{sync::Arc, time::SystemTime};

use serde_json::{Value, json};
use tokio::time::timeout;
use toolbay_audit::CallOutcome;
use toolbay_host::{ConsentRequest, RunningCall};
use toolbay_protocol::{Message, Request, encode_string, method, printable, redact};
use toolbay_translate::{self as translate, InputRequest, InputRequired};

use super::{CallRun, FinalResponse, OrResponse, complete};
use crate::{
    connected_clients::name_of,
    error,
    pending_calls::{ASK_TIMEOUT, PendingCall},
    seal::{Binding, SealedContent},
    session::RunningRequest,
};

/// The key of the form among the inputs of a call.
const KEY: &str = "toolbay-approval";
/// How many characters of the arguments people are shown.
const SHOWN: usize = 2000;

/// What a person decided.
enum Answer {
    Allowed,
    Declined,
    TooLate,
    /// Nobody could be asked.
    TooMany,
}

impl CallRun {
    /// Has a person decide about the call, then makes it, unless the client cancels the request first.
    pub(super) async fn ask_and_run(
        mut self,
        asked: ConsentRequest,
        mut running: Option<RunningRequest>,
    ) -> FinalResponse {
        let allowed = {
            let cancelled = async {
                match &mut running {
                    Some(running) => drop((&mut running.cancelled).await),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = cancelled => None,
                allowed = self.ask(&asked) => Some(allowed),
            }
        };
        match allowed {
            Some(Ok(call)) => self.run(call, running).await,
            Some(Err(response)) => response,
            None => self.failed(&error::cancelled()),
        }
    }

    async fn ask(&mut self, asked: &ConsentRequest) -> OrResponse<RunningCall> {
        let form = self.form(asked);
        let answer = if !self.client.supports(method::ELICIT, Some(&form)) {
            self.ask_owner(asked).await
        } else if self.client.session.is_some() {
            let request =
                InputRequest { key: KEY.to_owned(), method: method::ELICIT.to_owned(), params: Some(form) };
            match timeout(ASK_TIMEOUT, self.ask_for_input(vec![request])).await {
                Ok(Ok(input)) => answer(input.first().map(|(_, result)| result.as_str())),
                Ok(Err(error)) => return Err(self.failed(&error)),
                Err(_) => Answer::TooLate,
            }
        } else {
            return Err(self.require_answer(form));
        };
        let rule = &asked.rule.name;
        match answer {
            Answer::Allowed => {
                self.is_allowed = true;
                self.send(self.plain_request(), None)
            }
            Answer::Declined => Err(self.declined(&format!("rule `{rule}`"))),
            Answer::TooLate => Err(self.tool_error(&format!(
                "not allowed: rule `{rule}` of this hub wants a person to allow this call, and none did within {} s",
                ASK_TIMEOUT.as_secs()
            ))),
            Answer::TooMany => Err(self.tool_error(&format!(
                "not allowed: rule `{rule}` of this hub wants a person to allow this call, and too many calls wait for that"
            ))),
        }
    }

    /// Waits for the owner of the hub.
    async fn ask_owner(&self, asked: &ConsentRequest) -> Answer {
        let call = PendingCall {
            id: 0,
            principal: self.client.access.principal.clone(),
            client: name_of(self.client.identity.info()),
            server: asked.server.as_str().to_owned(),
            tool: asked.tool.clone(),
            arguments: self.shown_arguments(),
            rule: asked.rule.name.to_string(),
            since: SystemTime::now(),
        };
        let Some(mut waiting) = self.gateway.pending.wait(call) else { return Answer::TooMany };
        tracing::info!(
            "a call of `{}` waits for you, because of rule `{}`: see `toolbay pending list`",
            asked.tool,
            asked.rule.name
        );
        match timeout(ASK_TIMEOUT, &mut waiting.decision).await {
            Ok(Ok(true)) => Answer::Allowed,
            Ok(_) => Answer::Declined,
            Err(_) => Answer::TooLate,
        }
    }

    /// Ends the request of a client without a session with the form; the answer comes with the next one.
    fn require_answer(&self, form: String) -> FinalResponse {
        let binding = Binding::of(self.client.principal(), &self.request.call);
        let id = self.gateway.pending.ask();
        let sealed =
            id.and_then(|id| self.gateway.seal.close(SealedContent::Approval { id }, ASK_TIMEOUT, &binding));
        let Some(state) = sealed else { return self.failed(&error::too_many_server_requests()) };
        let requests =
            vec![InputRequest { key: KEY.to_owned(), method: method::ELICIT.to_owned(), params: Some(form) }];
        let result = InputRequired { requests, request_state: Some(encode_string(&state)) }.to_result();
        FinalResponse::result(self.id(), &result).with_outcome(CallOutcome::InputRequired)
    }

    /// Whether the user of a client that came back with the form has allowed the call.
    pub(super) fn is_form_accepted(&self) -> bool {
        let call = &self.request.call;
        let Some(span) = call.param("inputResponses") else { return false };
        let responses: Value = serde_json::from_str(call.raw(span)).unwrap_or_default();
        responses[KEY]["action"] == "accept"
    }

    /// The request without what only the hub wanted.
    pub(super) fn plain_request(&self) -> Arc<Request> {
        let call = &self.request.call;
        if call.param("inputResponses").is_none() && call.param("requestState").is_none() {
            return self.request.clone();
        }
        match Message::parse(translate::retry(&self.request, &[], None)) {
            Ok(Message::Request(request)) => request.into(),
            _ => self.request.clone(),
        }
    }

    /// The response to a call that a person did not allow.
    pub(super) fn declined(&self, rule: &str) -> FinalResponse {
        self.tool_error(&format!(
            "not allowed: the user declined this call, which {rule} of this hub asks about"
        ))
    }

    /// A result that tells a model why its call was not made.
    pub(super) fn tool_error(&self, text: &str) -> FinalResponse {
        let result = json!({ "content": [{ "type": "text", "text": text }], "isError": true });
        let response = FinalResponse::result(self.id(), &complete(&result.to_string(), self.client.revision));
        response.with_outcome(CallOutcome::Denied)
    }

    /// The form for the user: nothing to fill in, only to accept or to decline.
    fn form(&self, asked: &ConsentRequest) -> String {
        let reason = asked.rule.reason.as_ref().map(|reason| format!("\n{reason}")).unwrap_or_default();
        let message = format!(
            "Allow this call?\nTool: {}\nServer: {}\nArguments: {}\nRule: {}{reason}",
            printable::clean(&asked.tool),
            printable::clean(asked.server.as_str()),
            self.shown_arguments(),
            asked.rule.name,
        );
        let schema = json!({ "type": "object", "properties": {} });
        json!({ "mode": "form", "message": message, "requestedSchema": schema }).to_string()
    }

    /// The arguments for people: without secrets, and not too long.
    fn shown_arguments(&self) -> String {
        let call = &self.request.call;
        let arguments = call.param("arguments").map_or("{}", |span| call.raw(span));
        // Enough of it to hide what is secret at the end of what is shown.
        let end = arguments.char_indices().nth(2 * SHOWN).map_or(arguments.len(), |(end, _)| end);
        let shown = redact::json(&arguments[..end]);
        let shown = printable::clean(&shown);
        match shown.char_indices().nth(SHOWN) {
            Some((cut, _)) => format!("{}… ({} bytes)", &shown[..cut], arguments.len()),
            None => shown.into_owned(),
        }
    }
}

/// What the result of an elicitation means.
fn answer(result: Option<&str>) -> Answer {
    let result: Value = result.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    if result["action"] == "accept" { Answer::Allowed } else { Answer::Declined }
}
