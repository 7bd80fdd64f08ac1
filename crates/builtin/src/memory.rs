//! The server `memory`: what models remember, as a knowledge graph.
//!
//! The contract is that of `@modelcontextprotocol/server-memory`, file format included, so that one can take the place of the
//! other. Results of deletions and of reads are the same; searches are ranked and find more.

mod graph;
mod search;
mod store;

use std::{collections::HashSet, path::PathBuf, sync::Arc};

use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::task::TaskTracker;
use toolbay_server::{
    Annotations, Tool, ToolContext, ToolError, ToolOutput, ToolResult, ToolServer, Toolset, in_process,
};
use toolbay_transport::Connection;

use graph::{Change, Entity, Graph, Observations, Relation};
use search::Index;
use store::{Quota, Store, StoreError};

const INSTRUCTIONS: &str =
    "Remembers entities, what was observed about them and how they relate, across conversations.";

/// The longest result of `read_graph` and `search_nodes`, as text. More is read in pages.
const MAX_RESULT: usize = 1024 * 1024;

/// How a memory is set up.
#[derive(Debug, Clone)]
pub struct MemoryConfig {
    /// The file.
    pub path: PathBuf,
    /// The most entities that it takes.
    pub max_entities: usize,
    /// The most bytes that it takes.
    pub max_bytes: u64,
}

impl MemoryConfig {
    /// A memory in this file.
    pub fn new(path: PathBuf) -> Self {
        Self { path, max_entities: 100_000, max_bytes: 64 << 20 }
    }
}

/// Makes the server connectable.
///
/// # Errors
/// If the directory of the file cannot be created.
pub fn memory(
    config: MemoryConfig,
) -> Result<Arc<dyn Fn(&TaskTracker) -> Connection + Send + Sync>, Box<dyn std::error::Error + Send + Sync>> {
    let quota = Quota { entities: config.max_entities, bytes: config.max_bytes };
    let memory = Memory { store: Store::open(config.path, quota)?, index: Mutex::default() };
    let server = ToolServer::new("memory-server", memory, tools()).instructions(INSTRUCTIONS);
    Ok(in_process(Arc::new(server)))
}

#[derive(Debug)]
struct Memory {
    store: Store,
    index: Mutex<Index>,
}

impl Drop for Memory {
    /// Other programs that read the file see all changes then.
    fn drop(&mut self) {
        if let Err(error) = self.store.flush() {
            tracing::warn!("{error}; the changes stay in the journal beside it");
        }
    }
}

