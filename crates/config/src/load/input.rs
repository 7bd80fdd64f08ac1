//! What VS Code asks people for.

use std::collections::BTreeMap;

use crate::syntax::Node;

/// A value that somebody must give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Its name in `${input:…}`.
    pub id: String,
    /// The question.
    pub description: Option<String>,
    /// The value if nobody says anything.
    pub default: Option<String>,
    /// Whether what is typed must not be seen.
    pub password: bool,
    /// The values to choose from; none if any will do.
    pub options: Vec<String>,
}

impl Input {
    /// The variable of the environment that stands for an input where nobody is asked: `gh-token` is `GH_TOKEN`.
    pub fn variable(id: &str) -> String {
        let allowed = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        let name: String = id.chars().map(allowed).collect();
        if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name }
    }
}

pub(crate) fn read(inputs: &Node) -> Vec<Input> {
    let inputs = inputs.list().unwrap_or_default().iter();
    inputs.filter_map(one).collect()
}

pub(crate) fn defaults(inputs: &[Input]) -> BTreeMap<String, String> {
    inputs.iter().filter_map(|input| Some((input.id.clone(), input.default.clone()?))).collect()
}

fn one(node: &Node) -> Option<Input> {
    let text = |key: &str| node.get(key).and_then(Node::text).map(str::to_owned);
    // An option may be a text, or an object with a label and a value.
    let option = |node: &Node| node.text().or_else(|| node.get("value")?.text()).map(str::to_owned);
    let options = node.get("options").and_then(Node::list).unwrap_or_default();
    Some(Input {
        id: text("id")?,
        description: text("description"),
        default: text("default"),
        password: node.get("password").and_then(Node::flag).unwrap_or_default(),
        options: options.iter().filter_map(option).collect(),
    })
}
