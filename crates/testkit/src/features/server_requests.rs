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
            Ok(exchange) => exchange,
            Err(seen) => return Ok(seen),
        }
    };
}

pub(super) fn form(place: &mut FeatureContext<'_>) -> Result<Support> {
    place.client.set_respond(accepting("Ada"));
    let exchange = asked!(place.ask(FORM, "elicit", json!({ "text": place.tag }))?);
    ensure!(exchange.text()? == "name of Ada", "{exchange:?}");
    ensure!(methods(&exchange) == ["elicitation/create"], "{exchange:?}");
    let params = &exchange.server_requests[0]["params"];
    ensure!(params["message"] == format!("Who are you? {}", place.tag), "{params}");
    ensure!(params["requestedSchema"]["required"] == json!(["name"]), "{params}");
    Ok(Support::Works)
}

pub(super) fn several(place: &mut FeatureContext<'_>) -> Result<Support> {
    place.client.set_respond(accepting("Ada"));
    let exchange = asked!(place.ask(FORM, "elicit_several", json!({}))?);
    ensure!(exchange.text()? == "name of Ada and colour of Ada", "{exchange:?}");
    ensure!(exchange.server_requests.len() == 2, "{exchange:?}");
    Ok(Support::Works)
}

pub(super) fn rounds(place: &mut FeatureContext<'_>) -> Result<Support> {
    let mut count = 0;
    place.client.set_respond(Box::new(move |_, _| {
        count += 1;
        ClientResponse::Result(json!({ "action": "accept", "content": { "name": count.to_string() } }))
    }));
    let exchange = asked!(place.ask(FORM, "elicit_rounds", json!({ "rounds": 3 }))?);
    ensure!(exchange.text()? == "1 then 2 then 3", "{exchange:?}");
    let messages: Vec<&Value> =
        exchange.server_requests.iter().map(|question| &question["params"]["message"]).collect();
    ensure!(messages == ["Round 1?", "Round 2?", "Round 3?"], "{exchange:?}");
    Ok(Support::Works)
}

pub(super) fn declined(place: &mut FeatureContext<'_>) -> Result<Support> {
    place.client.set_respond(declining());
    let exchange = asked!(place.ask(FORM, "elicit", json!({}))?);
    ensure!(exchange.text()? == "declined", "{exchange:?}");
    place.client.set_respond(Box::new(|_, _| ClientResponse::Result(json!({ "action": "cancel" }))));
    let exchange = asked!(place.ask(FORM, "elicit", json!({}))?);
    ensure!(exchange.text()? == "cancelled", "{exchange:?}");
    Ok(Support::Works)
}

/// A client of a modern revision may respond to some input requests only; it gets the others again.
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
    let exchange = asked!(place.ask(FORM, "elicit_several", json!({}))?);
    ensure!(exchange.text()? == "name and colour", "{exchange:?}");
    ensure!(exchange.server_requests.len() == if forgets { 3 } else { 2 }, "{exchange:?}");
    Ok(Support::Works)
}

pub(super) fn url(place: &mut FeatureContext<'_>) -> Result<Support> {
    place.client.set_respond(accepting("Ada"));
    let page = format!("https://toolbay.test/{}", place.tag);
    let exchange = asked!(place.ask(URL, "elicit_url", json!({ "url": page }))?);
    ensure!(exchange.text()? == "visited", "{exchange:?}");
    ensure!(
        exchange.server_requests.len() == 1 && exchange.server_requests[0]["params"]["url"] == page,
        "{exchange:?}"
    );
    Ok(Support::Works)
}

/// 2025-11-25 has an error that sends the person to a page before the call is tried again.
pub(super) fn visit(place: &mut FeatureContext<'_>) -> Result<Support> {
    place.client.set_respond(accepting("Ada"));
    let page = format!("https://toolbay.test/first/{}", place.tag);
    let mut exchange = asked!(place.ask(URL, "visit", json!({ "url": page }))?);
    let error = &exchange.response["error"];
    if error["code"] == -32042 {
        ensure!(!place.client.revision().is_modern(), "not of its revision: {exchange:?}");
        let elicitation = &error["data"]["elicitations"][0];
        ensure!(elicitation["mode"] == "url" && elicitation["url"] == page, "{exchange:?}");
        ensure!(elicitation["elicitationId"].is_string(), "{exchange:?}");
        exchange = place.call("visit", json!({ "url": page }))?;
    } else {
        ensure!(
            exchange.server_requests.len() == 1 && exchange.server_requests[0]["params"]["url"] == page,
            "{exchange:?}"
        );
    }
    ensure!(exchange.text()? == "visited", "{exchange:?}");
    Ok(Support::Works)
}

