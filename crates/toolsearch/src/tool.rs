//! What is known about a tool, as far as a search looks at it.

use serde_json::{Map, Value};

use crate::words::cut;

/// So much of a description is read, in bytes. What is most important stands in front.
const DESCRIPTION: usize = 16 << 10;
/// So much of the description of a parameter.
const PARAMETER: usize = 1 << 10;
/// So many parameters, nested ones included, and as many values of enumerations.
const PARAMETERS: usize = 200;
/// So deep are schemas read.
const DEPTH: usize = 6;

/// A tool as plain data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolText {
    /// The name that clients see.
    pub name: String,
    /// The name that its server gives it.
    pub bare_name: String,
    /// Its title for people; may be empty.
    pub title: String,
    /// The name of its server.
    pub server: String,
    /// What it does; may be empty.
    pub description: String,
    /// Names of its parameters, each with its description.
    pub parameters: Vec<(String, String)>,
    /// Values that its parameters may have, where they are enumerated.
    pub values: Vec<String>,
}

impl ToolText {
    /// Reads a definition as servers send it: `{"name": …, "description": …, "inputSchema": …}`. `name` is the one that clients see.
    ///
    /// Never fails, so that every tool can be found: one that cannot be read has its names only.
    pub fn from_definition(name: &str, server: &str, definition: &str) -> Self {
        let mut tool = Self {
            name: name.to_owned(),
            bare_name: name.to_owned(),
            server: server.to_owned(),
            ..Self::default()
        };
        let Ok(Value::Object(definition)) = serde_json::from_str(definition) else { return tool };
        let text = |object: &Map<String, Value>, key: &str, most: usize| {
            object
                .get(key)
                .and_then(Value::as_str)
                .map_or_else(String::new, |text| cut(text, most).to_owned())
        };
        if let Some(bare_name) = definition.get("name").and_then(Value::as_str) {
            bare_name.clone_into(&mut tool.bare_name);
        }
        tool.title = text(&definition, "title", PARAMETER);
        if tool.title.is_empty()
            && let Some(Value::Object(annotations)) = definition.get("annotations")
        {
            tool.title = text(annotations, "title", PARAMETER);
        }
        tool.description = text(&definition, "description", DESCRIPTION);
        if let Some(schema) = definition.get("inputSchema") {
            tool.add_schema(schema, DEPTH);
        }
        tool
    }

    fn add_schema(&mut self, schema: &Value, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else { return };
        let Value::Object(schema) = schema else { return };
        if let Some(Value::Array(values)) = schema.get("enum") {
            for value in values.iter().filter_map(Value::as_str) {
                if self.values.len() < PARAMETERS {
                    self.values.push(cut(value, PARAMETER).to_owned());
                }
            }
        }
        if let Some(Value::Object(properties)) = schema.get("properties") {
            for (name, property) in properties {
                if self.parameters.len() >= PARAMETERS {
                    return;
                }
                let description = property.get("description").and_then(Value::as_str).unwrap_or_default();
                self.parameters
                    .push((cut(name, PARAMETER).to_owned(), cut(description, PARAMETER).to_owned()));
                self.add_schema(property, depth);
            }
        }
        if let Some(items) = schema.get("items") {
            self.add_schema(items, depth);
        }
        for key in ["anyOf", "oneOf", "allOf"] {
            if let Some(Value::Array(variants)) = schema.get(key) {
                variants.iter().take(PARAMETERS).for_each(|variant| self.add_schema(variant, depth));
            }
        }
        for key in ["$defs", "definitions"] {
            if let Some(Value::Object(shared)) = schema.get(key) {
                shared.values().take(PARAMETERS).for_each(|shared| self.add_schema(shared, depth));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_searched_is_read() {
        let definition = r#"{
            "name": "get_forecast", "annotations": {"title": "Forecast"}, "description": "The weather of tomorrow.",
            "inputSchema": {"type": "object", "properties": {
                "city": {"type": "string", "description": "Where"},
                "units": {"enum": ["metric", "imperial", 7]},
                "days": {"type": "array", "items": {"properties": {"date": {"$ref": "\#/$defs/Date"}}}}
            }, "$defs": {"Date": {"properties": {"year": {}}}}}
        }"#
        .replace("\\#", "#");
        let tool = ToolText::from_definition("weather_get_forecast", "weather", &definition);
        let parameters = ["city Where", "days ", "date ", "units ", "year "];
        let mut found: Vec<String> =
            tool.parameters.iter().map(|(name, text)| format!("{name} {text}")).collect();
        found.sort();
        let mut expected = parameters.map(str::to_owned).to_vec();
        expected.sort();
        assert_eq!(found, expected);
        assert_eq!(tool.values, ["metric", "imperial"]);
        assert_eq!((tool.title.as_str(), tool.bare_name.as_str()), ("Forecast", "get_forecast"));
        assert_eq!(tool.description, "The weather of tomorrow.");
    }

    #[test]
    fn a_definition_that_cannot_be_read_leaves_the_names() {
        let deep = format!(r#"{{"inputSchema": {}1{}}}"#, "[".repeat(5_000), "]".repeat(5_000));
        for definition in
            ["", "[]", "{", "{\"name\": 3, \"description\": null, \"inputSchema\": true}", deep.as_str()]
        {
            let tool = ToolText::from_definition("a_b", "a", definition);
            let expected = ToolText {
                name: "a_b".into(),
                bare_name: "a_b".into(),
                server: "a".into(),
                ..ToolText::default()
            };
            assert_eq!(tool, expected, "{definition:.60}");
        }
    }

    #[test]
    fn what_is_kept_of_a_huge_definition_is_bounded() {
        let properties: Vec<String> =
            (0..5_000).map(|n| format!("\"p{n}\": {{\"enum\": [\"v{n}\"]}}")).collect();
        let definition = format!(
            r#"{{"description": "{}", "inputSchema": {{"properties": {{{}}}}}}}"#,
            "ä".repeat(1 << 20),
            properties.join(",")
        );
        let tool = ToolText::from_definition("a", "a", &definition);
        assert_eq!((tool.description.len(), tool.parameters.len()), (DESCRIPTION, PARAMETERS));
        assert!(tool.values.len() <= PARAMETERS);
    }
}
