//! The tools of a server: listed, found and called.

use std::{fmt, sync::Arc};

use serde_json::Value;
use toolbay_protocol::{ErrorCode, ErrorObject};

use crate::{BlockingThreads, Call, Tool, ToolContext, ToolOutput, ToolResult, tool::Handler};

/// The tools of a server whose state is an `S`.
pub struct Toolset<S> {
    tools: Vec<Tool<S>>,
    failures: Failures,
    threads: BlockingThreads,
}

/// How failures of tools are reported. Invalid arguments are results in any case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Failures {
    /// As results with `isError`, which models see.
    #[default]
    AsResults,
    /// As JSON-RPC errors (-32603).
    AsErrors,
}

impl<S: Send + Sync + 'static> Toolset<S> {
    /// A set of tools, in the order in which they are listed.
    pub fn new(tools: impl IntoIterator<Item = Tool<S>>) -> Self {
        let tools = tools.into_iter().collect();
        Self { tools, failures: Failures::default(), threads: BlockingThreads::new() }
    }

    /// Sets how failures are reported.
    pub fn failures(self, failures: Failures) -> Self {
        Self { failures, ..self }
    }

    /// Returns the definitions, a JSON array: [`Server::tools`](crate::Server::tools).
    pub fn definitions(&self) -> String {
        Value::from_iter(self.tools.iter().map(Tool::definition)).to_string()
    }

    /// Calls a tool: [`Server::call`](crate::Server::call).
    ///
    /// # Errors
    /// If there is no such tool, and for [`Failures::AsErrors`].
    pub async fn call(&self, state: &Arc<S>, call: Call<'_>) -> Result<String, ErrorObject> {
        let Some(tool) = self.tools.iter().find(|tool| tool.name() == call.tool) else {
            let known: Vec<&str> = self.tools.iter().map(Tool::name).collect();
            let unknown = format!("Unknown tool: {}; available: {}", call.tool, known.join(", "));
            return Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, unknown));
        };
        let result = match tool.arguments.read(call.arguments) {
            Ok(arguments) => {
                let context = ToolContext::new(call.progress, call.roots);
                self.run(tool, state, arguments, context).await
            }
            Err(error) => Err(error),
        };
        match result {
            Ok(output) => Ok(output.to_json()),
            Err(error) if error.is_invalid_argument() => {
                let text = format!("invalid arguments for `{}`: {error}", call.tool);
                Ok(ToolOutput::text(text).as_error().to_json())
            }
            Err(error) if self.failures == Failures::AsErrors => {
                Err(ErrorObject::new(ErrorCode::INTERNAL_ERROR, error.to_string()))
            }
            Err(error) => Ok(ToolOutput::text(error.to_string()).as_error().to_json()),
        }
    }

    async fn run(
        &self,
        tool: &Tool<S>,
        state: &Arc<S>,
        arguments: Value,
        context: ToolContext,
    ) -> ToolResult {
        let at_once = tool.at_once.as_ref().and_then(|handler| handler(state, &arguments, &context));
        if let Some(result) = at_once {
            return result;
        }
        match &tool.handler {
            Handler::Async(handler) => handler(state.clone(), arguments, context).await,
            Handler::Blocking(handler) => {
                let (handler, state) = (handler.clone(), state.clone());
                self.threads.run(context, move |context| handler(&state, arguments, context)).await?
            }
        }
    }

    /// Returns the threads on which the tools block, for the other requests of the server.
    pub fn threads(&self) -> &BlockingThreads {
        &self.threads
    }
}

impl<S> fmt::Debug for Toolset<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Toolset").field("tools", &self.tools).finish_non_exhaustive()
    }
}