pub(super) fn sampling(place: &mut FeatureContext<'_>) -> Result<Support> {
    place.client.set_respond(accepting("Ada"));
    let exchange = asked!(place.ask(ALWAYS, "sample", json!({ "text": place.tag }))?);
    ensure!(exchange.text()? == "sampled for Ada", "{exchange:?}");
    ensure!(methods(&exchange) == ["sampling/createMessage"], "{exchange:?}");
    let message = &exchange.server_requests[0]["params"]["messages"][0]["content"]["text"];
    ensure!(*message == format!("Say something. {}", place.tag), "{exchange:?}");
    Ok(Support::Works)
}

/// A legacy client may respond to a server request with an error; modern revisions have no such response.
pub(super) fn refused(place: &mut FeatureContext<'_>) -> Result<Support> {
    if place.client.revision().is_modern() {
        return Ok(Support::ClientLacksIt);
    }
    place.client.set_respond(refusing());
    let exchange = place.call("sample", json!({}))?;
    let (code, message) = exchange.failure()?;
    ensure!(message.contains("the person said no"), "{code} {message}");
    Ok(Support::Works)
}

pub(super) fn roots(place: &mut FeatureContext<'_>) -> Result<Support> {
    place.client.set_respond(accepting("ada"));
    let exchange = asked!(place.ask(ALWAYS, "list_roots", json!({}))?);
    ensure!(exchange.text()? == "file:///ada", "{exchange:?}");
    ensure!(methods(&exchange) == ["roots/list"], "{exchange:?}");
    Ok(Support::Works)
}

pub(super) fn everything(place: &mut FeatureContext<'_>) -> Result<Support> {
    place.client.set_respond(accepting("ada"));
    let exchange = place.call("ask_everything", json!({}))?;
    if place.server.min(place.client.revision()) < FORM {
        // It gets the requests that it declared; the server gets an error for the rest.
        ensure!(!methods(&exchange).contains(&"elicitation/create"), "{exchange:?}");
        exchange.failure()?;
        return Ok(if place.server < FORM { Support::ServerLacksIt } else { Support::ClientLacksIt });
    }
    let told: Value = serde_json::from_str(&exchange.text()?)?;
    ensure!(told["answers"] == json!(["name of ada", "sampled for ada", "file:///ada"]), "{exchange:?}");
    Ok(Support::Works)
}

/// Prompts and resources can ask as well.
pub(super) fn elsewhere(place: &mut FeatureContext<'_>) -> Result<Support> {
    place.client.set_respond(accepting("Ada"));
    let prompt = json!({ "name": place.named("interview"), "arguments": {} });
    let prompt = place.client.request("prompts/get", prompt)?;
    let resource = place.client.request("resources/read", json!({ "uri": "test://asked" }))?;
    if place.server.min(place.client.revision()) < FORM {
        for exchange in [prompt, resource] {
            exchange.failure()?;
            ensure!(exchange.server_requests.is_empty(), "{exchange:?}");
        }
        return Ok(if place.server < FORM { Support::ServerLacksIt } else { Support::ClientLacksIt });
    }
    let text = &prompt.response["result"]["messages"][0]["content"]["text"];
    ensure!(text == "Interview name of Ada.", "{prompt:?}");
    let text = &resource.response["result"]["contents"][0]["text"];
    ensure!(text == "Written for name of Ada.", "{resource:?}");
    Ok(Support::Works)
}

/// A server of a modern revision may have its client retry without any input request.
pub(super) fn pause(place: &mut FeatureContext<'_>) -> Result<Support> {
    let exchange = place.call("pause", json!({}))?;
    ensure!(exchange.text()? == "back again" && exchange.server_requests.is_empty(), "{exchange:?}");
    Ok(if place.server.is_modern() { Support::Works } else { Support::ServerLacksIt })
}

fn methods(exchange: &Exchange) -> Vec<&str> {
    exchange.server_requests.iter().filter_map(|question| question["method"].as_str()).collect()
}
