//! The progress of a call: one line on a terminal, redrawn in place.

use std::{
    io,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    app::context::Context,
    term::{
        output::{Output, size, to_stderr},
        style::{Palette, clean, clean_line, cut},
        time::short,
    },
};

/// A call that is answered sooner shows nothing.
const SOON: Duration = Duration::from_millis(700);

const WIDTH: usize = 20;

/// Shows progress and log messages of a call on stderr.
#[derive(Debug)]
pub(super) struct CallProgress {
    tool: String,
    started: Instant,
    /// The last message of the server.
    step: Option<Step>,
    /// Whether the line is there and is drawn on a terminal.
    is_line: bool,
    is_drawn: bool,
    /// Whether log messages, and progress where there is no terminal, are written as lines.
    is_verbose: bool,
    paint: Palette,
}

/// A progress notification.
#[derive(Debug, Clone, PartialEq)]
struct Step {
    progress: f64,
    total: Option<f64>,
    message: String,
}

impl CallProgress {
    pub(super) fn new(context: &Context, tool: &str) -> Self {
        let out: &Output = &context.out;
        Self {
            tool: clean_line(tool),
            started: Instant::now(),
            step: None,
            is_line: out.stderr_is_terminal && !out.is_quiet() && !out.json,
            is_drawn: false,
            is_verbose: context.args.global.verbose > 0,
            paint: out.paint_status,
        }
    }

    /// Shows nothing.
    pub(super) fn silent() -> Self {
        let (started, paint) = (Instant::now(), Palette(false));
        Self {
            tool: String::new(),
            started,
            step: None,
            is_line: false,
            is_drawn: false,
            is_verbose: false,
            paint,
        }
    }

    /// Redraws the line, once the call takes long enough.
    pub(super) fn tick(&mut self) {
        if !self.is_line || self.started.elapsed() < SOON {
            return;
        }
        let columns = size(io::stderr()).map_or(80, |size| size.columns);
        let line =
            cut(&line(&self.tool, self.step.as_ref(), self.started.elapsed()), columns.saturating_sub(1));
        to_stderr(&format!("\r\x1b[2K{line}"));
        self.is_drawn = true;
    }

    /// Handles a progress notification.
    pub(super) fn step(&mut self, params: &Value) {
        let step = Step {
            progress: params["progress"].as_f64().unwrap_or_default(),
            total: params["total"].as_f64().filter(|total| *total > 0.0),
            message: clean_line(params["message"].as_str().unwrap_or_default()),
        };
        if self.is_verbose && !self.is_line {
            to_stderr(&format!("{}\n", line(&self.tool, Some(&step), self.started.elapsed())));
        }
        self.step = Some(step);
        self.tick();
    }

    /// The server writes a log message.
    pub(super) fn log(&mut self, server: &str, params: &Value) {
        if !self.is_verbose {
            return;
        }
        self.pause();
        let level = clean_line(params["level"].as_str().unwrap_or("info"));
        let logger = params["logger"].as_str().map(|logger| format!(" {}", clean_line(logger)));
        let text = match &params["data"] {
            Value::String(text) => clean(text).into_owned(),
            data => clean(&data.to_string()).into_owned(),
        };
        let source = format!("{}{}", clean_line(server), logger.unwrap_or_default());
        to_stderr(&format!("{} {level}: {text}\n", self.paint.dim(&source)));
    }

    /// Erases the line before other output.
    pub(super) fn pause(&mut self) {
        if std::mem::take(&mut self.is_drawn) {
            to_stderr("\r\x1b[2K");
        }
    }
}

impl Drop for CallProgress {
    fn drop(&mut self) {
        self.pause();
    }
}

/// `echo  ████░░░░ 40%  reading  3 s`.
fn line(tool: &str, step: Option<&Step>, elapsed: Duration) -> String {
    let time = short(elapsed);
    let Some(Step { progress, total, message }) = step else { return format!("{tool}  {time}") };
    let far = match total {
        Some(total) => {
            let part = (progress / total).clamp(0.0, 1.0);
            let filled = (part * WIDTH as f64) as usize;
            let bar = format!("{}{}", "█".repeat(filled), "░".repeat(WIDTH - filled));
            format!("{bar} {:.0}%", part * 100.0)
        }
        None => format!("{progress}"),
    };
    let message = if message.is_empty() { String::new() } else { format!("  {message}") };
    format!("{tool}  {far}{message}  {time}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_it_is() {
        let step = |progress, total, message: &str| Step { progress, total, message: message.to_owned() };
        let line = |step: Option<Step>| line("echo", step.as_ref(), Duration::from_secs(12));
        assert_eq!(line(None), "echo  12 s");
        assert_eq!(line(Some(step(3.0, None, "reading"))), "echo  3  reading  12 s");
        let half = line(Some(step(1.0, Some(2.0), "")));
        assert_eq!(half, format!("echo  {}{} 50%  12 s", "█".repeat(10), "░".repeat(10)));
        assert!(line(Some(step(9.0, Some(2.0), ""))).contains("100%"));
    }
}
