//! Ranked search in a knowledge graph: by words, by parts of words and by meaning.
//!
//! The index is brought up to date before each search, and only what has changed is looked at. What was deleted stays in the
//! lists of its words until that is worth a new index.

use std::{
    collections::{BTreeMap, HashMap},
    hash::{DefaultHasher, Hash, Hasher},
};

use memchr::memmem::Finder;
use toolbay_search::{
    model::{DIM, Model},
    words::{is_stop_word, split, stem},
};

use super::graph::{Entity, Graph};

/// How much the frequency of a word in an entity counts, and how much the length of the entity. Robertson's values.
const FREQUENCY: f32 = 1.2;
const LENGTH: f32 = 0.75;
/// A word of the query that only begins a word of the entity counts this much, and so does one that it only begins with.
const OF_PREFIX: f32 = 0.5;
/// A word of the query begins with a word of an entity if that is not shorter, and leaves not more: "programmer", "program".
const MIN_BEGINNING: usize = 4;
const MAX_ENDING: usize = 3;
/// An entity that contains the query as it was written is above all that merely have its words.
const OF_PHRASE: f32 = 10_000.0;
/// From here on, an entity that has no word of the query is likely about the same thing. Unrelated sentences are mostly below
/// 0.15, those with words of the same meaning from 0.18 to 0.6.
const MIN_SIMILARITY: f32 = 0.18;
/// The most entities that are found only by their meaning.
const MAX_SIMILAR: usize = 10;
/// With so many found by words, none are looked for by meaning: they would come after all of these.
const ENOUGH: usize = 50;
/// While there are fewer vectors, each observation has its own. Then an entity has fewer than observations, but one at least.
const MAX_VECTORS: usize = 1 << 14;
/// How many deleted entities the index may have besides as many as there are others.
const MAX_DELETED: usize = 256;

/// What is known about each entity, brought up to date before each search.
#[derive(Debug, Default)]
pub(super) struct Index {
    known: HashMap<String, u32>,
    /// `None` where one was deleted.
    documents: Vec<Option<Document>>,
    /// The entities of each stem, with its frequency there. Some are deleted.
    postings: BTreeMap<String, Vec<(u32, u32)>>,
    /// The stems of all entities together.
    length: usize,
    /// The vectors of all entities together.
    vectors: usize,
    /// The state of the graph that this is the index of. What changes later has a greater stamp.
    stamp: u64,
}

/// An entity that was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Match {
    at: u32,
    score: f32,
}

#[derive(Debug)]
struct Document {
    name: String,
    hash: u64,
    /// Name, type and observations in lower case, a line each.
    text: String,
    length: usize,
    /// What its parts are about. Empty until it is looked for by meaning.
    vectors: Vec<Stored>,
}

/// A vector, laid out to be compared with the one of a query.
#[derive(Debug)]
struct Stored {
    values: [u8; DIM],
    scale: f32,
}

/// What was found, best first.
#[derive(Debug, Default)]
pub(super) struct Matches {
    /// Those that contain the query as it was written come first.
    pub(super) found: Vec<Match>,
    /// How many these are.
    pub(super) literal: usize,
}

