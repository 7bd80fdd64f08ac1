//! `call_tool`, `call_tool_write`, `call_tool_destructive`: call a tool that is not listed.
//!
//! There are three of them so that what a client asks its user about, or allows for good, says what it may change. The request
//! that stands in such a call is taken out of it, byte by byte, and goes its usual way.

use std::{borrow::Cow, sync::Arc};

use bytes::Bytes;
use toolbay_protocol::{Message, Request, Splice, Tier, encode_string, model::Item};

use super::{HubTool, HubToolCall, ToolAnswer};
use crate::request::client::RequestClient;

/// The definition of the one that calls tools of a tier.
pub(super) fn definition(tier: Tier) -> &'static str {
    match tier {
        Tier::Read => {
            r#"{"name":"call_tool","description":"Call a read-only tool that search_tools found","inputSchema":{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object"}},"required":["name","arguments"]},"annotations":{"readOnlyHint":true}}"#
        }
        Tier::Write => {
            r#"{"name":"call_tool_write","description":"Call a tool that changes something and destroys nothing","inputSchema":{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object"}},"required":["name","arguments"]},"annotations":{"readOnlyHint":false,"destructiveHint":false}}"#
        }
        Tier::Destructive => {
            r#"{"name":"call_tool_destructive","description":"Call a tool that may delete, overwrite or do anything else","inputSchema":{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object"}},"required":["name","arguments"]},"annotations":{"readOnlyHint":false,"destructiveHint":true}}"#
        }
    }
}

/// Takes the request out of the call, if it came through the right one of the three.
pub(super) fn answer(client: &RequestClient, request: &Arc<Request>, tier: Tier) -> HubToolCall {
    match checked(client, request, tier) {
        Ok(request) => HubToolCall::Forwarded(request),
        Err(why) => HubToolCall::Answered(ToolAnswer::failed(why).response(client, request)),
    }
}

fn checked(client: &RequestClient, request: &Request, tier: Tier) -> Result<Arc<Request>, String> {
    let forwarded = forwarded(request)?;
    let name = forwarded.call.string_param("name").unwrap_or_default();
    let table = client.host.table();
    // What is not known gets the usual error.
    let Some(tool) = table.listed_tool(&name) else { return Ok(forwarded.clone()) };
    let needed = tool.tool().map_or(Tier::Destructive, |tool| Tier::of(&tool));
    if needed != tier {
        let right = HubTool::CallTool(needed).name();
        return Err(format!(
            "`{name}` is called with `{right}`, not with `{}`",
            HubTool::CallTool(tier).name()
        ));
    }
    if let Some(faults) = client.host.argument_faults(&forwarded) {
        let schema = tool.tool().and_then(|tool| tool.input_schema().map(str::to_owned)).unwrap_or_default();
        let faults = faults.join("\n");
        return Err(format!(
            "The arguments do not match the schema of `{name}`:\n{faults}\nThe schema:\n{schema}"
        ));
    }
    drop(name);
    Ok(forwarded)
}

/// The request that stands in a call: `name` and `arguments` of the arguments in the place of those of the call.
pub(super) fn forwarded(request: &Request) -> Result<Arc<Request>, String> {
    let call = &request.call;
    let outer = call.param("arguments").ok_or("`arguments` with `name` and `arguments` are missing")?;
    let given = inner_call(&call.text.slice(outer.range()))?;
    let name = call.param("name").ok_or("`name` is missing")?;
    let mut splice = Splice::new(&call.text);
    splice.replace(name, encode_string(&given.name)).replace(outer, &given.arguments);
    match Message::parse(call.edited(splice).into_bytes()) {
        Ok(Message::Request(request)) => Ok(request.into()),
        Ok(_) => Err("the call is not a request".to_owned()),
        Err(why) => Err(format!("`arguments` cannot be used: {why}")),
    }
}

/// What a client wants to call.
struct InnerCall {
    name: String,
    /// An object, as JSON text.
    arguments: Bytes,
}

/// Reads what models write: `arguments` as an object, as a string that is one, or around the name.
fn inner_call(text: &Bytes) -> Result<InnerCall, String> {
    let given = Item::parse(text.clone()).map_err(|why| format!("`arguments`: {why}"))?;
    let arguments = match given.span("arguments") {
        None => Bytes::from_static(b"{}"),
        Some(span) => object(text.slice(span.range()))?,
    };
    if let Some(name) = given.string("name") {
        return Ok(InnerCall { name: name.into_owned(), arguments });
    }
    let missing = "`name` is missing: the name of the tool to call";
    let within = Item::parse(arguments).map_err(|why| format!("`arguments`: {why}"))?;
    let name = within.string("name").map(Cow::into_owned).ok_or(missing)?;
    let arguments = match within.span("arguments") {
        Some(span) => object(within.text().slice(span.range()))?,
        None => within.without(&["name"]).into_bytes(),
    };
    Ok(InnerCall { name, arguments })
}

/// An object that stands there, or in a string.
fn object(text: Bytes) -> Result<Bytes, String> {
    let text = match toolbay_protocol::decode_string(&text) {
        Some(decoded) if decoded.trim().is_empty() => Bytes::from_static(b"{}"),
        Some(decoded) => Bytes::from(decoded.trim().to_owned()),
        None if text == "null" => Bytes::from_static(b"{}"),
        None => text,
    };
    match text.first() {
        Some(b'{') => Ok(text),
        _ => Err("`arguments` must be an object".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forwarded_text(arguments: &str) -> Result<String, String> {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"_meta":{{"progressToken":1}},"name":"call_tool","arguments":{arguments}}}}}"#
        );
        let Ok(Message::Request(request)) = Message::parse(text.into()) else { panic!("not a request") };
        forwarded(&request).map(|request| String::from_utf8(request.call.text.to_vec()).unwrap())
    }

    #[test]
    fn the_call_within_is_taken_out_byte_by_byte() {
        let expected = |arguments: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"_meta":{{"progressToken":1}},"name":"a__b","arguments":{arguments}}}}}"#
            )
        };
        for (given, arguments) in [
            (r#"{"name":"a__b","arguments":{"x": 1.50, "y":[ ]}}"#, r#"{"x": 1.50, "y":[ ]}"#),
            (r#"{"arguments":{"x":1},"name":"a__b"}"#, r#"{"x":1}"#),
            (r#"{"name":"a__b","arguments":"{\"x\":\"1\\n2\"}"}"#, r#"{"x":"1\n2"}"#),
            (r#"{"name":"a__b"}"#, "{}"),
            (r#"{"name":"a__b","arguments":null}"#, "{}"),
            (r#"{"name":"a__b","arguments":""}"#, "{}"),
            (r#"{"arguments":{"name":"a__b","arguments":{"x":1}}}"#, r#"{"x":1}"#),
            (r#"{"arguments":{"name":"a__b","x":1}}"#, r#"{"x":1}"#),
        ] {
            assert_eq!(forwarded_text(given), Ok(expected(arguments)), "{given}");
        }
        for bad in
            ["{}", r#"{"name":7}"#, r#"{"name":"a","arguments":[]}"#, r#"{"name":"a","arguments":"{"}"#, "[]"]
        {
            assert!(forwarded_text(bad).is_err(), "{bad}");
        }
    }
}
