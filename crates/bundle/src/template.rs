//! Text with `${names}` in it.

use std::collections::BTreeMap;

use serde_json::Value;

/// The values of names: none, one or several texts.
#[derive(Debug, Default)]
pub(super) struct Values(BTreeMap<String, Vec<String>>);

impl Values {
    pub(super) fn set(&mut self, name: impl Into<String>, text: impl Into<String>) {
        self.0.insert(name.into(), vec![text.into()]);
    }

    /// A setting: a list is several texts, and one that is not set is none.
    pub(super) fn set_json(&mut self, name: impl Into<String>, value: Option<&Value>) {
        let texts = match value {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(items)) => items.iter().map(text).collect(),
            Some(value) => vec![text(value)],
        };
        self.0.insert(name.into(), texts);
    }

    /// Arguments. One that holds a name with several texts becomes several, and one whose name has none disappears.
    pub(super) fn arguments(&self, args: &[String]) -> Vec<String> {
        args.iter().flat_map(|argument| self.fill(argument)).collect()
    }

    /// One text; several are separated by commas, and nothing is left where there is none.
    pub(super) fn one(&self, template: &str) -> Option<String> {
        let texts = self.fill(template);
        (!texts.is_empty()).then(|| texts.join(","))
    }

    /// Invariant: the template is scanned once, so names in values are plain text. Unknown names stay as they are
    /// written.
    fn fill(&self, template: &str) -> Vec<String> {
        let mut filled = vec![String::new()];
        let mut rest = template;
        while let Some(start) = rest.find("${") {
            let Some(length) = rest[start..].find('}') else { break };
            let (before, name) = (&rest[..start], &rest[start + 2..start + length]);
            let literal = &rest[start..=start + length];
            filled = match self.0.get(name) {
                // One list multiplies; with a second, texts could without end.
                Some(texts) if filled.len() > 1 => combine(&filled, before, &[texts.join(",")]),
                Some(texts) => combine(&filled, before, texts),
                None => combine(&filled, before, &[literal.to_owned()]),
            };
            rest = &rest[start + length + 1..];
        }
        combine(&filled, rest, &[String::new()])
    }
}

/// Every beginning with every end.
fn combine(beginnings: &[String], middle: &str, ends: &[String]) -> Vec<String> {
    let mut all = Vec::with_capacity(beginnings.len() * ends.len());
    for end in ends {
        all.extend(beginnings.iter().map(|beginning| format!("{beginning}{middle}{end}")));
    }
    all
}

/// A value as one writes it in a command line.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
