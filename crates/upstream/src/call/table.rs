//! The calls of one server: those that wait, and those it has.

use std::{
    collections::{HashMap, VecDeque},
    hash::{BuildHasherDefault, Hasher},
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use bytes::Bytes;
use tokio::{sync::oneshot, time::Instant};
use toolbay_protocol::{ServerName, method};

use crate::{
    Call, CallError, CallEventSender, CallerId, Catalog, LogFilter, ServerSettings, Timeouts,
    call::{CallOutcome, CallResponse, write_queue::WriteQueue},
    status::Gauges,
};

/// A call that was not sent yet.
#[derive(Debug)]
pub(crate) struct QueuedCall {
    pub(crate) id: u64,
    /// Boxed: it moves from queue to queue.
    pub(crate) call: Box<Call>,
    reply: oneshot::Sender<CallOutcome>,
    arrived: Instant,
}

impl QueuedCall {
    pub(crate) fn new(id: u64, call: Call, reply: oneshot::Sender<CallOutcome>) -> Self {
        Self { id, call: Box::new(call), reply, arrived: Instant::now() }
    }

    pub(crate) fn fail(self, error: CallError) {
        // A caller that went away needs no response; the same holds for every reply below.
        let _ = self.reply.send(Err(error));
    }
}

/// A call that the server has.
#[derive(Debug)]
pub(crate) struct PendingCall {
    /// The call, where it may have to be sent again.
    call: Option<Box<Call>>,
    reply: oneshot::Sender<CallOutcome>,
    pub(crate) events: Option<CallEventSender>,
    pub(crate) logs: LogFilter,
    /// The client that waits; none for subscriptions and our own requests: handshake, lists.
    caller: Option<CallerId>,
    accepts_server_requests: bool,
    /// The task whose end it waits for, as the server wrote its id.
    task: Option<Bytes>,
    /// Open server requests, and since when the timeouts are paused for them.
    open_server_requests: usize,
    paused_at: Instant,
    /// Nothing for what may take as long as its connection lasts: subscriptions and requests of our own.
    clock: Option<CallClock>,
}

/// How long a call may take, and until when that is.
#[derive(Debug, Clone, Copy)]
struct CallClock {
    idle: Duration,
    total: Duration,
    idle_until: Instant,
    total_until: Instant,
}

impl CallClock {
    fn deadline(&self) -> Instant {
        self.idle_until.min(self.total_until)
    }
}

impl PendingCall {
    /// When it times out, unless there is activity; never while a server request is open.
    fn deadline(&self) -> Option<Instant> {
        let clock = self.clock.filter(|_| self.open_server_requests == 0);
        clock.map(|clock| clock.deadline())
    }
}

/// The client that a server request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestTarget {
    /// The client of this call.
    Call(u64),
    /// There is no call that could carry it.
    None,
    /// There are calls of several clients, and it does not name one.
    Ambiguous,
}

/// Invariant: `next_look` is never later than the earliest deadline, so one timer serves all calls; it is moved
/// forward only when it fires.
#[derive(Debug)]
pub(crate) struct CallTable {
    server: ServerName,
    timeouts: Timeouts,
    max_waiting: usize,
    /// Whether a call may turn out never to have reached the server.
    may_be_unsent: bool,
    waiting: VecDeque<QueuedCall>,
    /// Where calls that may change something run one at a time.
    writes: Option<WriteQueue>,
    pending: IdMap<PendingCall>,
    /// Pending calls that are not our own.
    foreign: usize,
    next_expiry: Option<Instant>,
    gauges: Arc<Gauges>,
}

impl CallTable {
    pub(crate) fn new(settings: &ServerSettings, may_be_unsent: bool, gauges: Arc<Gauges>) -> Self {
        Self {
            server: settings.name.clone(),
            timeouts: settings.timeouts,
            max_waiting: settings.max_waiting,
            may_be_unsent,
            waiting: VecDeque::new(),
            writes: settings.serialize_writes.then(WriteQueue::default),
            pending: IdMap::default(),
            foreign: 0,
            next_expiry: None,
            gauges,
        }
    }

    /// Lets a call wait for the server.
    pub(crate) fn wait(&mut self, queued: QueuedCall) {
        if self.waiting() >= self.max_waiting {
            // Calls whose callers went away do not count.
            self.retain_waiting(|waiting| !waiting.reply.is_closed());
        }
        if self.waiting() >= self.max_waiting {
            let error = CallError::Busy {
                server: self.server.clone(),
                in_flight: self.foreign,
                waiting: self.waiting(),
            };
            return queued.fail(error);
        }
        if let Some(limits) = limits(&queued.call, self.timeouts) {
            self.expire_by(queued.arrived + limits.idle);
        }
        self.waiting.push_back(queued);
        self.gauge();
    }

