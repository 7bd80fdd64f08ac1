//! The definitions of a server, by what they define and its name.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    canonical::Tree,
    poisoning::{self, Suspicion},
};

/// How much of a definition is kept to show what changed. Longer ones are recognized by their hash alone.
const MAX_TEXT: usize = 16 * 1024;
/// How much is kept for all definitions of one server.
const MAX_TEXTS: usize = 2 * 1024 * 1024;

/// What a definition defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DefinitionKind {
    /// The instructions of the server.
    Instructions,
    /// A tool.
    Tool,
    /// A prompt.
    Prompt,
    /// A family of resources.
    ResourceTemplate,
}

impl DefinitionKind {
    /// In words: `tool`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::ResourceTemplate => "resource template",
        }
    }

    /// The field that names it.
    fn name_field(self) -> &'static str {
        match self {
            Self::ResourceTemplate => "uriTemplate",
            Self::Instructions | Self::Tool | Self::Prompt => "name",
        }
    }
}

/// What a definition is found by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DefinitionKey {
    /// What it defines.
    pub kind: DefinitionKind,
    /// Its name; empty for instructions.
    pub name: String,
}

impl fmt::Display for DefinitionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            DefinitionKind::Instructions => f.write_str("the instructions"),
            kind => write!(f, "{} `{}`", kind.as_str(), self.name),
        }
    }
}

/// One definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// The hash of its canonical form, in hexadecimal digits.
    pub hash: String,
    /// Its canonical form, to show what changed; nothing where it is too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The hash of its form without its name, to recognize it under another one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content: String,
    /// What looks like an attempt to mislead a model, if anything does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspicions: Vec<Suspicion>,
}

/// The definitions of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<DefinitionEntry>", into = "Vec<DefinitionEntry>")]
pub struct Definitions {
    entries: BTreeMap<DefinitionKey, Definition>,
}

/// How a definition is written.
#[derive(Clone, Serialize, Deserialize)]
struct DefinitionEntry {
    #[serde(flatten)]
    key: DefinitionKey,
    definition: Definition,
}

impl From<Vec<DefinitionEntry>> for Definitions {
    fn from(entries: Vec<DefinitionEntry>) -> Self {
        Self {
            entries: entries
                .into_iter()
                .map(|DefinitionEntry { key, definition }| (key, definition))
                .collect(),
        }
    }
}

impl From<Definitions> for Vec<DefinitionEntry> {
    fn from(definitions: Definitions) -> Self {
        definitions.entries.into_iter().map(|(key, definition)| DefinitionEntry { key, definition }).collect()
    }
}

impl Definitions {
    /// Adds a definition as the server wrote it, and returns its key. One without a name gets none: it is never offered.
    ///
    /// Of two with the same name, neither is offered; both are kept, so that one of them does not stand for the other.
    pub fn add(&mut self, kind: DefinitionKind, text: &[u8]) -> Option<DefinitionKey> {
        let tree = Tree::parse(std::str::from_utf8(text).ok()?)?;
        let name = tree.get(kind.name_field())?.as_str()?.to_owned();
        let mut key = DefinitionKey { kind, name };
        let name = key.name.clone();
        for number in 2.. {
            if !self.entries.contains_key(&key) {
                break;
            }
            key.name = format!("{name} ({number})");
        }
        let nameless = match tree.clone() {
            Tree::Object(mut entries) => {
                entries.retain(|(key, _)| key != kind.name_field());
                Tree::Object(entries)
            }
            other => other,
        };
        let definition = self.definition(kind, &tree, &nameless);
        self.entries.insert(key.clone(), definition);
        Some(key)
    }

    /// Adds the instructions of the server.
    pub fn add_instructions(&mut self, text: &str) -> DefinitionKey {
        let tree = Tree::String(text.to_owned());
        let key = DefinitionKey { kind: DefinitionKind::Instructions, name: String::new() };
        let definition = self.definition(DefinitionKind::Instructions, &tree, &tree);
        self.entries.insert(key.clone(), definition);
        key
    }

    fn definition(&self, kind: DefinitionKind, tree: &Tree, nameless: &Tree) -> Definition {
        let text = tree.canonical();
        let kept: usize =
            self.entries.values().filter_map(|known| known.text.as_ref()).map(String::len).sum();
        Definition {
            hash: hash(kind, &text),
            content: hash(kind, &nameless.canonical()),
            suspicions: poisoning::suspicions(tree),
            text: (text.len() <= MAX_TEXT && kept + text.len() <= MAX_TEXTS).then_some(text),
        }
    }

    /// The definition of that key.
    pub fn get(&self, key: &DefinitionKey) -> Option<&Definition> {
        self.entries.get(key)
    }

    /// All of them, sorted.
    pub fn iter(&self) -> impl Iterator<Item = (&DefinitionKey, &Definition)> {
        self.entries.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn insert(&mut self, key: DefinitionKey, definition: Definition) {
        self.entries.insert(key, definition);
    }

    pub(crate) fn remove(&mut self, key: &DefinitionKey) {
        self.entries.remove(key);
    }
}

/// The kind is part of it, so that no definition stands for one of another kind.
fn hash(kind: DefinitionKind, canonical: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(b"toolbay definition 1\0");
    hash.update(kind.as_str().as_bytes());
    hash.update([0]);
    hash.update(canonical.as_bytes());
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
