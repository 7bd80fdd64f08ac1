//! Inlining of references.

use serde_json::{Map, Value, json};

/// How many parts a schema may have once its references are inlined. A short schema can mean very many: references to
/// references double with each step.
const MAX_PARTS: usize = 20_000;

/// A schema with every local reference inlined. One that is recursive, or not local, becomes a schema that accepts anything.
pub(super) fn inlined(schema: &Value) -> Value {
    let mut inliner = Inliner { root: schema, open: Vec::new(), parts: 0 };
    inliner.write(schema)
}

struct Inliner<'a> {
    root: &'a Value,
    /// References that are being inlined.
    open: Vec<&'a str>,
    parts: usize,
}

impl<'a> Inliner<'a> {
    fn write(&mut self, schema: &'a Value) -> Value {
        self.parts += 1;
        if self.parts > MAX_PARTS {
            return json!({});
        }
        match schema {
            Value::Object(object) => self.object(object),
            Value::Array(list) => list.iter().map(|item| self.write(item)).collect::<Vec<_>>().into(),
            other => other.clone(),
        }
    }

    fn object(&mut self, object: &'a Map<String, Value>) -> Value {
        let mut written = Map::new();
        if let Some(reference) = object.get("$ref").and_then(Value::as_str) {
            let target = find(self.root, reference).filter(|_| !self.open.contains(&reference));
            if let Some(target) = target {
                self.open.push(reference);
                if let Value::Object(target) = self.write(target) {
                    written = target;
                }
                self.open.pop();
            }
        }
        for (word, value) in object {
            let value = match (word.as_str(), value) {
                // Definitions are inlined where they are used.
                ("$ref" | "$defs" | "definitions", _) => continue,
                // The keys are names, not keywords.
                ("properties" | "patternProperties", Value::Object(named)) => named
                    .iter()
                    .map(|(name, schema)| (name.clone(), self.write(schema)))
                    .collect::<Map<_, _>>()
                    .into(),
                ("enum" | "const" | "default" | "examples", data) => data.clone(),
                (_, schema) => self.write(schema),
            };
            written.insert(word.clone(), value);
        }
        written.into()
    }
}

/// The target of a local reference.
pub(super) fn find<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(reference.strip_prefix('#')?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_written_out_and_circles_end() {
        let schema = json!({"type": "object", "properties": {
                "who": {"$ref": "#/$defs/person", "description": "the one"}, "next": {"$ref": "#"}},
            "$defs": {"person": {"type": "object", "properties": {"friend": {"$ref": "#/$defs/person"}}}}});
        let written = inlined(&schema);
        assert_eq!(written["properties"]["who"]["type"], "object");
        assert_eq!(written["properties"]["who"]["description"], "the one");
        assert_eq!(written["properties"]["who"]["properties"]["friend"], json!({}));
        assert!(!written.to_string().contains("$ref") && written.get("$defs").is_none(), "{written}");
    }

    #[test]
    fn few_lines_do_not_become_very_many() {
        let mut defs = Map::new();
        for step in 0..64 {
            let next = json!({"$ref": format!("#/$defs/d{}", step + 1)});
            defs.insert(format!("d{step}"), json!({"properties": {"a": next, "b": next, "c": next}}));
        }
        let written = inlined(&json!({"$ref": "#/$defs/d0", "$defs": defs}));
        assert!(written.to_string().len() < 4_000_000);
    }
}
