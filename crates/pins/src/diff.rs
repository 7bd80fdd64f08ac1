//! A comparison of two definitions that people can read: one line per value, with its path.

use toolbay_config::{DiffLine, line_diff, visible};

use crate::{canonical::Tree, definitions::Definition};

/// Longer lines are cut: nobody reads them.
const MAX_LINE: usize = 600;

/// The lines of a comparison.
pub type DefinitionDiff = Vec<DiffLine>;

/// Compares two definitions; where there was none before, all is added, and where there is none now, all is removed.
pub fn diff(before: Option<&Definition>, now: Option<&Definition>) -> DefinitionDiff {
    let lines = |definition: Option<&Definition>| definition.map(lines).unwrap_or_default();
    let mut compared = line_diff(&lines(before), &lines(now));
    let is_same = compared.iter().all(|line| matches!(line, DiffLine::Same(_)));
    if is_same && before.map(|it| &it.hash) != now.map(|it| &it.hash) {
        compared.push(DiffLine::HiddenChange);
    }
    compared
}

/// A definition in lines, nothing in which is invisible.
fn lines(definition: &Definition) -> Vec<String> {
    let Some(text) = &definition.text else {
        return vec![format!("(too long to be shown; its hash is {})", definition.hash)];
    };
    let mut lines = Vec::new();
    match Tree::parse(text) {
        Some(tree) => write(&mut String::new(), &tree, &mut lines),
        None => lines.push(visible(text)),
    }
    for line in &mut lines {
        if let Some((end, _)) = line.char_indices().nth(MAX_LINE) {
            let more = line[end..].chars().count();
            line.truncate(end);
            line.push_str(&format!("… ({more} more characters)"));
        }
    }
    lines
}

fn write(path: &mut String, tree: &Tree, lines: &mut Vec<String>) {
    let length = path.len();
    match tree {
        Tree::Object(entries) if !entries.is_empty() => {
            for (key, value) in entries {
                if length > 0 {
                    path.push('.');
                }
                path.push_str(&visible(key));
                write(path, value, lines);
                path.truncate(length);
            }
        }
        Tree::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                path.push_str(&format!("[{index}]"));
                write(path, item, lines);
                path.truncate(length);
            }
        }
        // Line by line, so that one sees which of them changed.
        Tree::String(text) if text.contains('\n') => {
            lines.extend(text.split('\n').map(|line| labeled(path, &visible(line))));
        }
        Tree::String(text) => lines.push(labeled(path, &visible(text))),
        other => lines.push(labeled(path, &visible(&other.canonical()))),
    }
}

fn labeled(path: &str, value: &str) -> String {
    if path.is_empty() { value.to_owned() } else { format!("{path}: {value}") }
}
