//! The task that a message of 2025-11-25 is about.
//!
//! Every question and answer that belongs to a task says so in `_meta`. Other revisions know no such thing.

use bytes::Bytes;
use toolbay_protocol::{Outcome, Response, Splice, meta};

use crate::json::{Object, changed};

/// What a question or an answer (JSON text) says about its task: the id, a JSON string.
pub fn related_task(message: &str) -> Option<String> {
    let message = Object::parse(message)?;
    let fields = Object::parse(message.get("_meta")?)?;
    let related = Object::parse(fields.get(meta::RELATED_TASK)?)?;
    related.get("taskId").map(str::to_owned)
}

/// A question or an answer (JSON text) that says it is about that task: the id, a JSON string.
pub fn with_related_task(message: &str, id: &str) -> String {
    let with = |message: &mut Object<'_>| {
        let mut fields = message.get("_meta").and_then(Object::parse).unwrap_or_default();
        fields.set(meta::RELATED_TASK, format!("{{\"taskId\":{id}}}"));
        let fields = fields.text();
        message.set("_meta", fields);
    };
    changed(message, with).unwrap_or_else(|| message.to_owned())
}

/// Removes what is said about a task.
pub(crate) fn remove(message: &mut Object<'_>) {
    message.change("_meta", |fields| changed(fields, |fields| fields.remove(meta::RELATED_TASK)));
}

/// An answer that says nothing about a task; nothing if it did not before.
pub(crate) fn cut(response: &Response) -> Option<Bytes> {
    let Outcome::Result { meta: Some(fields), .. } = &response.outcome else { return None };
    let mut splice = Splice::new(&response.text);
    let cuts = fields.cuts(&response.text, &[meta::RELATED_TASK]);
    for span in &cuts {
        splice.replace(*span, "");
    }
    (!cuts.is_empty()).then(|| response.edited(splice).into_bytes())
}
