//! What `_meta` carries: the fields of modern requests, and the task that a message is about.

use std::sync::OnceLock;

use bytes::Bytes;
use toolbay_protocol::{
    Field, Fields, LogLevel, MethodCall, ObjectBuilder, Outcome, Response, Revision, Splice, encode_string,
    meta, on_one_line,
};

use crate::{
    capabilities::{capabilities_for_server, with_tasks},
    json::{Object, changed},
};

/// The client of a request, as modern requests name it.
#[derive(Debug, Clone)]
pub struct ClientIdentity {
    revision: Revision,
    info: Bytes,
    capabilities: Bytes,
    log_level: Option<LogLevel>,
    /// The fields of `_meta`, made once: where tasks are awaited for the client, and where not.
    awaiting: OnceLock<MetaFields>,
    not_awaiting: OnceLock<MetaFields>,
}

/// Fields of `_meta`: names and JSON text.
pub(crate) type MetaFields = Vec<(&'static str, String)>;

impl ClientIdentity {
    /// A client that describes itself (`clientInfo` and `clientCapabilities`, both JSON text) in the words of `revision`.
    ///
    /// The texts become part of other messages. A newline in one would end the line of such a message, and what
    /// follows would be a message of its own to the server, so they are put on one line.
    pub fn new(revision: Revision, info: impl Into<Bytes>, capabilities: impl Into<Bytes>) -> Self {
        Self {
            revision,
            info: on_one_line(info.into()),
            capabilities: on_one_line(capabilities.into()),
            log_level: None,
            awaiting: OnceLock::new(),
            not_awaiting: OnceLock::new(),
        }
    }

    /// The same client, who wants log messages of that level and above, or none.
    pub fn at_level(&self, log_level: Option<LogLevel>) -> Self {
        let Self { revision, info, capabilities, .. } = self.clone();
        Self { log_level, ..Self::new(revision, info, capabilities) }
    }

    /// `clientInfo`, as JSON text.
    pub fn info(&self) -> &str {
        text(&self.info)
    }

    /// `clientCapabilities`, as JSON text.
    pub fn capabilities(&self) -> &str {
        text(&self.capabilities)
    }

    /// The fields of `_meta` that a modern request must carry.
    pub fn fields(&self) -> &[(&'static str, String)] {
        self.fields_where(false)
    }

    /// As [`ClientIdentity::fields`], where tasks are awaited for the client or not.
    pub(crate) fn fields_where(&self, awaits_tasks: bool) -> &[(&'static str, String)] {
        let made = if awaits_tasks { &self.awaiting } else { &self.not_awaiting };
        made.get_or_init(|| {
            let capabilities = capabilities_for_server(self.capabilities(), self.revision);
            let capabilities = if awaits_tasks { with_tasks(&capabilities) } else { capabilities };
            let mut fields = vec![
                (meta::PROTOCOL_VERSION, encode_string(Revision::LATEST.as_str())),
                (meta::CLIENT_INFO, self.info().to_owned()),
                (meta::CLIENT_CAPABILITIES, capabilities),
            ];
            fields.extend(self.log_level.map(|level| (meta::LOG_LEVEL, format!("\"{level}\""))));
            fields
        })
    }
}

/// Messages are text, and so is every part of one.
fn text(json: &Bytes) -> &str {
    std::str::from_utf8(json).unwrap_or("{}")
}

/// Fields that have no place in a request with a handshake behind it.
pub(crate) const MODERN_ONLY: [&str; 4] =
    [meta::PROTOCOL_VERSION, meta::CLIENT_INFO, meta::CLIENT_CAPABILITIES, meta::LOG_LEVEL];

/// Makes `_meta` anew: what is there but for `drop`, then `add`. Kept fields stay as they were written.
pub(crate) fn rebuild(
    call: &MethodCall,
    there: &Fields,
    drop: &[&str],
    add: &[(&str, &str)],
    splice: &mut Splice<'_>,
) {
    let text = &call.text[..];
    let goes = |field: &Field| {
        let mut names = drop.iter().chain(add.iter().map(|(name, _)| name));
        names.any(|name| there.is(field, text, name))
    };
    let kept = there.entries.iter().filter(|field| !goes(field));
    let kept = kept.map(|field| (&text[field.key.range()], &text[field.value.range()]));
    let added = add.iter().map(|(key, value)| (key.as_bytes(), value.as_bytes()));
    splice.replace_object(there.span, kept.chain(added));
}

/// What a server request or its response (JSON text) says about its task: the id, a JSON string. In 2025-11-25, all that
/// belongs to a task says so in `_meta`; other revisions have no such field.
pub fn related_task(message: &str) -> Option<String> {
    let message = Object::parse(message)?;
    let fields = Object::parse(message.get("_meta")?)?;
    let related = Object::parse(fields.get(meta::RELATED_TASK)?)?;
    related.get("taskId").map(str::to_owned)
}

/// Returns a server request or response (JSON text) with the id of its task, a JSON string.
pub fn with_related_task(message: &str, id: &str) -> String {
    let with = |message: &mut Object<'_>| {
        let mut fields = message.get("_meta").and_then(Object::parse).unwrap_or_default();
        fields.set(meta::RELATED_TASK, ObjectBuilder::new().raw("taskId", id).finish());
        let fields = fields.text();
        message.set("_meta", fields);
    };
    changed(message, with).unwrap_or_else(|| message.to_owned())
}

/// Removes the related task.
pub(crate) fn remove_related_task(message: &mut Object<'_>) {
    message.change("_meta", |fields| changed(fields, |fields| fields.remove(meta::RELATED_TASK)));
}

/// Returns a response without its related task; nothing if it has none.
pub(crate) fn without_related_task(response: &Response) -> Option<Bytes> {
    let Outcome::Result { meta: Some(fields), .. } = &response.outcome else { return None };
    let mut splice = Splice::new(&response.text);
    let cuts = fields.cuts(&response.text, &[meta::RELATED_TASK]);
    for span in &cuts {
        splice.replace(*span, "");
    }
    (!cuts.is_empty()).then(|| response.edited(splice).into_bytes())
}
