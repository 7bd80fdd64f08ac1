//! What a caller wants of a call besides its answer.

use std::{fmt, sync::Arc, time::Duration};

use serde::Deserialize;
use serde_json::Value;
use toolbay_protocol::{LogLevel, Notification};

/// How far a call is.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Progress {
    /// How much is done; only ever grows.
    pub progress: f64,
    /// How much there is to do, if the server knows.
    pub total: Option<f64>,
    /// What it is at.
    pub message: Option<String>,
}

/// A log message of a server about a call.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct LogMessage {
    /// How severe it is: `debug` to `emergency`.
    pub level: String,
    /// Which part of the server says so.
    pub logger: Option<String>,
    /// What it says.
    #[serde(default)]
    pub data: Value,
}

/// Who is told.
type Callback<T> = Arc<dyn Fn(T) + Send + Sync>;

/// What a caller wants of a call besides its answer.
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
    /// Nothing special.
    pub fn new() -> Self {
        Self::default()
    }

    /// The longest the call may take in all, waiting for a server that starts included. The limits that its server has hold
    /// besides; whichever is reached first ends the call, and the server is told.
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// Called whenever the server says how far it is. It should be quick: the call waits for it.
    pub fn on_progress(self, told: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self { on_progress: Some(Arc::new(told)), ..self }
    }

    /// Called for log messages about the call that are at least this severe.
    pub fn on_log(self, least: LogLevel, told: impl Fn(LogMessage) + Send + Sync + 'static) -> Self {
        Self { on_log: Some((least, Arc::new(told))), ..self }
    }

    /// Tells of progress, if anyone wants to know.
    pub(crate) fn progressed(&self, notification: &Notification) {
        if let Some(told) = &self.on_progress
            && let Some(progress) = params(notification)
        {
            told(progress);
        }
    }

    /// Tells of a log message, if anyone wants to know.
    pub(crate) fn logged(&self, notification: &Notification) {
        if let Some((_, told)) = &self.on_log
            && let Some(message) = params(notification)
        {
            told(message);
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
