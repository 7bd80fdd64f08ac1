//! Tools that a query names.

use std::collections::HashMap;

use crate::{
    tool::ToolText,
    words::{self, cut},
};

/// What begins a query that lists names: `select:read_file,write_file`.
const SELECT: &str = "select:";
/// Beginnings of names that are shorter find too much.
const SHORTEST_PREFIX: usize = 3;
/// Longer names are not compared with queries.
const LONGEST: usize = 256;
/// At most so many names are looked up for a query.
const MOST_NAMES: usize = 100;

/// How a query names a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameMatch {
    /// Its name begins with the query.
    Prefix,
    /// The query is its name, or one of the words of the query is.
    Exact,
}

/// The names of all tools, in lower case.
#[derive(Debug, Default)]
pub(crate) struct ToolNames {
    /// The name that clients see and, where it differs, that of the server; each with its tool.
    all: Vec<(Box<str>, u32)>,
    /// Tools by name, and by the words of their names: `read file`.
    exact: HashMap<Box<str>, Vec<u32>>,
}

impl ToolNames {
    pub(crate) fn add(&mut self, number: u32, tool: &ToolText) {
        let mut known: Vec<String> = Vec::new();
        for name in [&tool.name, &tool.bare_name] {
            let lower = cut(name, LONGEST).to_lowercase();
            if lower.is_empty() || known.contains(&lower) {
                continue;
            }
            self.all.push((lower.as_str().into(), number));
            for key in [spaced(cut(name, LONGEST)), lower] {
                if !known.contains(&key) {
                    self.exact.entry(key.as_str().into()).or_default().push(number);
                    known.push(key);
                }
            }
        }
    }

    /// The tools that a query selects by name, and the names that no tool has; nothing for any other query.
    pub(crate) fn selected<'a>(&self, query: &'a str) -> Option<(Vec<u32>, Vec<&'a str>)> {
        let list = query.trim().strip_prefix(SELECT)?;
        let (mut found, mut unknown): (Vec<u32>, Vec<&str>) = (Vec::new(), Vec::new());
        let names = list.split(|c: char| c == ',' || c.is_whitespace()).filter(|name| !name.is_empty());
        for name in names.take(MOST_NAMES) {
            match self.exact.get(name.to_lowercase().as_str()) {
                Some(tools) => {
                    for tool in tools {
                        if !found.contains(tool) {
                            found.push(*tool);
                        }
                    }
                }
                None => unknown.push(name),
            }
        }
        Some((found, unknown))
    }

    /// The tools that a query names, in the order of the query.
    pub(crate) fn named(&self, query: &str) -> Vec<(u32, NameMatch)> {
        let query = query.trim();
        let mut found: Vec<(u32, NameMatch)> = Vec::new();
        let mut add = |tool: u32, how: NameMatch| {
            if !found.iter().any(|(known, _)| *known == tool) {
                found.push((tool, how));
            }
        };
        if query.len() <= LONGEST {
            for key in [query.to_lowercase(), spaced(query)] {
                self.exact
                    .get(key.as_str())
                    .into_iter()
                    .flatten()
                    .for_each(|tool| add(*tool, NameMatch::Exact));
            }
        }
        // Only what looks like the name of a tool: `search` in a sentence is a word, even where a tool has that name.
        let tokens = query.split(|c: char| c.is_whitespace() || ",;()\"'`".contains(c));
        for token in tokens.filter(|token| is_identifier(token)).take(MOST_NAMES) {
            let tools = self.exact.get(token.to_lowercase().as_str());
            tools.into_iter().flatten().for_each(|tool| add(*tool, NameMatch::Exact));
        }
        if (SHORTEST_PREFIX..=LONGEST).contains(&query.len()) && !query.contains(char::is_whitespace) {
            let beginning = query.to_lowercase();
            let named = self.all.iter().filter(|(name, _)| name.starts_with(&beginning));
            named.for_each(|(_, tool)| add(*tool, NameMatch::Prefix));
        }
        found
    }
}

fn is_identifier(token: &str) -> bool {
    let inner = token.trim_matches(|c: char| !c.is_alphanumeric());
    let has_capital_inside =
        inner.chars().zip(inner.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    token.len() <= LONGEST && (has_capital_inside || inner.contains(['_', '-', '.', '/', ':']))
}

/// The words of a name with spaces between them.
fn spaced(name: &str) -> String {
    let mut spaced = String::with_capacity(name.len());
    words::split(name, |word| {
        if word.joins == 0 {
            if !spaced.is_empty() {
                spaced.push(' ');
            }
            spaced.push_str(word.text);
        }
    });
    spaced
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> ToolNames {
        let mut names = ToolNames::default();
        let tools = [
            ("files_read_file", "read_file"),
            ("search", "search"),
            ("issueCreate", "issueCreate"),
            ("b_search", "search"),
        ];
        for (number, (name, bare_name)) in tools.into_iter().enumerate() {
            let tool = ToolText { name: name.into(), bare_name: bare_name.into(), ..ToolText::default() };
            names.add(number as u32, &tool);
        }
        names
    }

    #[test]
    fn names_are_found_however_they_are_written() {
        let names = names();
        for (query, expected) in [
            ("read_file", vec![(0, NameMatch::Exact)]),
            ("Read File", vec![(0, NameMatch::Exact)]),
            ("files_read_file", vec![(0, NameMatch::Exact)]),
            ("search", vec![(1, NameMatch::Exact), (3, NameMatch::Exact)]),
            ("issuecreate", vec![(2, NameMatch::Exact)]),
            ("issue", vec![(2, NameMatch::Prefix)]),
            ("call `issueCreate`, then read_file", vec![(2, NameMatch::Exact), (0, NameMatch::Exact)]),
            ("search the web", vec![]),
            ("is", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(names.named(query), expected, "{query}");
        }
    }

    #[test]
    fn a_selection_is_exactly_what_it_lists() {
        let names = names();
        let selected = names.selected(" select:issueCreate, READ_FILE,nothing_like_it read_file");
        assert_eq!(selected, Some((vec![2, 0], vec!["nothing_like_it"])));
        assert_eq!(names.selected("select:"), Some((vec![], vec![])));
        assert_eq!(names.selected("please select: a"), None);
    }
}
