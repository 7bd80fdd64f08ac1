//! Subscriptions to resources of any server.

use std::sync::Arc;

use toolbay_protocol::{
    ErrorCode, ErrorObject, Message, Notification, ServerName, Splice, decode_string, encode_string,
};
use toolbay_upstream::{ResourceSubscription, ServerHandle, SubscribeError};

use crate::{Host, router::no_resource};

/// A resource that a client watches, under the URI which that client knows. Dropping it ends it.
#[derive(Debug)]
pub struct ResourceWatch {
    server: ServerName,
    subscription: ResourceSubscription,
    /// The prefix of the client's URI before the server's own.
    prefix: String,
}

impl Host {
    /// Watches a resource for one client. Waits for starting servers if no server has it yet, and until
    /// its server has agreed.
    pub async fn watch(&self, uri: &str) -> Result<ResourceWatch, ErrorObject> {
        if self.peek_table().resource(uri).is_err() {
            let starting: Vec<ServerHandle> = self.starting().collect();
            self.settled_for_a_while(&starting).await;
        }
        let route = self.peek_table().resource(uri).map_err(|candidates| no_resource(uri, &candidates))?;
        let raw = route.renamed.as_deref().and_then(decode_string);
        let raw = raw.as_deref().unwrap_or(uri);
        let subscription =
            route.server.watch(raw).await.map_err(|why| not_watched(uri, route.server.name(), &why))?;
        // A qualified URI ends with the server's own; any other is the server's own.
        let prefix = uri.strip_suffix(raw).unwrap_or_default().to_owned();
        Ok(ResourceWatch { server: route.server.name().clone(), subscription, prefix })
    }
}

impl ResourceWatch {
    /// A notification of the server with the client's URI; none when it is about something else.
    ///
    /// A server may notify of a part of what is watched (`…/part`).
    pub fn updated(
        &self,
        server: &ServerName,
        notification: &Arc<Notification>,
    ) -> Option<Arc<Notification>> {
        if *server != self.server {
            return None;
        }
        let uri = notification.string_param("uri")?;
        let rest = uri.strip_prefix(self.subscription.uri())?;
        let is_it_or_a_part =
            rest.is_empty() || self.subscription.uri().ends_with('/') || rest.starts_with(['/', '#', '?']);
        if !is_it_or_a_part {
            return None;
        }
        if self.prefix.is_empty() {
            return Some(notification.clone());
        }
        let mut splice = Splice::new(&notification.text);
        splice.replace(notification.param("uri")?, encode_string(&format!("{}{uri}", self.prefix)));
        match Message::parse(notification.edited(splice).into_bytes()) {
            Ok(Message::Notification(renamed)) => Some(Arc::from(renamed)),
            _ => None,
        }
    }

    /// The URI under which the client knows it.
    pub fn uri(&self) -> String {
        format!("{}{}", self.prefix, self.subscription.uri())
    }
}

fn not_watched(uri: &str, server: &ServerName, why: &SubscribeError) -> ErrorObject {
    let code = match why {
        SubscribeError::Refused(error) => return (**error).clone(),
        SubscribeError::Unsupported => ErrorCode::METHOD_NOT_FOUND,
        SubscribeError::Unanswered | SubscribeError::Down(_) | SubscribeError::TooMany => {
            ErrorCode::INTERNAL_ERROR
        }
    };
    ErrorObject::new(code, format!("cannot subscribe to the resource `{uri}` of server `{server}`: {why}"))
}
