//! Options of a call: timeout, progress, log messages.

use std::{fmt, sync::Arc, time::Duration};

use serde::Deserialize;
use serde_json::Value;
use toolbay_protocol::{LogLevel, Notification};

/// The progress of a call.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Progress {
    /// How much is done; never decreases.
    pub progress: f64,
    /// How much there is to do, if known.
    pub total: Option<f64>,
    /// What is being done.
    pub message: Option<String>,
}

/// A log message of a server about a call.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct LogMessage {
    /// Its severity: `debug` to `emergency`.
    pub level: String,
    /// The part of the server that logged it.
    pub logger: Option<String>,
    /// The message or data.
    #[serde(default)]
    pub data: Value,
}

type Callback<T> = Arc<dyn Fn(T) + Send + Sync>;

/// Options of a call.
///
/// ```
/// use std::time::Duration;
/// use toolbay_agent::CallOptions;
///
/// let options = CallOptions::new()
///     .timeout(Duration::from_secs(20))
///     .on_progress(|step| eprintln!("{} of {:?}", step.progress, step.total));
/// ```
#[derive(Clone, Default)]
pub struct CallOptions {
    pub(crate) timeout: Option<Duration>,
    pub(crate) on_progress: Option<Callback<Progress>>,
    pub(crate) on_log: Option<(LogLevel, Callback<LogMessage>)>,
}

impl CallOptions {
    /// No options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Limits the time of the call in all, waiting for a server that is starting included. The timeouts of the server apply,
    /// too; the first that is reached ends the call and notifies the server.
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// Called for each progress notification. It should be quick: the call waits for it.
    pub fn on_progress(self, callback: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self { on_progress: Some(Arc::new(callback)), ..self }
    }

    /// Called for log messages of the call that are at least this severe.
    pub fn on_log(self, least: LogLevel, callback: impl Fn(LogMessage) + Send + Sync + 'static) -> Self {
        Self { on_log: Some((least, Arc::new(callback))), ..self }
    }

    /// Passes on progress.
    pub(crate) fn progressed(&self, notification: &Notification) {
        if let Some(callback) = &self.on_progress
            && let Some(progress) = params(notification)
        {
            callback(progress);
        }
    }

    /// Passes on a log message.
    pub(crate) fn logged(&self, notification: &Notification) {
        if let Some((_, callback)) = &self.on_log
            && let Some(message) = params(notification)
        {
            callback(message);
        }
    }
}

fn params<'a, T: Deserialize<'a>>(notification: &'a Notification) -> Option<T> {
    serde_json::from_str(notification.params_text()?).ok()
}

impl fmt::Debug for CallOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallOptions")
            .field("timeout", &self.timeout)
            .field("on_progress", &self.on_progress.is_some())
            .field("on_log", &self.on_log.as_ref().map(|(level, _)| level))
            .finish()
    }
}
