//! Keep-alive pings, the stop of idle servers, and the end of a drain.
//!
//! One timer serves all of it, and looks from time to time; a message costs it nothing but a flag.

use std::{pin::Pin, time::Duration};

use tokio::time::Instant;
use toolbay_protocol::{ObjectBuilder, Revision, method};

use super::{ConnectionEnd, UpstreamConnection};
use crate::{
    Failure, ServerSettings,
    connection::requester::{NoResponse, Requester},
};

/// How often a server that shall leave is looked at.
const LEAVING: Duration = Duration::from_millis(20);
/// How long a draining server is kept after its last call: another may already be queued.
const LINGER: Duration = Duration::from_millis(100);
/// How long a server that reads nothing any more may take to end.
const LAST_BREATH: Duration = Duration::from_millis(500);

/// A ping; the output says whether there was a response.
pub(super) type KeepAlivePing = Pin<Box<dyn Future<Output = bool> + Send>>;

/// What is known about the quiet on a connection.
pub(super) struct IdleState {
    heartbeat: Option<Duration>,
    idle_stop: Option<Duration>,
    /// Whether anything came since the last look.
    pub(super) received: bool,
    quiet_since: Instant,
    /// How many calls there had been at the last look, and whether it was used then.
    calls: u64,
    was_used: bool,
    unused_since: Instant,
    pub(super) keep_alive: Option<KeepAlivePing>,
    pinged_at: Instant,
    /// Whether it ever responded to a ping: one that never does may be well all the same.
    responds: bool,
    /// It closed its input: until when it may end by itself.
    pub(super) exit_by: Option<Instant>,
}

impl IdleState {
    pub(super) fn new(settings: &ServerSettings) -> Self {
        let now = Instant::now();
        Self {
            heartbeat: settings.heartbeat,
            idle_stop: settings.idle_stop,
            received: false,
            quiet_since: now,
            calls: 0,
            was_used: false,
            unused_since: now,
            keep_alive: None,
            pinged_at: now,
            responds: false,
            exit_by: None,
        }
    }

    /// How long to wait until the next look; nothing for a server that need not be looked at.
    fn pause(&self) -> Option<Duration> {
        let pauses = [self.heartbeat.map(|pause| pause / 2), self.idle_stop.map(|pause| pause / 4)];
        pauses.into_iter().flatten().min()
    }

    /// Nothing can be sent any more. What the server still sends is read before it is given up.
    pub(super) fn is_deaf(&mut self) -> Instant {
        *self.exit_by.insert(Instant::now() + LAST_BREATH)
    }

    /// What came of the last heartbeat.
    pub(super) fn felt(&mut self, came: bool) {
        self.keep_alive = None;
        self.responds |= came;
    }
}

impl UpstreamConnection<'_> {
    /// When to look for the first time, if ever.
    pub(super) fn first_look(&self) -> Option<Instant> {
        match self.context.inputs.drain_until {
            Some(_) => Some(self.context.started),
            None => self.idle.pause().map(|pause| self.context.started + pause),
        }
    }

    /// Looks whether something is to be done; returns when to look again, if ever, or how the connection ends.
    pub(super) fn check_idle(&mut self) -> Result<Option<Instant>, ConnectionEnd> {
        let now = Instant::now();
        if self.idle.exit_by.is_some_and(|until| now >= until) {
            return Err(ConnectionEnd::Closed { phase: self.phase, probing: false });
        }
        let counts = self.context.outputs.gauges.read();
        let is_busy = self.context.calls.in_flight() > 0 || self.context.calls.waiting() > 0;
        let is_used = is_busy || counts.calls != self.idle.calls || !self.context.inputs.interests.is_empty();
        // The first look without a call counts as the end of the last one, which cannot have been before the look before.
        if std::mem::replace(&mut self.idle.was_used, is_used) || is_used {
            self.idle.calls = counts.calls;
            self.idle.unused_since = now;
        }
        if let Some(until) = self.context.inputs.drain_until {
            let is_over = !is_busy && now - self.idle.unused_since >= LINGER;
            return if is_over || now >= until { Err(ConnectionEnd::Stop) } else { Ok(Some(now + LEAVING)) };
        }
        if self.revision.is_some()
            && self.idle.idle_stop.is_some_and(|after| now - self.idle.unused_since >= after)
        {
            return Err(ConnectionEnd::Unused);
        }
        self.beat(now, is_busy)?;
        let next = self.idle.pause().map(|pause| now + pause);
        Ok(next.into_iter().chain(self.idle.exit_by).min())
    }

    fn beat(&mut self, now: Instant, is_busy: bool) -> Result<(), ConnectionEnd> {
        let (Some(every), Some(revision)) = (self.idle.heartbeat, self.revision) else { return Ok(()) };
        // A server with calls is judged by their deadlines, and may be too busy to respond to pings.
        if std::mem::take(&mut self.idle.received) || is_busy {
            self.idle.quiet_since = now;
            self.idle.pinged_at = now;
        }
        if self.idle.keep_alive.is_some() && now - self.idle.pinged_at >= every {
            if self.idle.responds {
                return Err(ConnectionEnd::Failed {
                    failure: Failure::Unresponsive { after: every },
                    probing: false,
                });
            }
            self.idle.heartbeat = None;
            self.idle.keep_alive = None;
        } else if self.idle.keep_alive.is_none() && now - self.idle.quiet_since >= every {
            self.idle.pinged_at = now;
            self.idle.keep_alive = Some(Box::pin(ping(self.peer.clone(), revision)));
        }
        Ok(())
    }
}

/// Sends a ping. Any response counts, an error too.
async fn ping(peer: Requester, revision: Revision) -> bool {
    let method = if revision.features().has_ping() { method::PING } else { method::DISCOVER };
    match peer.request(method, peer.our_params(revision, ObjectBuilder::new())).await {
        Ok(_) => true,
        Err(NoResponse::Gone | NoResponse::Failed(_)) => false,
    }
}
