//! The task that watches one process to its end.

use std::{
    future::pending, io, os::unix::process::ExitStatusExt, path::PathBuf, process::ExitStatus, sync::Arc,
    time::Duration,
};

use rustix::{
    net::{RecvFlags, recv},
    process::{Pid, Signal},
};
use tokio::{
    net::UnixStream,
    process::Child,
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep_until, timeout},
};
use tokio_util::task::TaskTracker;

use crate::{
    command::StopGrace,
    error::SpawnError,
    exit::{Exit, ExitCause},
    process::{ProcessState, StopRequest},
    shim::protocol::{Request, ShimMessage},
    spawn::refused,
    sweep::Sweep,
};

/// How long a shim may take to clear up after its server before we take over.
const SHIM_TIMEOUT: Duration = Duration::from_secs(2);
/// How long stderr may take to end after the last known writer did.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// Watches a shim, or in bare mode the server itself.
///
/// Invariant: dropped at any point, it closes the control socket, on which the shim kills the tree.
pub(crate) struct Watcher {
    pub(crate) name: String,
    pub(crate) program: PathBuf,
    /// `None` in bare mode.
    pub(crate) shim: Option<PathBuf>,
    pub(crate) root: Child,
    pub(crate) control: Option<Control>,
    /// `None` once all handles are gone: the wish is known then.
    pub(crate) wished: Option<watch::Receiver<StopRequest>>,
    pub(crate) state: watch::Sender<ProcessState>,
    pub(crate) grace: StopGrace,
    pub(crate) drain: Option<JoinHandle<()>>,
    pub(crate) sweep: Sweep,
    pub(crate) tasks: TaskTracker,
}

/// How far the stop has come. Each step has the time at which the next follows.
#[derive(Clone, Copy, Debug)]
enum StopStep {
    Serve,
    AwaitStdin {
        until: Instant,
    },
    AwaitTerm {
        until: Instant,
    },
    AwaitKill {
        until: Instant,
    },
    /// The shim itself was killed, as it did not do its work.
    AwaitRoot,
}

/// What the shim has reported.
#[derive(Default)]
struct ShimReport {
    ended: Option<(ExitStatus, ExitCause)>,
    refused: Option<io::Error>,
}

impl Watcher {
    pub(crate) async fn run(mut self) {
        let mut step = StopStep::Serve;
        let mut reported = ShimReport::default();
        let root = loop {
            tokio::select! {
                wish = next_stop_request(&mut self.wished) => step = self.on_stop_request(step, wish),
                report = next_report(&mut self.control) => step = self.on_report(step, report, &mut reported),
                () = sleep_to(step.until()) => step = self.escalate(step),
                status = self.root.wait() => break status,
            }
        };
        // The last reports of the shim may still be in the socket.
        while let Some(report) = self.control.as_mut().and_then(Control::waiting) {
            step = self.on_report(step, Some(report), &mut reported);
        }
        let exit = self.conclude(step, root, reported).await;
        if let Some(mut drain) = self.drain.take()
            && timeout(DRAIN_TIMEOUT, &mut drain).await.is_err()
        {
            drain.abort();
        }
        self.state.send_modify(|state| state.exit = Some(exit));
    }

    fn on_stop_request(&mut self, step: StopStep, wish: StopRequest) -> StopStep {
        match (wish, step) {
            (StopRequest::Stop, StopStep::Serve) => {
                StopStep::AwaitStdin { until: Instant::now() + self.grace.after_stdin }
            }
            (
                StopRequest::Kill,
                StopStep::Serve | StopStep::AwaitStdin { .. } | StopStep::AwaitTerm { .. },
            ) => self.kill(),
            (StopRequest::Run | StopRequest::Stop | StopRequest::Kill, step) => step,
        }
    }

    fn on_report(
        &mut self,
        step: StopStep,
        report: Option<ShimMessage>,
        reported: &mut ShimReport,
    ) -> StopStep {
        match report {
            Some(ShimMessage::Started(pid)) => {
                self.state.send_modify(|state| state.pid = pid.try_into().ok())
            }
            Some(ShimMessage::Refused(error)) => reported.refused = Some(io::Error::from_raw_os_error(error)),
            Some(ShimMessage::Ended(status)) => {
                reported.ended = Some((ExitStatus::from_raw(status), step.cause()));
                if let StopStep::Serve | StopStep::AwaitStdin { .. } = step {
                    return StopStep::AwaitTerm { until: Instant::now() + SHIM_TIMEOUT };
                }
            }
            // Its end is near, or it has lost its mind.
            None => self.control = None,
        }
        step
    }

    fn escalate(&mut self, step: StopStep) -> StopStep {
        match step {
            StopStep::AwaitStdin { .. } => {
                self.request(Request::Terminate);
                StopStep::AwaitTerm { until: Instant::now() + self.grace.after_term }
            }
            StopStep::AwaitTerm { .. } => self.kill(),
            StopStep::AwaitKill { .. } => {
                // Stopped or stuck: we do its work. An error means that it has ended meanwhile.
                let _ = self.root.start_kill();
                StopStep::AwaitRoot
            }
            StopStep::Serve | StopStep::AwaitRoot => step,
        }
    }

