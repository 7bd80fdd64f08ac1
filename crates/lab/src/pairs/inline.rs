//! Comments inside of functions, and the lines that follow them.

use super::{Pair, Source, sentence, shorten};
use toolbay_search::chunk::Item;

/// A comment speaks of at most so many lines after it.
const MOST_LINES: usize = 12;

/// Finds the comments of their own lines inside of a function.
pub(super) fn extract(path: &str, text: &str, item: &Item, scopes: &[String], pairs: &mut Vec<Pair>) {
    let mut lines = Vec::new();
    let mut at = item.whole.start;
    for line in text[item.whole.clone()].split_inclusive('\n') {
        lines.push((at, line));
        at += line.len();
    }
    let mut index = 1;
    while index < lines.len() {
        let (start, _) = lines[index];
        let comments = lines[index..].iter().take_while(|(_, line)| is_comment(line)).count();
        let is_doc = item.doc.as_ref().is_some_and(|doc| start < doc.end);
        if comments == 0 || is_doc {
            index += 1;
            continue;
        }
        let follow = &lines[index + comments..];
        let count = follow
            .iter()
            .take(MOST_LINES)
            .take_while(|(_, line)| !line.trim().is_empty() && !is_comment(line))
            .count();
        let code_start = follow.first().map_or(item.whole.end, |(at, _)| *at);
        let end = follow.get(count).map_or(item.whole.end, |(at, _)| *at);
        index += comments;
        if count < 2 || comments > 4 || is_code(text[start..code_start].trim()) {
            continue;
        }
        if let Some(query) = sentence::first(&text[start..code_start], "") {
            let mut code = text[code_start..end].to_owned();
            shorten(&mut code);
            pairs.push(Pair {
                query,
                names: vec![item.name.clone()],
                scopes: scopes.to_vec(),
                path: path.to_owned(),
                code,
                source: Source::Inline,
                bytes: start..end,
                comment: start..code_start,
                rest: code_start..code_start,
            });
        }
    }
}

fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("//") || line.starts_with("# ") || line.starts_with("-- ")
}

/// A comment that is code taken out of use.
fn is_code(comment: &str) -> bool {
    comment.ends_with([';', '{', '}', ')', ',', '=']) || comment.contains(" = ") || comment.contains("==")
}
