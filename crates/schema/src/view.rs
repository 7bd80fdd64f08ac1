//! Schemas for clients that reject more than the specification does.
//!
//! A tool that such a client would refuse, often with all others, is listed to it in a repaired form. What the client sends is
//! mapped back before it is checked and sent to the server. Not every repair can say exactly the same; whatever it says, arguments
//! are checked against the schema of the server.

use serde_json::{Map, Value, json};
use toolbay_protocol::{Scanner, decode_string, encode_string};

use crate::{
    inline::inlined_with_loss,
    plain::{CHOICES, complete_arrays, flatten},
};

/// The longest property name that is accepted where names are restricted.
const MAX_KEY: usize = 64;
/// A repaired schema that is longer is not used: its server would take more of the list than is fair.
const MAX_SCHEMA: usize = 256 * 1024;
/// Keywords that speak of properties by name, and are dropped where properties get other names.
const ABOUT_NAMES: [&str; 5] =
    ["propertyNames", "patternProperties", "dependentSchemas", "dependencies", "dependentRequired"];
/// Keywords at the top that are dropped with alternatives.
const CONDITIONS: [&str; 5] = ["enum", "not", "if", "then", "else"];

/// What a client does not accept. Each repair changes only schemas that need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SchemaView {
    /// Alternatives and conditions at the top (`anyOf`, `oneOf`, `allOf`, `not`, `if`, `$ref`).
    pub plain_top: bool,
    /// Objects without `properties` at the top, and arrays without `items`.
    pub complete: bool,
    /// References (`$ref`, `$defs`) anywhere.
    pub inline: bool,
    /// Names of properties at the top that are not `[a-zA-Z0-9_.-]{1,64}`.
    pub plain_keys: bool,
    /// Names of tools that are longer than 50 characters.
    pub short_names: bool,
}

/// The clients that are known, by the beginning of their `clientInfo.name` in lower case, and what they do not accept.
///
/// | client | rejects | seen in |
/// |---|---|---|
/// | Claude Code, Claude | alternatives at the top: it drops such tools, or the API refuses the whole request | anthropics/claude-code#95504, #657 |
/// | Claude Code, Claude | property names other than `[a-zA-Z0-9_.-]{1,64}`: the API refuses the whole request | twilio-labs/mcp#56, freee/freee-mcp#15 |
/// | VS Code | arrays without `items`: the chat fails | microsoft/vscode#248810, #325618 |
/// | Copilot CLI | an object without `properties`: every request fails | github/copilot-cli#1825 |
/// | Gemini CLI | `$ref` and `$defs`: the API refuses the request | google-gemini/gemini-cli#13326 |
/// | Cursor | server and tool together longer than 60 characters: such tools are not offered | ComposioHQ/composio#2788 |
const CLIENTS: [(&str, SchemaView); 7] = [
    ("claude", SchemaView::ANTHROPIC),
    ("anthropic", SchemaView::ANTHROPIC),
    ("visual studio code", SchemaView::OPENAI),
    ("visual-studio-code", SchemaView::OPENAI),
    ("github-copilot", SchemaView::OPENAI),
    ("gemini-cli", SchemaView::GEMINI),
    ("cursor", SchemaView::OPENAI),
];

impl SchemaView {
    /// For the API of Anthropic.
    pub const ANTHROPIC: Self =
        Self { plain_top: true, complete: false, inline: false, plain_keys: true, short_names: true };
    /// For the API of OpenAI, and clients that offer several models.
    pub const OPENAI: Self =
        Self { plain_top: true, complete: true, inline: false, plain_keys: true, short_names: true };
    /// For the API of Gemini.
    pub const GEMINI: Self =
        Self { plain_top: true, complete: true, inline: true, plain_keys: true, short_names: true };

    /// What a client is known not to accept, by the name that it says it has.
    pub fn of_client(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        CLIENTS.into_iter().find(|(known, _)| name.starts_with(known)).map(|(_, view)| view)
    }

    /// Whether a schema (JSON text) may have to be repaired, by a walk over its text. Most need nothing, and cost no more.
    pub fn may_repair(self, schema: &[u8]) -> bool {
        let has = |needle: &str| memchr::memmem::find(schema, needle.as_bytes()).is_some();
        if self.inline && (has("\"$ref\"") || has("\"$defs\"") || has("\"definitions\""))
            || self.complete && has("\"array\"")
        {
            return true;
        }
        let (mut has_properties, mut may_repair) = (false, false);
        let walked = Scanner::new(schema).object(|scanner, key| {
            let word = &schema[key.range()];
            // A key that is written with escapes may be any.
            may_repair |= word.contains(&b'\\');
            may_repair |= self.plain_top
                && (word == b"$ref"
                    || CHOICES.iter().chain(&CONDITIONS).any(|known| known.as_bytes() == word));
            if word == b"properties" && scanner.peek_kind()? == b'{' {
                has_properties = true;
                scanner.object(|scanner, name| {
                    may_repair |= self.plain_keys && !is_plain_key(&schema[name.range()]);
                    scanner.value().map(drop)
                })?;
                return Ok(());
            }
            scanner.value().map(drop)
        });
        walked.is_err() || may_repair || self.complete && !has_properties
    }

