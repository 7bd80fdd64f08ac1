//! The first list of a hub that does not know all of its servers yet.
//!
//! Lists are answered from memory. Right after the start, memory has nothing of servers without a cached catalog, and
//! several clients never ask again: so the first requests for a list wait a little for those of them that are starting.

use std::{
    pin::Pin,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::time::{Instant, timeout_at};
use toolbay_host::Host;
use toolbay_protocol::{Request, method};

/// Whether a list still waits.
#[derive(Debug)]
pub(crate) struct FirstList {
    wait: Duration,
    /// Set by the first request for a list; others that come until then wait no longer than it.
    until: OnceLock<Instant>,
    is_over: AtomicBool,
}

impl FirstList {
    pub(crate) fn new(wait: Duration) -> Self {
        Self { wait, until: OnceLock::new(), is_over: AtomicBool::new(wait.is_zero()) }
    }

    /// What a request waits for before it is answered; nothing where it is answered at once.
    pub(crate) fn awaited(
        &self,
        host: &Host,
        request: &Request,
    ) -> Option<Pin<Box<dyn Future<Output = ()> + Send>>> {
        if !is_list(request.call.method()) || self.is_over.load(Ordering::Relaxed) {
            return None;
        }
        let until = *self.until.get_or_init(|| Instant::now() + self.wait);
        let Some(settled) = host.first_catalogs().filter(|_| Instant::now() < until) else {
            self.is_over.store(true, Ordering::Relaxed);
            return None;
        };
        Some(Box::pin(async move { drop(timeout_at(until, settled).await) }))
    }
}

fn is_list(asked: &str) -> bool {
    matches!(
        asked,
        method::TOOLS_LIST | method::RESOURCES_LIST | method::RESOURCE_TEMPLATES_LIST | method::PROMPTS_LIST
    )
}
