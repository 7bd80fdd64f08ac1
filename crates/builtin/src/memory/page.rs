//! Parts of the graph that fit into a result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::graph::{Entity, Graph, Relation};

/// The longest result, as text: the entities, and once more the relations. More is read in pages.
const MAX_RESULT: usize = 1024 * 1024;

/// Which part of a result is wanted.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct Read {
    /// Number of entities to skip (default: 0)
    #[serde(default)]
    pub(super) offset: usize,
    /// Maximum number of entities to return (default: as many as fit into 1 MiB)
    #[schemars(range(min = 1))]
    pub(super) limit: Option<usize>,
}

/// A part of the graph.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Page {
    entities: Vec<Entity>,
    relations: Vec<Relation>,
    /// The `offset` of the next page, if there is one
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
    /// How many entities all pages have, if there is more than one
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<usize>,
    /// How many relations did not fit; `open_nodes` with fewer names returns them
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted_relations: Option<usize>,
}

impl Page {
    /// A part of the whole graph. If that is all of it, so are the relations, also those between entities that do not exist.
    pub(super) fn of_graph(graph: &Graph, read: &Read) -> Self {
        let page = Self::of_entities(graph, graph.entities(), graph.len(), read);
        match page.total {
            None => page.with_relations(graph.relations().iter()),
            Some(_) => page,
        }
    }

    /// A part of some entities, with the relations from and to them.
    pub(super) fn of_entities<'a>(
        graph: &Graph,
        entities: impl Iterator<Item = &'a Entity>,
        total: usize,
        read: &Read,
    ) -> Self {
        let wanted = entities.skip(read.offset).take(read.limit.unwrap_or(usize::MAX));
        let entities = fitting(wanted, Entity::size).0;
        let next = read.offset + entities.len();
        let names = entities.iter().map(|entity| entity.name.as_str()).collect();
        let (relations, omitted) = fitting(graph.relations_of(&names), Relation::size);
        Self {
            relations,
            next_offset: (next < total).then_some(next),
            total: (read.offset > 0 || next < total).then_some(total),
            omitted_relations: (omitted > 0).then_some(omitted),
            entities,
        }
    }

    fn with_relations<'a>(self, relations: impl Iterator<Item = &'a Relation>) -> Self {
        let (relations, omitted) = fitting(relations, Relation::size);
        Self { relations, omitted_relations: (omitted > 0).then_some(omitted), ..self }
    }
}

/// Returns the first items that fit into a result, at least one, and how many do not.
fn fitting<'a, T: Clone + 'a>(
    items: impl Iterator<Item = &'a T>,
    size: impl Fn(&T) -> usize,
) -> (Vec<T>, usize) {
    let mut room = Some(MAX_RESULT);
    let (mut first, mut omitted) = (Vec::new(), 0);
    for item in items {
        room = room.and_then(|room| room.checked_sub(size(item)));
        match room {
            None if !first.is_empty() => omitted += 1,
            _ => first.push(item.clone()),
        }
    }
    (first, omitted)
}