    /// Returns the call that waited longest, of those that may be sent. One whose caller went away is never sent, even if its
    /// cancellation did not arrive yet.
    pub(crate) fn next_waiting(&mut self) -> Option<QueuedCall> {
        loop {
            let write = self.writes.as_mut().and_then(WriteQueue::next);
            let Some(queued) = write.or_else(|| self.waiting.pop_front()) else { break };
            if queued.reply.is_closed() {
                continue;
            }
            match &mut self.writes {
                Some(writes) if writes.is_running() && writes.is_write(&queued.call) => {
                    writes.queue.push_back(queued);
                }
                _ => return Some(queued),
            }
        }
        self.gauge();
        None
    }

    /// Puts back what [`CallTable::next_waiting`] gave, before all others.
    pub(crate) fn wait_on(&mut self, queued: QueuedCall) {
        match &mut self.writes {
            Some(writes) if writes.is_write(&queued.call) => writes.queue.push_front(queued),
            _ => self.waiting.push_front(queued),
        }
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len() + self.writes.as_ref().map_or(0, |writes| writes.queue.len())
    }

    /// Whether [`CallTable::next_waiting`] may have something.
    pub(crate) fn has_sendable(&self) -> bool {
        !self.waiting.is_empty() || self.writes.as_ref().is_some_and(WriteQueue::has_sendable)
    }

    /// Takes what matters here from the catalog.
    pub(crate) fn learn(&mut self, catalog: &Catalog) {
        if let Some(writes) = &mut self.writes {
            writes.learn(catalog);
        }
    }

    /// Calls of clients at the server.
    pub(crate) fn in_flight(&self) -> usize {
        self.foreign
    }

    /// Remembers that a call was sent just now.
    pub(crate) fn sent(&mut self, mut queued: QueuedCall, now: Instant) {
        let clock = limits(&queued.call, self.timeouts).map(|limits| CallClock {
            idle: limits.idle,
            total: limits.total,
            idle_until: now + limits.idle,
            total_until: queued.arrived + limits.total,
        });
        if let Some(writes) = self.writes.as_mut().filter(|writes| writes.is_write(&queued.call)) {
            writes.began(queued.id);
        }
        // A subscription says nothing about what else the server does for its client.
        let caller = (queued.call.request.call.method() != method::LISTEN).then_some(queued.call.caller.id);
        let pending = PendingCall {
            task: awaited_task(&queued.call),
            reply: queued.reply,
            events: queued.call.events.take(),
            logs: queued.call.caller.logs,
            caller,
            accepts_server_requests: queued.call.caller.accepts_server_requests,
            open_server_requests: 0,
            paused_at: now,
            call: self.may_be_unsent.then_some(queued.call),
            clock,
        };
        if let Some(clock) = clock {
            self.expire_by(clock.deadline());
        }
        self.foreign += usize::from(caller.is_some());
        Gauges::next(&self.gauges.calls);
        self.pending.insert(queued.id, pending);
        self.gauge();
    }

    /// Remembers a request of our own; it ends with the connection at the latest.
    pub(crate) fn sent_ours(&mut self, id: u64, reply: oneshot::Sender<CallOutcome>) {
        let pending = PendingCall {
            call: None,
            reply,
            events: None,
            logs: LogFilter::Nothing,
            caller: None,
            accepts_server_requests: false,
            task: None,
            open_server_requests: 0,
            paused_at: Instant::now(),
            clock: None,
        };
        self.pending.insert(id, pending);
    }

    /// Completes a call; says whether there was one.
    pub(crate) fn complete(&mut self, id: u64, outcome: Result<CallResponse, CallError>) -> bool {
        match self.remove(id) {
            Some(pending) => {
                let _ = pending.reply.send(outcome);
                true
            }
            None => false,
        }
    }

    /// Lets calls that never reached the server wait for its next connection, before all others.
    pub(crate) fn unsent(&mut self, ids: &[u64]) {
        for id in ids.iter().rev() {
            let Some(pending) = self.remove(*id) else { continue };
            let Some(mut call) = pending.call else { continue };
            call.events = pending.events;
            let arrived = pending.clock.map_or(pending.paused_at, |clock| clock.total_until - clock.total);
            if let Some(limits) = limits(&call, self.timeouts) {
                self.expire_by(arrived + limits.idle);
            }
            self.wait_on(QueuedCall { id: *id, call, reply: pending.reply, arrived });
        }
        self.gauge();
    }

    /// Records activity of a call: its idle timeout starts anew.
    pub(crate) fn progressed(&mut self, id: u64) -> Option<&PendingCall> {
        let pending = self.pending.get_mut(&id)?;
        if let Some(clock) = &mut pending.clock {
            clock.idle_until = Instant::now() + clock.idle;
        }
        Some(pending)
    }

