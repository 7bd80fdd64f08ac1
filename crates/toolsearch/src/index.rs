//! The words of all tools, and how much each counts for each tool (BM25F).

use std::collections::HashMap;

use crate::{
    english::{KnownWords, Sum, Table, Vector},
    names::ToolNames,
    tool::ToolText,
    words::{self, Word, cut},
};

/// How soon more of the same word counts for nothing.
const SATURATION: f32 = 1.2;
/// So many words of a field are read, and so many bytes of a text.
const MOST_WORDS: usize = 600;
const MOST_BYTES: usize = 16 << 10;

/// How much the words of a tool count for what it is about, compared with those of its description; and how much of it is read.
const NAME_MEANING: f32 = 1.0;
const SERVER_MEANING: f32 = 0.5;
const PARAMETER_MEANING: f32 = 0.2;
const MEANING_BYTES: usize = 2 << 10;
const MEANING_PARAMETERS: usize = 20;

/// Where a word of a tool stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The name of the tool.
    Name,
    /// Its title.
    Title,
    /// The name of its server.
    Server,
    /// Its description.
    Description,
    /// ToolNames and descriptions of its parameters.
    Parameters,
    /// Values of its parameters.
    Values,
}

impl Field {
    /// All fields.
    pub const ALL: [Self; 6] =
        [Self::Name, Self::Title, Self::Server, Self::Description, Self::Parameters, Self::Values];

    /// How much a word counts there.
    fn weight(self) -> f32 {
        match self {
            Self::Name => 3.0,
            Self::Title => 1.0,
            Self::Server => 1.5,
            Self::Description => 1.0,
            Self::Parameters => 0.4,
            Self::Values => 0.3,
        }
    }

