//! Instances of a server: for servers that send requests to clients, and where the configuration says so.
//!
//! On a pipe nothing links a server request to a call. As long as a server has calls of one client only, the client that is
//! meant is known. Once a server sent a request while calls of several clients were running, it gets more
//! processes: one process then never has calls of two clients at once.
//!
//! A server `per-session` never shows two clients the same process, not even one after the other; a `pool` has the process
//! take a call that has the fewest.

pub(crate) mod roots;

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolbay_config::Sharing;
use toolbay_upstream::{CallerId, LogSource, ServerHandle};

/// How many processes one server may have besides its first because it sends requests to clients.
const MAX_EXTRA: usize = 7;
/// How many it may have because each client gets its own.
const MAX_SESSIONS: usize = 256;
/// How long an unused process is kept.
const IDLE: Duration = Duration::from_secs(300);

/// Starts one more process of a server.
pub(crate) type StartAnother = Arc<dyn Fn() -> ServerHandle + Send + Sync>;

/// The processes of one server.
pub(crate) struct Instances {
    sharing: Sharing,
    start: StartAnother,
    all: Mutex<Vec<Instance>>,
}

struct Instance {
    handle: ServerHandle,
    usage: Arc<Mutex<Usage>>,
}

/// The use of a process by clients.
struct Usage {
    caller: Option<CallerId>,
    calls: usize,
    since: Instant,
}

/// The right to have calls at a process; it ends when dropped.
pub(crate) struct Lease {
    usage: Arc<Mutex<Usage>>,
}

impl Instances {
    pub(crate) fn new(sharing: Sharing, first: ServerHandle, start: StartAnother) -> Self {
        Self { sharing, start, all: Mutex::new(vec![Instance::new(first)]) }
    }

    /// A process for a call of `caller`, and the right to use it.
    pub(crate) fn lease(&self, caller: CallerId) -> (ServerHandle, Option<Lease>) {
        match self.sharing {
            Sharing::Shared => {
                self.apart(caller, Instance::is_free, MAX_EXTRA, "it sends requests to its clients")
            }
            Sharing::PerSession => {
                self.apart(caller, Instance::is_untouched, MAX_SESSIONS, "each client has its own")
            }
            Sharing::Pool(size) => self.least_busy(caller, size.get()),
        }
    }

    fn least_busy(&self, caller: CallerId, size: usize) -> (ServerHandle, Option<Lease>) {
        let mut all = self.all.lock();
        sweep(&mut all);
        let calls = |instance: &Instance| instance.usage.lock().calls;
        let least = (0..all.len()).min_by_key(|index| calls(&all[*index])).unwrap_or_default();
        if calls(&all[least]) > 0 && all.len() < size {
            all.push(Instance::new((self.start)()));
            let newest = all.len() - 1;
            return all[newest].lease(caller);
        }
        all[least].lease(caller)
    }

    /// The process that the client used last, else one that is `free` for it, else a new one. When there are too many, the
    /// first: then a server request may be refused, but the call is served.
    fn apart(
        &self,
        caller: CallerId,
        free: fn(&Instance) -> bool,
        max_extra: usize,
        why: &str,
    ) -> (ServerHandle, Option<Lease>) {
        let mut all = self.all.lock();
        sweep(&mut all);
        let known = all.iter().position(|instance| instance.usage.lock().caller == Some(caller));
        let index = match known.or_else(|| all.iter().position(free)) {
            Some(index) => index,
            None if all.len() > max_extra => return (all[0].handle.clone(), None),
            None => {
                let instance = Instance::new((self.start)());
                let note = format!("{why}, so it gets process number {}", all.len() + 1);
                all[0].handle.log().push(LogSource::Event, &note);
                all.push(instance);
                all.len() - 1
            }
        };
        all[index].lease(caller)
    }

    /// Lets all of them finish their calls, but no longer than `grace`, and stops them for good; with
    /// `stop`, at once.
    pub(crate) async fn drain(&self, grace: Duration, stop: CancellationToken) {
        let handles: Vec<ServerHandle> =
            self.all.lock().iter().map(|instance| instance.handle.clone()).collect();
        let all_gone = join_all(handles.into_iter().map(|handle| handle.drain(grace)));
        tokio::select! {
            _ = all_gone => {}
            () = stop.cancelled() => self.stop(),
        }
    }

    /// Stops all but the first, and waits until they are gone.
    pub(crate) async fn stop_extra(&self) {
        let extra: Vec<Instance> = {
            let mut all = self.all.lock();
            // The next process of the first has served no client yet.
            all.iter().for_each(|instance| instance.usage.lock().caller = None);
            all.drain(1..).collect()
        };
        join_all(extra.into_iter().map(|instance| instance.handle.drain(Duration::ZERO))).await;
    }

    /// Ends processes that are unused for too long.
    pub(crate) fn sweep(&self) {
        sweep(&mut self.all.lock());
    }

    /// Stops all of them.
    pub(crate) fn stop(&self) {
        self.all.lock().iter().for_each(|instance| instance.handle.stop());
    }
}

impl Instance {
    fn new(handle: ServerHandle) -> Self {
        Self { handle, usage: Arc::new(Mutex::new(Usage { caller: None, calls: 0, since: Instant::now() })) }
    }

    fn lease(&self, caller: CallerId) -> (ServerHandle, Option<Lease>) {
        let mut now = self.usage.lock();
        now.caller = Some(caller);
        now.calls += 1;
        (self.handle.clone(), Some(Lease { usage: self.usage.clone() }))
    }

    /// Whether no client ever used it.
    fn is_untouched(&self) -> bool {
        self.usage.lock().caller.is_none() && self.is_free()
    }

    /// Whether it has no calls, not even from before they were counted.
    fn is_free(&self) -> bool {
        let counts = self.handle.counts();
        self.usage.lock().calls == 0 && counts.in_flight == 0 && counts.waiting == 0
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut now = self.usage.lock();
        now.calls -= 1;
        now.since = Instant::now();
    }
}

/// The first stays; dropping the handle of another stops it.
fn sweep(all: &mut Vec<Instance>) {
    let mut first = true;
    all.retain(|instance| {
        let now = instance.usage.lock();
        std::mem::take(&mut first) || now.calls > 0 || now.since.elapsed() < IDLE
    });
}
