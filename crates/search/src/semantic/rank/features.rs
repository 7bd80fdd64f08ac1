//! What is known about each candidate.

use std::collections::{HashMap, hash_map::Entry};

use crate::semantic::{
    embed::{self, Code},
    query::ParsedQuery,
    rank::{
        path,
        weights::{Feature, Features},
    },
    retrieve::{dense::Dense, lexical::Lexical},
    segment::{ChunkRow, Damaged, Labels},
    term::{self, Space, Terms},
    vector::Probe,
    view::{Place, View},
};
use crate::words;

/// A chunk that may be a result.
#[derive(Debug, Clone)]
pub(in crate::semantic) struct Candidate {
    pub(in crate::semantic) place: Place,
    pub(in crate::semantic) row: ChunkRow,
    pub(in crate::semantic) labels: Labels,
    pub(in crate::semantic) features: Features,
}

/// A query with what is known about its words.
#[derive(Debug)]
pub(in crate::semantic) struct Judge<'a> {
    pub(in crate::semantic) view: &'a View,
    pub(in crate::semantic) parsed: &'a ParsedQuery,
    pub(in crate::semantic) lexical: &'a Lexical,
    pub(in crate::semantic) dense: &'a Dense,
    /// The query by the built-in model: names are always compared by it.
    pub(in crate::semantic) names: &'a Probe,
}

impl Judge<'_> {
    /// All but what needs the text of the chunks.
    pub(in crate::semantic) fn judge(&self, places: &[Place]) -> Result<Vec<Candidate>, Damaged> {
        let mut candidates = Vec::with_capacity(places.len());
        let mut counted = Counted { view: self.view, files: HashMap::new() };
        for place in places {
            candidates.push(self.candidate(*place, &mut counted)?);
        }
        for feature in [Feature::Cosine, Feature::FileCosine, Feature::NamesCosine] {
            spread_out(&mut candidates, feature);
        }
        for feature in [Feature::Words, Feature::FileWords, Feature::Uses, Feature::Imports] {
            by_the_best(&mut candidates, feature);
        }
        pool_parts(&mut candidates);
        Ok(candidates)
    }

    fn candidate(&self, place: Place, counted: &mut Counted<'_>) -> Result<Candidate, Damaged> {
        let part = self.view.part(place);
        let row = part.segment.chunk(place.chunk)?;
        let labels = part.segment.labels(&row)?;
        let file = &part.files.rows[row.file as usize];
        let path = file.path.to_str_lossy();
        let mut features = Features::default();
        let mut set = |feature: Feature, value: f32| features[feature as usize] = value;

        set(Feature::Cosine, self.dense.chunk(self.view, place)?);
        set(Feature::Words, self.lexical.chunk(place));
        set(Feature::FileCosine, self.dense.file(self.view, place.part, row.file)?);
        set(Feature::FileWords, self.lexical.file(place.part, row.file));

        let (stem, folders) = path::parts(&path);
        let names: Vec<String> = labels.names.iter().chain(&labels.scopes).cloned().collect();
        let name_stems = stems(names.iter().map(String::as_str));
        set(Feature::Names, self.coverage(&name_stems));
        set(Feature::NamesAsked, self.share(&name_stems));
        set(Feature::BestName, self.best_name(&names));
        let vector = embed::built_in_code(Code { path: stem, names: &names, text: "" });
        set(Feature::NamesCosine, self.names.dot(&vector));

        set(Feature::Stem, self.share(&stems([stem])));
        set(Feature::Folders, self.coverage(&stems(folders)));
        let joined = term::joined(stem);
        let is_stem = self.parsed.symbols.iter().any(|symbol| symbol.joined == joined);
        set(Feature::StemIsSymbol, f32::from(u8::from(is_stem)));
        set(Feature::Defines, self.defines(&labels));

        let mut used = 0;
        for name in labels.names.iter().filter(|name| name.len() > 2).take(8) {
            used = used.max(counted.files_with(term::uses(name))?);
        }
        set(Feature::Uses, (used as f32).ln_1p());
        let imported = counted.files_with(term::hash(Space::Imports, &joined))?;
        set(Feature::Imports, (imported as f32).ln_1p());

        let lines = row.end_line.saturating_sub(row.start_line) + 1;
        set(Feature::ChunkLines, (lines as f32).ln() / 5.0);
        set(Feature::FileLines, (file.lines.max(1) as f32).ln() / 7.0);
        set(Feature::Definition, flag(labels.symbol.is_some()));
        set(Feature::Depth, path::depth(&path) as f32 * 0.2);
        set(Feature::Barrel, flag(file.barrel));
        let role = path::role(&path);
        set(Feature::Test, flag(role.test));
        set(Feature::Example, flag(role.example));
        set(Feature::Aside, flag(role.aside));
        Ok(Candidate { place, row, labels, features })
    }

    /// What needs the text of the chunk. `terms` keeps the stems of one chunk for the next.
    pub(in crate::semantic) fn read(&self, candidate: &mut Candidate, text: &str, terms: &mut Terms) {
        let parsed = self.parsed.sequence.windows(2);
        let all = parsed.len();
        if all > 0 {
            let mut found = Vec::new();
            // Words keep their first letter when they become stems, and stemming is what takes long.
            words::split(text, |word| {
                if self.parsed.may_mean(word) {
                    found.extend(terms.word(word));
                } else if !words::is_stop_word(word) {
                    found.push(term::NONE);
                }
            });
            let is_asked = |pair: &&[u64]| pair[0] != term::NONE && pair[1] != term::NONE;
            let mut pairs: Vec<&[u64]> = found.windows(2).filter(is_asked).collect();
            pairs.sort_unstable();
            let side_by_side = parsed.filter(|pair| pairs.binary_search(pair).is_ok()).count();
            candidate.features[Feature::Pairs as usize] = ratio(side_by_side, all);
        }
        let symbols = &self.parsed.symbols;
        let present = symbols.iter().filter(|symbol| text.contains(&symbol.name)).count();
        candidate.features[Feature::Symbols as usize] = ratio(present, symbols.len());
    }

    /// How much of the query is hit, by how rare its words are.
    fn coverage(&self, stems: &[String]) -> f32 {
        let (mut hit, mut all) = (0.0, 0.0);
        for (word, idf) in self.parsed.words.iter().zip(&self.lexical.idf) {
            all += idf;
            hit += idf * stems.iter().map(|stem| likeness(&word.stem, stem)).fold(0.0, f32::max);
        }
        if all > 0.0 { hit / all } else { 0.0 }
    }

    /// How much of some words is in the query.
    fn share(&self, stems: &[String]) -> f32 {
        let hit = |stem: &String| {
            self.parsed.words.iter().map(|word| likeness(&word.stem, stem)).fold(0.0, f32::max)
        };
        if stems.is_empty() { 0.0 } else { stems.iter().map(hit).sum::<f32>() / stems.len() as f32 }
    }

    fn best_name(&self, names: &[String]) -> f32 {
        let complete = |name: &String| {
            let stems = stems([name.as_str()]);
            let all = !stems.is_empty()
                && stems.iter().all(|stem| self.parsed.words.iter().any(|word| word.stem == *stem));
            if all { self.coverage(&stems) } else { 0.0 }
        };
        names.iter().map(complete).fold(0.0, f32::max)
    }

    fn defines(&self, labels: &Labels) -> f32 {
        let Some(symbol) = self.parsed.symbols.first().filter(|_| self.parsed.is_symbol) else { return 0.0 };
        if labels.names.contains(&symbol.name) {
            1.0
        } else if labels.names.iter().any(|name| term::joined(name) == symbol.joined) {
            0.6
        } else {
            0.0
        }
    }
}

