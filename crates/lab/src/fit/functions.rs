//! Trees without some comments, which become questions.

use std::{collections::HashMap, ops::Range};

use toolbay_search::{
    chunk::{self, Chunk},
    semantic::{Text, TextSource},
    tree::{FileEntry, RelPath, Tree},
};

use crate::pairs::{self, Pair};

/// Questions about one tree, so that none outweighs the others.
const MOST: usize = 30;
/// So many words are left of a comment at least of which the first sentence is taken out.
const LEFT: usize = 6;

/// A function and what its comment said.
#[derive(Debug, Clone)]
pub(super) struct Function {
    pub(super) query: String,
    pub(super) path: RelPath,
    pub(super) lines: Range<u32>,
}

/// Files without some comments, and what these said.
#[derive(Debug)]
pub(super) struct Stripped {
    texts: HashMap<RelPath, Text>,
    /// Some of the questions, always the same, none that is asked twice.
    pub(super) functions: Vec<Function>,
}

impl Stripped {
    /// Without any comment of a function.
    pub(super) fn bare(entries: &[FileEntry], tree: &Tree) -> Self {
        let (mut texts, mut functions) = (HashMap::new(), Vec::new());
        for entry in entries {
            let Some(Text { stamp, text: Some(text) }) = tree.text(&entry.path) else { continue };
            let pairs = commented(&entry.path, &text);
            let bare = without(&text, &pairs);
            functions.extend(pairs.iter().map(|pair| {
                let moved = |place: usize| {
                    let gone = pairs.iter().take_while(|pair| pair.comment.start < place);
                    let gone: usize = gone.map(|pair| pair.comment.end.min(place) - pair.comment.start).sum();
                    line(&bare, place.saturating_sub(gone))
                };
                let lines = moved(code(pair).start)..moved(code(pair).end) + 1;
                Function { query: pair.query.clone(), path: entry.path.clone(), lines }
            }));
            texts.insert(entry.path.clone(), Text { stamp, text: Some(bare) });
        }
        Self { texts, functions: chosen(functions) }
    }

    /// As published but for the sentences that are asked. Only functions whose comment says more are asked for, so that the
    /// answer looks like the code around it.
    pub(super) fn published(entries: &[FileEntry], tree: &Tree) -> Self {
        let (mut texts, mut functions, mut sentences) = (HashMap::new(), Vec::new(), HashMap::new());
        for entry in entries {
            let Some(Text { stamp, text: Some(text) }) = tree.text(&entry.path) else { continue };
            for pair in commented(&entry.path, &text) {
                let left = text[pair.rest.clone()].split_whitespace();
                if left.filter(|word| word.contains(char::is_alphanumeric)).count() >= LEFT {
                    let sentence = pair.comment.start..pair.rest.start;
                    let lines = line(&text, pair.bytes.start)..line(&text, pair.bytes.end) + 1;
                    sentences.insert((entry.path.clone(), lines.start), sentence);
                    functions.push(Function { query: pair.query, path: entry.path.clone(), lines });
                }
            }
            texts.insert(entry.path.clone(), Text { stamp, text: Some(text) });
        }
        let functions = chosen(functions);
        for Function { path, lines, .. } in &functions {
            let sentence = sentences.remove(&(path.clone(), lines.start));
            if let (Some(Text { text: Some(text), .. }), Some(sentence)) = (texts.get_mut(path), sentence) {
                blank(text, sentence);
            }
        }
        Self { texts, functions }
    }

    /// As published but for comments inside of functions. Each asks for the function that it is in.
    pub(super) fn inside(entries: &[FileEntry], tree: &Tree) -> Self {
        let (mut texts, mut functions, mut comments) = (HashMap::new(), Vec::new(), HashMap::new());
        for entry in entries {
            let Some(Text { stamp, text: Some(text) }) = tree.text(&entry.path) else { continue };
            let name = entry.path.to_str_lossy();
            let chunks = chunk::cut(chunk::language(&name, &text), &text);
            let mut pairs = pairs::extract(&name, &with_lines_of_comments(&text));
            pairs.retain(|pair| pair.source == pairs::Source::Inline);
            for pair in pairs {
                if let Some(lines) = definition_around(&chunks, pair.rest.start) {
                    let key = (entry.path.clone(), pair.query.clone());
                    comments.insert(key, pair.comment);
                    functions.push(Function { query: pair.query, path: entry.path.clone(), lines });
                }
            }
            texts.insert(entry.path.clone(), Text { stamp, text: Some(text) });
        }
        let functions = chosen(functions);
        for Function { path, query, .. } in &functions {
            let comment = comments.remove(&(path.clone(), query.clone()));
            if let (Some(Text { text: Some(text), .. }), Some(comment)) = (texts.get_mut(path), comment) {
                blank(text, comment);
            }
        }
        Self { texts, functions }
    }
}

/// Takes the words out of a comment. Marks and line ends stay, so that it is a comment still and nothing moves.
fn blank(text: &mut String, range: Range<usize>) {
    let blank = |letter: char| {
        if letter.is_alphanumeric() { " ".repeat(letter.len_utf8()) } else { letter.to_string() }
    };
    let blanked: String = text[range.clone()].chars().map(blank).collect();
    text.replace_range(range, &blanked);
}