    fn kill(&mut self) -> StopStep {
        self.request(Request::Kill);
        StopStep::AwaitKill { until: Instant::now() + SHIM_TIMEOUT }
    }

    fn request(&mut self, request: Request) {
        match &self.control {
            Some(control) => control.send(request),
            // With the shim, the end of the socket has the same effect.
            None if self.shim.is_some() => {}
            None => {
                let sweep = self.sweep.clone();
                let signal = match request {
                    Request::Terminate => Signal::TERM,
                    Request::Kill => Signal::KILL,
                };
                self.tasks.spawn_blocking(move || sweep.signal(signal));
            }
        }
    }

    /// The process we had started has ended: makes sure that nothing is left, and tells how it went.
    async fn conclude(&mut self, step: StopStep, root: io::Result<ExitStatus>, reported: ShimReport) -> Exit {
        let Some(shim) = &self.shim else {
            let exit = root.map_or(Exit::unseen(ExitCause::Lost), |status| Exit::new(status, step.cause()));
            self.sweep(Sweep::end).await;
            return exit;
        };
        let is_clear = root.as_ref().is_ok_and(ExitStatus::success);
        if !is_clear {
            self.sweep(Sweep::kill).await;
        }
        if let Some((status, cause)) = reported.ended {
            return Exit::new(status, cause);
        }
        if let Some(source) = reported.refused {
            return Exit::unseen(ExitCause::NotStarted(Arc::new(refused(&self.program, source))));
        }
        match (step.cause(), self.state.borrow().pid, root) {
            (ExitCause::Asked, ..) => Exit::unseen(ExitCause::Asked),
            (_, None, root) => Exit::unseen(ExitCause::NotStarted(Arc::new(SpawnError::Shim {
                shim: shim.clone(),
                problem: root.map_or_else(|error| error.to_string(), |status| status.to_string()),
            }))),
            (_, Some(_), _) => Exit::unseen(ExitCause::Lost),
        }
    }

    async fn sweep(&self, how: fn(Sweep) -> Vec<Pid>) {
        let sweep = self.sweep.clone();
        match self.tasks.spawn_blocking(move || how(sweep)).await {
            Ok(left) if left.is_empty() => {}
            Ok(left) => tracing::warn!(server = %self.name, ?left, "processes survived SIGKILL"),
            Err(error) => {
                tracing::error!(server = %self.name, %error, "cannot look for processes left behind")
            }
        }
    }
}

impl StopStep {
    fn until(self) -> Option<Instant> {
        match self {
            Self::AwaitStdin { until } | Self::AwaitTerm { until } | Self::AwaitKill { until } => Some(until),
            Self::Serve | Self::AwaitRoot => None,
        }
    }

    /// Who is to blame for an end at this step.
    fn cause(self) -> ExitCause {
        match self {
            Self::Serve => ExitCause::Itself,
            _ => ExitCause::Asked,
        }
    }
}

/// Returns the next stop request. The drop of the last handle is a request to kill, reported once.
async fn next_stop_request(wished: &mut Option<watch::Receiver<StopRequest>>) -> StopRequest {
    let Some(receiver) = wished else {
        return pending().await;
    };
    match receiver.changed().await {
        Ok(()) => *receiver.borrow_and_update(),
        Err(_) => {
            *wished = None;
            StopRequest::Kill
        }
    }
}

async fn next_report(control: &mut Option<Control>) -> Option<ShimMessage> {
    match control {
        Some(control) => control.next().await,
        None => pending().await,
    }
}

async fn sleep_to(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until).await,
        None => pending().await,
    }
}

/// The host's end of the control socket.
///
/// Invariant: held by the host alone; when it is dropped, the shim kills the tree.
#[derive(Debug)]
pub(crate) struct Control {
    socket: UnixStream,
    partial: Vec<u8>,
}

impl Control {
    pub(crate) fn new(socket: UnixStream) -> Self {
        Self { socket, partial: Vec::new() }
    }

    /// A byte always fits, unless the shim is stopped, and then we kill it in the end.
    fn send(&self, request: Request) {
        let _ = self.socket.try_write(&[request.to_byte()]);
    }

    /// The next report; `None` at the end. Cancel-safe.
    async fn next(&mut self) -> Option<ShimMessage> {
        loop {
            if let Some(report) = self.take() {
                return Some(report);
            }
            self.socket.readable().await.ok()?;
            let mut bytes = [0; 16];
            match self.socket.try_read(&mut bytes) {
                Ok(length @ 1..) => self.partial.extend_from_slice(&bytes[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(_) | Err(_) => return None,
            }
        }
    }

    /// A report that is in the socket, even if the runtime has not noticed yet.
    fn waiting(&mut self) -> Option<ShimMessage> {
        let mut bytes = [0; 16];
        while let Ok((length @ 1.., _)) = recv(&self.socket, &mut bytes, RecvFlags::DONTWAIT) {
            self.partial.extend_from_slice(&bytes[..length]);
        }
        self.take()
    }

    fn take(&mut self) -> Option<ShimMessage> {
        let report = *self.partial.first_chunk()?;
        self.partial.drain(..ShimMessage::LENGTH);
        ShimMessage::from_bytes(report)
    }
}
