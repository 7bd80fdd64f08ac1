//! The tools of a server: listed, found and called.

use std::{
    fmt,
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use serde_json::Value;
use tokio::sync::Semaphore;
use toolbay_protocol::{ErrorCode, ErrorObject};

use crate::{Call, CallFuture, Progress, Server, Tool, ToolError, ToolOutput, ToolResult, tool::Handler};

/// What a handler knows about its call, besides the arguments.
#[derive(Debug, Clone, Default)]
pub struct ToolContext {
    progress: Progress,
    cancelled: Arc<AtomicBool>,
}

impl ToolContext {
    fn new(progress: Progress) -> Self {
        Self { progress, cancelled: Arc::default() }
    }

    /// Whether the call was cancelled. Handlers that block look at it; a future is dropped.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Returns the flag behind [`is_cancelled`](Self::is_cancelled), for code that knows no tools.
    pub fn cancelled(&self) -> &AtomicBool {
        &self.cancelled
    }

    /// Reports progress, if the client wants it. `done` must grow from call to call.
    pub fn report_progress(&self, done: u64, total: Option<u64>, message: &str) {
        self.progress.report(done, total, message);
    }
}

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

    /// Returns the definitions, a JSON array: [`Server::tools`].
    pub fn definitions(&self) -> String {
        Value::from_iter(self.tools.iter().map(Tool::definition)).to_string()
    }

    /// Calls a tool: [`Server::call`].
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
            Ok(arguments) => self.run(tool, state, arguments, call.progress).await,
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

    async fn run(&self, tool: &Tool<S>, state: &Arc<S>, arguments: Value, progress: Progress) -> ToolResult {
        match &tool.handler {
            Handler::Async(handler) => handler(state.clone(), arguments, ToolContext::new(progress)).await,
            Handler::Blocking(handler) => {
                let (handler, state) = (handler.clone(), state.clone());
                self.threads.run(progress, move |context| handler(&state, arguments, context)).await?
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

/// Threads for work that blocks, a bounded number of them at once.
#[derive(Debug, Clone)]
pub struct BlockingThreads {
    free: Arc<Semaphore>,
}

impl BlockingThreads {
    fn new() -> Self {
        // Some wait for the disk while others compute.
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self { free: Arc::new(Semaphore::new(2 * cores + 2)) }
    }

    /// Runs `work` on a thread. Dropping the future cancels the context.
    ///
    /// # Errors
    /// If `work` panics.
    pub async fn run<R: Send + 'static>(
        &self,
        progress: Progress,
        work: impl FnOnce(&ToolContext) -> R + Send + 'static,
    ) -> Result<R, ToolError> {
        let Ok(permit) = self.free.clone().acquire_owned().await else {
            return Err(ToolError::failed("the server is shutting down"));
        };
        let context = ToolContext::new(progress);
        let _cancel = CancelOnDrop(context.cancelled.clone());
        let running = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work(&context)
        });
        running.await.map_err(|_| ToolError::failed("it ended unexpectedly"))
    }
}

struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A server that has only tools.
#[derive(Debug)]
pub struct ToolServer<S> {
    name: String,
    instructions: Option<String>,
    state: Arc<S>,
    tools: Toolset<S>,
}

impl<S: Send + Sync + 'static> ToolServer<S> {
    /// A server with these tools on this state.
    pub fn new(name: impl Into<String>, state: S, tools: Toolset<S>) -> Self {
        Self { name: name.into(), instructions: None, state: Arc::new(state), tools }
    }

    /// Sets what models read about the server as a whole.
    pub fn instructions(self, instructions: impl Into<String>) -> Self {
        Self { instructions: Some(instructions.into()), ..self }
    }
}

impl<S: fmt::Debug + Send + Sync + 'static> Server for ToolServer<S> {
    fn name(&self) -> &str {
        &self.name
    }

    fn instructions(&self) -> Option<&str> {
        self.instructions.as_deref()
    }

    fn tools(&self) -> String {
        self.tools.definitions()
    }

    fn call<'a>(&'a self, call: Call<'a>) -> CallFuture<'a> {
        Box::pin(self.tools.call(&self.state, call))
    }
}
