//! Tools as agents use them, wherever they come from.
//!
//! [`Tool`] is all that an agent loop needs to know: a name, a description, a schema, and a way to run it. The tools of all
//! servers of a host are such tools ([`Agent::as_tools`](crate::Agent::as_tools)), and so is whatever implements the trait in this program. Tools of
//! this program can be offered to every client of a host, too: [`serve_tools`].

mod host_tool;
mod local;

use std::{fmt, path::PathBuf};

use serde_json::Value;

pub use host_tool::{HostTool, ToolNames};
pub use local::{serve_tools, tool_fn};

use crate::{CallOptions, CallToolResult, Error, Progress, handlers::BoxFuture};

/// Something that a model can have done.
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
    /// What models call it.
    fn name(&self) -> &str;

    /// What models read about it.
    fn description(&self) -> &str;

    /// The JSON Schema of its arguments.
    fn schema(&self) -> &Value;

    /// Runs it. What goes wrong is an output, too: the model gets it and can do better. Dropping the future cancels it.
    fn execute<'a>(&'a self, arguments: Value, context: &'a ToolContext) -> BoxFuture<'a, ToolOutput>;
}

impl fmt::Debug for dyn Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tool({})", self.name())
    }
}

/// What surrounds one execution of a tool.
#[derive(Debug, Clone, Default)]
pub struct ToolContext {
    options: CallOptions,
}

impl ToolContext {
    /// Nothing special.
    pub fn new() -> Self {
        Self::default()
    }

    /// What the caller wants besides the output: a time limit, progress, log messages.
    pub fn with(options: CallOptions) -> Self {
        Self { options }
    }

    /// What the caller wants besides the output.
    pub fn options(&self) -> &CallOptions {
        &self.options
    }

    /// Tells the caller how far the tool is, if it wants to know.
    pub fn report(&self, progress: Progress) {
        if let Some(told) = &self.options.on_progress {
            told(progress);
        }
    }
}

/// What became of a tool.
#[derive(Debug, Clone, Default)]
pub struct ToolOutput {
    /// What the model gets.
    pub text: String,
    /// Whether the tool failed; the text then says why, and what to do about it.
    pub is_error: bool,
    /// Everything the server answered, where one did: structured content, images and the rest.
    pub result: Option<CallToolResult>,
    /// Where the whole text is, if it was too long for a model.
    pub file: Option<PathBuf>,
}

impl ToolOutput {
    /// A tool did what it should.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A tool failed, and says why.
    pub fn error(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: true, ..Self::default() }
    }
}

impl From<Error> for ToolOutput {
    /// What happened, to which server, and what to do: details for the model (R070).
    fn from(error: Error) -> Self {
        Self::error(error.explained())
    }
}
