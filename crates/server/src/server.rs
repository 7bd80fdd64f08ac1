//! What a server is made of.

use std::{fmt, pin::Pin, sync::Arc, time::Duration};

use tokio_util::task::TaskTracker;
use toolbay_protocol::{ErrorCode, ErrorObject};
use toolbay_transport::{Connection, memory};

use crate::{ChangeNotifier, ClientRoot, Progress, serve};

/// What a request comes to: the fields of its result as a JSON object, or why there is none.
pub type CallFuture<'a> = Pin<Box<dyn Future<Output = Result<String, ErrorObject>> + Send + 'a>>;

/// A call of a tool.
#[derive(Debug)]
pub struct Call<'a> {
    /// The name of the tool, which need not be there.
    pub tool: &'a str,
    /// A JSON object.
    pub arguments: &'a str,
    /// Where to report progress.
    pub progress: Progress,
    /// The roots of the client, if the server [wants them](Server::wants_roots) and the client named them.
    pub roots: Option<Arc<[ClientRoot]>>,
}

/// A server of our own.
pub trait Server: fmt::Debug + Send + Sync + 'static {
    /// Its name.
    fn name(&self) -> &str;

    /// Instructions for models.
    fn instructions(&self) -> Option<&str> {
        None
    }

    /// Its tools, as a JSON array.
    fn tools(&self) -> String;

    /// Calls a tool. Dropping the future cancels the call.
    fn call<'a>(&'a self, call: Call<'a>) -> CallFuture<'a>;

    /// Its resources, as a JSON array; nothing for a server that has none.
    fn resources(&self) -> Option<String> {
        None
    }

    /// Patterns of URIs of more resources, as a JSON array.
    fn resource_templates(&self) -> String {
        "[]".to_owned()
    }

    /// How long calls may go on when the client sends no more, for one that waits for its last responses.
    fn drain(&self) -> Duration {
        Duration::from_secs(30)
    }

    /// Reads a resource: `contents`. Dropping the future cancels it.
    fn read<'a>(&'a self, uri: &'a str) -> CallFuture<'a> {
        Box::pin(std::future::ready(Err(unknown_resource(uri))))
    }

    /// Its prompts, as a JSON array; nothing for a server that has none.
    fn prompts(&self) -> Option<String> {
        None
    }

    /// Makes the text of a prompt, whose arguments are a JSON object. Dropping the future cancels it.
    fn prompt<'a>(&'a self, name: &'a str, _arguments: &'a str) -> CallFuture<'a> {
        Box::pin(std::future::ready(Err(unknown_prompt(name))))
    }

    /// Where it announces changes, for clients to subscribe to; nothing for a server that announces none.
    fn changes(&self) -> Option<&ChangeNotifier> {
        None
    }

    /// Whether clients with a session are asked for their roots.
    fn wants_roots(&self) -> bool {
        false
    }
}

/// The error for a resource that is not there.
pub fn unknown_resource(uri: &str) -> ErrorObject {
    ErrorObject::new(ErrorCode::RESOURCE_NOT_FOUND, format!("unknown resource `{uri}`"))
}

/// The error for a prompt that is not there.
pub(crate) fn unknown_prompt(name: &str) -> ErrorObject {
    ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("Unknown prompt: {name}"))
}

/// Returns a function that opens a connection to the server in this process.
pub fn in_process(server: Arc<dyn Server>) -> Arc<dyn Fn(&TaskTracker) -> Connection + Send + Sync> {
    Arc::new(move |tasks| {
        let (inside, outside) = memory::pair(tasks);
        tasks.spawn(serve(inside, server.clone()));
        outside
    })
}
