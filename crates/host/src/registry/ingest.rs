//! What may enter the table. One bad offer is set aside by name; the others of its server stay.

use serde::Serialize;
use serde_json::Value;
use toolbay_protocol::{ServerName, view::Tool};

use super::schema::Validator;

const MAX_NAME: usize = 128;
const MAX_DESCRIPTION: usize = 8 * 1024;
const MAX_SCHEMA: usize = 64 * 1024;

/// An offer that was set aside.
#[derive(Debug, Clone, Serialize)]
pub struct Quarantined {
    /// Whose it is.
    pub server: ServerName,
    /// What it is: `tool`, `prompt`, …
    pub kind: &'static str,
    /// Its name, or its beginning where it has none.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// Checks a tool and prepares the check of its arguments.
pub(super) fn check_tool(tool: &Tool) -> Result<Validator, String> {
    check_name(tool.name())?;
    check_description(tool.description().as_deref())?;
    let schema = tool.input_schema().ok_or("it has no `inputSchema`")?;
    check_schema_size("inputSchema", schema)?;
    if let Some(output) = tool.output_schema() {
        check_schema_size("outputSchema", output)?;
    }
    Validator::new(schema).map_err(|reason| format!("`inputSchema` is not usable: {reason}"))
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
