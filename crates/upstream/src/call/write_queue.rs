//! Calls that may change something, one at a time, for servers that want it so.

use std::collections::{HashSet, VecDeque};

use serde_json::Value;
use toolbay_protocol::{decode_string, method};

use crate::call::table::QueuedCall;
use crate::{Call, Catalog, CatalogKind};

/// The writes of one server. A write is a call of a tool that its server does not annotate as read-only.
#[derive(Debug, Default)]
pub(crate) struct WriteQueue {
    /// The tools that change nothing, by the names that the server gives them.
    read_only: HashSet<String>,
    /// The write that the server has.
    running: Option<u64>,
    /// Writes whose turn came while another was running; they are older than any that still waits.
    pub(crate) queue: VecDeque<QueuedCall>,
}

impl WriteQueue {
    /// Learns which tools change nothing.
    pub(crate) fn learn(&mut self, catalog: &Catalog) {
        let name = |tool: &bytes::Bytes| {
            let tool: Value = serde_json::from_slice(tool).ok()?;
            let is_read_only = tool["annotations"]["readOnlyHint"] == true;
            tool["name"].as_str().filter(|_| is_read_only).map(str::to_owned)
        };
        self.read_only = catalog.list(CatalogKind::Tools).iter().filter_map(name).collect();
    }

    pub(crate) fn is_write(&self, call: &Call) -> bool {
        let method_call = &call.request.call;
        if method_call.method() != method::TOOLS_CALL {
            return false;
        }
        let Some(span) = method_call.param("name") else { return true };
        let renamed = call.renamed.iter().find(|(renamed, _)| *renamed == span);
        let name = decode_string(renamed.map_or(&method_call.text[span.range()], |(_, name)| name));
        !name.is_some_and(|name| self.read_only.contains(&*name))
    }

    /// Whether a write has to wait.
    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Whether one that was held back may be sent now.
    pub(crate) fn has_sendable(&self) -> bool {
        !self.is_running() && !self.queue.is_empty()
    }

    /// The oldest write that was held back, if it is its turn.
    pub(crate) fn next(&mut self) -> Option<QueuedCall> {
        if self.is_running() { None } else { self.queue.pop_front() }
    }

    pub(crate) fn began(&mut self, id: u64) {
        self.running = Some(id);
    }

    /// Notes that a call is not at the server any more.
    pub(crate) fn ended(&mut self, id: u64) {
        self.running.take_if(|running| *running == id);
    }

    /// Notes that the server has nothing any more.
    pub(crate) fn all_ended(&mut self) {
        self.running = None;
    }
}
