//! Output: data to stdout, everything else to stderr.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;
use toolbay_protocol::ObjectBuilder;

use crate::term::style::{Palette, clean, escape_json};

/// Of everything printed with `--json`; raised when a field changes its meaning or goes.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// Writes text or JSON.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    pub(crate) json: bool,
    quiet: bool,
    /// Colors for stdout.
    pub(crate) paint: Palette,
    /// Colors for stderr.
    pub(crate) paint_status: Palette,
    pub(crate) stdout_is_terminal: bool,
    pub(crate) stderr_is_terminal: bool,
    /// The width of stdout, if it is a terminal. Longer lines are cut, not wrapped.
    pub(crate) columns: Option<usize>,
    /// Whether messages go to the log, with the time.
    is_log: bool,
}

impl Output {
    /// `color` overrides what the terminals suggest.
    pub(crate) fn new(json: bool, quiet: bool, color: Option<bool>) -> Self {
        let stdout_is_terminal = io::stdout().is_terminal();
        let stderr_is_terminal = io::stderr().is_terminal();
        Self {
            json,
            quiet,
            paint: Palette(color.unwrap_or(stdout_is_terminal)),
            paint_status: Palette(color.unwrap_or(stderr_is_terminal)),
            stdout_is_terminal,
            stderr_is_terminal,
            columns: stdout_is_terminal.then(|| size(io::stdout())).flatten().map(|size| size.columns),
            is_log: false,
        }
    }

    /// For a process in the background: everything goes to its log.
    pub(crate) fn to_log() -> Self {
        Self { is_log: true, ..Self::new(false, false, Some(false)) }
    }

    /// Data. Text of servers must be [`clean`] already.
    pub(crate) fn data(&self, text: &str) -> io::Result<()> {
        self.bytes(text.as_bytes())
    }

    /// Data as it is.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes)?;
        stdout.flush()
    }

    /// One JSON object on one line, after the schema version.
    pub(crate) fn json_fields(&self, object: ObjectBuilder) -> io::Result<()> {
        self.json_text(&object.finish())
    }

    /// As [`Output::json_fields`], of plain data that serializes as an object.
    pub(crate) fn json_object(&self, value: &impl Serialize) -> io::Result<()> {
        self.json_text(&serde_json::to_string(value).map_err(io::Error::other)?)
    }

    fn json_text(&self, object: &str) -> io::Result<()> {
        let text = ObjectBuilder::new().value("schema_version", &SCHEMA_VERSION).fields_of(object).finish();
        self.data(&escape_json(&(text + "\n")))
    }

    /// Prints progress; not with `--quiet`.
    pub(crate) fn note(&self, text: &str) {
        if self.is_log {
            tracing::info!("{text}");
        } else if !self.quiet {
            to_stderr(&format!("{text}\n"));
        }
    }

    /// Prints a warning, even with `--quiet`.
    pub(crate) fn warn(&self, text: &str) {
        if self.is_log {
            tracing::warn!("{}", clean(text));
            return;
        }
        to_stderr(&format!("{} {}\n", self.paint_status.yellow("warning:"), clean(text)));
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }
}

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

/// The size of a terminal; nothing where it is none, or does not know.
pub(crate) fn size(terminal: impl std::os::fd::AsFd) -> Option<Size> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    let size = Size { columns: size.ws_col.into(), rows: size.ws_row.into() };
    (size.columns > 0 && size.rows > 0).then_some(size)
}

/// Writes to stderr. There is no place left to report that this failed.
pub(crate) fn to_stderr(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
