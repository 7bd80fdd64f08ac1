//! A knowledge graph: entities with observations, and relations between them.

use std::{
    collections::{HashMap, HashSet},
    sync::atomic::{AtomicU64, Ordering},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that is remembered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entity {
    /// The name of the entity
    pub(super) name: String,
    /// The type of the entity
    pub(super) entity_type: String,
    /// An array of observation contents associated with the entity
    pub(super) observations: Vec<String>,
}

/// A directed edge between two entities, neither of which needs to exist.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Relation {
    /// The name of the entity where the relation starts
    pub(super) from: String,
    /// The name of the entity where the relation ends
    pub(super) to: String,
    /// The type of the relation
    pub(super) relation_type: String,
}

/// Observations of one entity, to be added or deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Observations {
    pub(super) entity: String,
    pub(super) contents: Vec<String>,
}

/// A change of a graph.
///
/// Applied again to a graph that has it already, with all the changes that followed it, a sequence of changes leaves the
/// graph as it is. The journal of a [`Store`](super::store::Store) depends on that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum GraphChange {
    /// Entities whose name exists are left as they are.
    CreateEntities(Vec<Entity>),
    /// Relations that exist are left as they are.
    CreateRelations(Vec<Relation>),
    /// Observations that an entity has are left as they are. All entities must exist.
    AddObservations(Vec<Observations>),
    /// With the relations from and to them.
    DeleteEntities(Vec<String>),
    /// Entities and observations that do not exist are passed over.
    DeleteObservations(Vec<Observations>),
    /// Relations that do not exist are passed over.
    DeleteRelations(Vec<Relation>),
}

/// A change that names an entity that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Entity with name {name} not found")]
pub(super) struct UnknownEntity {
    pub(super) name: String,
}

/// The graph, in the order in which it was created.
#[derive(Debug, Clone, Default)]
pub(super) struct Graph {
    /// `None` where one was deleted.
    entities: Vec<Option<Stamped>>,
    /// Changes with every change of an entity. No two graphs of a process have the same.
    stamp: u64,
    by_name: HashMap<String, usize>,
    relations: Vec<Relation>,
    known_relations: HashSet<Relation>,
}

/// An entity, and a number that it gets with each change.
#[derive(Debug, Clone)]
struct Stamped {
    entity: Entity,
    stamp: u64,
}

impl Graph {
    /// All entities, in the order of their creation.
    pub(super) fn entities(&self) -> impl Iterator<Item = &Entity> {
        self.entities.iter().flatten().map(|stamped| &stamped.entity)
    }

    /// The entities that changed since the graph had that [stamp](Self::stamp).
    pub(super) fn changed_since(&self, stamp: u64) -> impl Iterator<Item = &Entity> {
        self.entities.iter().flatten().filter(move |it| it.stamp > stamp).map(|stamped| &stamped.entity)
    }

    /// A number that tells the entities of this graph from those of any other, and from what they were before. It only grows.
    pub(super) fn stamp(&self) -> u64 {
        self.stamp
    }

    fn next_stamp(&mut self) -> u64 {
        static LAST: AtomicU64 = AtomicU64::new(0);
        self.stamp = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        self.stamp
    }

    /// All relations, in the order of their creation.
    pub(super) fn relations(&self) -> &[Relation] {
        &self.relations
    }

    /// The entity of a name.
    pub(super) fn entity(&self, name: &str) -> Option<&Entity> {
        Some(&self.entities[*self.by_name.get(name)?].as_ref()?.entity)
    }

