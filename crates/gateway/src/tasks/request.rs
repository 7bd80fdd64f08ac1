//! Requests about tasks that the hub sends on behalf of a client.

use toolbay_protocol::{Message, ObjectBuilder, Request};

use crate::request::client::RequestClient;

/// A request of our own, in the revision of the client it is sent for.
pub(crate) fn our_request(
    client: &RequestClient,
    method: &str,
    mut params: ObjectBuilder,
) -> Option<Box<Request>> {
    if client.revision.features().has_request_meta() {
        let fields = client.identity.fields().iter();
        let meta = fields.fold(ObjectBuilder::new(), |meta, (key, value)| meta.raw(key, value));
        params = params.raw("_meta", &meta.finish());
    }
    match Message::parse(toolbay_protocol::request(&0.into(), method, Some(&params.finish()))) {
        Ok(Message::Request(request)) => Some(request),
        _ => None, // what is in it was part of messages before
    }
}
