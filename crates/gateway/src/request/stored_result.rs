//! Results that were cut, read as resources.

use std::{future::Future, pin::Pin, sync::Arc};

use toolbay_protocol::{ErrorCode, ErrorObject, Message, ObjectBuilder, Request, Revision};
use toolbay_results::{
    PartRequest, ReadError, ResultFormat, ResultPart, ResultStore, SCHEME, read_page, read_part,
};
use toolbay_translate::translate_response;

use crate::{
    gateway::Gateway,
    request::{call::FinalResponse, client::RequestClient},
    security::principal_usage::UsageGuard,
};

type ResponseFuture = Pin<Box<dyn Future<Output = FinalResponse> + Send>>;

impl Gateway {
    /// The results that this client may read, if there are any.
    pub(crate) fn results_of(&self, client: &RequestClient) -> Option<ResultStore> {
        let store = self.options.results.as_ref()?.opened()?;
        Some(store.for_principal(client.principal()))
    }

    /// Whether a request reads a result of its client that was cut.
    pub(crate) fn stored_result(&self, client: &RequestClient, request: &Request) -> Option<ResultStore> {
        let store = self.results_of(client)?;
        let uri = request.call.string_param("uri")?;
        let (name, _) = uri.split_once('?').unwrap_or((&uri, ""));
        // Other URIs of that scheme are those of servers.
        store.find(name.strip_prefix(SCHEME)?).map(|_| store)
    }
}

/// Reads a result of a client, off the thread that serves clients.
pub(crate) fn read_stored(
    store: ResultStore,
    revision: Revision,
    request: Arc<Request>,
    usage: UsageGuard,
) -> ResponseFuture {
    Box::pin(async move {
        let _usage = usage;
        let uri = request.call.string_param("uri").unwrap_or_default().into_owned();
        let name = uri.clone();
        let read = tokio::task::spawn_blocking(move || contents(&store, &name)).await;
        let result = match read.unwrap_or_else(|_| Err(ReadError::Failed("it ended unexpectedly".to_owned())))
        {
            Ok(contents) => ObjectBuilder::new().array("contents", [contents.as_str()]).finish(),
            Err(error) => {
                let message = format!("cannot read resource `{uri}`: {error}");
                let error = ErrorObject::new(ErrorCode::INVALID_PARAMS, message);
                return FinalResponse::error(Some(&request.id), &error);
            }
        };
        let mut response = FinalResponse::result(&request.id, &result);
        if let Ok(Message::Response(parsed)) = Message::parse(response.text.clone().into_bytes()) {
            let (from, method) = (Revision::LATEST_LEGACY, request.call.method());
            response.text = translate_response(&parsed, &request.id, method, from, revision);
        }
        response
    })
}

/// A result as the contents of a resource (JSON text).
fn contents(store: &ResultStore, uri: &str) -> Result<String, ReadError> {
    let (name, _) = uri.split_once('?').unwrap_or((uri, ""));
    let format = store.find(name).ok_or(ReadError::NotFound)?.format;
    let contents = ObjectBuilder::new().string("uri", uri).string("mimeType", format.media_type());
    Ok(match format {
        ResultFormat::Base64(_) => match read_part(store, name, &PartRequest::default())? {
            ResultPart::Base64 { data, .. } => contents.string("blob", &data).finish(),
            ResultPart::Text(text) => contents.string("text", &text).finish(),
        },
        ResultFormat::Text | ResultFormat::Json => contents.string("text", &read_page(store, uri)?).finish(),
    })
}