/// The same text with blocks of comments written as lines of comments, so that those of C are seen too. Nothing moves.
fn with_lines_of_comments(text: &str) -> String {
    let mut lines = String::with_capacity(text.len());
    let mut inside = false;
    for line in text.split_inclusive('\n') {
        let code = line.trim_start();
        let indent = &line[..line.len() - code.len()];
        let begins =
            !inside && code.starts_with("/*") && (code.trim_end().ends_with("*/") || !code.contains("*/"));
        if begins || inside {
            inside = !code.contains("*/");
            let rest = code.trim_start_matches(['/', '*']);
            let marks = code.len() - rest.len();
            lines.push_str(indent);
            lines.push_str("//");
            if marks >= 2 {
                lines.push_str(&" ".repeat(marks - 2));
                lines.push_str(&rest.replace("*/", "  "));
            } else {
                lines.push_str(&rest.replace("*/", "  ").chars().skip(2 - marks).collect::<String>());
            }
        } else {
            lines.push_str(line);
        }
    }
    if lines.len() == text.len() { lines } else { text.to_owned() }
}

/// The lines of the definition that has this place.
fn definition_around(chunks: &[Chunk], place: usize) -> Option<Range<u32>> {
    let at = chunks.iter().position(|chunk| chunk.bytes.contains(&place))?;
    let symbol = chunks[at].symbol()?;
    let is_same = |chunk: &&Chunk| chunk.symbol() == Some(symbol);
    let before = chunks[..at].iter().rev().take_while(is_same).count();
    let after = chunks[at..].iter().take_while(is_same).count();
    Some(chunks[at - before].start_line..chunks[at + after - 1].end_line + 1)
}

impl TextSource for Stripped {
    fn text(&self, path: &RelPath) -> Option<Text> {
        self.texts.get(path).cloned()
    }
}

/// Functions with their comments, in order.
fn commented(path: &RelPath, text: &str) -> Vec<Pair> {
    let name = path.to_str_lossy();
    let mut pairs = pairs::extract(&name, text);
    pairs.retain(|pair| pair.source == pairs::Source::Function);
    pairs.sort_by_key(|pair| pair.comment.start);
    // One comment may stand for two functions, but it is there once.
    pairs.dedup_by(|later, first| later.comment.start < first.comment.end);
    pairs
}

fn without(text: &str, pairs: &[Pair]) -> String {
    let mut bare = String::with_capacity(text.len());
    let mut at = 0;
    for pair in pairs {
        bare.push_str(&text[at..pair.comment.start]);
        at = pair.comment.end;
    }
    bare.push_str(&text[at..]);
    bare
}

/// Where the code is, without a comment before it.
fn code(pair: &Pair) -> Range<usize> {
    let start = if pair.comment.start <= pair.bytes.start { pair.comment.end } else { pair.bytes.start };
    start.max(pair.bytes.start)..pair.bytes.end
}

fn line(text: &str, place: usize) -> u32 {
    text.as_bytes()[..place.min(text.len())].iter().filter(|byte| **byte == b'\n').count() as u32 + 1
}

fn chosen(mut functions: Vec<Function>) -> Vec<Function> {
    let mut times: HashMap<String, usize> = HashMap::new();
    for function in &functions {
        *times.entry(function.query.to_lowercase()).or_default() += 1;
    }
    functions.retain(|function| {
        !is_aside(&function.path) && times.get(&function.query.to_lowercase()) == Some(&1)
    });
    let step = functions.len().div_ceil(MOST).max(1);
    functions.into_iter().step_by(step).collect()
}

fn is_aside(path: &RelPath) -> bool {
    path.to_str_lossy().to_lowercase().split(['/', '_', '.', '-']).any(|part| {
        ["test", "tests", "testing", "spec", "example", "examples", "docs", "doc"].contains(&part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "int expire(int key) {\n    int gone = key;\n    /* Give up when the slice of time that\n     * was granted is over. */\n    if (gone > 16) {\n        gone = stop(gone);\n        log(gone);\n    }\n    return gone;\n}\n";

    #[test]
    fn comments_inside_of_c_are_seen_where_they_are() {
        let lines = with_lines_of_comments(TEXT);
        assert_eq!(lines.len(), TEXT.len());
        let pairs = pairs::extract("a.c", &lines);
        let [pair] = &pairs[..] else { panic!("{pairs:?}") };
        assert_eq!(pair.query, "Give up when the slice of time that was granted is over");
        let mut text = TEXT.to_owned();
        blank(&mut text, pair.comment.clone());
        assert!(text.contains("/*") && text.contains("*/") && !text.contains("slice"));
        assert_eq!(text.len(), TEXT.len());
        let chunks = chunk::cut(chunk::language("a.c", TEXT), TEXT);
        assert_eq!(definition_around(&chunks, pair.rest.start), Some(1..11));
    }
}
