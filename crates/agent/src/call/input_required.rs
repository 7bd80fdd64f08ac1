//! A stateless server wants answers before it gives its own.

use std::time::Duration;

use serde_json::{Map, Value};
use toolbay_protocol::method;
use toolbay_upstream::CallResponse;

use super::CallEngine;
use crate::Error;

/// How long a server that only wants to be asked again later gets.
const LATER: Duration = Duration::from_millis(200);

/// What an answer asks for, if it is no result yet.
pub(super) fn wanted(answer: &CallResponse) -> Option<Value> {
    let kind = answer.response.result_field("resultType").map(|span| answer.response.raw(span));
    if !answer.revision.features().has_input_required() || kind != Some("\"input_required\"") {
        return None;
    }
    serde_json::from_str(answer.response.result_text()?).ok()
}

impl CallEngine<'_> {
    /// Has the questions answered, and makes the parameters those of the next round.
    pub(super) async fn give_input(
        &self,
        wanted: &Value,
        params: &mut Map<String, Value>,
        round: u32,
    ) -> Result<(), Error> {
        let mut answers = Map::new();
        for (key, question) in wanted["inputRequests"].as_object().into_iter().flatten() {
            let asked = question["method"].as_str().unwrap_or_default();
            let reply = self.sender.handlers.reply(&self.server, asked, question["params"].clone()).await;
            let answer = match reply {
                Ok(answer) => answer,
                // A person who is not there has not answered; that is something a server understands.
                Err(_) if asked == method::ELICIT => serde_json::json!({ "action": "cancel" }),
                Err(error) => return Err(error.into()),
            };
            answers.insert(key.clone(), answer);
        }
        if answers.is_empty() {
            tokio::time::sleep(LATER * round).await;
        }
        params.remove("inputResponses");
        params.remove("requestState");
        if !answers.is_empty() {
            params.insert("inputResponses".to_owned(), answers.into());
        }
        if let Some(state) = wanted.get("requestState") {
            params.insert("requestState".to_owned(), state.clone());
        }
        Ok(())
    }
}
