//! More than one process of a server, for servers that ask their clients.
//!
//! On a pipe nothing links a question to a call. As long as a server has calls of one client only, the client that is
//! meant is plain. Once a server was seen to ask while calls of several clients were running, it gets processes of its
//! own for clients that would otherwise meet: one process never has calls of two clients at once.

use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use tokio::time::Instant;
use toolbay_upstream::{LogSource, Owner, UpstreamHandle};

/// How many processes one server may have besides its first.
const MAX_EXTRA: usize = 7;
/// How long one that nobody uses is kept.
const IDLE: Duration = Duration::from_secs(300);

/// Starts one more process of a server.
pub(crate) type StartAnother = Arc<dyn Fn() -> UpstreamHandle + Send + Sync>;

/// The processes of one server.
pub(crate) struct Instances {
    start: StartAnother,
    all: Mutex<Vec<Instance>>,
}

struct Instance {
    handle: UpstreamHandle,
    use_: Arc<Mutex<Use>>,
}

/// Who has calls there.
struct Use {
    owner: Option<Owner>,
    calls: usize,
    since: Instant,
}

/// The right to have calls at a process; it ends when dropped.
pub(crate) struct Lease {
    use_: Arc<Mutex<Use>>,
}

impl Instances {
    pub(crate) fn new(first: UpstreamHandle, start: StartAnother) -> Self {
        Self { start, all: Mutex::new(vec![Instance::new(first)]) }
    }

    /// A process for a call of `owner`: the one it used last, else one that nobody uses, else a new one. When there
    /// are too many, the first: then a question may go unanswered, but the call is served.
    pub(crate) fn lease(&self, owner: Owner) -> (UpstreamHandle, Option<Lease>) {
        let mut all = self.lock();
        sweep(&mut all);
        let known = all.iter().position(|instance| lock(&instance.use_).owner == Some(owner));
        let free = known.or_else(|| all.iter().position(Instance::is_free));
        let index = match free {
            Some(index) => index,
            None if all.len() > MAX_EXTRA => return (all[0].handle.clone(), None),
            None => {
                let instance = Instance::new((self.start)());
                let note = format!("it asks its clients, so it gets process number {}", all.len() + 1);
                all[0].handle.log().push(LogSource::Event, &note);
                all.push(instance);
                all.len() - 1
            }
        };
        let Instance { handle, use_ } = &all[index];
        let mut now = lock(use_);
        now.owner = Some(owner);
        now.calls += 1;
        (handle.clone(), Some(Lease { use_: use_.clone() }))
    }

    /// Ends processes that nobody has used for long.
    pub(crate) fn sweep(&self) {
        sweep(&mut self.lock());
    }

    /// Stops all of them.
    pub(crate) fn stop(&self) {
        self.lock().iter().for_each(|instance| instance.handle.stop());
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Instance>> {
        lock(&self.all)
    }
}

impl Instance {
    fn new(handle: UpstreamHandle) -> Self {
        Self { handle, use_: Arc::new(Mutex::new(Use { owner: None, calls: 0, since: Instant::now() })) }
    }

    /// Whether nobody has calls there, not even from before anyone counted.
    fn is_free(&self) -> bool {
        let counts = self.handle.counts();
        lock(&self.use_).calls == 0 && counts.in_flight == 0 && counts.waiting == 0
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut now = lock(&self.use_);
        now.calls -= 1;
        now.since = Instant::now();
    }
}

/// The first stays; dropping the handle of another stops it.
fn sweep(all: &mut Vec<Instance>) {
    let mut first = true;
    all.retain(|instance| {
        let now = lock(&instance.use_);
        std::mem::take(&mut first) || now.calls > 0 || now.since.elapsed() < IDLE
    });
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
