//! Between two lives of a server: it failed, or nobody needs it.

use std::sync::Arc;

use tokio::time::{Instant, sleep_until};
use toolbay_supervise::LogSource;

use super::{Command, LOOK_FOR_CALL, Life, Next};
use crate::{CallError, Failure, Phase, State};

/// What a server that is down will do.
#[derive(Clone, Copy)]
pub(super) enum Outlook {
    /// Its start goes on with another attempt, so calls wait.
    Retry(Instant),
    /// It is started again, so calls wait.
    Restart(Instant),
    /// It stays down, but may come back by itself: calls fail, but look whether it has.
    LookAgain { since: Instant, until: Instant },
    /// It stays down until someone asks.
    Hopeless,
}

impl Outlook {
    pub(super) fn until(self) -> Option<Instant> {
        match self {
            Self::Retry(until) | Self::Restart(until) | Self::LookAgain { until, .. } => Some(until),
            Self::Hopeless => None,
        }
    }

    /// Whether a call that comes now may wait.
    pub(super) fn is_worth_waiting(self) -> bool {
        match self {
            Self::Retry(_) | Self::Restart(_) => true,
            Self::LookAgain { since, .. } => since.elapsed() >= LOOK_FOR_CALL,
            Self::Hopeless => false,
        }
    }
}

impl Life {
    /// Between lives: nothing is sent, calls wait or fail.
    pub(super) async fn wait(&mut self, outlook: Outlook, failure: Arc<Failure>) -> Next {
        let until = outlook.until();
        self.set(match outlook {
            Outlook::Retry(_) => self.starting(Phase::Spawning),
            Outlook::Restart(until) => State::Backoff { until, failure: failure.clone() },
            _ => State::Failed { failure: failure.clone() },
        });
        self.is_looking = matches!(outlook, Outlook::LookAgain { .. });
        let down = CallError::Down { server: self.settings.name.clone(), failure };
        if !matches!(outlook, Outlook::Retry(_) | Outlook::Restart(_)) {
            self.calls.fail_waiting(&down);
        }
        loop {
            if self.may_leave() {
                return Next::Stop;
            }
            let next_look = self.calls.next_look();
            let wake = until.unwrap_or_else(Instant::now);
            tokio::select! {
                biased; // a call made after an order must see its effect
                () = self.inputs.stop.cancelled() => return Next::Stop,
                Some(command) = self.inputs.commands.recv() => match command {
                    Command::Start(obeyed) | Command::Restart(obeyed) => {
                        self.inputs.orders.push(obeyed);
                        self.policy.reset();
                        self.failure = None;
                        self.is_looking = false;
                        return Next::Start;
                    }
                    Command::Stop(obeyed) => {
                        self.inputs.orders.push(obeyed);
                        return Next::Rest { wakes: false };
                    }
                    Command::Retire { until } => self.inputs.retire_by = Some(until),
                    Command::Refresh(_) => {} // there is nobody to ask, and a new life asks for all
                },
                () = sleep_until(wake), if until.is_some() => return Next::Start,
                queued = self.inputs.queue.recv() => match queued {
                    Some(queued) if !outlook.is_worth_waiting() => queued.fail(down.clone()),
                    Some(queued) => {
                        self.calls.wait(queued);
                        if matches!(outlook, Outlook::LookAgain { .. }) {
                            return Next::Start;
                        }
                    }
                    None => return Next::Stop,
                },
                () = self.inputs.cancelled.arrived.notified() => {
                    for id in self.inputs.cancelled.take() {
                        self.calls.cancel(id);
                    }
                }
                () = sleep_until(next_look.unwrap_or(wake)), if next_look.is_some() => {
                    self.calls.expire("waiting to be restarted");
                }
            }
        }
    }

    /// Whether it shall end with its last call, and that is over.
    fn may_leave(&self) -> bool {
        self.inputs.retire_by.is_some_and(|until| self.calls.waiting() == 0 || Instant::now() >= until)
    }

    /// Down, and nothing is wrong. Calls fail, or start it where it `wakes`.
    pub(super) async fn rest(&mut self, wakes: bool) -> Next {
        self.set(State::Stopped { wakes });
        self.inputs.orders.clear();
        let note = if wakes { "resting until it is called" } else { "stopped until someone asks" };
        self.outputs.log.push(LogSource::Event, note);
        self.policy.reset();
        self.failure = None;
        let stopped = CallError::Stopped { server: self.settings.name.clone() };
        if wakes && self.calls.waiting() > 0 {
            return Next::Start; // it was called on its way down
        }
        self.calls.fail_waiting(&stopped);
        loop {
            if self.may_leave() {
                return Next::Stop;
            }
            tokio::select! {
                biased; // a call made after an order must see its effect
                () = self.inputs.stop.cancelled() => return Next::Stop,
                Some(command) = self.inputs.commands.recv() => match command {
                    Command::Start(obeyed) | Command::Restart(obeyed) => {
                        self.inputs.orders.push(obeyed);
                        return Next::Start;
                    }
                    Command::Stop(obeyed) if wakes => {
                        self.inputs.orders.push(obeyed);
                        return Next::Rest { wakes: false };
                    }
                    Command::Stop(_) | Command::Refresh(_) => {}
                    Command::Retire { until } => self.inputs.retire_by = Some(until),
                },
                queued = self.inputs.queue.recv() => match queued {
                    Some(queued) if wakes => {
                        self.calls.wait(queued);
                        return Next::Start;
                    }
                    Some(queued) => queued.fail(stopped.clone()),
                    None => return Next::Stop,
                },
                () = self.inputs.cancelled.arrived.notified() => drop(self.inputs.cancelled.take()),
            }
        }
    }
}
