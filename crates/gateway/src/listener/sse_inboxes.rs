//! Clients of HTTP+SSE: where what each of them POSTs goes.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::mpsc;
use toolbay_transport::{Connection, Incoming};

use crate::session::registry::SessionId;

/// One mailbox per open stream, under an id that nobody can guess.
#[derive(Debug)]
pub(crate) struct SseInboxes {
    limit: usize,
    by_id: Mutex<HashMap<SessionId, mpsc::Sender<Incoming>>>,
}

/// A mailbox is there for as long as this is.
#[derive(Debug)]
pub(crate) struct SseInbox {
    pub(crate) id: SessionId,
    all: Arc<SseInboxes>,
}

impl SseInboxes {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, by_id: Mutex::default() })
    }

    /// A new mailbox and what arrives in it, unless there are too many.
    pub(crate) fn open(self: &Arc<Self>) -> Option<(SseInbox, mpsc::Receiver<Incoming>)> {
        let id = SessionId::random()?;
        let mut by_id = self.by_id.lock();
        if by_id.len() >= self.limit {
            return None;
        }
        let (messages, incoming) = mpsc::channel(Connection::QUEUE);
        by_id.insert(id, messages);
        Some((SseInbox { id, all: self.clone() }, incoming))
    }

    pub(crate) fn find(&self, id: SessionId) -> Option<mpsc::Sender<Incoming>> {
        self.by_id.lock().get(&id).cloned()
    }
}

impl Drop for SseInbox {
    fn drop(&mut self) {
        self.all.by_id.lock().remove(&self.id);
    }
}
