//! Between two connections of a server: it failed, or it is not needed.

use std::sync::Arc;

use tokio::time::{Instant, sleep_until};
use toolbay_supervise::LogSource;

use super::{MIN_CHECK_INTERVAL, NextStep, Supervisor, SupervisorCommand};
use crate::{CallError, Failure, Phase, UpstreamState};

/// What a server that is down will do.
#[derive(Clone, Copy)]
pub(super) enum DownState {
    /// Another attempt of the same start follows, so calls wait.
    Retry(Instant),
    /// It is started again, so calls wait.
    Restart(Instant),
    /// It stays down, but may come back by itself: calls fail, but look whether it has.
    CheckAgain { since: Instant, until: Instant },
    /// It stays down until it is started.
    Hopeless,
}

impl DownState {
    pub(super) fn until(self) -> Option<Instant> {
        match self {
            Self::Retry(until) | Self::Restart(until) | Self::CheckAgain { until, .. } => Some(until),
            Self::Hopeless => None,
        }
    }

    /// Whether a call that comes now may wait.
    pub(super) fn is_worth_waiting(self) -> bool {
        match self {
            Self::Retry(_) | Self::Restart(_) => true,
            Self::CheckAgain { since, .. } => since.elapsed() >= MIN_CHECK_INTERVAL,
            Self::Hopeless => false,
        }
    }
}

impl Supervisor {
    /// Waits between two connections: nothing is sent, calls wait or fail.
    pub(super) async fn wait(&mut self, outlook: DownState, failure: Arc<Failure>) -> NextStep {
        let until = outlook.until();
        self.set(match outlook {
            DownState::Retry(_) => self.starting(Phase::Spawning),
            DownState::Restart(until) => UpstreamState::Backoff { until, failure: failure.clone() },
            _ => UpstreamState::Failed { failure: failure.clone() },
        });
        self.is_checking = matches!(outlook, DownState::CheckAgain { .. });
        let authorizer = self.endpoint.authorizer().filter(|_| failure.is_unauthorized()).cloned();
        let logged_in = async move {
            match &authorizer {
                Some(authorizer) => authorizer.changed().await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(logged_in);
        let down = CallError::Down { server: self.settings.name.clone(), failure };
        if !matches!(outlook, DownState::Retry(_) | DownState::Restart(_)) {
            self.calls.fail_waiting(&down);
        }
        loop {
            if self.may_leave() {
                return NextStep::Stop;
            }
            let next_expiry = self.calls.next_expiry();
            let wake = until.unwrap_or_else(Instant::now);
            tokio::select! {
                biased; // a call made after an order must see its effect
                () = self.inputs.stop.cancelled() => return NextStep::Stop,
                Some(command) = self.inputs.commands.recv() => match command {
                    SupervisorCommand::Start(done) | SupervisorCommand::Restart(done) => {
                        self.inputs.pending_commands.push(done);
                        self.policy.reset();
                        self.failure = None;
                        self.is_checking = false;
                        return NextStep::Start;
                    }
                    SupervisorCommand::Stop(done) => {
                        self.inputs.pending_commands.push(done);
                        return NextStep::Idle { wakes: false };
                    }
                    SupervisorCommand::Drain { until } => self.inputs.drain_until = Some(until),
                    SupervisorCommand::Refresh(_) => {} // there is no connection, and a new one lists everything
                },
                () = sleep_until(wake), if until.is_some() => return NextStep::Start,
                () = &mut logged_in => {
                    self.policy.reset();
                    self.failure = None;
                    return NextStep::Start;
                }
                queued = self.inputs.queue.recv() => match queued {
                    Some(queued) if !outlook.is_worth_waiting() => queued.fail(down.clone()),
                    Some(queued) => {
                        self.calls.wait(queued);
                        if matches!(outlook, DownState::CheckAgain { .. }) {
                            return NextStep::Start;
                        }
                    }
                    None => return NextStep::Stop,
                },
                () = self.inputs.cancelled.arrived.notified() => {
                    for id in self.inputs.cancelled.take() {
                        self.calls.cancel(id);
                    }
                }
                () = sleep_until(next_expiry.unwrap_or(wake)), if next_expiry.is_some() => {
                    self.calls.expire("waiting to be restarted");
                }
            }
        }
    }

    /// Whether it shall end with its last call, and that is over.
    pub(super) fn may_leave(&self) -> bool {
        self.inputs.drain_until.is_some_and(|until| self.calls.waiting() == 0 || Instant::now() >= until)
    }

    /// Down, and nothing is wrong. Calls fail, or start it where it `wakes`.
    pub(super) async fn idle(&mut self, wakes: bool) -> NextStep {
        self.set(UpstreamState::Stopped { wakes });
        self.inputs.pending_commands.clear();
        let note = if wakes { "stopped until it is called" } else { "stopped until it is started" };
        self.outputs.log.push(LogSource::Event, note);
        self.policy.reset();
        self.failure = None;
        let stopped = CallError::Stopped { server: self.settings.name.clone() };
        if wakes && self.calls.waiting() > 0 {
            return NextStep::Start; // it was called on its way down
        }
        self.calls.fail_waiting(&stopped);
        loop {
            if self.may_leave() {
                return NextStep::Stop;
            }
            tokio::select! {
                biased; // a call made after an order must see its effect
                () = self.inputs.stop.cancelled() => return NextStep::Stop,
                Some(command) = self.inputs.commands.recv() => match command {
                    SupervisorCommand::Start(done) | SupervisorCommand::Restart(done) => {
                        self.inputs.pending_commands.push(done);
                        return NextStep::Start;
                    }
                    SupervisorCommand::Stop(done) if wakes => {
                        self.inputs.pending_commands.push(done);
                        return NextStep::Idle { wakes: false };
                    }
                    SupervisorCommand::Stop(_) | SupervisorCommand::Refresh(_) => {}
                    SupervisorCommand::Drain { until } => self.inputs.drain_until = Some(until),
                },
                queued = self.inputs.queue.recv() => match queued {
                    Some(queued) if wakes => {
                        self.calls.wait(queued);
                        return NextStep::Start;
                    }
                    Some(queued) => queued.fail(stopped.clone()),
                    None => return NextStep::Stop,
                },
                () = self.inputs.cancelled.arrived.notified() => drop(self.inputs.cancelled.take()),
            }
        }
    }
}