    /// How much less a word counts in a field that is longer than usual, from 0 to 1.
    fn length_penalty(self) -> f32 {
        match self {
            Self::Name | Self::Title | Self::Server => 0.3,
            Self::Description | Self::Parameters | Self::Values => 0.6,
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// Tools that can be searched for.
#[derive(Debug, Default)]
pub struct ToolIndex {
    /// Numbers of stems.
    terms: HashMap<Box<str>, u32>,
    /// By term: where its postings end.
    ends: Vec<u32>,
    postings: Vec<Posting>,
    pub(crate) names: ToolNames,
    /// By tool: the number of its server.
    server_of: Vec<u32>,
    servers: Vec<Box<str>>,
    /// By tool: what it is about.
    pub(crate) vectors: Vec<Vector>,
    pub(crate) table: Option<&'static Table<'static>>,
}

/// A tool that has a term.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Posting {
    pub(crate) tool: u32,
    /// What the term adds to the score of the tool: below `ToolIndex::ideal`.
    pub(crate) score: f32,
    /// The bits of its fields.
    fields: u8,
}

impl Posting {
    pub(crate) fn fields(self) -> impl Iterator<Item = Field> {
        Field::ALL.into_iter().filter(move |field| self.fields & field.bit() != 0)
    }
}

impl ToolIndex {
    /// Reads all tools; hits name them by their place in this order.
    ///
    /// Takes some 30 ms for 1,000 tools; nothing of the texts is kept but their words and a vector of 260 bytes.
    pub fn new(tools: impl IntoIterator<Item = ToolText>) -> Self {
        Self::with_table(tools, Table::built_in())
    }

    /// The same with another table of English than that in the program.
    pub fn with_table(tools: impl IntoIterator<Item = ToolText>, table: &'static Table<'static>) -> Self {
        let mut index = Self { table: Some(table), ..Self::default() };
        let (mut counts, mut known) = (WordCounts::default(), KnownWords::default());
        for tool in tools {
            let number = index.server_of.len() as u32;
            index.names.add(number, &tool);
            let server = index.servers.iter().position(|known| **known == *tool.server);
            let server = server.unwrap_or_else(|| {
                index.servers.push(tool.server.as_str().into());
                index.servers.len() - 1
            });
            index.server_of.push(server as u32);
            counts.add(number, &tool);
            index.vectors.push(about(table, &mut known, &tool));
        }
        counts.finish(&mut index);
        index
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        self.server_of.len()
    }

    /// Whether there is no tool at all.
    pub fn is_empty(&self) -> bool {
        self.server_of.is_empty()
    }

    /// The number of a lower-case word that at least one tool has.
    pub(crate) fn term(&self, word: &str) -> Option<u32> {
        self.terms.get(words::stem(word).as_ref()).copied()
    }

    /// The tools that have a term, in their order.
    pub(crate) fn postings(&self, term: u32) -> &[Posting] {
        let at = term as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.postings[start as usize..self.ends[at] as usize]
    }

    /// The score that a tool would have for a term if it consisted of nothing else. A word that no tool has is the rarest.
    pub(crate) fn ideal(&self, term: Option<u32>) -> f32 {
        rarity(self.len(), term.map_or(0, |term| self.postings(term).len())) * (SATURATION + 1.0)
    }

    #[cfg(test)]
    pub(crate) fn posting_count(&self) -> usize {
        self.postings.len()
    }

    /// Whether a tool is one of a server's; its name is compared without regard to case.
    pub(crate) fn is_of(&self, tool: u32, server: &str) -> bool {
        self.servers[self.server_of[tool as usize] as usize].to_lowercase() == server.to_lowercase()
    }
}

/// What a tool is about. Its parameters say how it is called, and that much less what it is for.
fn about(table: &Table<'_>, known: &mut KnownWords, tool: &ToolText) -> Vector {
    let mut sum = Sum::default();
    sum.add(table, known, &format!("{} {}", tool.bare_name, tool.title), NAME_MEANING);
    sum.add(table, known, &tool.server, SERVER_MEANING);
    sum.add(table, known, cut(&tool.description, MEANING_BYTES), 1.0);
    let parameters: String =
        tool.parameters.iter().take(MEANING_PARAMETERS).map(|(name, _)| format!("{name} ")).collect();
    sum.add(table, known, &parameters, PARAMETER_MEANING);
    sum.vector()
}

/// Inverse document frequency: how much a word says that `having` of `all` tools have.
fn rarity(all: usize, having: usize) -> f32 {
    (1.0 + (all as f32 - having as f32 + 0.5) / (having as f32 + 0.5)).ln()
}

/// Words while tools are read.
#[derive(Debug, Default)]
struct WordCounts {
    /// Terms by the words as written, so that each is stemmed once.
    written: HashMap<Box<str>, u32>,
    terms: HashMap<Box<str>, u32>,
    /// A term of a tool, and how often it stands in each field.
    entries: Vec<(u32, u32, [u16; 6])>,
    /// By tool: words in each field.
    lengths: Vec<[u16; 6]>,
    /// Of the tool that is being read.
    found: HashMap<u32, [u16; 6]>,
}

impl WordCounts {
    fn add(&mut self, number: u32, tool: &ToolText) {
        let mut lengths = [0; 6];
        let parameters =
            tool.parameters.iter().flat_map(|(name, description)| [name.as_str(), description.as_str()]);
        self.read(Field::Name, [tool.bare_name.as_str()], &mut lengths);
        self.read(Field::Title, [tool.title.as_str()], &mut lengths);
        self.read(Field::Server, [tool.server.as_str()], &mut lengths);
        self.read(Field::Description, [tool.description.as_str()], &mut lengths);
        self.read(Field::Parameters, parameters, &mut lengths);
        self.read(Field::Values, tool.values.iter().map(String::as_str), &mut lengths);
        self.lengths.push(lengths);
        let start = self.entries.len();
        self.entries.extend(self.found.drain().map(|(term, counts)| (term, number, counts)));
        // A map gives its entries in any order; scores must not depend on it.
        self.entries[start..].sort_unstable_by_key(|(term, _, _)| *term);
    }

    fn read<'a>(&mut self, field: Field, texts: impl IntoIterator<Item = &'a str>, lengths: &mut [u16; 6]) {
        let mut left = MOST_WORDS;
        for text in texts {
            if left == 0 {
                return;
            }
            words::split(cut(text, MOST_BYTES), |word| {
                if left > 0 {
                    left -= 1;
                    let term = self.term(word);
                    let count = &mut self.found.entry(term).or_default()[field as usize];
                    *count = count.saturating_add(1);
                    // An identifier as one word is one more way to find it, not more text.
                    lengths[field as usize] += u16::from(word.joins == 0);
                }
            });
        }
    }

    fn term(&mut self, word: Word<'_>) -> u32 {
        if let Some(term) = self.written.get(word.text) {
            return *term;
        }
        let next = self.terms.len() as u32;
        let term = *self.terms.entry(words::stem(word.text).as_ref().into()).or_insert(next);
        self.written.insert(word.text.into(), term);
        term
    }

    fn finish(mut self, index: &mut ToolIndex) {
        let tools = self.lengths.len();
        let mean = Field::ALL.map(|field| {
            let sum: f32 = self.lengths.iter().map(|lengths| f32::from(lengths[field as usize])).sum();
            (sum / tools.max(1) as f32).max(1.0)
        });
        // Stable: the tools of a term stay in their order.
        self.entries.sort_by_key(|(term, _, _)| *term);
        index.ends = vec![0; self.terms.len()];
        index.postings.reserve_exact(self.entries.len());
        for of_term in self.entries.chunk_by(|a, b| a.0 == b.0) {
            let rarity = rarity(tools, of_term.len());
            for (_, tool, counts) in of_term {
                let lengths = self.lengths[*tool as usize];
                let (mut times, mut fields) = (0.0, 0);
                for field in Field::ALL.into_iter().filter(|field| counts[*field as usize] > 0) {
                    let at = field as usize;
                    let penalty = field.length_penalty();
                    let length = 1.0 - penalty + penalty * f32::from(lengths[at]) / mean[at];
                    times += field.weight() * f32::from(counts[at]) / length;
                    fields |= field.bit();
                }
                let score = rarity * times * (SATURATION + 1.0) / (times + SATURATION);
                index.postings.push(Posting { tool: *tool, score, fields });
            }
            index.ends[of_term[0].0 as usize] = index.postings.len() as u32;
        }
        index.terms = self.terms;
    }
}
