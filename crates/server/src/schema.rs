//! JSON schemas, derived from types and written as tool definitions have them.

use schemars::{
    JsonSchema, Schema,
    generate::{Contract, SchemaSettings},
    transform::{RecursiveTransform, Transform},
};
use serde_json::{Map, Value, json};

/// Returns the input schema of a tool whose arguments are an `A`. Descriptions are the doc comments of the fields.
pub(crate) fn input_schema<A: JsonSchema>() -> Value {
    let mut schema = derive::<A>(Contract::Deserialize);
    RecursiveTransform(|schema: &mut Schema| {
        if let Some(schema) = schema.as_object_mut() {
            remove_null(schema);
        }
    })
    .transform(&mut schema);
    let mut schema = schema.to_value();
    // Clients read these two without asking.
    schema["type"] = "object".into();
    if schema["properties"].is_null() {
        schema["properties"] = json!({});
    }
    schema
}

/// Returns the output schema of a tool whose `structuredContent` is a `T`.
pub(crate) fn output_schema<T: JsonSchema>() -> Value {
    derive::<T>(Contract::Serialize).to_value()
}

fn derive<T: JsonSchema>(contract: Contract) -> Schema {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
        settings.contract = contract;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // The name and the doc comment of the Rust type are not for clients.
    schema.remove("title");
    schema.remove("description");
    RecursiveTransform(|schema: &mut Schema| {
        if let Some(schema) = schema.as_object_mut() {
            tidy(schema);
        }
    })
    .transform(&mut schema);
    schema
}

/// Leaves out what only Rust means, and writes enumerations and descriptions as they are written by hand.
fn tidy(schema: &mut Map<String, Value>) {
    // `uint64` and the like are no formats that JSON Schema knows.
    if schema.get("type").is_some_and(|kind| kind != "string") {
        schema.remove("format");
    }
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = description.split('\n').map(str::trim).collect::<Vec<_>>().join(" ");
    }
    // Variants with doc comments are a list of constants.
    let constants = schema.get("oneOf").and_then(Value::as_array).and_then(|variants| {
        variants.iter().map(|variant| variant.get("const").cloned()).collect::<Option<Vec<Value>>>()
    });
    if let Some(constants) = constants {
        schema.remove("oneOf");
        schema.insert("type".to_owned(), "string".into());
        schema.insert("enum".to_owned(), constants.into());
    }
}

/// Makes an optional argument one that may be left out, instead of one that may be `null`: many models take `null` for a value.
fn remove_null(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    let Some(Value::Array(choices)) = schema.get_mut("anyOf") else { return };
    choices.retain(|choice| choice.get("type").is_none_or(|kind| kind != "null"));
    if let [Value::Object(only)] = choices.as_slice() {
        let only = only.clone();
        schema.remove("anyOf");
        for (keyword, value) in only {
            schema.entry(keyword).or_insert(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde_json::json;

    use super::{input_schema, output_schema};

    #[derive(JsonSchema)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Everything {
        /// A text that is described
        /// on two lines
        some_text: String,
        /// How many
        #[schemars(range(min = 1, max = 9))]
        count: Option<u64>,
        order: Option<Order>,
        #[schemars(length(min = 1))]
        edits: Vec<Edit>,
    }

    #[derive(JsonSchema)]
    #[serde(rename_all = "snake_case")]
    #[expect(dead_code, reason = "only its schema is used")]
    enum Order {
        /// By name.
        ByName,
        /// By size.
        BySize,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Edit {
        old: String,
        new: Option<String>,
    }

    #[test]
    fn input_schemas_read_as_if_written_by_hand() {
        let expected = json!({
            "type": "object",
            "properties": {
                "someText": { "type": "string", "description": "A text that is described on two lines" },
                "count": { "type": "integer", "minimum": 1, "maximum": 9, "description": "How many" },
                "order": { "type": "string", "enum": ["by_name", "by_size"] },
                "edits": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "properties": { "old": { "type": "string" }, "new": { "type": "string" } },
                        "required": ["old"],
                    },
                },
            },
            "required": ["someText", "edits"],
            "additionalProperties": false,
        });
        assert_eq!(input_schema::<Everything>(), expected);
    }

    #[test]
    fn output_schemas_keep_null() {
        let expected = json!({
            "type": "object",
            "properties": { "old": { "type": "string" }, "new": { "type": ["string", "null"] } },
            "required": ["old", "new"],
        });
        assert_eq!(output_schema::<Edit>(), expected);
    }
}
