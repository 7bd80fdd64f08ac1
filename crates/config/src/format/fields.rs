//! The keys of an entry, taken one by one, so that the unknown ones are left at the end.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value};

use crate::syntax::{Key, Node};

/// Keys of an entry. An error is a message for the user and never shows a value: it may be a secret.
pub(crate) struct EntryFields<'a> {
    entries: &'a [(Key, Node)],
    taken: HashSet<&'a str>,
}

impl<'a> EntryFields<'a> {
    pub(crate) fn of(node: &'a Node) -> Result<Self, String> {
        match node.entries() {
            Some(entries) => Ok(Self { entries, taken: HashSet::new() }),
            None => Err(format!("an entry must be a table, got {}", node.kind())),
        }
    }

    /// The value of the first of these keys that is there and was not taken; the others count as taken too.
    pub(crate) fn take(&mut self, keys: &[&str]) -> Option<(&'a str, &'a Node)> {
        let mut found = None;
        for key in keys {
            let there = self.entries.iter().rev().find(|(it, _)| it.text == *key);
            let is_free = |(key, _): &&(Key, Node)| !self.taken.contains(key.text.as_str());
            if let Some((key, node)) = there.filter(is_free) {
                self.taken.insert(&key.text);
                found = found.or((!matches!(node, Node::Null)).then_some((key.text.as_str(), node)));
            }
        }
        found
    }

    /// The value of a key, if it is of the right kind; else it stays for others.
    pub(crate) fn take_if(&mut self, key: &str, fits: impl Fn(&Node) -> bool) -> Option<&'a Node> {
        let (key, node) = self.entries.iter().rev().find(|(it, node)| it.text == key && fits(node))?;
        self.taken.insert(&key.text);
        Some(node)
    }

    /// The value of a key, which stays for others.
    pub(crate) fn peek(&self, key: &str) -> Option<&'a Node> {
        let is_free = |(it, _): &&(Key, Node)| it.text == key && !self.taken.contains(key);
        self.entries.iter().rev().find(is_free).map(|(_, node)| node)
    }

    pub(crate) fn text(&mut self, keys: &[&str]) -> Result<Option<&'a str>, String> {
        match self.take(keys) {
            None => Ok(None),
            Some((_, Node::Text(text))) => Ok(Some(text)),
            Some((key, node)) => Err(wrong(key, node, "a string")),
        }
    }

    pub(crate) fn flag(&mut self, keys: &[&str]) -> Result<Option<bool>, String> {
        match self.take(keys) {
            None => Ok(None),
            Some((_, Node::Flag(flag))) => Ok(Some(*flag)),
            Some((key, node)) => Err(wrong(key, node, "a boolean")),
        }
    }

    /// A number of things, at least one.
    pub(crate) fn count(&mut self, keys: &[&str]) -> Result<Option<u64>, String> {
        match self.take(keys) {
            None => Ok(None),
            Some((_, Node::Number(number))) if number.as_u64().is_some_and(|it| it > 0) => {
                Ok(number.as_u64())
            }
            Some((key, node)) => Err(wrong(key, node, "a positive integer")),
        }
    }

    pub(crate) fn texts(&mut self, keys: &[&str]) -> Result<Option<Vec<String>>, String> {
        let Some((key, node)) = self.take(keys) else { return Ok(None) };
        texts(key, node).map(Some)
    }

    /// A table of texts. Numbers and flags are taken as they are written, and nothing means: not there.
    pub(crate) fn map(&mut self, keys: &[&str]) -> Result<BTreeMap<String, String>, String> {
        let Some((key, node)) = self.take(keys) else { return Ok(BTreeMap::new()) };
        let entries = node.entries().ok_or_else(|| wrong(key, node, "a table of strings"))?;
        let values = entries.iter().filter(|(_, node)| !matches!(node, Node::Null)).map(|(name, node)| {
            let text =
                scalar(node).ok_or_else(|| wrong(&format!("{key}.{}", name.text), node, "a string"))?;
            Ok((name.text.clone(), text))
        });
        values.collect()
    }

    /// The keys that were not taken.
    pub(crate) fn rest(&self) -> Map<String, Value> {
        let is_left =
            |key: &Key, node: &Node| !self.taken.contains(key.text.as_str()) && !matches!(node, Node::Null);
        let left = self.entries.iter().filter(|(key, node)| is_left(key, node));
        left.map(|(key, node)| (key.text.clone(), node.to_json())).collect()
    }
}

/// A list of texts; numbers are taken as they are written.
pub(crate) fn texts(key: &str, node: &Node) -> Result<Vec<String>, String> {
    let items = node.list().ok_or_else(|| wrong(key, node, "an array of strings"))?;
    let each = items
        .iter()
        .enumerate()
        .map(|(index, item)| scalar(item).ok_or_else(|| wrong(&format!("{key}[{index}]"), item, "a string")));
    each.collect()
}

fn scalar(node: &Node) -> Option<String> {
    match node {
        Node::Text(text) => Some(text.clone()),
        Node::Number(number) => Some(number.to_string()),
        Node::Flag(flag) => Some(flag.to_string()),
        _ => None,
    }
}

fn wrong(key: &str, node: &Node, wanted: &str) -> String {
    format!("`{key}` must be {wanted}, got {}", node.kind())
}
