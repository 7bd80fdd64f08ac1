//! The shim's main loop. Two threads, no runtime, about a mebibyte.
//!
//! One thread reaps, and so learns exactly when the tree is gone: to a subreaper, "no children" means "no descendants".
//! The other, in [`Shim::serve`], waits for that and for the host.

use std::{
    io::{self, Read, Write},
    os::{
        fd::AsFd,
        unix::{net::UnixStream, process::CommandExt},
    },
    process::{Command, exit},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    net::{RecvFlags, SendFlags, recv, send},
    process::{
        Pid, Signal, WaitOptions, chdir, getpid, kill_process_group, set_child_subreaper, setsid, wait,
    },
    thread::set_name,
};

use super::{
    limits,
    protocol::{Request, ShimMessage, StartRequest, Stdio, receive_order},
};
use crate::{sweep::ORPHAN_GRACE, tree};

/// After that long we leave what SIGKILL does not end: another user's processes, or some in a dead file system.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) fn run() -> ! {
    let code = match start() {
        Ok(Some((shim, events))) => shim.serve(events),
        Ok(None) => 0,
        Err(error) => {
            let _ = writeln!(io::stderr(), "this is started by toolbay itself: {error}");
            64
        }
    };
    exit(code)
}

/// Our standard input is the control socket.
fn report(report: ShimMessage) {
    // The host may be gone: then the next poll tells.
    let _ = send(io::stdin(), &report.to_bytes(), SendFlags::NOSIGNAL);
}

/// Starts the server. `None` if it cannot be, which is reported to the host.
fn start() -> io::Result<Option<(Shim, UnixStream)>> {
    let (order, stdio) = receive_order(io::stdin())?;
    let _ = set_name(c"toolbay-shim");
    setsid()?;
    set_child_subreaper(Some(getpid()))?;
    let server = match execute(order, stdio) {
        Ok(server) => server,
        Err(error) => {
            report(ShimMessage::Refused(error.raw_os_error().unwrap_or(Errno::INVAL.raw_os_error())));
            return Ok(None);
        }
    };
    report(ShimMessage::Started(server.as_raw_nonzero().get()));
    // Hold no directory, so that it can be unmounted.
    let _ = chdir("/");
    let (mut write, events) = UnixStream::pair()?;
    thread::Builder::new().stack_size(64 << 10).spawn(move || reap(server, &mut write))?;
    let goal = ShimGoal::Serve;
    Ok(Some((Shim { server, goal, is_stop_requested: false, is_reaped: false }, events)))
}

/// Invariant: on return this process holds none of the server's stdio, so that both sides see each other's end.
#[expect(clippy::disallowed_methods, reason = "this is where servers are started")]
fn execute(order: StartRequest, stdio: Stdio) -> io::Result<Pid> {
    let mut command = Command::new(order.program);
    command.args(order.args).env_clear().envs(order.env).process_group(0);
    command.stdin(stdio.stdin).stdout(stdio.stdout).stderr(stdio.stderr);
    if let Some(cwd) = order.cwd {
        command.current_dir(cwd);
    }
    Ok(Pid::from_child(&limits::with_core_dumps(|| command.spawn())?))
}

/// Reaps the server and every orphan. Writes the server's status to `events`, and closes it when none is left.
fn reap(server: Pid, events: &mut UnixStream) {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == server => {
                let _ = events.write_all(&status.as_raw().to_le_bytes());
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

struct Shim {
    server: Pid,
    goal: ShimGoal,
    /// Whether SIGTERM was sent on request: then the host decides when to kill.
    is_stop_requested: bool,
    is_reaped: bool,
}

enum ShimGoal {
    Serve,
    /// The server has ended, what it left was sent SIGTERM.
    Linger {
        until: Instant,
    },
    Kill {
        since: Instant,
        next: Instant,
        pause: Duration,
    },
}

impl Shim {
    /// Returns the exit code: 0 when nothing is left.
    fn serve(mut self, mut events: UnixStream) -> i32 {
        loop {
            let (host, child) = match self.wait(&events) {
                Ok(ready) => ready,
                Err(Errno::INTR) => continue,
                Err(_) => (true, true),
            };
            if child {
                let mut status = [0; 4];
                match events.read_exact(&mut status) {
                    Ok(()) => self.on_end(i32::from_le_bytes(status)),
                    Err(_) => return 0,
                }
            }
            if host {
                self.on_host();
            }
            if let Some(code) = self.on_time() {
                return code;
            }
        }
    }

    /// Whether the host, and the reaper, have something to say.
    fn wait(&self, events: &UnixStream) -> rustix::io::Result<(bool, bool)> {
        let control = io::stdin();
        let mut sources =
            [events.as_fd(), control.as_fd()].map(|source| PollFd::from_borrowed_fd(source, PollFlags::IN));
        let sources = match self.goal {
            // The host has closed its end; the socket would be ready for ever.
            ShimGoal::Kill { .. } => &mut sources[..1],
            ShimGoal::Serve | ShimGoal::Linger { .. } => &mut sources[..],
        };
        let timeout = match self.goal {
            ShimGoal::Serve => None,
            ShimGoal::Linger { until } => Some(until),
            ShimGoal::Kill { next, .. } => Some(next),
        };
        let timeout = timeout.map(|until| until.saturating_duration_since(Instant::now()));
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        poll(sources, timeout.as_ref())?;
        let ready = |index: usize| sources.get(index).is_some_and(|source| !source.revents().is_empty());
        Ok((ready(1), ready(0)))
    }

    fn on_host(&mut self) {
        let mut request = [0];
        match recv(io::stdin(), &mut request, RecvFlags::DONTWAIT) {
            Err(Errno::INTR | Errno::AGAIN) => {}
            Ok((1.., _)) => match Request::from_byte(request[0]) {
                Some(Request::Terminate) => {
                    self.is_stop_requested = true;
                    tree::signal_descendants(Signal::TERM);
                }
                Some(Request::Kill) => self.kill(),
                None => {}
            },
            // The host is gone.
            Ok(_) | Err(_) => self.kill(),
        }
    }

    fn on_end(&mut self, status: i32) {
        self.is_reaped = true;
        report(ShimMessage::Ended(status));
        if matches!(self.goal, ShimGoal::Serve) && !self.is_stop_requested {
            tree::signal_descendants(Signal::TERM);
            self.goal = ShimGoal::Linger { until: Instant::now() + ORPHAN_GRACE };
        }
    }

    fn kill(&mut self) {
        // Most trees are one group, and gone before the first scan.
        if !self.is_reaped {
            let _ = kill_process_group(self.server, Signal::KILL);
        }
        let (now, pause) = (Instant::now(), Duration::from_millis(2));
        self.goal = ShimGoal::Kill { since: now, next: now + pause, pause };
    }

    fn on_time(&mut self) -> Option<i32> {
        let now = Instant::now();
        match &mut self.goal {
            ShimGoal::Linger { until } if now >= *until => self.kill(),
            ShimGoal::Kill { since, .. } if now - *since > KILL_TIMEOUT => return Some(1),
            ShimGoal::Kill { next, pause, .. } if now >= *next => {
                tree::kill_descendants();
                *pause = (*pause * 2).min(Duration::from_millis(100));
                *next = Instant::now() + *pause;
            }
            ShimGoal::Serve | ShimGoal::Linger { .. } | ShimGoal::Kill { .. } => {}
        }
        None
    }
}
