//! From a pattern to the trigrams that a file must have for it to match.
//!
//! The way of Russ Cox's "Regular Expression Matching with a Trigram Index": for each part of the expression, the exact
//! strings it can match while they are few, else how its matches can begin and end, and a condition on trigrams.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

use super::trigrams::{self, Pair, Trigram};
use super::{Case, Query};

/// A condition that every file with a match meets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Plan {
    /// Every file may match.
    All,
    /// The file has this trigram.
    Has(Trigram),
    /// The file has these two bytes in a line.
    HasPair(Pair),
    /// All of these hold.
    And(Vec<Plan>),
    /// One of these holds.
    Or(Vec<Plan>),
}

/// Most strings of one set.
const STRINGS: usize = 24;
/// Most characters of a class that are tried one by one.
const CLASS: usize = 12;
/// Most copies of a repeated part that are written out.
const COPIES: u32 = 6;
/// Most trigrams that are taken from one string; more would leave out hardly any file.
const LONGEST: usize = 100;
/// Deeper expressions are not looked into.
const DEPTH: u32 = 100;

/// The plan for a query. A pattern that cannot be read here is for the engine to refuse.
pub(super) fn plan(query: &Query) -> Plan {
    let pattern = if query.regex { query.pattern.clone() } else { regex_syntax::escape(&query.pattern) };
    let parsed = ParserBuilder::new()
        .utf8(false)
        .multi_line(true)
        // Smart case is one of both; this one allows more.
        .case_insensitive(query.case != Case::Sensitive)
        .build()
        .parse(&pattern);
    match parsed {
        Ok(hir) => part(&hir, 0).condition(),
        Err(_) => Plan::All,
    }
}

/// What is known of the matches of a part of the expression.
#[derive(Debug)]
enum PlanPart {
    /// It matches one of these, folded, and nothing else.
    Exact(Vec<Vec<u8>>),
    Open(Open),
}

#[derive(Debug)]
struct Open {
    /// Every match begins with one of these.
    begins: Vec<Vec<u8>>,
    /// Every match ends with one of these.
    ends: Vec<Vec<u8>>,
    condition: Plan,
}

impl PlanPart {
    /// Something of which nothing is known.
    fn any() -> Self {
        Self::Open(Open { begins: vec![Vec::new()], ends: vec![Vec::new()], condition: Plan::All })
    }

    fn condition(self) -> Plan {
        match self {
            Self::Exact(strings) => one_of(&strings),
            Self::Open(open) => and(vec![open.condition, one_of(&open.begins), one_of(&open.ends)]),
        }
    }

    /// Forgets that the strings are complete, and keeps their trigrams.
    fn open(self) -> Open {
        match self {
            Self::Exact(strings) => Open {
                condition: one_of(&strings),
                begins: trimmed(&strings, |it| &it[..it.len().min(2)]),
                ends: trimmed(&strings, |it| &it[it.len().saturating_sub(2)..]),
            },
            Self::Open(open) => open,
        }
    }

    fn then(self, next: Self) -> Self {
        if let (Self::Exact(a), Self::Exact(b)) = (&self, &next)
            && let Some(strings) = joined(a, b)
        {
            return Self::Exact(strings);
        }
        let (begins, first_ends) = self.borders();
        let (next_begins, ends) = next.borders();
        let begins = begins.longer(&next_begins, joined);
        let ends_now = ends.longer(&first_ends, |b, a| joined(a, b));
        let between = joined(&first_ends.strings, &next_begins.strings).map_or(Plan::All, |it| one_of(&it));
        let (first, next) = (self.open(), next.open());
        Self::Open(Open {
            condition: and(vec![
                first.condition,
                next.condition,
                between,
                one_of(&begins),
                one_of(&ends_now),
            ]),
            begins: trimmed(&begins, |it| &it[..it.len().min(2)]),
            ends: trimmed(&ends_now, |it| &it[it.len().saturating_sub(2)..]),
        })
    }

    fn or(self, other: Self) -> Self {
        if let (Self::Exact(a), Self::Exact(b)) = (&self, &other)
            && let Some(strings) = united(a, b)
        {
            return Self::Exact(strings);
        }
        let (a, b) = (self.open(), other.open());
        Self::Open(Open {
            begins: united(&a.begins, &b.begins).unwrap_or_else(|| vec![Vec::new()]),
            ends: united(&a.ends, &b.ends).unwrap_or_else(|| vec![Vec::new()]),
            condition: or(vec![a.condition, b.condition]),
        })
    }

    /// How matches begin and end.
    fn borders(&self) -> (Border, Border) {
        match self {
            Self::Exact(strings) => {
                let whole = Border { strings: strings.clone(), whole: true };
                (whole.clone(), whole)
            }
            Self::Open(open) => (
                Border { strings: open.begins.clone(), whole: false },
                Border { strings: open.ends.clone(), whole: false },
            ),
        }
    }
}

/// The strings at one end of a part.
#[derive(Debug, Clone)]
struct Border {
    strings: Vec<Vec<u8>>,
    /// Whether these are whole matches, so that what comes next touches them.
    whole: bool,
}

