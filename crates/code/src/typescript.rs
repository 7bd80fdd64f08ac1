//! Tools as TypeScript declarations, which models read more easily than schemas, and which are shorter.

use std::{collections::BTreeMap, fmt::Write};

use serde_json::{Map, Value};

/// How deep types are written out. What is below is `unknown`.
const MAX_DEPTH: usize = 8;
/// How many types one tool may consist of. A schema with references can mean any number.
const MAX_TYPES: usize = 400;
/// The longest comment, in bytes.
const MAX_COMMENT: usize = 240;

/// A tool as its server defines it.
#[derive(Debug, Clone, Copy)]
pub struct ToolSignature<'a> {
    /// The name of its server.
    pub server: &'a str,
    /// Its name at the server.
    pub name: &'a str,
    pub description: Option<&'a str>,
    pub input_schema: &'a Value,
    pub output_schema: Option<&'a Value>,
}

/// Declares `tools` with some tools, grouped by server; servers and tools keep their order.
pub fn declarations<'a>(tools: impl IntoIterator<Item = ToolSignature<'a>>) -> String {
    let mut order = Vec::new();
    let mut by_server: BTreeMap<&str, Vec<ToolSignature<'a>>> = BTreeMap::new();
    for tool in tools {
        by_server
            .entry(tool.server)
            .or_insert_with(|| {
                order.push(tool.server);
                Vec::new()
            })
            .push(tool);
    }
    let mut text = "declare const tools: {\n".to_owned();
    for server in order {
        let _ = writeln!(text, "  {}: {{", property_name(server));
        for tool in &by_server[server] {
            declare(tool, &mut text);
        }
        text.push_str("  };\n");
    }
    text.push_str("};\n");
    text
}

fn declare(tool: &ToolSignature<'_>, text: &mut String) {
    if let Some(comment) = tool.description.and_then(comment) {
        let _ = writeln!(text, "    {comment}");
    }
    let arguments = type_of(tool.input_schema, 2);
    // What needs no argument can be called without any.
    let is_optional = tool.input_schema.get("required").and_then(Value::as_array).is_none_or(Vec::is_empty);
    let arguments = match arguments.as_str() {
        "{}" => String::new(),
        arguments => format!("args{}: {arguments}", if is_optional { "?" } else { "" }),
    };
    let result = tool.output_schema.map_or_else(|| "any".to_owned(), |schema| type_of(schema, 2));
    let _ = writeln!(text, "    {}({arguments}): Promise<{result}>;", property_name(tool.name));
}

fn type_of(schema: &Value, indent: usize) -> String {
    let mut writer = TypeWriter { root: schema, left: MAX_TYPES, references: Vec::new() };
    writer.schema(schema, 0, indent)
}

/// Writes the types of one schema.
struct TypeWriter<'a> {
    root: &'a Value,
    /// How many types may still be written.
    left: usize,
    /// Those that are being followed.
    references: Vec<&'a str>,
}

