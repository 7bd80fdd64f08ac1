//! A grammar with what its nodes mean to us, looked up by number while walking.

use std::sync::OnceLock;

use super::tables::{self, Table};
use super::{ChunkKind, Language};

/// What a node is to the outline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Nothing special: a statement where statements stand.
    Plain,
    /// A comment, kept with what follows it directly.
    Comment,
    /// Written before a definition and part of it: attributes, decorators, a signature.
    Prefix,
    /// A shell around a definition, as `export` or `template`: the definition reaches over all of it.
    Wrap,
    /// A list of things: `{ … }` of a class, `#if`.
    Open,
    /// A definition; the word that introduces it; whether its members are definitions of their own.
    Item(ChunkKind, &'static str, Members),
    /// A definition if the value that it binds is one: `const f = () => …`.
    Binding,
    /// A call that defines something, as `def` does in Elixir.
    Call,
}

/// Whether a definition is cut up to show what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Members {
    /// One piece, unless it is too long.
    Closed,
    /// Its members are pieces.
    Open,
}

/// How a language is parsed, and what its nodes mean.
#[derive(Debug)]
pub(super) struct Grammar {
    pub(super) language: tree_sitter::Language,
    roles: Box<[Role]>,
}

impl Grammar {
    fn new(table: &Table) -> Self {
        let language = tree_sitter::Language::new(table.grammar);
        let mut roles = vec![Role::Plain; language.node_kind_count()].into_boxed_slice();
        for (id, role) in (0..=u16::MAX).zip(roles.iter_mut()) {
            if !language.node_kind_is_named(id) {
                continue;
            }
            let kind = language.node_kind_for_id(id).unwrap_or_default();
            if let Some((_, known)) = table.roles.iter().find(|(name, _)| *name == kind) {
                *role = *known;
            }
        }
        Self { language, roles }
    }

    pub(super) fn role(&self, kind_id: u16) -> Role {
        self.roles.get(usize::from(kind_id)).copied().unwrap_or(Role::Plain)
    }
}

/// The grammar of a language, if we parse it. Made at first use.
pub(super) fn grammar(language: Language) -> Option<&'static Grammar> {
    static GRAMMARS: [OnceLock<Option<Grammar>>; 256] = [const { OnceLock::new() }; 256];
    GRAMMARS[language.index()]
        .get_or_init(|| tables::table(language).map(|table| Grammar::new(&table)))
        .as_ref()
}
