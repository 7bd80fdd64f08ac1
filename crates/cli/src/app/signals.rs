//! Signals that end the process, and a watchdog for the runtime, on a thread of their own.
//!
//! A hub runs on one thread. Whatever blocks that thread must not keep the process from being ended, and must not go
//! unnoticed. So the thread here has a runtime of its own, never blocks, and never takes a lock that the hub may hold:
//! even its log lines are written by another thread, because the hub may be stuck in writing one.

#[cfg(test)]
mod tests;

use std::{io, thread, time::Duration};

use signal_hook::low_level::exit as exit_now;
use tokio::{
    runtime::{Builder, Handle},
    signal::unix::{Signal, SignalKind, signal},
    task::spawn_blocking,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

/// How long a last log line may take to be written.
const LAST_LINE: Duration = Duration::from_secs(1);

/// Whether a runtime that does not run is worth a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stalls {
    /// For commands that serve clients.
    Reported,
    /// For commands that are done when they are done.
    Ignored,
}

/// When the runtime is checked, and how long it may take to respond.
#[derive(Debug, Clone, Copy)]
struct Timing {
    /// Between two checks of a runtime that runs.
    check: Duration,
    /// Between two looks at one that does not. Time is counted in these, not read from a clock: a process that was stopped
    /// for a while (SIGSTOP, a sleeping machine) has not stalled.
    tick: Duration,
    /// How many ticks without an answer are a stall.
    stall: u32,
    /// How many ticks without an answer after a signal end the process.
    exit: u32,
}

const TIMING: Timing =
    Timing { check: Duration::from_secs(5), tick: Duration::from_secs(1), stall: 5, exit: 15 };

/// Cancels `stop` at the first SIGINT, SIGTERM or SIGHUP. Ends the process at the second, or when the runtime of the caller
/// does not run for 15 s after the first. Servers end even then: their shims notice that the hub has ended.
///
/// Must be called on the runtime that is watched.
pub(crate) fn listen(stop: CancellationToken, stalls: Stalls) -> io::Result<()> {
    listen_with(TIMING, stop, stalls)
}

fn listen_with(timing: Timing, stop: CancellationToken, stalls: Stalls) -> io::Result<()> {
    let watched = Handle::current();
    let own = Builder::new_current_thread().enable_all().build()?;
    let signals = {
        let _own = own.enter();
        Signals::new()?
    };
    let watch = Watch { timing, stop, stalls, watched, signals, asked_to_stop: false };
    thread::Builder::new().name("signals".to_owned()).spawn(move || own.block_on(watch.run()))?;
    Ok(())
}

/// The signals that end us.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next signal and returns its exit status. Cancel safe.
    async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.interrupt.recv() => 130,
            _ = self.terminate.recv() => 143,
            _ = self.hangup.recv() => 129,
        }
    }
}

/// The state of the signal thread.
struct Watch {
    timing: Timing,
    stop: CancellationToken,
    stalls: Stalls,
    watched: Handle,
    signals: Signals,
    asked_to_stop: bool,
}

impl Watch {
    /// Ends with the process.
    async fn run(mut self) {
        loop {
            tokio::select! {
                status = self.signals.next() => self.on_signal(status),
                () = sleep(self.timing.check) => {}
            }
            self.check().await;
        }
    }

    fn on_signal(&mut self, status: i32) {
        if self.asked_to_stop {
            exit_now(status);
        }
        self.asked_to_stop = true;
        self.stop.cancel();
    }

    /// Waits until the runtime has run once.
    async fn check(&mut self) {
        // The task ends as soon as it runs, or when the runtime is shut down.
        let mut answer = self.watched.spawn(async {});
        let (mut silent, mut silent_since_signal) = (0, 0);
        loop {
            tokio::select! {
                biased;
                status = self.signals.next() => self.on_signal(status),
                _ = &mut answer => break,
                () = sleep(self.timing.tick) => {
                    silent += 1;
                    if silent == self.timing.stall {
                        self.report(format!("the hub has been blocked for {}", self.time(silent)));
                    }
                    if self.asked_to_stop {
                        silent_since_signal += 1;
                    }
                    if silent_since_signal == self.timing.exit {
                        self.give_up().await;
                    }
                }
            }
        }
        if silent >= self.timing.stall {
            self.report(format!("the hub is running again, after {}", self.time(silent)));
        }
    }

    async fn give_up(&mut self) {
        let after = self.time(self.timing.exit);
        let logged = spawn_blocking(move || {
            tracing::error!("asked to stop, but the hub has been blocked for {after}: exiting now");
        });
        // Neither a line that cannot be written nor a second signal delays the exit.
        tokio::select! {
            _ = timeout(LAST_LINE, logged) => {}
            _ = self.signals.next() => {}
        }
        exit_now(1);
    }

    /// Logs a line, unless it is of no interest. Not awaited: the hub may hold the lock that writing needs.
    fn report(&self, line: String) {
        if self.stalls == Stalls::Reported {
            drop(spawn_blocking(move || tracing::warn!("{line}")));
        }
    }

    fn time(&self, ticks: u32) -> String {
        format!("{} s", (self.timing.tick * ticks).as_secs_f32().round())
    }
}
