//! Checks what may enter the table. An invalid item is quarantined by name; the others of its server stay.

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;
use toolbay_protocol::{ServerName, model::Tool};

use super::{
    repair::{Repaired, repair},
    validate::Validator,
    validation_cost,
};

const MAX_NAME: usize = 128;
const MAX_DESCRIPTION: usize = 8 * 1024;
const MAX_SCHEMA: usize = 64 * 1024;
/// Schemas of one server that are compiled to find what is wrong with them, in bytes together. Those beyond are taken as
/// they are, and arguments are not checked against them.
const MAX_COMPILED: usize = 4 * 1024 * 1024;

/// Tools of so many schema nodes together are checked on the calling thread.
const LITTLE: usize = 50_000;

/// An item that is not offered because its definition is invalid.
#[derive(Debug, Clone, Serialize)]
pub struct Quarantined {
    /// The server it belongs to.
    pub server: ServerName,
    /// What it is: `tool`, `prompt`, …
    pub kind: &'static str,
    /// Its name, or its beginning where it has none.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// What was found out about a tool: how it is offered, or why it is not.
pub(crate) type CheckedTool = Result<Arc<AcceptedTool>, String>;

/// A tool that may be offered.
#[derive(Debug)]
pub(crate) struct AcceptedTool {
    /// Checks its arguments.
    pub(super) validator: Arc<Validator>,
    /// Its definition as clients see it; nothing if it is as the server wrote it.
    pub(super) text: Option<Bytes>,
    /// What its users should know.
    pub(super) notes: Vec<String>,
}

impl AcceptedTool {
    fn new(tool: &Tool, validator: Validator, text: Option<Bytes>, mut notes: Vec<String>) -> Self {
        if let Some(reason) = validator.unchecked() {
            notes.push(format!("tool `{}`: arguments are not checked: {reason}", tool.name()));
        }
        Self { validator: Arc::new(validator), text, notes }
    }

    /// A tool that was found fit before, on another day, and is kept as it was offered.
    pub(super) fn known(tool: &Tool, schema: &str) -> Self {
        Self::new(tool, Validator::of_known(schema), None, Vec::new())
    }

    /// The definition as clients see it, if it is not as the server wrote it.
    pub(crate) fn text(&self) -> Option<&Bytes> {
        self.text.as_ref()
    }
}

/// Tools that are not checked yet. Checking many takes long: that is for a thread of its own.
#[derive(Debug, Default)]
pub(crate) struct UncheckedTools {
    /// Definitions, by server.
    pub(crate) lists: Vec<Vec<Bytes>>,
}

impl UncheckedTools {
    /// Whether checking them takes no longer than a few milliseconds.
    pub(crate) fn is_little(&self) -> bool {
        let effort = |text: &Bytes| {
            let patterns = memchr::memmem::find_iter(text, b"\"pattern").count();
            memchr::memchr2_iter(b':', b',', text).count()
                + patterns * validation_cost::COMPILED_PATTERN as usize
        };
        self.lists.iter().flatten().map(effort).sum::<usize>() <= LITTLE
    }

    /// Checks all of them.
    pub(crate) fn check(self) -> Vec<(Bytes, CheckedTool)> {
        let mut checked = Vec::new();
        for list in self.lists {
            let mut compiled = 0;
            for text in list {
                compiled += text.len();
                let tool = Tool::parse(text.clone()).map_err(|error| error.to_string());
                let outcome = tool.and_then(|tool| check_tool(&tool, compiled <= MAX_COMPILED));
                checked.push((text, outcome));
            }
        }
        checked
    }
}

/// Checks a tool and prepares the check of its arguments.
pub(super) fn check_tool(tool: &Tool, compiles: bool) -> CheckedTool {
    check_name(tool.name())?;
    check_description(tool.description().as_deref())?;
    for field in ["inputSchema", "outputSchema"] {
        check_schema_size(field, tool.item().raw(field).unwrap_or_default())?;
    }
    let Repaired { text, notes } = repair(tool)?;
    let repaired = text.clone().map(Tool::parse).transpose().map_err(|error| error.to_string())?;
    let schema = repaired.as_ref().unwrap_or(tool).input_schema().unwrap_or_default();
    let validator = match compiles {
        true => Validator::new(schema).map_err(|reason| format!("`inputSchema` is not usable: {reason}"))?,
        false => Validator::off(schema, "its server has too many schemas"),
    };
    Ok(Arc::new(AcceptedTool::new(tool, validator, text, notes)))
}

/// Whether a server says that calls of its tools may become tasks, as 2025-11-25 has them.
pub(super) fn has_tasks(capabilities: Option<&str>) -> bool {
    let declared: Value = capabilities.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    declared["tasks"]["requests"]["tools"]["call"].is_object()
}

/// Whether a tool says that its calls must become tasks.
pub(super) fn needs_task(tool: &Tool) -> bool {
    let execution: Value =
        tool.item().raw("execution").and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    execution["taskSupport"] == "required"
}

pub(super) fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("its name is empty".to_owned());
    }
    if name.chars().count() > MAX_NAME {
        return Err(format!("its name is longer than {MAX_NAME} characters"));
    }
    if name.chars().any(char::is_control) {
        return Err("its name contains control characters".to_owned());
    }
    Ok(())
}

pub(super) fn check_description(description: Option<&str>) -> Result<(), String> {
    match description {
        Some(text) if text.len() > MAX_DESCRIPTION => {
            Err(format!("its description is longer than {MAX_DESCRIPTION} bytes"))
        }
        _ => Ok(()),
    }
}

fn check_schema_size(field: &str, schema: &str) -> Result<(), String> {
    if schema.len() > MAX_SCHEMA {
        return Err(format!("its `{field}` is {} bytes long; {MAX_SCHEMA} are allowed", schema.len()));
    }
    Ok(())
}