    /// A call that the server has.
    pub(crate) fn pending(&self, id: u64) -> Option<&PendingCall> {
        self.pending.get(&id)
    }

    /// Returns where the notifications of a subscription go, if it is one of a client.
    pub(crate) fn subscription_sender(&self, id: u64) -> Option<&CallEventSender> {
        self.pending.get(&id).filter(|pending| pending.caller.is_none())?.events.as_ref()
    }

    /// The only call of a client at the server, if it is the only one.
    pub(crate) fn only_one(&self) -> Option<&PendingCall> {
        if self.foreign != 1 {
            return None;
        }
        self.pending.values().find(|pending| pending.caller.is_some())
    }

    /// The call that waits for the end of a task, by the id as the server wrote it.
    pub(crate) fn waits_for(&self, task: &[u8]) -> Option<u64> {
        let waits =
            |pending: &PendingCall| pending.task.as_deref() == Some(task) && pending.accepts_server_requests;
        self.pending.iter().find(|(_, pending)| waits(pending)).map(|(id, _)| *id)
    }

    /// Finds the call for a server request that does not name one. That the only client with calls is
    /// meant is a guess: it may also be unrelated to any call, or belong to one that was given up.
    pub(crate) fn target_of_server_request(&self) -> RequestTarget {
        let mut callers = self.pending.values().filter_map(|pending| pending.caller);
        let Some(caller) = callers.next() else { return RequestTarget::None };
        if callers.any(|other| other != caller) {
            return RequestTarget::Ambiguous;
        }
        self.carrier(caller).map_or(RequestTarget::None, RequestTarget::Call)
    }

    /// Of several calls of one client, returns the oldest that accepts server requests: mostly the longest one sends them.
    pub(crate) fn carrier(&self, caller: CallerId) -> Option<u64> {
        let carries =
            |pending: &PendingCall| pending.accepts_server_requests && pending.caller == Some(caller);
        self.pending.iter().filter(|(_, pending)| carries(pending)).map(|(id, _)| *id).min()
    }

    /// Returns the client of a call.
    pub(crate) fn caller_of(&self, id: u64) -> Option<CallerId> {
        self.pending.get(&id)?.caller
    }

    /// Returns where the server requests of a call go, if its client accepts them.
    pub(crate) fn server_request_sender(&self, id: u64) -> Option<&CallEventSender> {
        let pending = self.pending.get(&id).filter(|pending| pending.accepts_server_requests)?;
        pending.events.as_ref()
    }

    /// Pauses the timeouts of a call while its client handles a server request.
    pub(crate) fn pause(&mut self, id: u64) {
        let Some(pending) = self.pending.get_mut(&id) else { return };
        if pending.open_server_requests == 0 {
            pending.paused_at = Instant::now();
        }
        pending.open_server_requests += 1;
    }

    /// Resumes the timeouts of a call once no server request is open.
    pub(crate) fn resume(&mut self, id: u64) {
        let Some(pending) = self.pending.get_mut(&id) else { return };
        pending.open_server_requests = pending.open_server_requests.saturating_sub(1);
        if pending.open_server_requests > 0 {
            return;
        }
        let Some(clock) = &mut pending.clock else { return };
        let now = Instant::now();
        clock.idle_until = now + clock.idle;
        clock.total_until += now - pending.paused_at;
        let deadline = clock.deadline();
        self.expire_by(deadline);
    }

    /// Forgets a call whose caller went away; says whether the server has it.
    pub(crate) fn cancel(&mut self, id: u64) -> bool {
        self.retain_waiting(|queued| queued.id != id);
        self.gauge();
        self.remove(id).is_some()
    }

    /// Ends a request of our own without a response; says whether there was one.
    pub(crate) fn end_ours(&mut self, id: u64) -> bool {
        self.pending.get(&id).is_some_and(|pending| pending.caller.is_none()) && self.remove(id).is_some()
    }

    /// When to call [`CallTable::expire`] next.
    pub(crate) fn next_expiry(&self) -> Option<Instant> {
        self.next_expiry
    }

    /// Adds the time in which this process was suspended: what came meanwhile was not read yet.
    pub(crate) fn stood_still(&mut self, time: Duration) {
        for queued in self.queues().flatten() {
            queued.arrived += time;
        }
        for clock in self.pending.values_mut().filter_map(|pending| pending.clock.as_mut()) {
            clock.idle_until += time;
            clock.total_until += time;
        }
        self.next_expiry = self.next_expiry.map(|next| next + time);
    }

