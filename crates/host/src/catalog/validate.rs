//! Checking arguments against a tool's schema.

use std::sync::{Arc, OnceLock};

use jsonschema::{Draft, PatternOptions, ValidationError};
use parking_lot::Mutex;
use serde_json::Value;
use toolbay_schema::{RepairedSchema, SchemaView};

use super::{
    simple_schema::SimpleSchema,
    validation_cost::{ValidationCost, check_size},
};

/// Arguments longer than this are passed on unchecked: the check needs a tree in memory.
const MAX_CHECKED: usize = 256 * 1024;
/// A regular expression may step back this often per match, so that a hostile pattern costs little.
const BACKTRACK_LIMIT: usize = 10_000;
/// What a compiled regular expression may take, in bytes.
const PATTERN_SIZE: usize = 128 * 1024;
/// Those that take more than that, but not more than this, are not against a schema; only nothing is checked.
const LARGEST_PATTERN: usize = 1024 * 1024;
/// More work than this, and only the first fault is looked for: gathering all of them costs far more than finding one.
const MANY_FAULTS: u64 = 20_000;
/// A schema shorter than this that refers to nothing is little work.
const SHORT: usize = 1024;

/// A schema, compiled when it is first needed.
#[derive(Debug)]
pub struct Validator {
    schema: String,
    /// Why arguments are not checked at all, if so.
    unchecked: Option<&'static str>,
    /// The same schema in a simple form, where it has one.
    plain: OnceLock<Option<SimpleSchema>>,
    compiled: OnceLock<Option<Compiled>>,
    /// Whether there are clients for which the schema is repaired.
    may_repair: OnceLock<bool>,
    /// The schema in the forms that were needed so far.
    repaired: Mutex<Vec<(SchemaView, Option<Arc<RepairedSchema>>)>>,
}

#[derive(Debug)]
struct Compiled {
    validator: jsonschema::Validator,
    effort: ValidationCost,
}

impl Validator {
    /// Takes a schema (JSON text) if it is one; else says what is wrong with it.
    ///
    /// It is compiled once for the check and thrown away: most tools are never called, and compiled schemas are large. One
    /// that is too much work is not compiled, and arguments are not checked against it.
    pub(crate) fn new(schema: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(schema).map_err(|error| error.to_string())?;
        let unchecked = match check_size(&value) {
            Err(reason) => Some(reason),
            Ok(()) if compile(&value).is_ok() => ValidationCost::of(&value).err(),
            Ok(()) => {
                compile_with(&value, LARGEST_PATTERN)?;
                Some("its schema has regular expressions that are too large")
            }
        };
        Ok(Self { unchecked, ..Self::unjudged(schema) })
    }

    /// Takes a schema that [`Validator::new`] took before, on another day.
    pub(crate) fn of_known(schema: &str) -> Self {
        let is_little = schema.len() < SHORT && !schema.contains("Ref\"") && !schema.contains("$ref");
        let judge = || {
            let value = serde_json::from_str(schema).unwrap_or_default();
            check_size(&value).and_then(|()| ValidationCost::of(&value)).err()
        };
        let unchecked = if is_little { None } else { judge() };
        Self { unchecked, ..Self::unjudged(schema) }
    }

    /// Takes any text, against which nothing is checked.
    pub(crate) fn off(schema: &str, reason: &'static str) -> Self {
        Self { unchecked: Some(reason), ..Self::unjudged(schema) }
    }

    fn unjudged(schema: &str) -> Self {
        Self {
            schema: schema.to_owned(),
            unchecked: None,
            plain: OnceLock::new(),
            compiled: OnceLock::new(),
            may_repair: OnceLock::new(),
            repaired: Mutex::default(),
        }
    }