fn tools() -> Toolset<Memory> {
    let changes = Annotations {
        read_only: Some(false),
        destructive: Some(false),
        idempotent: Some(false),
        open_world: Some(false),
    };
    let deletes = Annotations { destructive: Some(true), idempotent: Some(true), ..changes };
    Toolset::new([
        Tool::blocking("create_entities", create_entities)
            .title("Create Entities")
            .description("Create multiple new entities in the knowledge graph")
            .output::<Entities>()
            .annotations(changes),
        Tool::blocking("create_relations", create_relations)
            .title("Create Relations")
            .description(
                "Create multiple new relations between entities in the knowledge graph. Relations should be in active voice",
            )
            .output::<Relations>()
            .annotations(changes),
        Tool::blocking("add_observations", add_observations)
            .title("Add Observations")
            .description("Add new observations to existing entities in the knowledge graph")
            .output::<Added>()
            .annotations(changes),
        Tool::blocking("delete_entities", delete_entities)
            .title("Delete Entities")
            .description("Delete multiple entities and their associated relations from the knowledge graph")
            .output::<Deleted>()
            .annotations(deletes),
        Tool::blocking("delete_observations", delete_observations)
            .title("Delete Observations")
            .description("Delete specific observations from entities in the knowledge graph")
            .output::<Deleted>()
            .annotations(deletes),
        Tool::blocking("delete_relations", delete_relations)
            .title("Delete Relations")
            .description("Delete multiple relations from the knowledge graph")
            .output::<Deleted>()
            .annotations(deletes),
        Tool::blocking("read_graph", read_graph)
            .title("Read Graph")
            .description("Read the entire knowledge graph")
            .output::<Page>()
            .annotations(Annotations::READ_ONLY),
        Tool::blocking("search_nodes", search_nodes)
            .title("Search Nodes")
            .description("Search for nodes in the knowledge graph based on a query")
            .output::<Page>()
            .annotations(Annotations::READ_ONLY),
        Tool::blocking("open_nodes", open_nodes)
            .title("Open Nodes")
            .description("Open specific nodes in the knowledge graph by their names")
            .output::<Page>()
            .annotations(Annotations::READ_ONLY),
    ])
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Entities {
    entities: Vec<Entity>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Relations {
    relations: Vec<Relation>,
}

#[derive(Deserialize, JsonSchema)]
struct ToAdd {
    observations: Vec<ObservationsToAdd>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ObservationsToAdd {
    /// The name of the entity to add the observations to
    entity_name: String,
    /// An array of observation contents to add
    contents: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct Added {
    results: Vec<AddedObservations>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AddedObservations {
    entity_name: String,
    added_observations: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct EntitiesToDelete {
    /// An array of entity names to delete
    entity_names: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Deletions {
    deletions: Vec<ObservationsToDelete>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ObservationsToDelete {
    /// The name of the entity containing the observations
    entity_name: String,
    /// An array of observations to delete
    observations: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
struct RelationsToDelete {
    /// An array of relations to delete
    relations: Vec<Relation>,
}

#[derive(Serialize, JsonSchema)]
struct Deleted {
    success: bool,
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct Read {
    /// Number of entities to skip (default: 0)
    #[serde(default)]
    offset: usize,
    /// Maximum number of entities to return (default: as many as fit into 1 MiB)
    limit: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
struct Search {
    /// The search query to match against entity names, types, and observation content
    query: String,
    /// Number of entities to skip (default: 0)
    #[serde(default)]
    offset: usize,
    /// Maximum number of entities to return (default: as many as fit into 1 MiB)
    limit: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
struct Open {
    /// An array of entity names to retrieve
    names: Vec<String>,
}

/// A part of the graph.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Page {
    entities: Vec<Entity>,
    relations: Vec<Relation>,
    /// The `offset` of the next page, if there is one
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
    /// How many entities all pages have, if there is more than one
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<usize>,
}

fn create_entities(memory: &Memory, arguments: Entities, _: &ToolContext) -> ToolResult {
    let created = memory.store.change(Change::CreateEntities(arguments.entities))?.into_entities();
    Ok(pretty(&created).with_structured(&Entities { entities: created }))
}

fn create_relations(memory: &Memory, arguments: Relations, _: &ToolContext) -> ToolResult {
    let created = memory.store.change(Change::CreateRelations(arguments.relations))?.into_relations();
    Ok(pretty(&created).with_structured(&Relations { relations: created }))
}

fn add_observations(memory: &Memory, arguments: ToAdd, _: &ToolContext) -> ToolResult {
    let to_add = arguments.observations.into_iter();
    let to_add = to_add.map(|added| Observations { entity: added.entity_name, contents: added.contents });
    let added =
        memory.store.change(Change::AddObservations(to_add.collect()))?.into_observations().into_iter();
    let added = added.map(|it| AddedObservations { entity_name: it.entity, added_observations: it.contents });
    let results: Vec<AddedObservations> = added.collect();
    Ok(pretty(&results).with_structured(&Added { results }))
}

fn delete_entities(memory: &Memory, arguments: EntitiesToDelete, _: &ToolContext) -> ToolResult {
    memory.store.change(Change::DeleteEntities(arguments.entity_names))?;
    Ok(deleted("Entities deleted successfully"))
}

fn delete_observations(memory: &Memory, arguments: Deletions, _: &ToolContext) -> ToolResult {
    let to_delete = arguments.deletions.into_iter();
    let to_delete = to_delete.map(|it| Observations { entity: it.entity_name, contents: it.observations });
    memory.store.change(Change::DeleteObservations(to_delete.collect()))?;
    Ok(deleted("Observations deleted successfully"))
}

fn delete_relations(memory: &Memory, arguments: RelationsToDelete, _: &ToolContext) -> ToolResult {
    memory.store.change(Change::DeleteRelations(arguments.relations))?;
    Ok(deleted("Relations deleted successfully"))
}

fn read_graph(memory: &Memory, arguments: Read, _: &ToolContext) -> ToolResult {
    let page = memory.store.read(|graph| {
        let mut page = page(graph.entities(), graph.len(), arguments.offset, arguments.limit);
        // All relations once, also those between entities that do not exist.
        page.relations = if page.total.is_none() {
            graph.relations().to_vec()
        } else {
            relations_of(graph, &page.entities)
        };
        page
    })?;
    Ok(pretty(&page).with_structured(&page))
}

fn search_nodes(memory: &Memory, arguments: Search, _: &ToolContext) -> ToolResult {
    let page = memory.store.read(|graph| {
        let names = memory.index.lock().search(graph, &arguments.query);
        let found = names.iter().filter_map(|name| graph.entity(name));
        let mut page = page(found, names.len(), arguments.offset, arguments.limit);
        page.relations = relations_of(graph, &page.entities);
        page
    })?;
    Ok(pretty(&page).with_structured(&page))
}

fn open_nodes(memory: &Memory, arguments: Open, _: &ToolContext) -> ToolResult {
    let page = memory.store.read(|graph| {
        let wanted: HashSet<&str> = arguments.names.iter().map(String::as_str).collect();
        let entities: Vec<Entity> =
            graph.entities().filter(|entity| wanted.contains(entity.name.as_str())).cloned().collect();
        let relations = relations_of(graph, &entities);
        Page { entities, relations, next_offset: None, total: None }
    })?;
    Ok(pretty(&page).with_structured(&page))
}

/// The entities from `offset` on that fit into a result.
fn page<'a>(
    entities: impl Iterator<Item = &'a Entity>,
    total: usize,
    offset: usize,
    limit: Option<usize>,
) -> Page {
    let mut room = MAX_RESULT;
    let mut entities_of_page = Vec::new();
    for entity in entities.skip(offset).take(limit.unwrap_or(usize::MAX)) {
        let size = entity.size();
        if size > room && !entities_of_page.is_empty() {
            break;
        }
        room = room.saturating_sub(size);
        entities_of_page.push(entity.clone());
    }
    let next = offset + entities_of_page.len();
    Page {
        next_offset: (next < total).then_some(next),
        total: (offset > 0 || next < total).then_some(total),
        entities: entities_of_page,
        relations: Vec::new(),
    }
}

fn relations_of(graph: &Graph, entities: &[Entity]) -> Vec<Relation> {
    let names = entities.iter().map(|entity| entity.name.as_str()).collect();
    graph.relations_of(&names).cloned().collect()
}

/// A result whose text is JSON for people, as in the contract.
fn pretty(value: &impl Serialize) -> ToolOutput {
    ToolOutput::text(serde_json::to_string_pretty(value).unwrap_or_default())
}

fn deleted(message: &str) -> ToolOutput {
    ToolOutput::text(message).with_structured(&Deleted { success: true, message: message.to_owned() })
}

impl From<StoreError> for ToolError {
    fn from(error: StoreError) -> Self {
        Self::failed(toolbay_protocol::printable::error_chain(&error))
    }
}