    /// The form of a schema that is accepted; none if it is accepted as it is.
    pub fn repair(self, schema: &Value) -> Option<RepairedSchema> {
        let mut top = schema.as_object()?.clone();
        let mut is_exact = true;
        if self.inline && has_reference(schema) {
            let (inlined, lossless) = inlined_with_loss(schema);
            is_exact &= lossless;
            top = inlined.as_object().cloned().unwrap_or_default();
        }
        if self.plain_top {
            is_exact &= !make_plain(&mut top);
        }
        if self.complete {
            if !top.get("properties").is_some_and(Value::is_object) {
                top.insert("properties".to_owned(), json!({}));
            }
            let mut completed = Value::Object(top);
            complete_arrays(&mut completed);
            top = completed.as_object().cloned().unwrap_or_default();
        }
        let mut names = Vec::new();
        if self.plain_keys {
            is_exact &= rename_keys(&mut top, &mut names);
        }
        let repaired = Value::Object(top);
        if repaired == *schema {
            return None;
        }
        let text = repaired.to_string();
        (text.len() <= MAX_SCHEMA).then_some(RepairedSchema { text, names, is_exact })
    }
}

/// A schema in a form that a client accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairedSchema {
    /// The schema, as JSON text.
    pub text: String,
    /// Properties at the top that have other names: those that the client sees, and those of the server.
    names: Vec<(String, String)>,
    /// Whether it accepts exactly what the schema of the server does.
    pub is_exact: bool,
}

impl RepairedSchema {
    /// Arguments (the JSON text of an object) as the server expects them; none if they are the same. All but names stays as it was
    /// written.
    pub fn restore(&self, arguments: &[u8]) -> Option<Vec<u8>> {
        self.with_names(arguments, |name| {
            let found = self.names.iter().find(|(seen, _)| seen == name);
            found.map(|(_, original)| original.as_str())
        })
    }

    /// Arguments for the server as a client with this schema would write them: the other way round.
    pub fn apply(&self, arguments: &[u8]) -> Option<Vec<u8>> {
        self.with_names(arguments, |name| {
            let found = self.names.iter().find(|(_, original)| original == name);
            found.map(|(seen, _)| seen.as_str())
        })
    }

    fn with_names<'a>(&self, arguments: &[u8], other: impl Fn(&str) -> Option<&'a str>) -> Option<Vec<u8>> {
        if self.names.is_empty() {
            return None;
        }
        let (mut written, mut at) = (Vec::new(), 0);
        let walked = Scanner::new(arguments).object(|scanner, key| {
            let quoted = key.start as usize - 1..key.end as usize + 1;
            scanner.value()?;
            if let Some(name) = decode_string(&arguments[quoted.clone()]).as_deref().and_then(&other) {
                written.extend_from_slice(&arguments[at..quoted.start]);
                written.extend_from_slice(encode_string(name).as_bytes());
                at = quoted.end;
            }
            Ok(())
        });
        if walked.is_err() || at == 0 {
            return None;
        }
        written.extend_from_slice(&arguments[at..]);
        Some(written)
    }
}

fn has_reference(schema: &Value) -> bool {
    match schema {
        Value::Object(object) => {
            object.contains_key("$ref")
                || object.contains_key("$defs")
                || object.contains_key("definitions")
                || object.values().any(has_reference)
        }
        Value::Array(items) => items.iter().any(has_reference),
        _ => false,
    }
}

/// Takes alternatives and conditions from the top; returns whether there were any.
fn make_plain(top: &mut Map<String, Value>) -> bool {
    let has_choices = top.contains_key("$ref") || CHOICES.iter().any(|word| top.contains_key(*word));
    if has_choices {
        // Only inlined schemas can be merged.
        let (mut inlined, _) = inlined_with_loss(&Value::Object(top.clone()));
        if let Some(plain) = inlined.as_object_mut() {
            flatten(plain);
            // Alternatives cannot be closed: what one does not know, another does.
            for word in ["additionalProperties", "unevaluatedProperties", "minProperties", "maxProperties"] {
                plain.remove(word);
            }
            plain.entry("type").or_insert_with(|| json!("object"));
            *top = std::mem::take(plain);
        }
    }
    let before = top.len();
    for word in CONDITIONS {
        top.remove(word);
    }
    has_choices || top.len() < before
}

fn is_plain_key(name: &[u8]) -> bool {
    let fits = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-".contains(byte);
    (1..=MAX_KEY).contains(&name.len()) && name.iter().all(fits)
}

/// Gives properties at the top names that are accepted; returns whether nothing else had to be dropped.
fn rename_keys(top: &mut Map<String, Value>, names: &mut Vec<(String, String)>) -> bool {
    let Some(Value::Object(properties)) = top.get("properties") else { return true };
    let is_plain = |name: &str| is_plain_key(name.as_bytes());
    if properties.keys().all(|name| is_plain(name)) {
        return true;
    }
    let mut renamed = Map::new();
    for (name, property) in properties {
        if is_plain(name) {
            renamed.insert(name.clone(), property.clone());
            continue;
        }
        let plain: String = name
            .chars()
            .map(|char| if char.is_ascii_alphanumeric() || "_.-".contains(char) { char } else { '_' })
            .take(MAX_KEY - 4)
            .collect();
        let stem = if plain.is_empty() { "_".to_owned() } else { plain };
        let is_taken =
            |candidate: &str| properties.contains_key(candidate) || renamed.contains_key(candidate);
        let unique = std::iter::once(stem.clone())
            .chain((2..).map(|number| format!("{stem}_{number}")))
            .find(|candidate| !is_taken(candidate))
            .unwrap_or(stem);
        let mut property = property.clone();
        if let Value::Object(property) = &mut property
            && !property.contains_key("description")
        {
            property.insert("description".to_owned(), json!(name));
        }
        renamed.insert(unique.clone(), property);
        names.push((unique, name.clone()));
    }
    top.insert("properties".to_owned(), renamed.into());
    if let Some(Value::Array(required)) = top.get_mut("required") {
        for name in required {
            if let Some((new, _)) = names.iter().find(|(_, old)| name == old.as_str()) {
                *name = json!(new);
            }
        }
    }
    let before = top.len();
    for word in ABOUT_NAMES {
        top.remove(word);
    }
    top.len() == before
}

#[cfg(test)]
mod tests;
