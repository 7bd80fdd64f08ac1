//! Parsing with limits: what is too big, too strange or too slow to parse is left to the lines.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

use super::grammar::Grammar;

/// Files above this are data or generated; nobody reads their definitions.
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
