//! Requests about tasks that the hub sends on behalf of a client.

use toolbay_protocol::{Message, Request};

use crate::request::client::RequestClient;

/// A request of our own, in the revision of the client it is sent for. `params` are JSON fields without braces.
pub(crate) fn our_request(client: &RequestClient, method: &str, params: &str) -> Option<Box<Request>> {
    let mut fields = vec![params.to_owned()];
    if client.revision.features().has_request_meta() {
        let meta: Vec<String> =
            client.identity.fields().iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
        fields.push(format!("\"_meta\":{{{}}}", meta.join(",")));
    }
    let params = format!("{{{}}}", fields.join(","));
    match Message::parse(toolbay_protocol::request(&0.into(), method, Some(&params))) {
        Ok(Message::Request(request)) => Some(request),
        _ => None, // what is in it was part of messages before
    }
}
