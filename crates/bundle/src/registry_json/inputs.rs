//! Inputs of a registry entry, as settings, and where their values go.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::file::InputFile;
use crate::template::text;

/// The inputs found so far.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    properties: Map<String, Value>,
    required: Vec<String>,
}

/// Text that settings are filled into.
#[derive(Debug)]
pub(super) enum Filler {
    /// Always the same but for the settings in it.
    Template(Vec<Piece>),
    /// A setting as it is.
    Setting(String),
}

#[derive(Debug)]
pub(super) enum Piece {
    Literal(String),
    Setting(String),
}

impl Inputs {
    /// The source of a value: fixed, or the setting `name`.
    pub(super) fn filler(&mut self, name: &str, input: &InputFile, is_repeated: bool) -> Filler {
        match &input.value {
            Some(value) => self.template(value, &input.variables),
            None => {
                // Two arguments may look alike and yet be two.
                let property = property(input, is_repeated);
                Filler::Setting(self.ask(name, input, property, |_| false))
            }
        }
    }

    /// Text in which `{name}` is a variable, if it was declared; else it is just text.
    pub(super) fn template(&mut self, template: &str, variables: &BTreeMap<String, InputFile>) -> Filler {
        let mut pieces = Vec::new();
        let mut rest = template;
        // Literal text goes on until the next declared variable.
        let mut literal = String::new();
        while let Some(start) = rest.find('{') {
            let name = rest[start + 1..].find('}').map(|end| &rest[start + 1..start + 1 + end]);
            match name.and_then(|name| Some((name, variables.get(name)?))) {
                Some((name, variable)) => {
                    literal.push_str(&rest[..start]);
                    match &variable.value {
                        Some(value) => literal.push_str(value),
                        None => {
                            pieces.push(Piece::Literal(std::mem::take(&mut literal)));
                            // The same variable in both places, so one setting.
                            let property = property(variable, false);
                            let same = property.clone();
                            let setting = self.ask(name, variable, property, |other| *other == same);
                            pieces.push(Piece::Setting(setting));
                        }
                    }
                    rest = &rest[start + name.len() + 2..];
                }
                None => {
                    literal.push_str(&rest[..=start]);
                    rest = &rest[start + 1..];
                }
            }
        }
        literal.push_str(rest);
        pieces.push(Piece::Literal(literal));
        Filler::Template(pieces)
    }

    /// A URL: braces have no other meaning there, so a variable that was not declared is one all the same.
    pub(super) fn url(&mut self, url: &str, declared: &BTreeMap<String, InputFile>) -> Filler {
        let mut variables = declared.clone();
        for part in url.split('{').skip(1) {
            if let Some((name, _)) = part.split_once('}') {
                let undeclared = || InputFile { is_required: true, ..InputFile::default() };
                variables.entry(name.to_owned()).or_insert_with(undeclared);
            }
        }
        self.template(url, &variables)
    }

    /// The schema of all inputs.
    pub(super) fn schema(self) -> Value {
        json!({
            "type": "object",
            "properties": self.properties,
            "required": self.required,
            "additionalProperties": false,
        })
    }

    /// Declares a setting, or finds the one that is the same. Another one of that name gets a number.
    fn ask(
        &mut self,
        name: &str,
        input: &InputFile,
        property: Value,
        is_same: impl Fn(&Value) -> bool,
    ) -> String {
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        let fits = |name: &String| self.properties.get(name).is_none_or(&is_same);
        let name = names.find(fits).expect("there are more numbers than questions");
        if self.properties.insert(name.clone(), property).is_none()
            && input.is_required
            && input.default.is_none()
        {
            self.required.push(name.clone());
        }
        name
    }
}

fn property(input: &InputFile, is_repeated: bool) -> Value {
    let kind = match input.format.as_deref() {
        Some("number") => "number",
        Some("boolean") => "boolean",
        _ => "string",
    };
    // All is text in the file, whatever it means.
    let typed = |text: &String| match kind {
        "string" => json!(text),
        _ => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
    };
    let mut item = json!({ "type": kind });
    if !input.choices.is_empty() {
        item["enum"] = input.choices.iter().map(typed).collect();
    }
    if input.format.as_deref() == Some("filepath") {
        item["x-kind"] = json!("file");
    }
    let mut property = match is_repeated {
        false => item,
        true => json!({ "type": "array", "items": item }),
    };
    if let Some(description) = &input.description {
        property["description"] = json!(description);
    }
    if let Some(default) = &input.default {
        property["default"] = if is_repeated { json!([typed(default)]) } else { typed(default) };
    }
    if input.is_secret {
        property["writeOnly"] = json!(true);
    }
    property
}

impl Filler {
    /// Expands it: to no text if a setting in it is missing, to several if the setting is a list.
    pub(super) fn fill(&self, settings: &Map<String, Value>) -> Vec<String> {
        match self {
            Self::Setting(name) => match settings.get(name) {
                None | Some(Value::Null) => Vec::new(),
                Some(Value::Array(items)) => items.iter().map(text).collect(),
                Some(value) => vec![text(value)],
            },
            Self::Template(pieces) => {
                let piece = |piece: &Piece| match piece {
                    Piece::Literal(literal) => Some(literal.clone()),
                    Piece::Setting(name) => settings.get(name).map(text),
                };
                pieces.iter().map(piece).collect::<Option<String>>().into_iter().collect()
            }
        }
    }

    /// Expands it to one text, if any.
    pub(super) fn one(&self, settings: &Map<String, Value>) -> Option<String> {
        self.fill(settings).into_iter().next()
    }

    /// The text for output, with the names of settings instead of their values.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Setting(name) => format!("{{{name}}}"),
            Self::Template(pieces) => {
                let piece = |piece: &Piece| match piece {
                    Piece::Literal(literal) => literal.clone(),
                    Piece::Setting(name) => format!("{{{name}}}"),
                };
                pieces.iter().map(piece).collect()
            }
        }
    }
}
