//! Tools as agents use them.
//!
//! A [`Tool`] has a name, a description, a schema and a function. The tools of servers are such tools
//! ([`Agent::as_tools`](crate::Agent::as_tools)), and so are those of this program, which [`serve_tools`] offers like those of any
//! other server.

mod host_tool;
mod local;

use std::{fmt, path::PathBuf};

use serde_json::Value;

pub use host_tool::{HostTool, ToolNames};
pub use local::{serve_tools, tool_fn};

use crate::{CallOptions, CallToolResult, Error, Progress, handlers::BoxFuture};

/// A tool that a model can call.
///
/// ```
/// use serde_json::{Value, json};
/// use toolbay_agent::{BoxFuture, Tool, ToolContext, ToolOutput};
///
/// struct Shout(Value);
///
/// impl Tool for Shout {
///     fn name(&self) -> &str {
///         "shout"
///     }
///     fn description(&self) -> &str {
///         "Says it louder."
///     }
///     fn schema(&self) -> &Value {
///         &self.0
///     }
///     fn execute<'a>(&'a self, arguments: Value, _: &'a ToolContext) -> BoxFuture<'a, ToolOutput> {
///         Box::pin(async move {
///             match arguments["text"].as_str() {
///                 Some(text) => ToolOutput::text(text.to_uppercase()),
///                 None => ToolOutput::error("`text` is missing"),
///             }
///         })
///     }
/// }
///
/// let tool = Shout(json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}));
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let output = tool.execute(json!({"text": "hello"}), &ToolContext::new()).await;
/// assert_eq!(output.text, "HELLO");
/// # });
/// # Ok::<_, std::io::Error>(())
/// ```
pub trait Tool: Send + Sync + 'static {
    /// Its name for models.
    fn name(&self) -> &str;

    /// Its description for models.
    fn description(&self) -> &str;

    /// The JSON Schema of its arguments.
    fn schema(&self) -> &Value;

    /// Runs it. A failure is an output, too, so that the model can correct itself. Dropping the future cancels it.
    fn execute<'a>(&'a self, arguments: Value, context: &'a ToolContext) -> BoxFuture<'a, ToolOutput>;
}

impl fmt::Debug for dyn Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tool({})", self.name())
    }
}

/// The context of one execution.
#[derive(Debug, Clone, Default)]
pub struct ToolContext {
    options: CallOptions,
}

impl ToolContext {
    /// No options.
    pub fn new() -> Self {
        Self::default()
    }

    /// A context with options of the caller: timeout, progress, log messages.
    pub fn with(options: CallOptions) -> Self {
        Self { options }
    }

    /// The options of the caller.
    pub fn options(&self) -> &CallOptions {
        &self.options
    }

    /// Reports progress to a caller that follows it.
    pub fn report(&self, progress: Progress) {
        if let Some(callback) = &self.options.on_progress {
            callback(progress);
        }
    }
}

/// The output of a tool.
#[derive(Debug, Clone, Default)]
pub struct ToolOutput {
    /// The text for the model.
    pub text: String,
    /// Whether the tool failed; the text is the reason, with a hint.
    pub is_error: bool,
    /// The whole result of the server, if there is one: structured content, images and the rest.
    pub result: Option<CallToolResult>,
    /// The file with the whole text, if it was truncated.
    pub file: Option<PathBuf>,
}

impl ToolOutput {
    /// The output of a tool that succeeded.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// The output of a tool that failed.
    pub fn error(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: true, ..Self::default() }
    }
}

impl From<Error> for ToolOutput {
    /// The error with its hint, for the model.
    fn from(error: Error) -> Self {
        Self::error(error.explained())
    }
}
