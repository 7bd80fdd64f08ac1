//! Settings against their schema.

use jsonschema::{Draft, PatternOptions};
use serde_json::{Map, Value};

use crate::{Descriptor, DescriptorError, SettingProblem};

/// How many problems are reported at once.
const MOST_PROBLEMS: usize = 8;
/// How much memory a pattern of the schema may take; the same bound as for the schemas of tools is far more than needed.
const MOST_PATTERN: usize = 1 << 20;

/// The settings with the defaults of the schema, checked.
pub(super) fn check(
    descriptor: &Descriptor,
    settings: &Value,
) -> Result<Map<String, Value>, DescriptorError> {
    let fail = |problems| DescriptorError::Settings { id: descriptor.id.clone(), problems };
    let mut given = match settings {
        Value::Object(given) => given.clone(),
        Value::Null => Map::new(),
        _ => {
            let message = "settings must be an object".to_owned();
            return Err(fail(vec![SettingProblem { path: String::new(), message }]));
        }
    };
    for (name, property) in descriptor.settings_schema["properties"].as_object().into_iter().flatten() {
        if let Some(default) = property.get("default")
            && !given.contains_key(name)
        {
            given.insert(name.clone(), default.clone());
        }
    }
    let validator = compile(&descriptor.settings_schema)
        .map_err(|message| DescriptorError::Broken { id: descriptor.id.clone(), message })?;
    let given = Value::Object(given);
    let problems: Vec<SettingProblem> = validator
        .iter_errors(&given)
        .take(MOST_PROBLEMS)
        // Masked: the value may be a secret.
        .map(|error| SettingProblem {
            path: error.instance_path().to_string(),
            message: error.masked().to_string(),
        })
        .collect();
    match given {
        Value::Object(given) if problems.is_empty() => Ok(given),
        _ => Err(fail(problems)),
    }
}

/// Whether a schema can be used at all.
pub(super) fn check_schema(schema: &Value) -> Result<(), String> {
    compile(schema).map(drop)
}

/// Without remote references, and with patterns that cannot run away.
fn compile(schema: &Value) -> Result<jsonschema::Validator, String> {
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .with_pattern_options(PatternOptions::regex().size_limit(MOST_PATTERN))
        .build(schema)
        .map_err(|error| format!("its settings_schema is not a valid JSON Schema: {}", error.masked()))
}
