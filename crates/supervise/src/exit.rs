//! How a process ended.

use std::{fmt, os::unix::process::ExitStatusExt, process::ExitStatus, sync::Arc};

use crate::error::SpawnError;

/// How a process ended.
#[derive(Clone, Debug)]
pub struct Exit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub cause: ExitCause,
}

/// Who ended it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ExitCause {
    /// It ended without a request: for a server, a crash whatever its code.
    Itself,
    /// It was requested, or the last handle was dropped.
    Asked,
    /// It never ran: the system refused to execute it.
    NotStarted(Arc<SpawnError>),
    /// Its shim was killed, so its status is unknown.
    Lost,
}

impl Exit {
    pub(crate) fn new(status: ExitStatus, cause: ExitCause) -> Self {
        Self { code: status.code(), signal: status.signal(), cause }
    }

    pub(crate) fn unseen(cause: ExitCause) -> Self {
        Self { code: None, signal: None, cause }
    }

    /// Whether it ended on request.
    pub fn was_asked(&self) -> bool {
        matches!(self.cause, ExitCause::Asked)
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.cause, self.code, self.signal) {
            (ExitCause::NotStarted(error), ..) => write!(f, "not started: {error}"),
            (_, Some(code), _) => write!(f, "exit code {code}"),
            (_, None, Some(signal)) => match signal_name(signal) {
                Some(name) => write!(f, "killed by signal {signal} ({name})"),
                None => write!(f, "killed by signal {signal}"),
            },
            (_, None, None) => f.write_str("lost: its shim was killed"),
        }
    }
}

fn signal_name(signal: i32) -> Option<&'static str> {
    use rustix::process::Signal;
    Some(match Signal::from_named_raw(signal)? {
        Signal::HUP => "SIGHUP",
        Signal::INT => "SIGINT",
        Signal::QUIT => "SIGQUIT",
        Signal::ILL => "SIGILL",
        Signal::TRAP => "SIGTRAP",
        Signal::ABORT => "SIGABRT",
        Signal::BUS => "SIGBUS",
        Signal::FPE => "SIGFPE",
        Signal::KILL => "SIGKILL",
        Signal::USR1 => "SIGUSR1",
        Signal::SEGV => "SIGSEGV",
        Signal::USR2 => "SIGUSR2",
        Signal::PIPE => "SIGPIPE",
        Signal::ALARM => "SIGALRM",
        Signal::TERM => "SIGTERM",
        Signal::XCPU => "SIGXCPU",
        Signal::XFSZ => "SIGXFSZ",
        Signal::SYS => "SIGSYS",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `raw` is a wait status: code in the second byte, signal in the first.
    fn shown(raw: i32) -> String {
        Exit::new(ExitStatus::from_raw(raw), ExitCause::Itself).to_string()
    }

    #[test]
    fn an_exit_has_a_code_or_a_signal() {
        assert_eq!(shown(7 << 8), "exit code 7");
        assert_eq!(shown(0), "exit code 0");
        assert_eq!(shown(9), "killed by signal 9 (SIGKILL)");
        assert_eq!(shown(0x80 | 11), "killed by signal 11 (SIGSEGV)");
        assert_eq!(shown(34), "killed by signal 34");
        assert_eq!(Exit::unseen(ExitCause::Lost).to_string(), "lost: its shim was killed");
    }
}
