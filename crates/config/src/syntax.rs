//! A file as a tree, independent of its syntax.
//!
//! JSON with comments, TOML and YAML become the same tree, which has the location of each key. So each format is
//! described once, and every message can name a line and a column.

mod json;
mod toml;
mod yaml;

use serde_json::{Map, Number, Value};

pub(crate) use json::JSONC;

use crate::{Location, Syntax, problem::Position};

/// A syntax error: location and message.
pub(crate) type SyntaxError = (Location, String);

/// Some value.
#[derive(Debug, Clone)]
pub(crate) enum Node {
    Null,
    Flag(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

/// A key of a map, and its location.
#[derive(Debug, Clone)]
pub(crate) struct Key {
    pub(crate) text: String,
    pub(crate) at: Position,
    /// Whether the map has the key already. Parsers disagree about its meaning, so it is an error.
    pub(crate) is_repeated: bool,
}

/// Reads a text in a known syntax.
pub(crate) fn parse(text: &str, syntax: Syntax) -> Result<Node, SyntaxError> {
    match syntax {
        Syntax::Json => json::parse(text),
        Syntax::Toml => toml::parse(text),
        Syntax::Yaml => yaml::parse(text),
    }
}

/// Estimates how many values a text has, without parsing it: never much less than it has, and more where texts and comments
/// look like values. One that takes the memory of several counts for several.
pub(crate) fn estimate_values(text: &str, syntax: Syntax) -> usize {
    match syntax {
        // Each is the first in a container or follows a comma.
        Syntax::Json => count(text, b",[{"),
        Syntax::Toml => toml::estimate_values(text),
        Syntax::Yaml => count(text, b",[{:-?"),
    }
}

fn count(text: &str, characters: &[u8]) -> usize {
    text.bytes().filter(|byte| characters.contains(byte)).count()
}

impl Key {
    /// The error for a repeated key.
    pub(crate) fn repeated(&self) -> String {
        format!("the key `{}` is defined twice", self.text)
    }
}

impl Node {
    /// The entries, if this is a map.
    pub(crate) fn entries(&self) -> Option<&[(Key, Node)]> {
        match self {
            Self::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The value of a key; of several, the last one.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.entries()?.iter().rev().find(|(it, _)| it.text == key).map(|(_, node)| node)
    }

    /// The value at a path of keys.
    pub(crate) fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// A key that a map in it has twice; nodes for which `is_apart` holds are skipped.
    pub(crate) fn repeated_key(&self, is_apart: &impl Fn(&Self) -> bool) -> Option<&Key> {
        match self {
            Self::List(items) => {
                items.iter().filter(|item| !is_apart(item)).find_map(|item| item.repeated_key(is_apart))
            }
            Self::Map(entries) => {
                entries.iter().filter(|(_, node)| !is_apart(node)).find_map(|(key, node)| {
                    if key.is_repeated { Some(key) } else { node.repeated_key(is_apart) }
                })
            }
            _ => None,
        }
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn flag(&self) -> Option<bool> {
        match self {
            Self::Flag(flag) => Some(*flag),
            _ => None,
        }
    }

    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => number.as_f64(),
            _ => None,
        }
    }

    pub(crate) fn list(&self) -> Option<&[Self]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// The texts of a list; other values are left out.
    pub(crate) fn texts(&self) -> Option<Vec<&str>> {
        Some(self.list()?.iter().filter_map(Self::text).collect())
    }

    /// The kind of value, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Flag(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::List(_) => "an array",
            Self::Map(_) => "a table",
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Flag(flag) => Value::Bool(*flag),
            Self::Number(number) => Value::Number(number.clone()),
            Self::Text(text) => Value::String(text.clone()),
            Self::List(items) => items.iter().map(Self::to_json).collect(),
            Self::Map(entries) => {
                let entries = entries.iter().map(|(key, node)| (key.text.clone(), node.to_json()));
                Value::Object(entries.collect::<Map<_, _>>())
            }
        }
    }
}
