//! Parsing with limits: what is too big, too strange or too slow to parse is left to the lines.

use std::cell::RefCell;
use std::ops::ControlFlow;

use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

use super::grammar::Grammar;

/// Files above this are data or generated; nobody reads their definitions.
const LARGEST: usize = 1024 * 1024;
/// Lines longer than this on average are minified code.
const LONGEST_AVERAGE_LINE: usize = 500;
/// The parser reports after every hundred steps. Code takes about three reports per thousand bytes; text that
/// makes the parser guess takes many times that, and is given up. Steps and not time, so that the same text is always cut in the
/// same way.
const REPORTS_PER_KIB: usize = 200;

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
        let mut budget = |_: &ParseState| {
            left = left.saturating_sub(1);
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
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