/// How many files have a term, looked up once: candidates have many names in common.
struct Counted<'a> {
    view: &'a View,
    files: HashMap<u64, u32>,
}

impl Counted<'_> {
    fn files_with(&mut self, term: u64) -> Result<u32, Damaged> {
        Ok(match self.files.entry(term) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => *new.insert(self.view.files_with(term)?),
        })
    }
}

/// The stems of the words of some texts, each once.
fn stems<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut stems: Vec<String> = Vec::new();
    for text in texts {
        words::split(text, |word| {
            words::stem_again(word, |stem| {
                if !stems.iter().any(|known| known == stem) {
                    stems.push(stem.to_owned());
                }
            });
        });
    }
    stems
}

/// 1 for the same, 0.7 for a beginning of four letters that both have, where one is the beginning of the other.
fn likeness(a: &str, b: &str) -> f32 {
    if a == b {
        1.0
    } else if a.len().min(b.len()) >= 4 && (a.starts_with(b) || b.starts_with(a)) {
        0.7
    } else {
        0.0
    }
}

fn flag(is: bool) -> f32 {
    f32::from(u8::from(is))
}

fn ratio(part: usize, all: usize) -> f32 {
    if all == 0 { 0.0 } else { part as f32 / all as f32 }
}

fn spread_out(candidates: &mut [Candidate], feature: Feature) {
    let values = || candidates.iter().map(|candidate| candidate.features[feature as usize]);
    let (least, most) = (values().fold(f32::INFINITY, f32::min), values().fold(f32::NEG_INFINITY, f32::max));
    let range = most - least;
    for candidate in candidates {
        let value = &mut candidate.features[feature as usize];
        *value = if range > 0.0 { (*value - least) / range } else { 0.0 };
    }
}

/// Gives every part of a definition the best cosine that any of them has.
fn pool_parts(candidates: &mut [Candidate]) {
    type Definition = (u32, u32, String);
    let definition = |one: &Candidate| -> Option<Definition> {
        Some((one.place.part, one.row.file, one.labels.symbol.clone()?))
    };
    let mut best: HashMap<Definition, f32> = HashMap::new();
    for candidate in &*candidates {
        if let Some(definition) = definition(candidate) {
            let best = best.entry(definition).or_default();
            *best = best.max(candidate.features[Feature::Cosine as usize]);
        }
    }
    for candidate in candidates {
        let pooled = definition(candidate).and_then(|definition| best.get(&definition).copied());
        candidate.features[Feature::DefinitionCosine as usize] =
            pooled.unwrap_or(candidate.features[Feature::Cosine as usize]);
    }
}

fn by_the_best(candidates: &mut [Candidate], feature: Feature) {
    let most = candidates.iter().map(|candidate| candidate.features[feature as usize]).fold(0.0, f32::max);
    if most > 0.0 {
        candidates.iter_mut().for_each(|candidate| candidate.features[feature as usize] /= most);
    }
}
