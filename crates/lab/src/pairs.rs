//! Comments and the definitions they describe, taken apart: what the model learns from and the benchmark asks.

mod inline;
mod sentence;

use std::ops::Range;

use toolbay_search::chunk::{self, ChunkKind, Item};

/// Code longer than this is cut: what comes later says little about the comment.
const LONGEST_CODE: usize = 2500;

/// What a comment says, and the code that it says it about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pair {
    /// The first sentence of the comment, without markup.
    pub(crate) query: String,
    /// What the code defines; for a comment inside of a function, that function.
    pub(crate) names: Vec<String>,
    /// The names around it, outermost first.
    pub(crate) scopes: Vec<String>,
    /// The file, as given.
    pub(crate) path: String,
    /// The code without the comment, at most 2,500 bytes.
    pub(crate) code: String,
    /// What kind of comment it was.
    pub(crate) source: Source,
    /// Where the code is in the text, with the comment if that is before it or inside.
    pub(crate) bytes: Range<usize>,
    /// Where the comment is in the text.
    pub(crate) comment: Range<usize>,
    /// Where the comment goes on after the sentence that is the question. Empty where it does not.
    pub(crate) rest: Range<usize>,
}

/// What a comment belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Source {
    /// A function or method.
    Function,
    /// A class or another type.
    Type,
    /// The lines that follow it inside of a function.
    Inline,
}

/// Every comment of a file that says enough, with its code.
pub(crate) fn extract(path: &str, text: &str) -> Vec<Pair> {
    let language = chunk::language(path, text);
    let Some(outline) = chunk::outline(language, text) else { return Vec::new() };
    let items = &outline.items;
    let mut pairs = Vec::new();
    for item in items {
        let source = match item.kind {
            ChunkKind::Function | ChunkKind::Method => Source::Function,
            ChunkKind::Class
            | ChunkKind::Struct
            | ChunkKind::Enum
            | ChunkKind::Interface
            | ChunkKind::Type => Source::Type,
            _ => continue,
        };
        let scopes = scopes(items, item);
        if let Some(comment) = item.doc.clone()
            && let Some(query) = sentence::first(&text[comment.clone()], &item.name)
        {
            let code = without(text, &item.whole, &comment);
            if code.trim().len() > item.name.len() + 20 {
                let end = sentence::end_in(&text[comment.clone()], &query);
                let rest = end.map_or(comment.end, |end| comment.start + end)..comment.end;
                pairs.push(Pair {
                    query,
                    names: vec![item.name.clone()],
                    scopes: scopes.clone(),
                    path: path.to_owned(),
                    code,
                    source,
                    bytes: item.whole.clone(),
                    rest,
                    comment,
                });
            }
        }
        if source == Source::Function {
            inline::extract(path, text, item, &scopes, &mut pairs);
        }
    }
    pairs
}

fn scopes(items: &[Item], item: &Item) -> Vec<String> {
    let mut scopes: Vec<String> = item.qualifier.iter().cloned().collect();
    let mut at = item.parent;
    while let Some(outer) = at.and_then(|index| items.get(index)) {
        scopes.push(outer.name.clone());
        at = outer.parent;
    }
    scopes.reverse();
    scopes
}

/// The definition without its comment.
fn without(text: &str, whole: &Range<usize>, comment: &Range<usize>) -> String {
    let before = &text[whole.start..comment.start.clamp(whole.start, whole.end)];
    let after = &text[comment.end.clamp(whole.start, whole.end)..whole.end];
    let mut code = before.trim_end().to_owned();
    if !code.is_empty() {
        code.push('\n');
    }
    code.push_str(after.trim_start_matches(['\n', '\r']));
    shorten(&mut code);
    code
}

fn shorten(code: &mut String) {
    let mut end = code.len().min(LONGEST_CODE);
    while !code.is_char_boundary(end) {
        end -= 1;
    }
    code.truncate(end);
}

#[cfg(test)]
mod tests;