    /// Fails every call that timed out; returns the ids to cancel at the server.
    pub(crate) fn expire(&mut self, phase: &str) -> Vec<u64> {
        let now = Instant::now();
        let (server, timeouts) = (self.server.clone(), self.timeouts);
        let limit = |queued: &QueuedCall| limits(&queued.call, timeouts).map(|limits| limits.idle);
        for queue in self.queues() {
            for _ in 0..queue.len() {
                let Some(queued) = queue.pop_front() else { break };
                match limit(&queued) {
                    Some(after) if queued.arrived + after <= now => {
                        let phase = phase.to_owned();
                        queued.fail(CallError::NotReady { server: server.clone(), phase, after });
                    }
                    _ => queue.push_back(queued),
                }
            }
        }
        let over = |pending: &PendingCall| pending.deadline().is_some_and(|deadline| deadline <= now);
        let late: Vec<u64> =
            self.pending.iter().filter(|(_, pending)| over(pending)).map(|(id, _)| *id).collect();
        for id in &late {
            let Some(PendingCall { reply, clock: Some(clock), .. }) = self.remove(*id) else { continue };
            let server = self.server.clone();
            let _ = reply.send(Err(if clock.total_until <= now {
                CallError::TooLong { server, total: clock.total }
            } else {
                CallError::Idle { server, idle: clock.idle, total: clock.total }
            }));
        }
        let waiting =
            self.queues().flatten().filter_map(|queued| Some(queued.arrived + limit(queued)?)).min();
        let pending = self.pending.values().filter_map(PendingCall::deadline).min();
        self.next_expiry = waiting.into_iter().chain(pending).min();
        self.gauge();
        late
    }

    /// Fails what the server had. Waiting calls go on waiting for its next connection.
    pub(crate) fn fail_pending(&mut self, error: &CallError) {
        for (_, pending) in self.pending.drain() {
            let _ = pending.reply.send(Err(error.clone()));
        }
        self.foreign = 0;
        self.writes.iter_mut().for_each(WriteQueue::all_ended);
        self.gauge();
    }

    /// Fails what waits.
    pub(crate) fn fail_waiting(&mut self, error: &CallError) {
        for queued in self.queues().flat_map(|queue| queue.drain(..)) {
            queued.fail(error.clone());
        }
        self.gauge();
    }

    fn remove(&mut self, id: u64) -> Option<PendingCall> {
        let pending = self.pending.remove(&id)?;
        self.foreign -= usize::from(pending.caller.is_some());
        if let Some(writes) = &mut self.writes {
            writes.ended(id);
        }
        self.gauge();
        Some(pending)
    }

    /// All calls that wait.
    fn queues(&mut self) -> impl Iterator<Item = &mut VecDeque<QueuedCall>> {
        [&mut self.waiting].into_iter().chain(self.writes.as_mut().map(|writes| &mut writes.queue))
    }

    fn retain_waiting(&mut self, mut keep: impl FnMut(&QueuedCall) -> bool) {
        self.queues().for_each(|queue| queue.retain(&mut keep));
    }

    fn gauge(&self) {
        self.gauges.in_flight.store(self.foreign, Relaxed);
        self.gauges.waiting.store(self.waiting(), Relaxed);
    }

    fn expire_by(&mut self, deadline: Instant) {
        self.next_expiry = Some(self.next_expiry.map_or(deadline, |next| next.min(deadline)));
    }
}

/// The timeouts of a call; nothing for a subscription, whose response is its end.
fn limits(call: &Call, usual: Timeouts) -> Option<Timeouts> {
    (call.request.call.method() != method::LISTEN).then(|| call.timeouts.unwrap_or(usual))
}

/// The task that a call waits for, if it does nothing else.
fn awaited_task(call: &Call) -> Option<Bytes> {
    let method_call = &call.request.call;
    let span = (method_call.method() == method::TASKS_RESULT).then(|| method_call.param("taskId"))??;
    let renamed = call.renamed.iter().find(|(renamed, _)| *renamed == span);
    Some(renamed.map_or_else(|| method_call.text.slice(span.range()), |(_, id)| id.clone()))
}

/// A map by ids of our own. No peer chooses them, so none can make them collide.
pub(crate) type IdMap<T> = HashMap<u64, T, BuildHasherDefault<SequentialIdHasher>>;

/// Ids are counted up: one product tells them apart, in its low bits as well as in its high ones.
#[derive(Debug, Default)]
pub(crate) struct SequentialIdHasher(u64);

impl Hasher for SequentialIdHasher {
    fn write_u64(&mut self, id: u64) {
        self.0 = id.wrapping_mul(0x9e37_79b9_7f4a_7c15); // 2^64 by the golden ratio
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("ids are numbers");
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
