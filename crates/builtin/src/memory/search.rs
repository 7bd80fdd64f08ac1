//! Ranked search in a knowledge graph: by words, by parts of words and by meaning.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
};

use toolbay_search::{
    model::{Model, Vector},
    words::{is_stop_word, split, stem},
};

use super::graph::{Entity, Graph};

/// How much the frequency of a word in an entity counts, and how much the length of the entity. Robertson's values.
const FREQUENCY: f32 = 1.2;
const LENGTH: f32 = 0.75;
/// A word of the query that only begins a word of the entity counts this much.
const OF_PREFIX: f32 = 0.5;
/// An entity that contains the query as it was written is above all that merely have its words.
const OF_PHRASE: f32 = 100.0;
/// From here on, an entity that has no word of the query is about the same thing.
const MIN_SIMILARITY: f32 = 0.5;
/// The most entities that are found only by their meaning.
const MAX_SIMILAR: usize = 10;

/// What is known about each entity, brought up to date before each search.
#[derive(Debug, Default)]
pub(super) struct Index {
    known: HashMap<String, u32>,
    /// `None` where one was deleted.
    documents: Vec<Option<Document>>,
    /// The entities of each stem, with its frequency there.
    postings: BTreeMap<String, Vec<(u32, u32)>>,
    /// The stems of all entities together.
    length: usize,
}

#[derive(Debug)]
struct Document {
    name: String,
    hash: u64,
    /// Name, type and observations in lower case, a line each.
    text: String,
    length: usize,
    vector: Vector,
}

impl Index {
    /// Returns the names of the entities that match, best first.
    pub(super) fn search(&mut self, graph: &Graph, query: &str) -> Vec<String> {
        self.update(graph);
        let mut scores = self.score_words(query);
        let phrase = query.trim().to_lowercase();
        for (at, document) in self.documents() {
            if document.text.contains(&phrase) {
                *scores.entry(at).or_default() += OF_PHRASE;
            }
        }
        let mut found: Vec<(u32, f32)> = scores.into_iter().collect();
        found.sort_by(|(one, a), (other, b)| b.total_cmp(a).then(one.cmp(other)));
        found.extend(self.similar(query, &found));
        found.into_iter().filter_map(|(at, _)| Some(self.document(at)?.name.clone())).collect()
    }

    fn documents(&self) -> impl Iterator<Item = (u32, &Document)> {
        (0..).zip(&self.documents).filter_map(|(at, document)| Some((at, document.as_ref()?)))
    }

    fn document(&self, at: u32) -> Option<&Document> {
        self.documents.get(at as usize)?.as_ref()
    }

    /// Scores by words, as Okapi BM25 does.
    fn score_words(&self, query: &str) -> HashMap<u32, f32> {
        let mut scores = HashMap::new();
        let count = self.known.len() as f32;
        let average = self.length as f32 / count.max(1.0);
        for word in words_of_query(query) {
            for (stem, entities) in self.postings.range(word.clone()..) {
                if !stem.starts_with(&word) {
                    break;
                }
                let weight = if *stem == word { 1.0 } else { OF_PREFIX };
                let rarity =
                    (1.0 + (count - entities.len() as f32 + 0.5) / (entities.len() as f32 + 0.5)).ln();
                for (at, frequency) in entities {
                    let Some(document) = self.document(*at) else { continue };
                    let frequency = *frequency as f32;
                    let length = 1.0 - LENGTH + LENGTH * document.length as f32 / average;
                    let score = rarity * frequency * (FREQUENCY + 1.0) / (frequency + FREQUENCY * length);
                    *scores.entry(*at).or_default() += weight * score;
                }
            }
        }
        scores
    }

    /// The entities that are about the same thing and were not found otherwise.
    fn similar(&self, query: &str, found: &[(u32, f32)]) -> Vec<(u32, f32)> {
        let found: HashSet<u32> = found.iter().map(|(at, _)| *at).collect();
        let sought = Model::built_in().query(query);
        let similarity = |(at, document): (u32, &Document)| (at, sought.dot(&document.vector));
        let mut similar: Vec<(u32, f32)> = self
            .documents()
            .filter(|(at, _)| !found.contains(at))
            .map(similarity)
            .filter(|(_, similarity)| *similarity >= MIN_SIMILARITY)
            .collect();
        similar.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        similar.truncate(MAX_SIMILAR);
        similar
    }

