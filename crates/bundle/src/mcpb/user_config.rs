//! `user_config` of a bundle, as a JSON Schema.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::template::Values;

/// One setting of `user_config`.
#[derive(Debug, Deserialize)]
pub(super) struct UserConfigFile {
    #[serde(rename = "type")]
    kind: Kind,
    title: Option<String>,
    description: Option<String>,
    #[serde(default)]
    required: bool,
    pub(super) default: Option<Value>,
    #[serde(default)]
    multiple: bool,
    #[serde(default)]
    sensitive: bool,
    min: Option<f64>,
    max: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    String,
    Number,
    Boolean,
    Directory,
    File,
}

/// The schema of all settings.
pub(super) fn schema(questions: &BTreeMap<String, UserConfigFile>) -> Value {
    let properties: Map<String, Value> =
        questions.iter().map(|(name, question)| (name.clone(), property(question))).collect();
    let is_required = |question: &UserConfigFile| question.required && question.default.is_none();
    let required: Vec<&String> =
        questions.iter().filter(|(_, question)| is_required(question)).map(|(name, _)| name).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn property(question: &UserConfigFile) -> Value {
    let mut item = Map::new();
    match question.kind {
        Kind::Number => {
            item.insert("type".to_owned(), json!("number"));
            item.extend(question.min.map(|min| ("minimum".to_owned(), json!(min))));
            item.extend(question.max.map(|max| ("maximum".to_owned(), json!(max))));
        }
        Kind::Boolean => {
            item.insert("type".to_owned(), json!("boolean"));
        }
        Kind::String | Kind::Directory | Kind::File => {
            item.insert("type".to_owned(), json!("string"));
            if question.required {
                item.insert("minLength".to_owned(), json!(1));
            }
        }
    }
    match question.kind {
        Kind::Directory => item.extend([("x-kind".to_owned(), json!("directory"))]),
        Kind::File => item.extend([("x-kind".to_owned(), json!("file"))]),
        _ => {}
    }
    let mut property = match question.multiple {
        false => item,
        true => {
            let least = usize::from(question.required);
            Map::from_iter([
                ("type".to_owned(), json!("array")),
                ("items".to_owned(), Value::Object(item)),
                ("minItems".to_owned(), json!(least)),
            ])
        }
    };
    let texts = [("title", &question.title), ("description", &question.description)];
    property
        .extend(texts.into_iter().filter_map(|(key, text)| Some((key.to_owned(), json!(text.as_ref()?)))));
    property.extend(question.default.clone().map(|default| ("default".to_owned(), default)));
    if question.sensitive {
        property.insert("writeOnly".to_owned(), json!(true));
    }
    Value::Object(property)
}

/// Fills folders into a default.
pub(super) fn expand(value: &mut Value, folders: &Values) {
    match value {
        Value::String(text) => *text = folders.one(text).unwrap_or_default(),
        Value::Array(items) => items.iter_mut().for_each(|item| expand(item, folders)),
        _ => {}
    }
}
