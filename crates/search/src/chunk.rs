//! Files cut into pieces that mean something: definitions where the language is known, headings, lines.
//!
//! [`language`] returns the language of a file, [`cut`] cuts it. `outline` is the step between: the definitions of a text with
//! their comments, from which [`cut`] makes its pieces.

mod grammar;
mod language;
mod lines;
mod markdown;
mod name;
mod outline;
mod pack;
mod tables;

use std::ops::Range;

pub use language::{Language, language};
pub use outline::{Item, Outline, outline};

/// A piece of a file, the unit that search by meaning finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Where it is in the text. The chunks of a text cover it without gaps.
    pub bytes: Range<usize>,
    /// Its first line that is not blank, counted from 1.
    pub start_line: u32,
    /// Its last line that is not blank, counted from 1.
    pub end_line: u32,
    /// What it mainly holds.
    pub kind: ChunkKind,
    /// The names defined in it, in order.
    pub names: Vec<String>,
    /// The names around it, outermost first: modules, classes, and the function it is a part of.
    pub scopes: Vec<String>,
    symbol: Option<String>,
}

impl Chunk {
    /// Where a reader is in this chunk: `impl Foo › fn bar`; none where nothing has a name.
    pub fn symbol(&self) -> Option<&str> {
        self.symbol.as_deref()
    }
}

/// What a chunk mainly holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChunkKind {
    /// A function outside of any type.
    Function,
    /// A function of a type.
    Method,
    /// A class, or an object that stands alone.
    Class,
    /// A record with fields, or a union.
    Struct,
    /// An enumeration.
    Enum,
    /// A trait, interface or protocol.
    Interface,
    /// Methods for a type that is defined elsewhere: `impl`, `extension`, `instance`.
    Impl,
    /// A module, namespace or package.
    Module,
    /// Another name for a type.
    Type,
    /// A constant, variable or property.
    Value,
    /// A macro.
    Macro,
    /// A part of a document under its heading.
    Section,
    /// Code that defines nothing: imports, statements.
    Code,
    /// Text of no known structure.
    Text,
}

impl ChunkKind {
    /// Its name in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Method => "method",
            Self::Class => "class",
            Self::Struct => "struct",
            Self::Enum => "enum",
            Self::Interface => "interface",
            Self::Impl => "impl",
            Self::Module => "module",
            Self::Type => "type",
            Self::Value => "value",
            Self::Macro => "macro",
            Self::Section => "section",
            Self::Code => "code",
            Self::Text => "text",
        }
    }

    /// Whether something with a name is defined there.
    pub fn is_definition(self) -> bool {
        !matches!(self, Self::Section | Self::Code | Self::Text)
    }
}

/// Cuts a text into chunks that cover it in order. Never fails: what cannot be parsed is cut by lines.
pub fn cut(language: Language, text: &str) -> Vec<Chunk> {
    match language {
        Language::Markdown => markdown::cut(text),
        _ => match outline(language, text) {
            Some(outline) => pack::pack(text, &outline),
            None => lines::cut(text),
        },
    }
}

/// A chunk holds at most this many bytes, unless a single line is longer than that.
const MAX: usize = 1400;
/// Neighbours are joined up to this size.
const TARGET: usize = 800;
/// Below this, a definition shares its chunk with others.
const SMALL: usize = 260;

#[cfg(test)]
mod tests;
