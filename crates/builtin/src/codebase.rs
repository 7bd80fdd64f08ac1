//! A tree of files as a server: search, exact and by meaning, and reading.
//!
//! The six tools and two resources have the names, parameters and defaults of the document that this server follows
//! (docs/codebase.md says where it deviates). What the tools need of a tree is [`Code`]; [`tree()`] gives the real one, which is
//! opened when it is first used and shared by all connections.

mod arguments;
mod code;
mod embedding_endpoint;
mod output;
mod resources;
mod tools;
mod tree;
mod worker;

use std::{fmt, sync::Arc};

use toolbay_protocol::{ErrorCode, ErrorObject};
use toolbay_server::{Call, CallFuture, Server};

pub use code::{
    Case, Code, CodeChunk, CodeError, DirEntry, EntryKind, FileText, FilesPage, IndexState, ListedFile,
    MeaningAnswer, MeaningHit, MeaningQuery, TextAnswer, TextHit, TextQuery,
};
pub use embedding_endpoint::EmbeddingEndpoint;
pub use tree::tree;
pub use worker::{Opener, Stop, TreeWork};

use self::{output::ToolOutcome, worker::Workers};

const INSTRUCTIONS: &str = "Searches and reads the files of one directory. `search_by_embedding` finds code by what it does, \
     described in words; `search_code` finds exact text or, with `regex`, patterns. Both return file and lines; read \
     more with `read_file` (`start_line`, `end_line`). Paths are relative to the directory.";

/// How the server presents itself.
#[derive(Debug, Clone)]
pub struct CodebaseIdentity {
    /// Its name in the handshake.
    pub name: &'static str,
    /// Whether failures of tools are JSON-RPC errors (-32603), as in the document, and not results with `isError`.
    pub s3_errors: bool,
}

impl CodebaseIdentity {
    /// As a server of a hub.
    pub const IN_HUB: Self = Self { name: "toolbay-codebase", s3_errors: false };
    /// As the server of the document.
    pub const ALONE: Self = Self { name: "browser-mcp", s3_errors: false };
}

/// The server of one tree.
pub fn codebase(tree: Arc<Opener>, face: CodebaseIdentity) -> Arc<dyn Server> {
    Arc::new(CodebaseServer { workers: Workers::new(tree), face })
}

struct CodebaseServer {
    workers: Workers,
    face: CodebaseIdentity,
}

impl fmt::Debug for CodebaseServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Codebase").field("face", &self.face).finish_non_exhaustive()
    }
}

impl Server for CodebaseServer {
    fn name(&self) -> &str {
        self.face.name
    }

    fn instructions(&self) -> Option<&str> {
        Some(INSTRUCTIONS)
    }

    fn tools(&self) -> String {
        tools::definitions().to_string()
    }

    fn call<'a>(&'a self, call: Call<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            let Some(tool) = tools::find(call.tool) else {
                let unknown =
                    format!("Unknown tool: {}; available: {}", call.tool, tools::names().join(", "));
                return Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, unknown));
            };
            let arguments = match arguments::Arguments::read(call.arguments) {
                Ok(arguments) => arguments,
                Err(why) => return Ok(ToolOutcome::Misfit(why).to_json(tool.name)),
            };
            let progress = call.progress;
            let done = self.workers.run(move |work| (tool.run)(&arguments, &work.telling(progress))).await;
            match done {
                ToolOutcome::Failed(why) if self.face.s3_errors => {
                    let message = format!("{} failed: {why}", tool.verb);
                    Err(ErrorObject::new(ErrorCode::INTERNAL_ERROR, message))
                }
                ToolOutcome::Failed(why) => {
                    Ok(ToolOutcome::Failed(format!("{} failed: {why}", tool.verb)).to_json(tool.name))
                }
                outcome => Ok(outcome.to_json(tool.name)),
            }
        })
    }

    fn resources(&self) -> Option<String> {
        Some(resources::list().to_string())
    }

    fn resource_templates(&self) -> String {
        resources::templates().to_string()
    }

    fn read<'a>(&'a self, uri: &'a str) -> CallFuture<'a> {
        Box::pin(resources::read(&self.workers, uri))
    }
}