    /// Takes over what has changed since the last search.
    fn update(&mut self, graph: &Graph) {
        let mut seen = HashSet::with_capacity(graph.len());
        for entity in graph.entities() {
            let hash = hash_of(entity);
            let known = self.known.get(&entity.name).copied();
            if known.and_then(|at| self.document(at)).is_none_or(|document| document.hash != hash) {
                known.into_iter().for_each(|at| self.remove(at));
                self.insert(entity, hash);
            }
            seen.insert(entity.name.as_str());
        }
        let gone: Vec<u32> =
            self.known.iter().filter(|(name, _)| !seen.contains(name.as_str())).map(|(_, at)| *at).collect();
        gone.into_iter().for_each(|at| self.remove(at));
    }

    fn insert(&mut self, entity: &Entity, hash: u64) {
        let lines = [&entity.name, &entity.entity_type].into_iter().chain(&entity.observations);
        let text = lines.map(|line| line.to_lowercase()).collect::<Vec<_>>().join("\n");
        let at = u32::try_from(self.documents.len()).unwrap_or(u32::MAX);
        let frequencies = frequencies(entity);
        let length = frequencies.values().map(|frequency| *frequency as usize).sum();
        for (stem, frequency) in frequencies {
            self.postings.entry(stem).or_default().push((at, frequency));
        }
        let vector = Model::built_in().code("", std::slice::from_ref(&entity.name), &text);
        self.length += length;
        self.known.insert(entity.name.clone(), at);
        self.documents.push(Some(Document { name: entity.name.clone(), hash, text, length, vector }));
    }

    fn remove(&mut self, at: u32) {
        let Some(document) = self.documents.get_mut(at as usize).and_then(Option::take) else { return };
        self.length -= document.length;
        self.known.remove(&document.name);
        self.postings.retain(|_, entities| {
            entities.retain(|(entity, _)| *entity != at);
            !entities.is_empty()
        });
    }
}

fn hash_of(entity: &Entity) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&entity.name, &entity.entity_type, &entity.observations).hash(&mut hasher);
    hasher.finish()
}

fn frequencies(entity: &Entity) -> HashMap<String, u32> {
    let mut frequencies = HashMap::new();
    for text in [&entity.name, &entity.entity_type].into_iter().chain(&entity.observations) {
        split(text, |word| *frequencies.entry(stem(word).into_owned()).or_default() += 1);
    }
    frequencies
}

/// The stems of a query, without words such as "the" unless there are no others.
fn words_of_query(query: &str) -> Vec<String> {
    let (mut words, mut all) = (Vec::new(), Vec::new());
    split(query, |word| {
        if !is_stop_word(word) {
            words.push(stem(word).into_owned());
        }
        all.push(stem(word).into_owned());
    });
    let mut words = if words.is_empty() { all } else { words };
    words.sort();
    words.dedup();
    words
}

#[cfg(test)]
mod tests {
    use super::{super::graph::Change, *};

    fn graph(entities: &[(&str, &str, &[&str])]) -> Graph {
        let mut graph = Graph::default();
        let entities = entities.iter().map(|(name, kind, observations)| Entity {
            name: (*name).into(),
            entity_type: (*kind).into(),
            observations: observations.iter().map(|it| (*it).into()).collect(),
        });
        drop(graph.apply(Change::CreateEntities(entities.collect())));
        graph
    }

    #[test]
    fn words_parts_of_words_and_phrases_are_found_in_this_order() {
        let graph = graph(&[
            ("Ada", "person", &["writes programs for the analytical engine", "likes mathematics"]),
            ("Analytical Engine", "machine", &["designed by Charles Babbage"]),
            ("engineering", "field", &["builds bridges"]),
            ("Paris", "city", &["capital of France"]),
        ]);
        let mut index = Index::default();
        assert_eq!(index.search(&graph, "Analytical Engine")[..2], ["Analytical Engine", "Ada"]);
        assert_eq!(index.search(&graph, "engine analytical")[..2], ["Analytical Engine", "Ada"]);
        assert!(index.search(&graph, "gineer").contains(&"engineering".to_owned()), "part of a word");
        assert_eq!(index.search(&graph, "bridge"), ["engineering"]);
        assert!(index.search(&graph, "zzzz").is_empty());
    }

    #[test]
    fn changes_are_seen() {
        let mut graph = graph(&[("a", "x", &["red"]), ("b", "x", &["green"])]);
        let mut index = Index::default();
        assert_eq!(index.search(&graph, "red"), ["a"]);
        drop(graph.apply(Change::DeleteEntities(vec!["a".into()])));
        let more = super::super::graph::Observations { entity: "b".into(), contents: vec!["red too".into()] };
        drop(graph.apply(Change::AddObservations(vec![more])));
        assert_eq!(index.search(&graph, "red"), ["b"]);
        assert_eq!(index.documents().count(), 1);
    }
}
