//! Arguments of calls, checked against the schema of their tool.
//!
//! The schema decides, not the deserializer: it knows all limits, and its errors name the argument and what is expected, so
//! that a model can correct its call.

use std::sync::OnceLock;

use jsonschema::{ValidationError, Validator, error::ValidationErrorKind};
use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _, Visitor, value::Error as AnyError},
};
use serde_json::{Value, json};

use crate::ToolError;

/// The arguments of a tool that takes none.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoArguments {}

/// The schema of the arguments of a tool, compiled when it is first needed.
#[derive(Debug)]
pub(crate) struct ArgumentSchema {
    schema: Value,
    /// The names of the arguments in the order of their declaration, which the schema does not keep.
    names: Vec<&'static str>,
    compiled: OnceLock<Option<Validator>>,
}

impl ArgumentSchema {
    /// The schema of arguments that are an `A`.
    pub(crate) fn new<A: DeserializeOwned>(schema: Value) -> Self {
        let mut names = Vec::new();
        let _ = A::deserialize(FieldNames(&mut names));
        Self { schema, names, compiled: OnceLock::new() }
    }

    /// Reads the arguments of a call, a JSON object. An argument that is `null` counts as left out, and `10.0` as 10: models
    /// write both.
    pub(crate) fn read(&self, text: &str) -> Result<Value, ToolError> {
        let mut arguments =
            serde_json::from_str(text).map_err(|error| ToolError::InvalidArguments(error.to_string()))?;
        normalize(&mut arguments);
        let compiled = self.compiled.get_or_init(|| jsonschema::validator_for(&self.schema).ok());
        let Some(validator) = compiled.as_ref().filter(|validator| !validator.is_valid(&arguments)) else {
            return Ok(arguments);
        };
        let errors: Vec<ValidationError<'_>> = validator.iter_errors(&arguments).collect();
        // A misspelled name explains why another one is missing.
        let is_unknown = |error: &&ValidationError<'_>| {
            matches!(error.kind(), ValidationErrorKind::AdditionalProperties { .. })
        };
        match errors.iter().find(is_unknown).or(errors.first()) {
            Some(error) => Err(self.explain(error)),
            None => Ok(arguments),
        }
    }

    /// Says which argument is invalid and what is expected of it.
    fn explain(&self, error: &ValidationError<'_>) -> ToolError {
        let at = error.instance_path().as_str();
        let keyword = error.schema_path().as_str();
        let schema = keyword.rsplit_once('/').and_then(|(schema, _)| self.schema.pointer(schema));
        let (pointer, reason) = match error.kind() {
            ValidationErrorKind::Required { property } => {
                (format!("{at}/{}", property.as_str().unwrap_or_default()), "is missing".to_owned())
            }
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                let known = match at {
                    "" => self.names.clone(),
                    _ => schema.map(property_names).unwrap_or_default(),
                };
                let reason = match known.is_empty() {
                    true => "is unknown; no arguments are expected".to_owned(),
                    false => format!("is unknown; expected one of: {}", known.join(", ")),
                };
                (format!("{at}/{}", unexpected.first().map_or("", String::as_str)), reason)
            }
            _ => match schema.and_then(expected) {
                Some(expected) => (at.to_owned(), format!("must be {expected}")),
                None => (at.to_owned(), format!("is invalid: {error}")),
            },
        };
        ToolError::InvalidArgument { pointer, reason }
    }
}

fn property_names(schema: &Value) -> Vec<&str> {
    schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect()
}

/// Learns the names of the fields of a struct from what it asks of its deserializer.
struct FieldNames<'a>(&'a mut Vec<&'static str>);

impl<'de> Deserializer<'de> for FieldNames<'_> {
    type Error = AnyError;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, AnyError> {
        self.0.extend(fields);
        Err(AnyError::custom("only its fields are of interest"))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, AnyError> {
        Err(AnyError::custom("it is no struct"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

fn normalize(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(normalize);
        }
        Value::Array(items) => items.iter_mut().for_each(normalize),
        Value::Number(number) => {
            /// Up to here every whole number has a float of its own.
            const EXACT: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;
            let whole = number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0);
            if let Some(whole) = whole.filter(|whole| whole.abs() < EXACT) {
                *value = json!(whole as i64);
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Describes what a schema expects: "an integer from 1 to 10".
fn expected(schema: &Value) -> Option<String> {
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<String> = values.iter().map(plain).collect();
        return Some(format!("one of {}", values.join(", ")));
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(only) => vec![only],
        Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    let described: Option<Vec<String>> = types.iter().map(|kind| of_type(kind, schema)).collect();
    Some(described?.join(" or "))
}

fn of_type(kind: &str, schema: &Value) -> Option<String> {
    let range = |least: &str, most: &str| match (&schema[least], &schema[most]) {
        (Value::Null, Value::Null) => None,
        (least, Value::Null) => Some((format!("of at least {least}"), format!("at least {least}"))),
        (Value::Null, most) => Some((format!("of at most {most}"), format!("at most {most}"))),
        (least, most) => Some((format!("from {least} to {most}"), format!("{least} to {most}"))),
    };
    let with = |what: &str, range: Option<(String, String)>| match range {
        Some((range, _)) => format!("{what} {range}"),
        None => what.to_owned(),
    };
    Some(match kind {
        "integer" => with("an integer", range("minimum", "maximum")),
        "number" => with("a number", range("minimum", "maximum")),
        "boolean" => "a boolean".to_owned(),
        "object" => "an object".to_owned(),
        "string" => match (&schema["pattern"], range("minLength", "maxLength")) {
            (Value::String(pattern), _) => format!("a string that matches `{pattern}`"),
            (_, Some((_, count))) => format!("a string of {count} characters"),
            (_, None) => "a string".to_owned(),
        },
        "array" => {
            let items = match schema["items"]["type"].as_str() {
                Some("string") => "strings",
                Some("integer") => "integers",
                Some("number") => "numbers",
                Some("object") => "objects",
                _ => "values",
            };
            match range("minItems", "maxItems") {
                Some((_, count)) => format!("a list of {count} {items}"),
                None => format!("a list of {items}"),
            }
        }
        _ => return None,
    })
}

/// A JSON value for people: strings without quotes.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
