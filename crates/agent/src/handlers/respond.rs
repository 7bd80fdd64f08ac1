//! From a question on the wire to a handler and back.

use std::pin::pin;

use serde_json::{Value, json};
use toolbay_protocol::{ErrorCode, ErrorObject, ServerName, method};
use toolbay_upstream::{ClientReply, ServerRequest};

use super::{ElicitRequest, Handlers, SamplingRequest};

/// What the specification has for a person or a model that will not answer.
const REJECTED: ErrorCode = ErrorCode(-1);

impl Handlers {
    /// Answers a question of a server with a handshake, unless the server loses interest first.
    pub(crate) async fn respond(&self, server: &ServerName, mut question: Box<ServerRequest>) {
        let params = question.params().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let asked = question.method().to_owned();
        let reply = {
            let mut reply = pin!(self.reply(server, &asked, params));
            tokio::select! {
                () = question.withdrawn() => return,
                reply = &mut reply => reply,
            }
        };
        question.respond(match reply {
            Ok(result) => ClientReply::Result(result.to_string()),
            Err(error) => ClientReply::Error(error),
        });
    }

    /// The folders of a server as JSON text, if anyone says which they are.
    pub(crate) async fn roots_of(&self, server: &ServerName) -> Option<String> {
        let roots = self.roots.as_ref()?.roots(server).await;
        serde_json::to_string(&roots).ok()
    }

    /// The result of a question, or why there is none.
    pub(crate) async fn reply(
        &self,
        server: &ServerName,
        asked: &str,
        params: Value,
    ) -> Result<Value, ErrorObject> {
        let server = server.clone();
        match (asked, &self.sampling, &self.elicitation, &self.roots) {
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
                let message = format!("`{asked}` is not supported");
                Err(ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, message))
            }
        }
    }
}
