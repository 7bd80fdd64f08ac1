//! The tools, one file each. To add one, write such a file and add it to [`toolset`].

mod chunk_file;
mod chunk_files;
mod list_directory;
mod read_file;
pub(super) mod search_by_embedding;
pub(super) mod search_code;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use toolbay_search::codebase::Codebase;
use toolbay_server::{Annotations, Tool, ToolContext, ToolError, ToolOutput, Toolset};

use super::{CodeError, LazyCodebase};

pub(super) fn toolset() -> Toolset<LazyCodebase> {
    Toolset::new([
        search_code::tool(),
        search_by_embedding::tool(),
        list_directory::tool(),
        read_file::tool(),
        chunk_file::tool(),
        chunk_files::tool(),
    ])
}

/// A tool that reads the codebase. `action` says what failed: "Search failed: …".
fn tool<A: DeserializeOwned + JsonSchema + 'static>(
    name: &str,
    action: &'static str,
    run: fn(&Codebase, A, &ToolContext) -> Result<ToolOutput, CodeError>,
) -> Tool<LazyCodebase> {
    let handler = move |codebase: &LazyCodebase, arguments: A, context: &ToolContext| {
        let result = codebase.get().and_then(|codebase| run(&codebase, arguments, context));
        result.map_err(|error| match error {
            CodeError::InvalidArgument { argument, reason } => ToolError::argument(&argument, reason),
            CodeError::Secret(_) | CodeError::Failed(_) | CodeError::Cancelled => {
                ToolError::failed(format!("{action} failed: {error}"))
            }
        })
    };
    Tool::blocking(name, handler).annotations(Annotations::READ_ONLY).edit_input_schema(|schema| {
        // The descriptions name the defaults.
        let properties = schema["properties"].as_object_mut().into_iter().flatten();
        for property in properties.filter_map(|(_, property)| property.as_object_mut()) {
            property.remove("default");
        }
    })
}

/// A list of results: as JSON text, and with `fields` as structured content. `more` says what is left out and how to get it.
fn list_output(results: &impl Serialize, mut fields: Value, more: Option<String>) -> ToolOutput {
    let results = json!(results);
    let text = results.to_string();
    fields["results"] = results;
    with_more(ToolOutput::text(text), fields, more)
}

fn with_more(output: ToolOutput, mut fields: Value, more: Option<String>) -> ToolOutput {
    match more {
        Some(more) => {
            fields["more"] = more.as_str().into();
            output.and_text(more).with_structured(&fields)
        }
        None => output.with_structured(&fields),
    }
}

/// A string, or a list of strings.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "OneOrMany")]
pub struct Strings(pub Vec<String>);

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl From<OneOrMany> for Strings {
    fn from(strings: OneOrMany) -> Self {
        match strings {
            OneOrMany::One(string) => Self(vec![string]),
            OneOrMany::Many(strings) => Self(strings),
        }
    }
}

impl JsonSchema for Strings {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Strings".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "array"], "items": { "type": "string" } })
    }
}

/// The schema of a result with a list.
fn list_schema(item: Value, fields: Value) -> Value {
    let mut properties = json!({
        "results": { "type": "array", "items": item },
        "more": { "type": "string", "description": "What was omitted, and how to get it" },
    });
    extend(&mut properties, fields);
    json!({ "type": "object", "properties": properties, "required": ["results"] })
}

/// Fields of results that come in pages.
fn paging_fields() -> Value {
    json!({
        "total": { "type": "integer", "description": "Total number of results" },
        "truncated": { "type": "boolean", "description": "Whether there are more results" },
        "next_offset": { "type": "integer", "description": "The `offset` of the next page" },
    })
}

/// The schema of a chunk.
fn chunk_schema(fields: Value) -> Value {
    let mut properties = json!({
        "file_path": { "type": "string" },
        "start_line": { "type": "integer" },
        "end_line": { "type": "integer" },
        "content": { "type": "string" },
        "symbol": { "type": ["string", "null"] },
        "language": { "type": "string" },
    });
    extend(&mut properties, fields);
    json!({
        "type": "object",
        "properties": properties,
        "required": ["file_path", "start_line", "end_line", "content", "language"],
    })
}

fn extend(properties: &mut Value, fields: Value) {
    if let (Value::Object(all), Value::Object(fields)) = (properties, fields) {
        all.extend(fields);
    }
}
