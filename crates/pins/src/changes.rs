//! What changed between pinned definitions and those that a server has now.

use std::{collections::BTreeSet, fmt};

use crate::{
    canonical::Tree,
    definitions::{Definition, DefinitionKey, Definitions},
};

/// A definition that is not as it was pinned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Which one.
    pub key: DefinitionKey,
    /// What happened to it.
    pub kind: ChangeKind,
}

/// What happened to a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeKind {
    /// There was none of that name.
    New,
    /// There was none of that name, but the same one under another name that is gone.
    Renamed {
        /// The name that it had.
        from: String,
    },
    /// It is another one.
    Changed {
        /// The fields that differ, where they are known.
        fields: Vec<String>,
    },
    /// It is not there any more.
    Removed,
    /// It was never approved, because something in it looks like an attempt to mislead a model.
    Suspicious,
}

impl Change {
    /// Whether there is something that a user could approve before it is offered.
    pub fn is_offer(&self) -> bool {
        self.kind != ChangeKind::Removed
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        match &self.kind {
            ChangeKind::New => write!(f, "{key} is new"),
            ChangeKind::Renamed { from } => write!(f, "{key} is new, and was called `{from}`"),
            ChangeKind::Changed { fields } if fields.is_empty() => write!(f, "{key} changed"),
            ChangeKind::Changed { fields } => write!(f, "{key} changed ({})", fields.join(", ")),
            ChangeKind::Removed => write!(f, "{key} was removed"),
            ChangeKind::Suspicious => write!(f, "{key} was never approved"),
        }
    }
}

/// Compares definitions with those that are pinned.
pub(crate) fn changes(pinned: &Definitions, found: &Definitions) -> Vec<Change> {
    let gone = |key: &&DefinitionKey| found.get(key).is_none();
    let removed: Vec<(&DefinitionKey, &Definition)> = pinned.iter().filter(|(key, _)| gone(key)).collect();
    let mut changes = Vec::new();
    for (key, definition) in found.iter() {
        let kind = match pinned.get(key) {
            Some(known) if known.hash == definition.hash => continue,
            Some(known) => ChangeKind::Changed { fields: fields(known, definition) },
            None => {
                let is_it = |(old, known): &&(&DefinitionKey, &Definition)| {
                    old.kind == key.kind && !known.content.is_empty() && known.content == definition.content
                };
                match removed.iter().find(is_it) {
                    Some((old, _)) => ChangeKind::Renamed { from: old.name.clone() },
                    None => ChangeKind::New,
                }
            }
        };
        changes.push(Change { key: key.clone(), kind });
    }
    changes
        .extend(removed.into_iter().map(|(key, _)| Change { key: key.clone(), kind: ChangeKind::Removed }));
    changes
}

/// The fields that differ between two definitions, where both are kept.
pub(crate) fn fields(before: &Definition, now: &Definition) -> Vec<String> {
    let tree = |definition: &Definition| definition.text.as_deref().and_then(Tree::parse);
    let (Some(Tree::Object(before)), Some(Tree::Object(now))) = (tree(before), tree(now)) else {
        return Vec::new();
    };
    let names: BTreeSet<&String> = before.iter().chain(&now).map(|(key, _)| key).collect();
    let values = |entries: &[(String, Tree)], name: &String| -> Vec<Tree> {
        entries.iter().filter(|(key, _)| key == name).map(|(_, value)| value.clone()).collect()
    };
    let differs = |name: &&&String| values(&before, name) != values(&now, name);
    names.iter().filter(differs).map(|name| toolbay_config::visible(name)).collect()
}
