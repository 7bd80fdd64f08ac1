//! What a server asks in the middle of a call.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use toolbay_protocol::Revision;

use super::{FeatureContext, Support};
use crate::harness::{ClientResponse, Exchange, accepting, declining, refusing};

/// Since when there is what.
const FORM: Revision = Revision::V2025_06_18;
const URL: Revision = Revision::V2025_11_25;
const ALWAYS: Revision = Revision::V2024_11_05;

/// Gives what a call came to, or returns what lacks.
macro_rules! asked {
    ($asked:expr) => {
        match $asked {
            Ok(talk) => talk,
            Err(seen) => return Ok(seen),
        }
    };
}

pub(super) fn form(place: &mut FeatureContext<'_>) -> Result<Support> {
    place.client.set_respond(accepting("Ada"));
    let talk = asked!(place.ask(FORM, "elicit", json!({ "text": place.tag }))?);
    ensure!(talk.text()? == "name of Ada", "{talk:?}");
    ensure!(methods(&talk) == ["elicitation/create"], "{talk:?}");
    let params = &talk.server_requests[0]["params"];
    ensure!(params["message"] == format!("Who are you? {}", place.tag), "{params}");
    ensure!(params["requestedSchema"]["required"] == json!(["name"]), "{params}");
    Ok(Support::Works)
}

pub(super) fn several(place: &mut FeatureContext<'_>) -> Result<Support> {
    place.client.set_respond(accepting("Ada"));
    let talk = asked!(place.ask(FORM, "elicit_several", json!({}))?);
    ensure!(talk.text()? == "name of Ada and colour of Ada", "{talk:?}");
    ensure!(talk.server_requests.len() == 2, "{talk:?}");
    Ok(Support::Works)
}

pub(super) fn rounds(place: &mut FeatureContext<'_>) -> Result<Support> {
    let mut count = 0;
    place.client.set_respond(Box::new(move |_, _| {
        count += 1;
        ClientResponse::Result(json!({ "action": "accept", "content": { "name": count.to_string() } }))
    }));
    let talk = asked!(place.ask(FORM, "elicit_rounds", json!({ "rounds": 3 }))?);
    ensure!(talk.text()? == "1 then 2 then 3", "{talk:?}");
    let messages: Vec<&Value> =
        talk.server_requests.iter().map(|question| &question["params"]["message"]).collect();
    ensure!(messages == ["Round 1?", "Round 2?", "Round 3?"], "{talk:?}");
    Ok(Support::Works)
}

pub(super) fn declined(place: &mut FeatureContext<'_>) -> Result<Support> {
    place.client.set_respond(declining());
    let talk = asked!(place.ask(FORM, "elicit", json!({}))?);
    ensure!(talk.text()? == "declined", "{talk:?}");
    place.client.set_respond(Box::new(|_, _| ClientResponse::Result(json!({ "action": "cancel" }))));
    let talk = asked!(place.ask(FORM, "elicit", json!({}))?);
    ensure!(talk.text()? == "cancelled", "{talk:?}");
    Ok(Support::Works)
}

/// A client of the stateless era may answer some questions only; it is asked the others again.
pub(super) fn missing(place: &mut FeatureContext<'_>) -> Result<Support> {
    let forgets = place.client.revision().is_modern();
    let mut asked = Vec::new();
    place.client.set_respond(Box::new(move |_, params| {
        let field = if params["message"] == "Your name?" { "name" } else { "colour" };
        asked.push(field);
        if forgets && asked.len() == 1 {
            return ClientResponse::Nothing;
        }
        ClientResponse::Result(json!({ "action": "accept", "content": { field: field } }))
    }));
    let talk = asked!(place.ask(FORM, "elicit_several", json!({}))?);
    ensure!(talk.text()? == "name and colour", "{talk:?}");
    ensure!(talk.server_requests.len() == if forgets { 3 } else { 2 }, "{talk:?}");
    Ok(Support::Works)
}

pub(super) fn url(place: &mut FeatureContext<'_>) -> Result<Support> {
    place.client.set_respond(accepting("Ada"));
    let page = format!("https://toolbay.test/{}", place.tag);
    let talk = asked!(place.ask(URL, "elicit_url", json!({ "url": page }))?);
    ensure!(talk.text()? == "visited", "{talk:?}");
    ensure!(talk.server_requests.len() == 1 && talk.server_requests[0]["params"]["url"] == page, "{talk:?}");
    Ok(Support::Works)
}

