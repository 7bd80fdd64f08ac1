//! A call to a server that requires a login of the user.
//!
//! The call never reached the server. A client that can show pages to its user gets the URL of the login as an elicitation: as the
//! error of 2025-11-25, or as `input_required` of modern revisions. Others get it in the text of an error. However many clients call,
//! there is one login, which the hub waits for; and nothing else waits.

use std::time::Duration;

use serde_json::json;
use tokio::time::timeout;
use toolbay_audit::CallOutcome;
use toolbay_host::{CallResponse, RunningCall, ServerHandle, UpstreamState};
use toolbay_protocol::{ErrorCode, ErrorObject, Message, Revision, ServerName, method};
use toolbay_translate as translate;

use super::{CallRun, FinalResponse, OrResponse, complete, server_requests::elicitation_id};

/// How long the authorization server may take before the client is told without a URL.
const PAGE_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a request waits for the user that says that its user opened the page.
const USER_TIMEOUT: Duration = Duration::from_secs(120);
/// How long the server may take to be ready after the login.
const READY_TIMEOUT: Duration = Duration::from_secs(15);

impl CallRun {
    /// Ends the request with the URL of a login, or sends it again after the login.
    pub(super) async fn login_required(&mut self, server: &ServerName) -> OrResponse<RunningCall> {
        let handle = self.client.host.server(server.as_str());
        if let Some(handle) = &handle
            && self.is_page_opened()
            && !std::mem::replace(&mut self.has_awaited_login, true)
            && is_logged_in(handle).await
            && let Ok(Message::Request(request)) = Message::parse(translate::retry(&self.request, &[], None))
        {
            return self.send(request.into(), None);
        }
        Err(self.login_page(server).await)
    }

    /// The response that asks for a login.
    pub(super) async fn login_page(&self, server: &ServerName) -> FinalResponse {
        let handle = self.client.host.server(server.as_str());
        let of_hub = self.gateway.host.server(server.as_str());
        let is_shared = handle.as_ref().zip(of_hub.as_ref()).is_some_and(|(one, other)| one.is_same(other));
        // The login would be that of the hub: whose account it uses is not for others to decide.
        if is_shared && !self.client.access.principal.is_owner() {
            return self.without_page(&format!(
                "server `{server}` requires a login, which the owner of this hub has to do: toolbay login {server}"
            ));
        }
        let page = match &handle {
            Some(handle) => timeout(PAGE_TIMEOUT, handle.login_page()).await.ok().flatten(),
            None => None,
        };
        match page {
            Some(Ok(url)) => self.with_page(server, &url),
            Some(Err(why)) => self.without_page(&format!(
                "server `{server}` requires a login, and {why}; `toolbay login {server}` may say more"
            )),
            None => self
                .without_page(&format!("server `{server}` requires a login: run `toolbay login {server}`")),
        }
    }

    /// The response that has the URL of a login.
    fn with_page(&self, server: &ServerName, url: &str) -> FinalResponse {
        let message = format!("Log in to the server `{server}`");
        let page =
            json!({ "mode": "url", "elicitationId": elicitation_id(), "url": url, "message": message });
        if !self.client.capabilities().supports(method::ELICIT, Some(&page.to_string())) {
            return self.without_page(&format!(
                "server `{server}` requires a login. Open this URL, then try again: {url}\nOr run: toolbay login {server}"
            ));
        }
        let error = ErrorObject::new(
            ErrorCode::URL_ELICITATION_REQUIRED,
            format!("server `{server}` requires a login"),
        );
        let error = error.with_data(&json!({ "elicitations": [page] }));
        let text = toolbay_protocol::error(Some(self.id()), &error);
        match Message::parse(text) {
            Ok(Message::Response(response)) => {
                self.translated(&CallResponse { response, revision: Revision::V2025_11_25 })
            }
            _ => self.failed(&error),
        }
    }

    /// The same for people, where a model reads it: the result of a tool.
    fn without_page(&self, text: &str) -> FinalResponse {
        if self.method() != method::TOOLS_CALL {
            return self.failed(&ErrorObject::new(ErrorCode::INTERNAL_ERROR, text));
        }
        let result = json!({ "content": [{ "type": "text", "text": text }], "isError": true });
        let response = FinalResponse::result(self.id(), &complete(&result.to_string(), self.client.revision));
        response.with_outcome(CallOutcome::ToolError)
    }

    /// Whether this is the request of a client whose user has agreed to open the page.
    fn is_page_opened(&self) -> bool {
        let call = &self.request.call;
        let Some(span) = call.param("inputResponses") else { return false };
        let responses: serde_json::Value = serde_json::from_str(call.raw(span)).unwrap_or_default();
        let mut responses = responses.as_object().into_iter().flat_map(|all| all.values());
        responses.any(|response| response["action"] == "accept")
    }
}

/// Waits until the user has logged in and the server can be called.
async fn is_logged_in(server: &ServerHandle) -> bool {
    let ready = async {
        // A server that only wants more scopes is ready all the time.
        server.logged_in().await;
        let mut status = server.status();
        timeout(READY_TIMEOUT, status.wait_for(|status| matches!(status.state, UpstreamState::Running)))
            .await
            .is_ok_and(|state| state.is_ok())
    };
    timeout(USER_TIMEOUT, ready).await.unwrap_or_default()
}