    /// How many entities there are.
    pub(super) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// The relations with at least one end in `names`.
    pub(super) fn relations_of<'a>(&'a self, names: &HashSet<&str>) -> impl Iterator<Item = &'a Relation> {
        self.relations
            .iter()
            .filter(|relation| names.contains(relation.from.as_str()) || names.contains(relation.to.as_str()))
    }

    /// Applies a change and returns the part of it that was new, which is empty when nothing changed.
    ///
    /// # Errors
    /// If observations are added to an entity that does not exist; nothing is changed then.
    pub(super) fn apply(&mut self, change: GraphChange) -> Result<GraphChange, UnknownEntity> {
        Ok(match change {
            GraphChange::CreateEntities(entities) => GraphChange::CreateEntities(
                entities.into_iter().filter(|entity| self.insert_entity(entity.clone())).collect(),
            ),
            GraphChange::CreateRelations(relations) => GraphChange::CreateRelations(
                relations.into_iter().filter(|relation| self.insert_relation(relation.clone())).collect(),
            ),
            GraphChange::AddObservations(added) => {
                if let Some(unknown) = added.iter().find(|it| !self.by_name.contains_key(&it.entity)) {
                    return Err(UnknownEntity { name: unknown.entity.clone() });
                }
                GraphChange::AddObservations(added.into_iter().map(|it| self.add_observations(it)).collect())
            }
            GraphChange::DeleteEntities(names) => {
                let deleted = names.iter().filter(|name| self.remove_entity(name)).count();
                let gone: HashSet<&str> = names.iter().map(String::as_str).collect();
                // Relations may lead to entities that do not exist.
                let is_changed = self.retain_relations(|relation| {
                    !gone.contains(relation.from.as_str()) && !gone.contains(relation.to.as_str())
                });
                GraphChange::DeleteEntities(if deleted > 0 || is_changed { names } else { Vec::new() })
            }
            GraphChange::DeleteObservations(deleted) => GraphChange::DeleteObservations(
                deleted.into_iter().map(|it| self.delete_observations(it)).collect(),
            ),
            GraphChange::DeleteRelations(relations) => {
                let deleted: HashSet<Relation> = relations
                    .into_iter()
                    .filter(|relation| self.known_relations.contains(relation))
                    .collect();
                self.retain_relations(|relation| !deleted.contains(relation));
                GraphChange::DeleteRelations(deleted.into_iter().collect())
            }
        })
    }

    fn insert_entity(&mut self, mut entity: Entity) -> bool {
        if self.by_name.contains_key(&entity.name) {
            return false;
        }
        let mut seen = HashSet::new();
        entity.observations.retain(|observation| seen.insert(observation.clone()));
        self.by_name.insert(entity.name.clone(), self.entities.len());
        let stamp = self.next_stamp();
        self.entities.push(Some(Stamped { entity, stamp }));
        true
    }

    fn insert_relation(&mut self, relation: Relation) -> bool {
        let is_new = self.known_relations.insert(relation.clone());
        if is_new {
            self.relations.push(relation);
        }
        is_new
    }

    fn entity_mut(&mut self, name: &str) -> Option<&mut Entity> {
        let at = *self.by_name.get(name)?;
        let stamp = self.next_stamp();
        let stamped = self.entities[at].as_mut()?;
        stamped.stamp = stamp;
        Some(&mut stamped.entity)
    }

    fn add_observations(&mut self, added: Observations) -> Observations {
        let Observations { entity, mut contents } = added;
        match self.entity_mut(&entity) {
            Some(known) => contents.retain(|content| {
                let is_new = !known.observations.contains(content);
                if is_new {
                    known.observations.push(content.clone());
                }
                is_new
            }),
            None => contents.clear(),
        }
        Observations { entity, contents }
    }

    fn delete_observations(&mut self, deleted: Observations) -> Observations {
        let Observations { entity, mut contents } = deleted;
        if let Some(known) = self.entity_mut(&entity) {
            contents.retain(|content| known.observations.contains(content));
            known.observations.retain(|observation| !contents.contains(observation));
        } else {
            contents.clear();
        }
        Observations { entity, contents }
    }

    fn remove_entity(&mut self, name: &str) -> bool {
        let Some(at) = self.by_name.remove(name) else { return false };
        self.entities[at] = None;
        self.next_stamp();
        // Deleted ones take no more than half of the places.
        if self.entities.len() > 2 * self.by_name.len() + 16 {
            self.entities.retain(Option::is_some);
            let names = self.entities.iter().flatten().map(|stamped| stamped.entity.name.clone());
            self.by_name = names.enumerate().map(|(at, name)| (name, at)).collect();
        }
        true
    }

    fn retain_relations(&mut self, keep: impl Fn(&Relation) -> bool) -> bool {
        let before = self.relations.len();
        self.relations.retain(&keep);
        let is_changed = self.relations.len() != before;
        if is_changed {
            self.known_relations.retain(keep);
        }
        is_changed
    }
}

impl Entity {
    /// How long it is as text, about.
    pub(super) fn size(&self) -> usize {
        let observations = self.observations.iter().map(|observation| observation.len() + 16);
        self.name.len() + self.entity_type.len() + observations.sum::<usize>() + 96
    }
}

impl Relation {
    /// How long it is as text, about.
    pub(super) fn size(&self) -> usize {
        self.from.len() + self.to.len() + self.relation_type.len() + 72
    }
}

impl GraphChange {
    /// The entities of a change that creates some.
    pub(super) fn into_entities(self) -> Vec<Entity> {
        if let Self::CreateEntities(entities) = self { entities } else { Vec::new() }
    }

    /// The relations of a change that creates some.
    pub(super) fn into_relations(self) -> Vec<Relation> {
        if let Self::CreateRelations(relations) = self { relations } else { Vec::new() }
    }

    /// The observations of a change that adds some.
    pub(super) fn into_observations(self) -> Vec<Observations> {
        if let Self::AddObservations(added) = self { added } else { Vec::new() }
    }

    /// How many bytes it adds to the file, about.
    pub(super) fn added_size(&self) -> usize {
        let contents = |it: &Observations| it.contents.iter().map(|text| text.len() + 4).sum::<usize>();
        match self {
            Self::CreateEntities(entities) => entities.iter().map(Entity::size).sum(),
            Self::CreateRelations(relations) => relations.iter().map(Relation::size).sum(),
            Self::AddObservations(added) => added.iter().map(contents).sum(),
            Self::DeleteEntities(_) | Self::DeleteObservations(_) | Self::DeleteRelations(_) => 0,
        }
    }

    /// Whether it changes nothing.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::CreateEntities(entities) => entities.is_empty(),
            Self::CreateRelations(relations) | Self::DeleteRelations(relations) => relations.is_empty(),
            Self::AddObservations(observations) | Self::DeleteObservations(observations) => {
                observations.iter().all(|it| it.contents.is_empty())
            }
            Self::DeleteEntities(names) => names.is_empty(),
        }
    }
}