impl<'a> TypeWriter<'a> {
    fn schema(&mut self, schema: &'a Value, depth: usize, indent: usize) -> String {
        let schema = match schema {
            Value::Bool(false) => return "never".to_owned(),
            Value::Object(schema) => schema,
            _ => return "unknown".to_owned(),
        };
        if depth > MAX_DEPTH || self.left == 0 {
            return "unknown".to_owned();
        }
        self.left -= 1;
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            return self.reference(reference, depth, indent);
        }
        if let Some(value) = schema.get("const") {
            return literal(value);
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return union(values.iter().take(MAX_TYPES).map(literal));
        }
        let mut parts = Vec::new();
        for key in ["anyOf", "oneOf"] {
            if let Some(choices) = schema.get(key).and_then(Value::as_array) {
                let choices: Vec<String> =
                    choices.iter().map(|choice| self.schema(choice, depth + 1, indent)).collect();
                parts.push(union(choices.into_iter()));
            }
        }
        if let Some(all) = schema.get("allOf").and_then(Value::as_array) {
            parts.extend(all.iter().map(|part| self.schema(part, depth + 1, indent)));
        }
        let own = self.by_type(schema, depth, indent);
        // Alternatives often repeat that it is an object, which says no more.
        if parts.is_empty() || own != "unknown" && own != "Record<string, unknown>" {
            parts.insert(0, own);
        }
        parts.retain(|part| part != "unknown");
        match parts.len() {
            0 => "unknown".to_owned(),
            1 => parts.remove(0),
            _ => parts.iter().map(|part| parenthesized(part)).collect::<Vec<_>>().join(" & "),
        }
    }

    fn reference(&mut self, reference: &'a str, depth: usize, indent: usize) -> String {
        let target = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
        match target {
            Some(target) if !self.references.contains(&reference) => {
                self.references.push(reference);
                let written = self.schema(target, depth + 1, indent);
                self.references.pop();
                written
            }
            _ => "unknown".to_owned(),
        }
    }

    fn by_type(&mut self, schema: &'a Map<String, Value>, depth: usize, indent: usize) -> String {
        let mut types: Vec<&str> = match schema.get("type") {
            Some(Value::String(name)) => vec![name],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ if schema.contains_key("properties") => vec!["object"],
            _ if schema.contains_key("items") || schema.contains_key("prefixItems") => vec!["array"],
            _ => return "unknown".to_owned(),
        };
        if schema.get("nullable") == Some(&Value::Bool(true)) {
            types.push("null");
        }
        let written: Vec<String> = types
            .into_iter()
            .map(|name| match name {
                "string" | "boolean" | "null" => name.to_owned(),
                "number" | "integer" => "number".to_owned(),
                "array" => self.array(schema, depth, indent),
                "object" => self.object(schema, depth, indent),
                _ => "unknown".to_owned(),
            })
            .collect();
        union(written.into_iter())
    }

    fn array(&mut self, schema: &'a Map<String, Value>, depth: usize, indent: usize) -> String {
        if let Some(items) = schema.get("prefixItems").and_then(Value::as_array) {
            let items: Vec<String> = items.iter().map(|item| self.schema(item, depth + 1, indent)).collect();
            return format!("[{}]", items.join(", "));
        }
        let item = schema
            .get("items")
            .map_or_else(|| "unknown".to_owned(), |items| self.schema(items, depth + 1, indent));
        format!("{}[]", parenthesized(&item))
    }

    fn object(&mut self, schema: &'a Map<String, Value>, depth: usize, indent: usize) -> String {
        let properties = schema.get("properties").and_then(Value::as_object).filter(|map| !map.is_empty());
        let others = match schema.get("additionalProperties") {
            Some(Value::Bool(false)) => None,
            Some(others @ Value::Object(_)) => Some(self.schema(others, depth + 1, indent)),
            _ => Some("unknown".to_owned()),
        };
        let Some(properties) = properties else {
            let has_none = schema.contains_key("properties");
            return match others {
                Some(others) if !(has_none && others == "unknown") => format!("Record<string, {others}>"),
                _ => "{}".to_owned(),
            };
        };
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let is_required = |name: &str| required.contains(&name);
        let (first, last): (Vec<_>, Vec<_>) = properties.iter().partition(|(name, _)| is_required(name));
        let mut members = Vec::new();
        for (name, property) in first.into_iter().chain(last) {
            let optional = if is_required(name) { "" } else { "?" };
            let written = self.schema(property, depth + 1, indent + 1);
            let comment = property.get("description").and_then(Value::as_str).and_then(comment);
            members.push((comment, format!("{}{optional}: {written}", property_name(name))));
        }
        if let Some(others) = others.filter(|others| others != "unknown") {
            members.push((None, format!("[key: string]: {others}")));
        }
        let is_short = members.iter().all(|(comment, text)| comment.is_none() && !text.contains('\n'))
            && members.iter().map(|(_, text)| text.len() + 2).sum::<usize>() <= 100;
        if is_short {
            let members: Vec<String> = members.into_iter().map(|(_, text)| text).collect();
            return format!("{{ {} }}", members.join("; "));
        }
        let (inner, outer) = ("  ".repeat(indent + 1), "  ".repeat(indent));
        let mut text = "{\n".to_owned();
        for (comment, member) in members {
            if let Some(comment) = comment {
                let _ = writeln!(text, "{inner}{comment}");
            }
            let _ = writeln!(text, "{inner}{member};");
        }
        text + &outer + "}"
    }
}

fn union(types: impl Iterator<Item = String>) -> String {
    let mut unique = Vec::new();
    for written in types {
        if written == "unknown" {
            return written;
        }
        if !unique.contains(&written) {
            unique.push(written);
        }
    }
    match unique.len() {
        0 => "never".to_owned(),
        1 => unique.remove(0),
        _ => unique.join(" | "),
    }
}

/// A type that stands beside an operator.
fn parenthesized(written: &str) -> String {
    if has_operators(written) { format!("({written})") } else { written.to_owned() }
}

/// Whether a type is a union or an intersection, outside of all brackets and strings.
fn has_operators(written: &str) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in written.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' | b'(' | b'<' => depth += 1,
            b'}' | b']' | b')' | b'>' => depth = depth.saturating_sub(1),
            b'|' | b'&' if depth == 0 => return true,
            _ => {}
        }
    }
    false
}

fn literal(value: &Value) -> String {
    match value {
        Value::Object(_) | Value::Array(_) => "unknown".to_owned(),
        value => value.to_string(),
    }
}

/// A name as a property, in quotes where it must be.
fn property_name(name: &str) -> String {
    let is_letter = |letter: char| letter.is_ascii_alphabetic() || matches!(letter, '_' | '$');
    let is_identifier = name.starts_with(is_letter)
        && name.chars().all(|letter| is_letter(letter) || letter.is_ascii_digit());
    if is_identifier { name.to_owned() } else { Value::from(name).to_string() }
}

/// A description on one line, as a comment that it cannot end.
fn comment(description: &str) -> Option<String> {
    let mut line = description.split_whitespace().collect::<Vec<_>>().join(" ").replace("*/", "* /");
    if line.len() > MAX_COMMENT {
        line.truncate(line.floor_char_boundary(MAX_COMMENT));
        line.push('…');
    }
    (!line.is_empty()).then(|| format!("/** {line} */"))
}

#[cfg(test)]
mod tests;