impl Index {
    /// Finds the entities that match.
    pub(super) fn search(&mut self, graph: &Graph, query: &str) -> Matches {
        self.update(graph);
        let mut scores = self.score_words(query);
        let phrase = query.trim().to_lowercase();
        let phrase = Finder::new(&phrase);
        let mut literal = 0;
        for (at, document) in self.documents() {
            if phrase.find(document.text.as_bytes()).is_some() {
                scores[at as usize] += OF_PHRASE;
                literal += 1;
            }
        }
        let scored = (0..).zip(&scores).filter(|(_, score)| **score > 0.0);
        let mut found: Vec<Match> = scored.map(|(at, score)| Match { at, score: *score }).collect();
        found.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.at.cmp(&b.at)));
        if found.len() < ENOUGH {
            found.extend(self.similar(query, &scores));
        }
        Matches { found, literal }
    }

    /// Returns the name of an entity that was just found.
    pub(super) fn name(&self, found: Match) -> Option<&str> {
        Some(&self.document(found.at)?.name)
    }

    fn documents(&self) -> impl Iterator<Item = (u32, &Document)> {
        (0..).zip(&self.documents).filter_map(|(at, document)| Some((at, document.as_ref()?)))
    }

    fn document(&self, at: u32) -> Option<&Document> {
        self.documents.get(at as usize)?.as_ref()
    }

    /// Scores all entities by words, as Okapi BM25 does.
    fn score_words(&self, query: &str) -> Vec<f32> {
        let mut scores = vec![0.0; self.documents.len()];
        let count = self.known.len() as f32;
        let average = self.length as f32 / count.max(1.0);
        for word in words_of_query(query) {
            let longer = self.postings.range(word.clone()..).take_while(|(stem, _)| stem.starts_with(&word));
            let shorter = beginnings(&word).filter_map(|stem| self.postings.get_key_value(stem));
            for (stem, entities) in longer.chain(shorter) {
                let weight = if *stem == word { 1.0 } else { OF_PREFIX };
                let rarity = (1.0
                    + (count - entities.len() as f32 + 0.5).max(0.0) / (entities.len() as f32 + 0.5))
                    .ln();
                for (at, frequency) in entities {
                    let Some(document) = self.document(*at) else { continue };
                    let frequency = *frequency as f32;
                    let length = 1.0 - LENGTH + LENGTH * document.length as f32 / average;
                    let score = rarity * frequency * (FREQUENCY + 1.0) / (frequency + FREQUENCY * length);
                    scores[*at as usize] += weight * score.max(f32::MIN_POSITIVE);
                }
            }
        }
        scores
    }

    /// The entities that are about the same thing and have no score.
    fn similar(&mut self, query: &str, scores: &[f32]) -> Vec<Match> {
        let sought = Model::built_in().query(query).probe();
        let mut similar = Vec::new();
        for (at, document) in (0..).zip(&mut self.documents) {
            let Some(document) = document.as_mut().filter(|_| scores[at as usize] == 0.0) else { continue };
            if document.vectors.is_empty() {
                document.vectors = document.parts(MAX_VECTORS.saturating_sub(self.vectors));
                self.vectors += document.vectors.len();
            }
            let score =
                document.vectors.iter().map(|it| sought.dot(&it.values, it.scale)).fold(0.0, f32::max);
            if score >= MIN_SIMILARITY {
                similar.push(Match { at, score });
            }
        }
        similar.sort_by(|a, b| b.score.total_cmp(&a.score));
        similar.truncate(MAX_SIMILAR);
        similar
    }

    /// Takes over what has changed since the last search.
    fn update(&mut self, graph: &Graph) {
        let seen = std::mem::replace(&mut self.stamp, graph.stamp());
        if seen == graph.stamp() {
            return;
        }
        for entity in graph.changed_since(seen) {
            let known = self.known.get(&entity.name).copied();
            match known.and_then(|at| self.documents.get(at as usize)?.as_ref()) {
                Some(document) if document.hash == hash_of(entity) => {} // it was only read again
                _ => {
                    known.into_iter().for_each(|at| self.remove(at));
                    self.insert(entity);
                }
            }
        }
        if self.known.len() > graph.len() {
            let gone = self.known.iter().filter(|(name, _)| graph.entity(name).is_none());
            let gone: Vec<u32> = gone.map(|(_, at)| *at).collect();
            gone.into_iter().for_each(|at| self.remove(at));
        }
        if self.documents.len() > 2 * self.known.len() + MAX_DELETED {
            self.compact();
        }
    }

    fn insert(&mut self, entity: &Entity) {
        let lines = [&entity.name, &entity.entity_type].into_iter().chain(&entity.observations);
        let text = lines.map(|line| line.to_lowercase()).collect::<Vec<_>>().join("\n");
        let at = u32::try_from(self.documents.len()).unwrap_or(u32::MAX);
        let frequencies = frequencies(entity);
        let length = frequencies.values().map(|frequency| *frequency as usize).sum();
        for (stem, frequency) in frequencies {
            self.postings.entry(stem).or_default().push((at, frequency));
        }
        self.length += length;
        self.known.insert(entity.name.clone(), at);
        let (name, hash) = (entity.name.clone(), hash_of(entity));
        self.documents.push(Some(Document { name, hash, text, length, vectors: Vec::new() }));
    }

    fn remove(&mut self, at: u32) {
        let Some(document) = self.documents.get_mut(at as usize).and_then(Option::take) else { return };
        self.length -= document.length;
        self.vectors -= document.vectors.len();
        self.known.remove(&document.name);
    }

    /// Removes what was deleted from the lists of words.
    fn compact(&mut self) {
        let mut places = Vec::with_capacity(self.documents.len());
        let mut next = 0;
        for document in &self.documents {
            places.push(document.as_ref().map(|_| next));
            next += u32::from(document.is_some());
        }
        let place = |at: u32| places.get(at as usize).copied().flatten();
        self.documents.retain(Option::is_some);
        self.known.values_mut().for_each(|at| *at = place(*at).unwrap_or(*at));
        self.postings.retain(|_, entities| {
            entities.retain_mut(|(at, _)| place(*at).map(|place| *at = place).is_some());
            !entities.is_empty()
        });
    }
}

