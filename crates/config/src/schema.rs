//! The JSON Schema of `toolbay.toml`, for editors.

use serde_json::Value;

const SCHEMA: &str = include_str!("schema.json");

/// The schema, in the draft that editors know best.
pub fn schema() -> Value {
    serde_json::from_str(SCHEMA).expect("the schema is JSON: a test reads it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::native::{ENTRY, HUB, NAMINGS, TOP, TUNING};

    fn keys(schema: &Value, pointer: &str) -> Vec<String> {
        let mut keys: Vec<String> =
            schema.pointer(pointer).unwrap().as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys
    }

    #[test]
    fn the_schema_has_the_keys_that_are_read() {
        let schema = schema();
        let server: Vec<&str> = ENTRY.into_iter().chain(TUNING).collect();
        for (pointer, known) in [
            ("/properties", &TOP[..]),
            ("/properties/hub/properties", &HUB),
            ("/definitions/server/properties", &server),
        ] {
            let mut known = known.to_vec();
            known.sort_unstable();
            assert_eq!(keys(&schema, pointer), known, "{pointer}");
        }
        assert_eq!(schema["properties"]["hub"]["properties"]["naming"]["enum"], serde_json::json!(NAMINGS));
    }
}
