//! `GET /health`.

use serde_json::{Value, json};
use toolbay_host::CatalogKind;

use crate::gateway::Gateway;

impl Gateway {
    /// Ok, the version, and each server's state.
    pub(crate) fn health(&self) -> Value {
        if let Some(face) = &self.options.identity {
            return face.health.clone();
        }
        let servers: Vec<Value> = self
            .host
            .statuses()
            .iter()
            .map(|status| {
                let offers: serde_json::Map<String, Value> = CatalogKind::ALL
                    .into_iter()
                    .map(|kind| (kind.field().to_owned(), status.catalog.list(kind).len().into()))
                    .collect();
                json!({
                    "name": status.name.as_str(),
                    "state": status.state.word(),
                    "transport": status.transport,
                    "revision": status.revision.map(|revision| revision.as_str()),
                    "offers": offers,
                    "counts": status.counts,
                    "starts": status.starts,
                    "pid": status.pid,
                    "error": status.state.failure().map(ToString::to_string),
                })
            })
            .collect();
        json!({
            "status": "ok",
            "service": "toolbay",
            "version": self.options.version,
            "sessions": self.sessions.len(),
            "servers": servers,
        })
    }
}
