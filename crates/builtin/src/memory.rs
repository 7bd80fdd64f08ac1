//! The server `memory`: what models remember.
//!
//! By default it is a knowledge graph. The contract is that of `@modelcontextprotocol/server-memory`, file format included, so
//! that one can take the place of the other; searches are ranked and find more. [`MemoryToolset::Anthropic`] has text files
//! instead, which models read and edit with the commands of one tool.

mod directory;
mod graph;
mod page;
mod search;
mod store;
mod tools;

use std::{path::PathBuf, sync::Arc};

use parking_lot::Mutex;
use tokio_util::task::TaskTracker;
use toolbay_server::{ChangeNotifier, Resource, Server, ToolError, ToolServer, in_process};
use toolbay_transport::Connection;

use graph::GraphChange;
use search::Index;
use store::{Quota, Store};

const INSTRUCTIONS: &str =
    "Remembers entities, what was observed about them and how they relate, across conversations.";

/// The graph as a resource.
const RESOURCE: &str = "memory://knowledge-graph";

/// How a memory is set up.
#[derive(Debug, Clone)]
pub struct MemoryConfig {
    /// The tools.
    pub toolset: MemoryToolset,
    /// The file of the graph; for [`MemoryToolset::Anthropic`] the directory of the files. It need not exist.
    pub path: PathBuf,
    /// The most entities that a graph takes.
    pub max_entities: usize,
    /// The most bytes that all of it takes.
    pub max_bytes: u64,
}

/// Under which contract a memory is served.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MemoryToolset {
    /// A knowledge graph: the nine tools and the resource of the reference.
    #[default]
    Graph,
    /// Text files: the tool `memory` that Anthropic's models are trained on.
    Anthropic,
}

impl Default for MemoryConfig {
    fn default() -> Self {
        Self {
            toolset: MemoryToolset::default(),
            path: PathBuf::from("memory.jsonl"),
            max_entities: 100_000,
            max_bytes: 64 << 20,
        }
    }
}

/// Makes the server connectable. Nothing is read or written before the first call.
pub fn memory(config: MemoryConfig) -> Arc<dyn Fn(&TaskTracker) -> Connection + Send + Sync> {
    in_process(match config.toolset {
        MemoryToolset::Graph => graph_server(config),
        MemoryToolset::Anthropic => directory::server(config.path, config.max_bytes),
    })
}

fn graph_server(config: MemoryConfig) -> Arc<dyn Server> {
    let quota = Quota { entities: config.max_entities, bytes: config.max_bytes };
    let changes = ChangeNotifier::default();
    let memory =
        Memory { store: Store::new(config.path, quota), index: Mutex::default(), changes: changes.clone() };
    let graph = Resource::blocking(RESOURCE, "knowledge-graph", tools::read_resource)
        .title("Knowledge Graph")
        .description("The full knowledge graph with all entities and relations")
        .mime_type("application/json");
    let server = ToolServer::new("memory-server", memory, tools::tools());
    Arc::new(server.instructions(INSTRUCTIONS).resource(graph).changes(&changes))
}

/// A knowledge graph.
#[derive(Debug)]
struct Memory {
    store: Store,
    index: Mutex<Index>,
    changes: ChangeNotifier,
}

impl Memory {
    /// Changes the graph and announces it.
    fn change(&self, change: GraphChange) -> Result<GraphChange, ToolError> {
        let effect = self.store.change(change)?;
        if !effect.is_empty() {
            self.changes.resource_updated(RESOURCE);
        }
        Ok(effect)
    }
}

impl Drop for Memory {
    /// Other programs that read the file see all changes then.
    fn drop(&mut self) {
        if let Err(error) = self.store.flush() {
            tracing::warn!("{error}; the changes stay in the journal beside it");
        }
    }
}
