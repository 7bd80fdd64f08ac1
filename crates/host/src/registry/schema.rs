//! Checking arguments against a tool's schema.

use std::sync::OnceLock;

use jsonschema::{Draft, PatternOptions};
use serde_json::Value;

use super::plain::Plain;

/// Arguments longer than this are passed on unchecked: the check needs a tree in memory.
const MAX_CHECKED: usize = 256 * 1024;
/// A regular expression may step back this often per match, so that a hostile pattern costs little.
const BACKTRACK_LIMIT: usize = 10_000;

/// A schema, compiled when it is first needed.
#[derive(Debug)]
pub struct Validator {
    schema: String,
    /// What it demands, where that can be told without a tree.
    plain: OnceLock<Option<Plain>>,
    compiled: OnceLock<Option<jsonschema::Validator>>,
}

impl Validator {
    /// Takes a schema (JSON text) if it is one; else says what is wrong with it.
    ///
    /// It is compiled once for the check and thrown away: most tools are never called, and compiled schemas are large.
    pub(crate) fn new(schema: &str) -> Result<Self, String> {
        compile(schema)?;
        Ok(Self::of_known(schema))
    }

    /// Takes a schema that [`Validator::new`] took before, on another day.
    pub(crate) fn of_known(schema: &str) -> Self {
        Self { schema: schema.to_owned(), plain: OnceLock::new(), compiled: OnceLock::new() }
    }

    /// What does not fit, as one line per fault, each with its JSON pointer. Nothing when all does.
    ///
    /// `exact` says whether every number survives being read; where not, a judgement could be wrong, so there is none.
    pub fn faults(&self, arguments: &[u8], exact: bool) -> Vec<String> {
        if !exact || arguments.len() > MAX_CHECKED {
            return Vec::new();
        }
        let plain = self.plain.get_or_init(|| Plain::read(&self.schema));
        if plain.as_ref().is_some_and(|plain| plain.fits(arguments)) {
            return Vec::new();
        }
        self.faults_in_tree(arguments)
    }

    /// As [`Validator::faults`], by the whole schema.
    pub(super) fn faults_in_tree(&self, arguments: &[u8]) -> Vec<String> {
        let Ok(arguments) = serde_json::from_slice::<Value>(arguments) else { return Vec::new() };
        let Some(validator) = self.compiled.get_or_init(|| compile(&self.schema).ok()) else {
            return Vec::new();
        };
        if validator.is_valid(&arguments) {
            return Vec::new();
        }
        validator
            .iter_errors(&arguments)
            .take(8)
            .map(|error| {
                let at = error.instance_path().to_string();
                format!("at `{}`: {error}", if at.is_empty() { "/" } else { &at })
            })
            .collect()
    }
}

/// Remote references are never fetched: there is no resolver in this build.
fn compile(schema: &str) -> Result<jsonschema::Validator, String> {
    let schema: Value = serde_json::from_str(schema).map_err(|error| error.to_string())?;
    let Some(object) = schema.as_object() else { return Err("the schema is not an object".to_owned()) };
    match object.get("type") {
        None => {}
        Some(Value::String(kind)) if kind == "object" => {}
        Some(other) => return Err(format!("the schema has type {other}, but arguments are an object")),
    }
    let options = jsonschema::options()
        .with_draft(draft(object.get("$schema")))
        .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_LIMIT));
    options.build(&schema).map_err(|error| error.to_string())
}

/// The dialect a schema names; 2020-12 when it names none.
fn draft(named: Option<&Value>) -> Draft {
    let named = named.and_then(Value::as_str).unwrap_or_default();
    if named.contains("draft-04") {
        Draft::Draft4
    } else if named.contains("draft-06") {
        Draft::Draft6
    } else if named.contains("draft-07") {
        Draft::Draft7
    } else if named.contains("2019-09") {
        Draft::Draft201909
    } else {
        Draft::Draft202012
    }
}
