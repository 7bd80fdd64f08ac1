//! Grammars with what their nodes mean, and parsing within limits.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

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
    /// A list of definitions: `{ … }` of a class, `#if`.
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

/// Files above this are data or generated; their definitions do not matter.
const LARGEST: usize = 1024 * 1024;
/// Lines longer than this on average are minified code.
const LONGEST_AVERAGE_LINE: usize = 500;
/// The parser reports after every hundred steps. Code takes 5 to 25 reports per thousand bytes; text that makes the
/// parser guess takes many times that, and is given up.
const REPORTS_PER_KIB: usize = 80;
/// Some texts make each step slow. Code takes a tenth of this; time of the thread and not of the clock, so that a
/// busy machine does not change how a file is cut.
const TIME_PER_MIB: Duration = Duration::from_secs(2);
const TIME_AT_LEAST: Duration = Duration::from_millis(150);

thread_local! {
    /// Kept for its buffers, which are dear to allocate anew for every file.
    static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
}

/// The syntax tree of a text, unless it is not worth having.
pub(super) fn parse(grammar: &Grammar, text: &str) -> Option<Tree> {
    if text.is_empty() || text.len() > LARGEST || is_minified(text) {
        return None;
    }
    PARSER.with_borrow_mut(|parser| {
        parser.set_language(&grammar.language).ok()?;
        let bytes = text.as_bytes();
        let mut left = (bytes.len() / 1024 + 20) * REPORTS_PER_KIB;
        let share = bytes.len() as f64 / (1024.0 * 1024.0);
        let until = thread_time() + TIME_AT_LEAST + TIME_PER_MIB.mul_f64(share);
        let mut budget = |_: &ParseState| {
            left = left.saturating_sub(1);
            if left == 0 || thread_time() > until {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let options = ParseOptions::new().progress_callback(&mut budget);
        let tree =
            parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options));
        if tree.is_none() {
            parser.reset();
        }
        tree
    })
}

fn is_minified(text: &str) -> bool {
    text.len() > 8 * LONGEST_AVERAGE_LINE
        && text.len() / (memchr::memchr_iter(b'\n', text.as_bytes()).count() + 1) > LONGEST_AVERAGE_LINE
}

/// How long this thread has worked.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}
