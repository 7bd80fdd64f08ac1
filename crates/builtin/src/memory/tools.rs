//! The nine tools of the knowledge graph.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolbay_protocol::printable::error_chain;
use toolbay_server::{
    Annotations, ResourceContents, ResourceError, Tool, ToolContext, ToolError, ToolOutput, ToolResult,
    Toolset,
};

use super::{
    Memory,
    graph::{Entity, GraphChange, Observations, Relation},
    page::{Page, Read},
    search::Matches,
    store::StoreError,
};

/// How many entities a search returns, unless more contain the query as it was written: the others only share a word with it.
const MAX_OTHERS: usize = 20;

pub(super) fn tools() -> Toolset<Memory> {
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
struct Search {
    /// The search query to match against entity names, types, and observation content
    query: String,
    /// Number of entities to skip (default: 0)
    #[serde(default)]
    offset: usize,
    /// Maximum number of entities to return (default: all that contain the query, and others up to 20)
    #[schemars(range(min = 1))]
    limit: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
struct Open {
    /// An array of entity names to retrieve
    names: Vec<String>,
    #[serde(flatten)]
    read: Read,
}

fn create_entities(memory: &Memory, arguments: Entities, _: &ToolContext) -> ToolResult {
    let created = memory.change(GraphChange::CreateEntities(arguments.entities))?.into_entities();
    Ok(pretty(&created).with_structured(&Entities { entities: created }))
}

fn create_relations(memory: &Memory, arguments: Relations, _: &ToolContext) -> ToolResult {
    let created = memory.change(GraphChange::CreateRelations(arguments.relations))?.into_relations();
    Ok(pretty(&created).with_structured(&Relations { relations: created }))
}

fn add_observations(memory: &Memory, arguments: ToAdd, _: &ToolContext) -> ToolResult {
    let to_add = arguments.observations.into_iter();
    let to_add = to_add.map(|added| Observations { entity: added.entity_name, contents: added.contents });
    let added =
        memory.change(GraphChange::AddObservations(to_add.collect()))?.into_observations().into_iter();
    let added = added.map(|it| AddedObservations { entity_name: it.entity, added_observations: it.contents });
    let results: Vec<AddedObservations> = added.collect();
    Ok(pretty(&results).with_structured(&Added { results }))
}

fn delete_entities(memory: &Memory, arguments: EntitiesToDelete, _: &ToolContext) -> ToolResult {
    memory.change(GraphChange::DeleteEntities(arguments.entity_names))?;
    Ok(deleted("Entities deleted successfully"))
}

fn delete_observations(memory: &Memory, arguments: Deletions, _: &ToolContext) -> ToolResult {
    let to_delete = arguments.deletions.into_iter();
    let to_delete = to_delete.map(|it| Observations { entity: it.entity_name, contents: it.observations });
    memory.change(GraphChange::DeleteObservations(to_delete.collect()))?;
    Ok(deleted("Observations deleted successfully"))
}

fn delete_relations(memory: &Memory, arguments: RelationsToDelete, _: &ToolContext) -> ToolResult {
    memory.change(GraphChange::DeleteRelations(arguments.relations))?;
    Ok(deleted("Relations deleted successfully"))
}

fn read_graph(memory: &Memory, arguments: Read, _: &ToolContext) -> ToolResult {
    let page = memory.store.read(|graph| Page::of_graph(graph, &arguments))?;
    Ok(pretty(&page).with_structured(&page))
}

fn search_nodes(memory: &Memory, arguments: Search, _: &ToolContext) -> ToolResult {
    let page = memory.store.read(|graph| {
        let mut index = memory.index.lock();
        let Matches { found, literal } = index.search(graph, &arguments.query);
        let limit = arguments.limit.unwrap_or(literal.max(MAX_OTHERS));
        let total = found.len();
        let entities = found.into_iter().filter_map(|it| graph.entity(index.name(it)?));
        Page::of_entities(graph, entities, total, &Read { offset: arguments.offset, limit: Some(limit) })
    })?;
    Ok(pretty(&page).with_structured(&page))
}

fn open_nodes(memory: &Memory, arguments: Open, _: &ToolContext) -> ToolResult {
    let page = memory.store.read(|graph| {
        let wanted: HashSet<&str> = arguments.names.iter().map(String::as_str).collect();
        let found = || graph.entities().filter(|entity| wanted.contains(entity.name.as_str()));
        Page::of_entities(graph, found(), found().count(), &arguments.read)
    })?;
    Ok(pretty(&page).with_structured(&page))
}

/// Reads the resource `memory://knowledge-graph`: the graph, or what of it fits into a result.
pub(super) fn read_resource(memory: &Memory, _: &str) -> Result<ResourceContents, ResourceError> {
    let page = memory.store.read(|graph| Page::of_graph(graph, &Read::default()));
    let page = page.map_err(|error| ResourceError::Failed(error_chain(&error)))?;
    Ok(ResourceContents::Text(serde_json::to_string_pretty(&page).unwrap_or_default()))
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
        Self::failed(error_chain(&error))
    }
}