/// 2025-11-25 has an error that sends the person to a page before the call is tried again.
pub(super) fn visit(place: &mut FeatureContext<'_>) -> Result<Support> {
    place.client.set_respond(accepting("Ada"));
    let page = format!("https://toolbay.test/first/{}", place.tag);
    let mut talk = asked!(place.ask(URL, "visit", json!({ "url": page }))?);
    let error = &talk.response["error"];
    if error["code"] == -32042 {
        ensure!(!place.client.revision().is_modern(), "not of its revision: {talk:?}");
        let elicitation = &error["data"]["elicitations"][0];
        ensure!(elicitation["mode"] == "url" && elicitation["url"] == page, "{talk:?}");
        ensure!(elicitation["elicitationId"].is_string(), "{talk:?}");
        talk = place.call("visit", json!({ "url": page }))?;
    } else {
        ensure!(
            talk.server_requests.len() == 1 && talk.server_requests[0]["params"]["url"] == page,
            "{talk:?}"
        );
    }
    ensure!(talk.text()? == "visited", "{talk:?}");
    Ok(Support::Works)
}

pub(super) fn sampling(place: &mut FeatureContext<'_>) -> Result<Support> {
    place.client.set_respond(accepting("Ada"));
    let talk = asked!(place.ask(ALWAYS, "sample", json!({ "text": place.tag }))?);
    ensure!(talk.text()? == "sampled for Ada", "{talk:?}");
    ensure!(methods(&talk) == ["sampling/createMessage"], "{talk:?}");
    let message = &talk.server_requests[0]["params"]["messages"][0]["content"]["text"];
    ensure!(*message == format!("Say something. {}", place.tag), "{talk:?}");
    Ok(Support::Works)
}

/// A client with a handshake may answer a question with an error; in the stateless era nothing can say that.
pub(super) fn refused(place: &mut FeatureContext<'_>) -> Result<Support> {
    if place.client.revision().is_modern() {
        return Ok(Support::ClientLacksIt);
    }
    place.client.set_respond(refusing());
    let talk = place.call("sample", json!({}))?;
    let (code, message) = talk.failure()?;
    ensure!(message.contains("the person said no"), "{code} {message}");
    Ok(Support::Works)
}

pub(super) fn roots(place: &mut FeatureContext<'_>) -> Result<Support> {
    place.client.set_respond(accepting("ada"));
    let talk = asked!(place.ask(ALWAYS, "list_roots", json!({}))?);
    ensure!(talk.text()? == "file:///ada", "{talk:?}");
    ensure!(methods(&talk) == ["roots/list"], "{talk:?}");
    Ok(Support::Works)
}

pub(super) fn everything(place: &mut FeatureContext<'_>) -> Result<Support> {
    place.client.set_respond(accepting("ada"));
    let talk = place.call("ask_everything", json!({}))?;
    if place.server.min(place.client.revision()) < FORM {
        // What it can be asked it may be asked; of the rest the server learns that it cannot.
        ensure!(!methods(&talk).contains(&"elicitation/create"), "{talk:?}");
        talk.failure()?;
        return Ok(if place.server < FORM { Support::ServerLacksIt } else { Support::ClientLacksIt });
    }
    let told: Value = serde_json::from_str(&talk.text()?)?;
    ensure!(told["answers"] == json!(["name of ada", "sampled for ada", "file:///ada"]), "{talk:?}");
    Ok(Support::Works)
}

/// Prompts and resources can ask as well.
pub(super) fn elsewhere(place: &mut FeatureContext<'_>) -> Result<Support> {
    place.client.set_respond(accepting("Ada"));
    let prompt = json!({ "name": place.named("interview"), "arguments": {} });
    let prompt = place.client.request("prompts/get", prompt)?;
    let resource = place.client.request("resources/read", json!({ "uri": "test://asked" }))?;
    if place.server.min(place.client.revision()) < FORM {
        for talk in [prompt, resource] {
            talk.failure()?;
            ensure!(talk.server_requests.is_empty(), "{talk:?}");
        }
        return Ok(if place.server < FORM { Support::ServerLacksIt } else { Support::ClientLacksIt });
    }
    let text = &prompt.response["result"]["messages"][0]["content"]["text"];
    ensure!(text == "Interview name of Ada.", "{prompt:?}");
    let text = &resource.response["result"]["contents"][0]["text"];
    ensure!(text == "Written for name of Ada.", "{resource:?}");
    Ok(Support::Works)
}

/// A server of the stateless era may have its client come back without asking anything.
pub(super) fn pause(place: &mut FeatureContext<'_>) -> Result<Support> {
    let talk = place.call("pause", json!({}))?;
    ensure!(talk.text()? == "back again" && talk.server_requests.is_empty(), "{talk:?}");
    Ok(if place.server.is_modern() { Support::Works } else { Support::ServerLacksIt })
}

fn methods(talk: &Exchange) -> Vec<&str> {
    talk.server_requests.iter().filter_map(|question| question["method"].as_str()).collect()
}