impl Border {
    /// With what comes beyond the part, where the part is known whole.
    fn longer(
        &self,
        beyond: &Self,
        join: impl Fn(&[Vec<u8>], &[Vec<u8>]) -> Option<Vec<Vec<u8>>>,
    ) -> Vec<Vec<u8>> {
        let longer = if self.whole { join(&self.strings, &beyond.strings) } else { None };
        longer.unwrap_or_else(|| self.strings.clone())
    }
}

fn part(hir: &Hir, depth: u32) -> PlanPart {
    if depth > DEPTH {
        return PlanPart::any();
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => PlanPart::Exact(vec![Vec::new()]),
        // Bytes that are not UTF-8 could be a part of a character that was folded.
        HirKind::Literal(literal) => std::str::from_utf8(&literal.0)
            .map_or_else(|_| PlanPart::any(), |text| PlanPart::Exact(vec![trigrams::fold(text)])),
        HirKind::Class(class) => characters(class).map_or_else(PlanPart::any, PlanPart::Exact),
        HirKind::Capture(capture) => part(&capture.sub, depth + 1),
        HirKind::Repetition(repetition) => {
            let once = || part(&repetition.sub, depth + 1);
            match (repetition.min, repetition.max) {
                (0, Some(1)) => once().or(PlanPart::Exact(vec![Vec::new()])),
                (0, Some(0)) => PlanPart::Exact(vec![Vec::new()]),
                (0, _) => PlanPart::any(),
                (least, most) => {
                    let copies = least.min(COPIES);
                    let known = (1..copies).fold(once(), |all, _| all.then(once()));
                    if most == Some(copies) {
                        return known;
                    }
                    // More of them may follow: begins as one, ends as one.
                    PlanPart::Open(known.open())
                }
            }
        }
        HirKind::Concat(parts) => {
            let parts = parts.iter().map(|it| part(it, depth + 1));
            parts.reduce(PlanPart::then).unwrap_or_else(PlanPart::any)
        }
        HirKind::Alternation(parts) => {
            let parts = parts.iter().map(|it| part(it, depth + 1));
            parts.reduce(PlanPart::or).unwrap_or_else(PlanPart::any)
        }
    }
}

/// The characters of a small class, folded.
fn characters(class: &Class) -> Option<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    let mut add = |c: char| {
        let folded = trigrams::fold(c.encode_utf8(&mut [0; 4]));
        if !found.contains(&folded) {
            found.push(folded);
        }
        found.len() <= CLASS
    };
    let few = match class {
        Class::Unicode(class) => class.iter().all(|range| {
            // Both kinds of case fold into one.
            range.len() <= 4 * CLASS && (range.start()..=range.end()).all(&mut add)
        }),
        Class::Bytes(class) => class
            .iter()
            .all(|range| range.end() < 0x80 && (range.start()..=range.end()).all(|it| add(it.into()))),
    };
    (few && !found.is_empty()).then_some(found)
}

fn joined(a: &[Vec<u8>], b: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
    if a.len() * b.len() > STRINGS {
        return None;
    }
    Some(a.iter().flat_map(|a| b.iter().map(move |b| [&a[..], b].concat())).collect())
}

fn united(a: &[Vec<u8>], b: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
    let mut all = [a, b].concat();
    all.sort_unstable();
    all.dedup();
    (all.len() <= STRINGS).then_some(all)
}

fn trimmed(strings: &[Vec<u8>], cut: impl Fn(&[u8]) -> &[u8]) -> Vec<Vec<u8>> {
    let mut all: Vec<_> = strings.iter().map(|it| cut(it).to_vec()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The condition that one of the strings is in the file.
fn one_of(strings: &[Vec<u8>]) -> Plan {
    let holds = |string: &Vec<u8>| match string[..] {
        [first, second] => Plan::HasPair(Pair::from_be_bytes([first, second])),
        _ => and(trigrams::of(string).take(LONGEST).map(Plan::Has).collect()),
    };
    or(strings.iter().map(holds).collect())
}

fn and(parts: Vec<Plan>) -> Plan {
    let mut all = Vec::new();
    for part in parts {
        match part {
            Plan::All => {}
            Plan::And(inner) => all.extend(inner),
            part => all.push(part),
        }
    }
    // Two bytes narrow little beside three, and cost more to look up.
    let is_pair = |part: &Plan| matches!(part, Plan::HasPair(_));
    let mut kept: Vec<Plan> = Vec::new();
    let only_pairs = all.iter().all(is_pair);
    for part in all {
        if !kept.contains(&part) && (only_pairs || !is_pair(&part)) {
            kept.push(part);
        }
    }
    match kept.len() {
        0 => Plan::All,
        1 => kept.remove(0),
        _ => Plan::And(kept),
    }
}

fn or(parts: Vec<Plan>) -> Plan {
    let mut kept = Vec::new();
    for part in parts {
        match part {
            Plan::All => return Plan::All,
            Plan::Or(inner) => kept.extend(inner),
            part => kept.push(part),
        }
    }
    kept.dedup();
    match kept.len() {
        // No alternative: nothing to hold on to.
        0 => Plan::All,
        1 => kept.remove(0),
        _ => Plan::Or(kept),
    }
}

#[cfg(test)]
mod tests;
