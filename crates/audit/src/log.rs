//! The log that a hub writes: a queue, and a thread that writes all that is in it at once.

use std::{
    path::PathBuf,
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};
use tokio::sync::{Notify, oneshot};

use crate::{
    chain::LineHash,
    file_set::{AuditError, OpenSet},
    record::AuditRecord,
};

/// How much may wait to be written; more is lost, as if it could not be written.
const MAX_WAITING: usize = 16 * 1024 * 1024;
/// How long the thread waits before it looks whether the files are still there.
const LOOK_AFTER: Duration = Duration::from_secs(1);

/// Settings of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditSettings {
    /// The directory of the files.
    pub folder: PathBuf,
    /// The beginning of their names.
    pub name: String,
    /// Whether arguments are recorded.
    pub arguments: bool,
    /// Whether records are on the disk, and not only with the system, before the caller goes on.
    pub fsync: bool,
    /// When a file is so long, another one is begun.
    pub max_size: u64,
    /// How many files are kept beside the current one.
    pub keep: usize,
    /// What happens when records cannot be written.
    pub on_failure: OnFailure,
}

/// What happens when records cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// Calls are refused.
    Block,
    /// Calls go on, and the number of lost records is recorded later.
    Warn,
}

/// Whether a record was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded {
    /// It was, or need not be.
    Yes,
    /// It was not, and its call must not go on.
    Blocked(Arc<str>),
}

/// The state of a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditState {
    /// Records written since the start.
    pub written: u64,
    /// Records that could not be written.
    pub lost: u64,
    /// Why records cannot be written now.
    pub failure: Option<Arc<str>>,
}

/// An open log.
#[derive(Debug)]
pub struct AuditLog {
    shared: Arc<Shared>,
    settings: AuditSettings,
    writer: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    /// There is something to write, or the log is closed.
    filled: Condvar,
    finished: Mutex<Vec<FinishedRecord>>,
    /// There is something in `finished`.
    wake: Notify,
    state: Mutex<AuditState>,
}

/// Records that wait.
#[derive(Debug, Default)]
struct Queue {
    /// Their fields, one after the other.
    text: Vec<u8>,
    /// Where each ends, and who waits for it.
    ends: Vec<(usize, Option<Confirmation>)>,
    /// Records that found no room.
    lost: u64,
    is_closed: bool,
}

/// Tells someone that a record was written, or why not.
type Confirmation = oneshot::Sender<Option<Arc<str>>>;

/// Someone whose record was written, or could not be.
type FinishedRecord = (Confirmation, Option<Arc<str>>);

impl AuditLog {
    /// Opens the log and starts its thread.
    ///
    /// # Errors
    /// If the files cannot be opened.
    pub fn open(settings: AuditSettings) -> Result<Self, AuditError> {
        let files = OpenSet::open(&settings.folder, &settings.name)?;
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            filled: Condvar::new(),
            finished: Mutex::default(),
            wake: Notify::new(),
            state: Mutex::default(),
        });
        let mut writer = Writer { shared: shared.clone(), settings: settings.clone(), files, lost: 0 };
        let thread = thread::Builder::new().name("audit".to_owned()).spawn(move || writer.run());
        let failed =
            |source| AuditError::Io { verb: "start a thread for", path: settings.folder.clone(), source };
        Ok(Self { shared, writer: Some(thread.map_err(failed)?), settings })
    }

    /// Its settings.
    pub fn settings(&self) -> &AuditSettings {
        &self.settings
    }

    /// Its state.
    pub fn state(&self) -> AuditState {
        self.shared.state.lock().clone()
    }

    /// Why calls must not be sent now; none if they may.
    pub fn refusal(&self) -> Option<Arc<str>> {
        match self.settings.on_failure {
            OnFailure::Warn => None,
            OnFailure::Block => self.shared.state.lock().failure.clone(),
        }
    }

    /// Writes a record; resolves once it is written.
    pub fn write(&self, record: &AuditRecord<'_>) -> impl Future<Output = Recorded> + Send + use<> {
        let (done, written) = oneshot::channel();
        let is_taken = self.push(record, Some(done));
        let on_failure = self.settings.on_failure;
        async move {
            let failure = match is_taken {
                // The thread ended, which it does not before this log is closed.
                true => written.await.unwrap_or_else(|_| Some("it is closed".into())),
                false => Some("too many records wait to be written".into()),
            };
            match (failure, on_failure) {
                (Some(failure), OnFailure::Block) => Recorded::Blocked(failure),
                (Some(_), OnFailure::Warn) | (None, _) => Recorded::Yes,
            }
        }
    }

    /// Writes a record soon, where nobody waits for it.
    pub fn write_later(&self, record: &AuditRecord<'_>) {
        self.push(record, None);
    }

    fn push(&self, record: &AuditRecord<'_>, done: Option<Confirmation>) -> bool {
        let mut queue = self.shared.queue.lock();
        if queue.text.len() > MAX_WAITING {
            queue.lost += 1;
            return false;
        }
        record.write(&mut queue.text);
        let end = queue.text.len();
        queue.ends.push((end, done));
        let is_first = queue.ends.len() == 1;
        drop(queue);
        if is_first {
            self.shared.filled.notify_one();
        }
        true
    }

    /// Tells callers that their records were written, until it is dropped. It must run in the runtime of the callers: the thread wakes the
    /// runtime once for all records of a write, and not once for each.
    pub fn confirm(&self) -> impl Future<Output = ()> + Send + use<> {
        let shared = self.shared.clone();
        async move {
            loop {
                shared.wake.notified().await;
                let finished = std::mem::take(&mut *shared.finished.lock());
                for (done, failure) in finished {
                    let _ = done.send(failure); // its caller may be gone
                }
            }
        }
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        self.shared.queue.lock().is_closed = true;
        self.shared.filled.notify_one();
        if let Some(writer) = self.writer.take() {
            let _ = writer.join(); // it panicked, and said so
        }
    }
}

