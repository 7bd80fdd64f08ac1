//! Lists of tools: honest, huge or circular.

use std::path::Path;

use serde_json::{Value, json, value::RawValue};

use super::{
    flags::{Lists, Paging},
    message::ParsedRequest,
    tools::BEHAVIOURS,
};

const BIG_SCHEMA: usize = 100 * 1024;
/// How many tools a page of a dishonest list has by default.
const SMALL_PAGE: usize = 5;

pub(super) fn answer(lists: &Lists, request: &ParsedRequest) -> String {
    if let Some(file) = &lists.tools_file {
        return match from_file(file) {
            Ok(tools) => request.result(&format!(r#"{{"tools":[{tools}]}}"#)),
            Err(error) => request.error(-32603, &format!("{}: {error}", file.display())),
        };
    }
    let tools = tools(lists);
    let cursor = request.params["cursor"].as_str().map_or(Some(0), |cursor| cursor.parse::<usize>().ok());
    let Some(page) = cursor else { return request.error(-32602, "no such cursor") };
    let size = match lists.paging {
        Paging::Honest => lists.page_size.unwrap_or(tools.len()),
        Paging::Loop | Paging::Endless => lists.page_size.unwrap_or(SMALL_PAGE),
    };
    let size = size.max(1);
    let start = match lists.paging {
        Paging::Honest => page * size,
        Paging::Loop | Paging::Endless => page * size % tools.len().max(1),
    };
    let shown: Vec<&Value> = tools.iter().skip(start).take(size).collect();
    let next = match lists.paging {
        Paging::Honest => (start + size < tools.len()).then_some(page + 1),
        Paging::Loop => Some(if page == 1 { 2 } else { 1 }),
        Paging::Endless => Some(page + 1),
    };
    let mut result = json!({"tools": shown});
    if let Some(next) = next {
        result["nextCursor"] = next.to_string().into();
    }
    if request.params["_meta"].get("io.modelcontextprotocol/protocolVersion").is_some() {
        result["ttlMs"] = 0.into();
        result["cacheScope"] = "private".into();
    }
    request.result(&result.to_string())
}

/// The definitions of a file, with every byte of theirs.
fn from_file(file: &Path) -> std::io::Result<String> {
    #[derive(serde::Deserialize)]
    struct Entry<'a> {
        #[serde(borrow)]
        tool: &'a RawValue,
    }
    let text = std::fs::read_to_string(file)?;
    let entries: Vec<Entry<'_>> = serde_json::from_str(&text)?;
    let tools: Vec<&str> = entries.iter().map(|entry| entry.tool.get()).collect();
    Ok(tools.join(","))
}

fn tools(lists: &Lists) -> Vec<Value> {
    let count = lists.tools.unwrap_or(BEHAVIOURS.len());
    let behaviours = BEHAVIOURS.iter().map(|(name, about)| tool(name, about));
    let more = (0..).map(|index| tool(&format!("tool_{index}"), "one of many"));
    let mut tools: Vec<Value> = behaviours.chain(more).take(count).collect();
    if lists.bad_schema {
        tools.extend((0..19).map(|index| tool(&format!("plain_{index}"), "has a good schema")));
        let mut bad = tool("bad_schema", "has an invalid schema");
        bad["inputSchema"] = json!({"type": 42, "properties": {"x": {"type": "nothing", "minimum": "low"}}});
        tools.push(bad);
    }
    for tool in &mut tools {
        pad(tool, lists.tool_bytes);
    }
    if lists.big_schema {
        tools.push(big_schema());
    }
    if lists.endless_schemas {
        tools.extend([doubling_schema(), wide_schema()]);
    }
    tools
}

fn tool(name: &str, about: &str) -> Value {
    json!({"name": name, "description": about, "inputSchema": {"type": "object"}})
}

/// Lengthens the description until the tool has that many bytes.
fn pad(tool: &mut Value, bytes: usize) {
    let missing = bytes.saturating_sub(tool.to_string().len());
    if missing > 0 {
        let about = tool["description"].as_str().unwrap_or_default();
        tool["description"] = format!("{about}{}", "x".repeat(missing)).into();
    }
}

fn big_schema() -> Value {
    let mut tool = tool("big_schema", "has a schema of 100 KB");
    let mut properties = serde_json::Map::new();
    let mut length = 0;
    for index in 0.. {
        let name = format!("property_{index}");
        let property = json!({"type": "string", "description": "d".repeat(80)});
        length += name.len() + property.to_string().len() + 4;
        properties.insert(name, property);
        if length >= BIG_SCHEMA {
            break;
        }
    }
    tool["inputSchema"] = json!({"type": "object", "properties": properties});
    tool
}

/// A schema of 4 KB that stands for 2⁶⁰ schemas.
fn doubling_schema() -> Value {
    const LEVELS: usize = 60;
    let mut definitions = serde_json::Map::new();
    for level in 0..LEVELS {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        definitions.insert(format!("d{level}"), json!({"allOf": [next, next]}));
    }
    definitions.insert(format!("d{LEVELS}"), json!({"type": "object"}));
    let mut tool = tool("plain_doubling", "its schema doubles 60 times");
    tool["inputSchema"] =
        json!({"type": "object", "$defs": definitions, "properties": {"x": {"$ref": "#/$defs/d0"}}});
    tool
}

/// A schema of 56 KB with many alternatives, none of which fits.
fn wide_schema() -> Value {
    let alternatives = vec![json!({"required": ["a"]}); 2300];
    let mut tool = tool("plain_wide", "its schema has 2,300 alternatives per item");
    tool["inputSchema"] = json!({"type": "object", "properties": {"list": {"type": "array", "items": {"anyOf": alternatives}}}});
    tool
}
