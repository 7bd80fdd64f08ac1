//! Definitions that some clients refuse, made such that all clients take them.
//!
//! Clients on the official SDKs check a list of tools as a whole: one definition that they do not take hides all others,
//! those of other servers too. A field of the wrong type that a tool can do without is left out, an input schema that
//! does not say so gets `"type": "object"`, and whatever is beyond that is for the caller to quarantine.

use bytes::Bytes;
use serde_json::{Map, Value};
use toolbay_protocol::model::{Item, Tool};

use super::{output_schema, root_schema::about_objects};

/// A definition that was changed.
#[derive(Debug)]
pub(super) struct Repaired {
    /// The definition as clients see it; nothing if it is as the server wrote it.
    pub(super) text: Option<Bytes>,
    /// What was left out, and why.
    pub(super) notes: Vec<String>,
}

/// Makes a definition one that every client takes; else says why that is not possible.
pub(super) fn repair(tool: &Tool) -> Result<Repaired, String> {
    let item = tool.item();
    let written = tool.input_schema().ok_or("it has no `inputSchema`")?;
    let schema: Value = serde_json::from_str(written).map_err(|error| error.to_string())?;
    let typed = about_objects(&schema)
        .map_err(|reason| format!("`inputSchema` is not usable: {reason}"))?
        .then(|| Item::parse(Bytes::copy_from_slice(written.as_bytes())).map_err(|error| error.to_string()))
        .transpose()?
        .map(|schema| schema.with_field("type", "\"object\"").into_bytes());
    let mut notes = Vec::new();
    let mut cut = Vec::new();
    for (field, fault) in FIELDS {
        let Some(value) = item.raw(field) else { continue };
        if let Some(why) = fault(&serde_json::from_str(value).unwrap_or_default()) {
            notes.push(format!("tool `{}`: `{field}` is removed: {why}", tool.name()));
            cut.push(field);
        }
    }
    let mut text = (!cut.is_empty()).then(|| item.without(&cut).into_bytes());
    if let Some(typed) = typed {
        let item = match text {
            Some(text) => Item::parse(text).map_err(|error| error.to_string())?,
            None => item.clone(),
        };
        text = Some(item.with_field("inputSchema", &String::from_utf8_lossy(&typed)).into_bytes());
    }
    Ok(Repaired { text, notes })
}

/// Says what is wrong with a value, if something is.
type Fault = fn(&Value) -> Option<String>;

/// Fields that a tool can do without.
const FIELDS: [(&str, Fault); 7] = [
    ("title", |value| (!value.is_string()).then(|| "it is not a string".to_owned())),
    ("description", |value| (!value.is_string()).then(|| "it is not a string".to_owned())),
    ("annotations", annotations),
    ("icons", icons),
    ("_meta", |value| (!value.is_object()).then(|| "it is not an object".to_owned())),
    ("execution", execution),
    ("outputSchema", output_schema::fault),
];

fn annotations(value: &Value) -> Option<String> {
    let Value::Object(fields) = value else { return Some("it is not an object".to_owned()) };
    let hints = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];
    let wrong = hints.into_iter().find(|hint| fields.get(*hint).is_some_and(|value| !value.is_boolean()));
    let title = || is_not(fields, "title", Value::is_string).then_some("title");
    wrong.or_else(title).map(|field| format!("its `{field}` has the wrong type"))
}

fn icons(value: &Value) -> Option<String> {
    let Value::Array(icons) = value else { return Some("it is not an array".to_owned()) };
    let is_wrong = |icon: &Value| {
        let Value::Object(icon) = icon else { return true };
        !icon.get("src").is_some_and(Value::is_string)
            || is_not(icon, "mimeType", Value::is_string)
            || is_not(icon, "sizes", |sizes| {
                sizes.as_array().is_some_and(|sizes| sizes.iter().all(Value::is_string))
            })
            || is_not(icon, "theme", |theme| matches!(theme.as_str(), Some("light" | "dark")))
    };
    icons.iter().any(is_wrong).then(|| "one of them is not an icon".to_owned())
}

fn execution(value: &Value) -> Option<String> {
    let Value::Object(fields) = value else { return Some("it is not an object".to_owned()) };
    let is_known = |value: &Value| matches!(value.as_str(), Some("required" | "optional" | "forbidden"));
    is_not(fields, "taskSupport", is_known).then(|| "its `taskSupport` is not known".to_owned())
}

/// Whether a field is there and not as it should be.
fn is_not(fields: &Map<String, Value>, name: &str, is_right: impl Fn(&Value) -> bool) -> bool {
    fields.get(name).is_some_and(|value| !is_right(value))
}
