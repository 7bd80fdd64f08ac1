//! Which lines came and went.

use std::fmt;

/// More pairs than this are not compared one by one: such launches differ in everything that matters.
const MOST_PAIRS: usize = 1 << 20;

/// A line of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffLine {
    /// In both.
    Same(String),
    /// In the approved launch only.
    Removed(String),
    /// In the present launch only.
    Added(String),
    /// Something changed that is not shown, such as a secret in an argument.
    HiddenChange,
}

impl fmt::Display for DiffLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Same(line) => write!(f, "  {line}"),
            Self::Removed(line) => write!(f, "- {line}"),
            Self::Added(line) => write!(f, "+ {line}"),
            Self::HiddenChange => f.write_str("~ a value that is not shown here changed"),
        }
    }
}

/// The shortest way from `old` to `new`.
pub(super) fn line_diff(old: &[String], new: &[String]) -> Vec<DiffLine> {
    let head = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old_middle, same_tail) = old_rest.split_at(old_rest.len() - tail);
    let new_middle = &new_rest[..new_rest.len() - tail];

    let mut lines: Vec<DiffLine> = old[..head].iter().cloned().map(DiffLine::Same).collect();
    middle(old_middle, new_middle, &mut lines);
    lines.extend(same_tail.iter().cloned().map(DiffLine::Same));
    lines
}

fn middle(old: &[String], new: &[String], lines: &mut Vec<DiffLine>) {
    if old.len().saturating_mul(new.len()) > MOST_PAIRS {
        lines.extend(old.iter().cloned().map(DiffLine::Removed));
        lines.extend(new.iter().cloned().map(DiffLine::Added));
        return;
    }
    // `common[i][j]`: how many lines the rests from `i` and `j` have in common.
    let mut common = vec![vec![0usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] = match old[i] == new[j] {
                true => common[i + 1][j + 1] + 1,
                false => common[i + 1][j].max(common[i][j + 1]),
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push(DiffLine::Same(old[i].clone()));
            (i, j) = (i + 1, j + 1);
        } else if i < old.len() && (j == new.len() || common[i + 1][j] >= common[i][j + 1]) {
            lines.push(DiffLine::Removed(old[i].clone()));
            i += 1;
        } else {
            lines.push(DiffLine::Added(new[j].clone()));
            j += 1;
        }
    }
}