    /// The schema in the form that a client accepts, if it is another. `view` is not asked where no client needs one.
    pub(crate) fn repaired(&self, view: impl FnOnce() -> Option<SchemaView>) -> Option<Arc<RepairedSchema>> {
        let text = self.schema.as_bytes();
        if !*self.may_repair.get_or_init(|| SchemaView::GEMINI.may_repair(text)) {
            return None;
        }
        let view = view()?;
        let mut known = self.repaired.lock();
        if let Some((_, repaired)) = known.iter().find(|(known, _)| *known == view) {
            return repaired.clone();
        }
        let repair = || view.repair(&serde_json::from_str(&self.schema).ok()?);
        let repaired = view.may_repair(text).then(repair).flatten().map(Arc::new);
        known.push((view, repaired.clone()));
        repaired
    }

    /// Whether a value is checked at all.
    pub(super) fn can_check(&self, value: &[u8]) -> bool {
        self.unchecked.is_none() && value.len() <= MAX_CHECKED
    }

    /// Why arguments are not checked, if so.
    pub fn unchecked(&self) -> Option<&'static str> {
        self.unchecked
    }

    /// Whether arguments certainly fit, by a walk over their text. Those that do not may fit all the same.
    pub(crate) fn fits_plainly(&self, arguments: &[u8]) -> bool {
        if arguments.len() > MAX_CHECKED {
            return false;
        }
        let plain = self.plain.get_or_init(|| SimpleSchema::read(&self.schema));
        plain.as_ref().is_some_and(|plain| plain.fits(arguments))
    }

    /// What does not fit, as one line per fault, each with its JSON pointer. Nothing when all does, or when a check is too
    /// much work.
    ///
    /// `exact` says whether every number survives being read; where not, a judgement could be wrong, so there is none.
    pub fn faults(&self, arguments: &[u8], exact: bool) -> Vec<String> {
        if !exact || self.unchecked.is_some() || arguments.len() > MAX_CHECKED || self.fits_plainly(arguments)
        {
            return Vec::new();
        }
        self.faults_in_tree(arguments)
    }

    /// As [`Validator::faults`], by the whole schema.
    pub(super) fn faults_in_tree(&self, arguments: &[u8]) -> Vec<String> {
        let Ok(arguments) = serde_json::from_slice::<Value>(arguments) else { return Vec::new() };
        let Some(compiled) = self.compiled.get_or_init(|| Compiled::new(&self.schema)) else {
            return Vec::new();
        };
        let Some(work) = compiled.effort.with(&arguments) else { return Vec::new() };
        let validator = &compiled.validator;
        if validator.is_valid(&arguments) {
            return Vec::new();
        }
        if work > MANY_FAULTS {
            return validator.validate(&arguments).err().iter().map(fault).collect();
        }
        validator.iter_errors(&arguments).take(8).map(|error| fault(&error)).collect()
    }
}

impl Compiled {
    fn new(schema: &str) -> Option<Self> {
        let schema: Value = serde_json::from_str(schema).ok()?;
        let effort = ValidationCost::of(&schema).ok()?;
        Some(Self { validator: compile(&schema).ok()?, effort })
    }
}

fn fault(error: &ValidationError<'_>) -> String {
    /// A fault may quote the whole arguments.
    const MAX_FAULT: usize = 1000;
    let at = error.instance_path().to_string();
    let mut text = format!("at `{}`: {error}", if at.is_empty() { "/" } else { &at });
    if text.len() > MAX_FAULT {
        text.truncate(text.floor_char_boundary(MAX_FAULT));
        text.push('…');
    }
    text
}

/// Remote references are never fetched: there is no resolver in this build.
pub(super) fn compile(schema: &Value) -> Result<jsonschema::Validator, String> {
    compile_with(schema, PATTERN_SIZE)
}

fn compile_with(schema: &Value, pattern_size: usize) -> Result<jsonschema::Validator, String> {
    let Some(object) = schema.as_object() else { return Err("the schema is not an object".to_owned()) };
    let patterns = PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_LIMIT).size_limit(pattern_size);
    let options =
        jsonschema::options().with_draft(draft(object.get("$schema"))).with_pattern_options(patterns);
    options.build(schema).map_err(|error| error.to_string())
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
