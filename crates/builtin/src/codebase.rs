//! A directory as a server: exact and semantic search, and reading.
//!
//! The six tools and two resources have the names, parameters and defaults of the document that this server follows
//! (docs/codebase.md says where it deviates). The directory is opened when it is first used and shared by all connections.

mod embedding_endpoint;
mod resources;
mod tools;
mod tree;

use std::{fmt, sync::Arc};

use toolbay_server::{Call, CallFuture, Failures, Server, Toolset};

pub use embedding_endpoint::EmbeddingEndpoint;
pub use tools::{
    Strings,
    search_by_embedding::{IndexState, SearchByEmbedding, SemanticMatch},
    search_code::{LineMatch, SearchCode},
};
pub use tree::{CodeError, LazyCodebase};

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

/// The server of one codebase.
pub fn codebase(codebase: Arc<LazyCodebase>, identity: CodebaseIdentity) -> Arc<dyn Server> {
    let failures = if identity.s3_errors { Failures::AsErrors } else { Failures::AsResults };
    Arc::new(CodebaseServer { codebase, name: identity.name, tools: tools::toolset().failures(failures) })
}

struct CodebaseServer {
    codebase: Arc<LazyCodebase>,
    name: &'static str,
    tools: Toolset<LazyCodebase>,
}

impl fmt::Debug for CodebaseServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CodebaseServer").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Server for CodebaseServer {
    fn name(&self) -> &str {
        self.name
    }

    fn instructions(&self) -> Option<&str> {
        Some(INSTRUCTIONS)
    }

    fn tools(&self) -> String {
        self.tools.definitions()
    }

    fn call<'a>(&'a self, call: Call<'a>) -> CallFuture<'a> {
        Box::pin(self.tools.call(&self.codebase, call))
    }

    fn resources(&self) -> Option<String> {
        Some(resources::list().to_string())
    }

    fn resource_templates(&self) -> String {
        resources::templates().to_string()
    }

    fn read<'a>(&'a self, uri: &'a str) -> CallFuture<'a> {
        Box::pin(resources::read(&self.codebase, self.tools.threads(), uri))
    }
}
