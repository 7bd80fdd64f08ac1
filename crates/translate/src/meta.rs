//! The per-request fields that the stateless era carries in `_meta`.

use toolbay_protocol::{Notification, Revision, encode_string, meta};

use crate::capabilities::{capabilities_for_server, with_tasks};

/// Who asks, for servers that want to be told with every request. All values are JSON text.
#[derive(Debug, Clone)]
pub struct ClientIdentity {
    /// `clientInfo`.
    pub info: String,
    /// `clientCapabilities`.
    pub capabilities: String,
    /// The least severe log message wanted.
    pub log_level: Option<String>,
}

impl ClientIdentity {
    /// The fields of `_meta` that a request of the stateless era must carry.
    pub fn fields(&self, revision: Revision) -> Vec<(&'static str, String)> {
        self.fields_from(revision, revision, false)
    }

    /// As [`ClientIdentity::fields`], for a client that declared its capabilities in the words of revision `from`, and
    /// for which tasks are awaited or not.
    pub(crate) fn fields_from(
        &self,
        from: Revision,
        to: Revision,
        awaits_tasks: bool,
    ) -> Vec<(&'static str, String)> {
        let capabilities = capabilities_for_server(&self.capabilities, from);
        let capabilities = if awaits_tasks { with_tasks(&capabilities) } else { capabilities };
        let mut fields = vec![
            (meta::PROTOCOL_VERSION, encode_string(to.as_str())),
            (meta::CLIENT_INFO, self.info.clone()),
            (meta::CLIENT_CAPABILITIES, capabilities),
        ];
        if let Some(level) = &self.log_level {
            fields.push((meta::LOG_LEVEL, level.clone()));
        }
        fields
    }
}

/// Fields that have no place in a request with a handshake behind it.
pub(crate) const MODERN_ONLY: [&str; 4] =
    [meta::PROTOCOL_VERSION, meta::CLIENT_INFO, meta::CLIENT_CAPABILITIES, meta::LOG_LEVEL];

/// `_meta` made anew: what is there but for `drop`, then `add`. Kept fields stay as they were written.
pub(crate) fn rebuilt(call: &Notification, drop: &[&str], add: &[(&str, &str)]) -> String {
    let mut object = String::from("{");
    let mut field = |key: &str, value: &str| {
        if object.len() > 1 {
            object.push(',');
        }
        object.push('"');
        object.push_str(key);
        object.push_str("\":");
        object.push_str(value);
    };
    if let Some(fields) = &call.meta {
        let gone = |name: &&str| fields.find(&call.text, name);
        let gone: Vec<usize> = drop.iter().chain(add.iter().map(|(key, _)| key)).filter_map(gone).collect();
        for (index, entry) in fields.entries.iter().enumerate() {
            if !gone.contains(&index) {
                field(call.raw(entry.key), call.raw(entry.value));
            }
        }
    }
    for (key, value) in add {
        field(key, value);
    }
    object.push('}');
    object
}