/// The thread that writes.
struct Writer {
    shared: Arc<Shared>,
    settings: AuditSettings,
    files: OpenSet,
    /// Records that were lost and not yet recorded as such.
    lost: u64,
}

impl Writer {
    fn run(&mut self) {
        let mut looked = Instant::now();
        let (mut taken, mut lines) = (Queue::default(), Vec::new());
        loop {
            {
                let mut queue = self.shared.queue.lock();
                while queue.ends.is_empty() && !queue.is_closed {
                    self.shared.filled.wait(&mut queue);
                }
                if queue.ends.is_empty() {
                    return;
                }
                // What is taken is empty, and keeps its memory.
                std::mem::swap(&mut queue.text, &mut taken.text);
                std::mem::swap(&mut queue.ends, &mut taken.ends);
                self.lost += std::mem::take(&mut queue.lost);
            }
            let mut prepared = Ok(());
            if looked.elapsed() >= LOOK_AFTER {
                looked = Instant::now();
                prepared = self.files.follow_removal();
            }
            if prepared.is_ok() && self.files.is_full(self.settings.max_size) {
                prepared = self.files.rotate(self.settings.keep);
            }
            let count = taken.ends.len() as u64;
            let written = prepared.and_then(|()| self.write(&taken, &mut lines));
            let failure: Option<Arc<str>> = match written {
                Ok(()) => None,
                Err(error) => {
                    self.lost += count;
                    let current = self.files.set.current();
                    Some(format!("cannot write the audit log {}: {error}", current.display()).into())
                }
            };
            {
                let mut state = self.shared.state.lock();
                match &failure {
                    None => state.written += count,
                    Some(_) => state.lost += count,
                }
                if state.failure != failure {
                    state.failure = failure.clone();
                }
            }
            let waiting = taken.ends.drain(..).filter_map(|(_, done)| Some((done?, failure.clone())));
            self.shared.finished.lock().extend(waiting);
            self.shared.wake.notify_one();
            taken.text.clear();
            lines.clear();
            for buffer in [&mut taken.text, &mut lines] {
                buffer.shrink_to(1024 * 1024);
            }
        }
    }

    /// Gives records their places in the chain, and writes them at once.
    fn write(&mut self, records: &Queue, lines: &mut Vec<u8>) -> std::io::Result<()> {
        let mut head = self.files.head;
        let mut line = |fields: &[u8]| {
            let from = lines.len();
            head.seq += 1;
            lines.extend_from_slice(b"{\"seq\":");
            lines.extend_from_slice(head.seq.to_string().as_bytes());
            lines.extend_from_slice(b",\"prev\":\"");
            head.hash.write(lines);
            lines.extend_from_slice(b"\",");
            lines.extend_from_slice(fields);
            lines.push(b'}');
            head.hash = LineHash::of(&lines[from..]);
            lines.push(b'\n');
        };
        if self.lost > 0 {
            let time = humantime::format_rfc3339_millis(std::time::SystemTime::now());
            line(format!(r#""time":"{time}","event":"lost","records":{}"#, self.lost).as_bytes());
        }
        let mut from = 0;
        for (end, _) in &records.ends {
            line(&records.text[from..*end]);
            from = *end;
        }
        self.files.append(lines, head, self.settings.fsync)?;
        self.lost = 0;
        Ok(())
    }
}