impl Document {
    /// What its name and each of its observations are about; several together where these are more than an eighth of the `room`,
    /// and all of them where there is none.
    fn parts(&self, room: usize) -> Vec<Stored> {
        let lines: Vec<&str> = self.text.lines().collect();
        let (name, observations) = lines.split_at(lines.len().min(2));
        let each = match room / 8 {
            0 | 1 => return vec![Stored::of(&self.text)],
            most => observations.len().div_ceil(most - 1).max(1),
        };
        let parts = std::iter::once(name).chain(observations.chunks(each));
        parts.map(|lines| Stored::of(&lines.join("\n"))).collect()
    }
}

impl Stored {
    fn of(text: &str) -> Self {
        let vector = Model::built_in().query(text);
        Self { values: vector.values().map(i8::cast_unsigned), scale: vector.scale() }
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

/// The beginnings of a word that may be a word of the same family.
fn beginnings(word: &str) -> impl Iterator<Item = &str> {
    let ends = word.char_indices().map(|(at, _)| at).rev().take(MAX_ENDING);
    ends.map(|end| &word[..end]).filter(|beginning| beginning.chars().count() >= MIN_BEGINNING)
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
    use super::{super::graph::GraphChange, *};

    fn graph(entities: &[(&str, &str, &[&str])]) -> Graph {
        let mut graph = Graph::default();
        let entities = entities.iter().map(|(name, kind, observations)| Entity {
            name: (*name).into(),
            entity_type: (*kind).into(),
            observations: observations.iter().map(|it| (*it).into()).collect(),
        });
        drop(graph.apply(GraphChange::CreateEntities(entities.collect())));
        graph
    }

    fn search(index: &mut Index, graph: &Graph, query: &str) -> Vec<String> {
        let found = index.search(graph, query).found;
        found.into_iter().map(|it| index.name(it).unwrap().to_owned()).collect()
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
        assert_eq!(search(&mut index, &graph, "Analytical Engine")[..2], ["Analytical Engine", "Ada"]);
        assert_eq!(search(&mut index, &graph, "engine analytical")[..2], ["Analytical Engine", "Ada"]);
        assert!(search(&mut index, &graph, "gineer").contains(&"engineering".to_owned()), "part of a word");
        assert_eq!(search(&mut index, &graph, "bridge"), ["engineering"]);
        assert!(search(&mut index, &graph, "zzzz").is_empty());
    }

    #[test]
    fn what_means_the_same_is_found() {
        let graph = graph(&[
            ("nightly", "job", &["removes old archives from disk every night"]),
            ("editor", "tool", &["prefers dark mode"]),
            ("Ada", "person", &["birthday is in June"]),
            ("sales", "report", &["sum of orders per month"]),
        ]);
        let mut index = Index::default();
        for (query, expected) in
            [("remove folder", "nightly"), ("color theme", "editor"), ("date of birth", "Ada")]
        {
            assert_eq!(search(&mut index, &graph, query), [expected], "{query}");
        }
        assert!(search(&mut index, &graph, "quantum physics").is_empty());
    }

    #[test]
    fn words_of_one_family_are_found() {
        let graph = graph(&[("Ada", "person", &["wrote the first program"]), ("Felix", "cat", &["sleeps"])]);
        let mut index = Index::default();
        for query in ["programmer", "programs", "programming", "prog"] {
            assert_eq!(search(&mut index, &graph, query), ["Ada"], "{query}");
        }
        assert!(!beginnings("categori").any(|it| it == "cat"), "too short to be of its family");
    }

    #[test]
    fn one_observation_among_many_is_found_by_its_meaning() {
        let mut about = vec!["likes green tea", "lives in a small town", "plays the piano", "owns two dogs"];
        about.extend(["studied chemistry", "speaks French", "was born in June", "works on Sundays"]);
        about.push("removes old archives from disk every night");
        let graph = graph(&[("Ada", "person", &about), ("Paris", "city", &["capital of France"])]);
        let mut index = Index::default();
        assert_eq!(search(&mut index, &graph, "delete folder"), ["Ada"]);
        assert_eq!(index.vectors, 1 + about.len() + 2);
    }

    #[test]
    fn vectors_are_bounded() {
        let observations: Vec<String> = (0..100).map(|number| format!("red {number}")).collect();
        let document = Document {
            name: "a".into(),
            hash: 0,
            text: format!("a\nthing\n{}", observations.join("\n")),
            length: 0,
            vectors: Vec::new(),
        };
        assert_eq!(document.parts(MAX_VECTORS).len(), 101);
        assert_eq!(document.parts(80).len(), 10);
        assert_eq!(document.parts(0).len(), 1);
    }

    #[test]
    fn changes_are_seen() {
        let mut graph = graph(&[("a", "x", &["red"]), ("b", "x", &["green"])]);
        let mut index = Index::default();
        assert_eq!(search(&mut index, &graph, "red"), ["a"]);
        drop(graph.apply(GraphChange::DeleteEntities(vec!["a".into()])));
        let more = super::super::graph::Observations { entity: "b".into(), contents: vec!["red too".into()] };
        drop(graph.apply(GraphChange::AddObservations(vec![more])));
        assert_eq!(search(&mut index, &graph, "red"), ["b"]);
        assert_eq!(index.documents().count(), 1);
    }

    #[test]
    fn what_was_deleted_does_not_pile_up() {
        let mut graph = graph(&[("kept", "x", &["red apples"])]);
        let mut index = Index::default();
        for round in 0..1_000 {
            let observation = |text: String| {
                vec![super::super::graph::Observations { entity: "kept".into(), contents: vec![text] }]
            };
            drop(graph.apply(GraphChange::AddObservations(observation(format!("green{round}")))));
            assert_eq!(search(&mut index, &graph, &format!("green{round}")), ["kept"]);
            drop(graph.apply(GraphChange::DeleteObservations(observation(format!("green{round}")))));
            assert_eq!(search(&mut index, &graph, "apples"), ["kept"]);
        }
        assert!(index.documents.len() <= MAX_DELETED + 2, "{}", index.documents.len());
        assert!(index.postings.len() <= MAX_DELETED + 8, "{}", index.postings.len());
    }
}
