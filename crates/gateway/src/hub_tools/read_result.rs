//! `read_result`: parts of a result that was cut.

use std::sync::Arc;

use serde::Deserialize;
use toolbay_protocol::{ObjectBuilder, Request};
use toolbay_results::{PartRequest, ReadError, ResultPart, read_part};

use super::{HubToolCall, ToolAnswer};
use crate::{
    gateway::Gateway,
    request::{
        call::{FinalResponse, complete},
        client::RequestClient,
    },
};

pub(super) const DEFINITION: &str = r#"{"name":"read_result","description":"Reads parts of a tool result that was cut","inputSchema":{"type":"object","properties":{"id":{"type":"string"},"offset":{"type":"integer"},"limit":{"type":"integer"},"grep":{"type":"string","description":"regex of lines"},"pointer":{"type":"string","description":"JSON pointer"}},"required":["id"]},"annotations":{"readOnlyHint":true,"openWorldHint":false}}"#;

#[derive(Debug, Deserialize)]
struct Arguments {
    id: String,
    #[serde(default)]
    offset: Option<u64>,
    limit: Option<u64>,
    grep: Option<String>,
    pointer: Option<String>,
}

/// Reads off the thread that serves clients.
pub(super) fn answer(gateway: &Gateway, client: &RequestClient, request: &Arc<Request>) -> HubToolCall {
    let arguments = request.call.param("arguments").map_or("{}", |span| request.call.raw(span));
    let arguments: Arguments = match serde_json::from_str(arguments) {
        Ok(arguments) => arguments,
        Err(why) => {
            let failed = ToolAnswer::failed(format!("the arguments do not fit: {why}"));
            return HubToolCall::Answered(failed.response(client, request));
        }
    };
    let (store, client, request) = (gateway.results_of(client), client.clone(), request.clone());
    HubToolCall::Soon(Box::pin(async move {
        let Arguments { id, offset, limit, grep, pointer } = arguments;
        let part = PartRequest { offset: offset.unwrap_or_default(), limit, grep, pointer };
        let read = tokio::task::spawn_blocking(move || match store {
            Some(store) => read_part(&store, &id, &part),
            None => Err(ReadError::NotFound),
        });
        match read.await.unwrap_or_else(|_| Err(ReadError::Failed("it ended unexpectedly".to_owned()))) {
            Ok(ResultPart::Text(text)) => {
                ToolAnswer { text, structured: None, is_error: false }.response(&client, &request)
            }
            Ok(ResultPart::Base64 { data, media_type }) => blob(&client, &request, &data, &media_type),
            Err(ReadError::NotFound) => {
                let text = "there is no such result (any more): results are kept for an hour, for the one who called the tool";
                ToolAnswer::failed(text).response(&client, &request)
            }
            Err(ReadError::Failed(why)) => ToolAnswer::failed(why).response(&client, &request),
        }
    }))
}

/// An image or audio as it was; another blob as a resource.
fn blob(client: &RequestClient, request: &Request, data: &str, media_type: &str) -> FinalResponse {
    let block = match media_type.split('/').next() {
        Some(kind @ ("image" | "audio")) => {
            ObjectBuilder::new().string("type", kind).string("mimeType", media_type).string("data", data)
        }
        _ => {
            let resource =
                ObjectBuilder::new().string("uri", "toolbay-result://").string("mimeType", media_type);
            ObjectBuilder::new()
                .string("type", "resource")
                .raw("resource", &resource.string("blob", data).finish())
        }
    };
    let result = ObjectBuilder::new().array("content", [block.finish().as_str()]).finish();
    FinalResponse::result(&request.id, &complete(&result, client.revision))
}
