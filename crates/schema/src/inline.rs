//! Inlining of references.

use serde_json::{Map, Value, json};

/// How many parts a schema may have once its references are inlined. A short schema can mean very many: references to
/// references double with each step.
const MAX_PARTS: usize = 20_000;

/// A schema with every local reference inlined. One that is recursive, or not local, becomes a schema that accepts anything.
pub(crate) fn inlined(schema: &Value) -> Value {
    inlined_with_loss(schema).0
}

/// As [`inlined`]; also says whether the schema accepts the same as before.
pub(crate) fn inlined_with_loss(schema: &Value) -> (Value, bool) {
    let mut inliner = Inliner { root: schema, open: Vec::new(), parts: 0, is_exact: true };
    (inliner.write(schema), inliner.is_exact)
}

/// Keywords that describe and demand nothing.
const ANNOTATIONS: [&str; 6] = ["title", "description", "default", "examples", "deprecated", "$comment"];

struct Inliner<'a> {
    root: &'a Value,
    /// References that are being inlined.
    open: Vec<&'a str>,
    parts: usize,
    is_exact: bool,
}

impl<'a> Inliner<'a> {
    fn write(&mut self, schema: &'a Value) -> Value {
        self.parts += 1;
        if self.parts > MAX_PARTS {
            self.is_exact = false;
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
                match self.write(target) {
                    Value::Object(target) => written = target,
                    _ => self.is_exact = false,
                }
                self.open.pop();
            } else {
                self.is_exact = false;
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
            if let ("properties", Some(Value::Object(known)), Value::Object(more)) =
                (word.as_str(), written.get_mut(word), &value)
            {
                known.extend(more.clone());
                self.is_exact = false;
                continue;
            }
            let before = written.insert(word.clone(), value);
            self.is_exact &= before.is_none() || ANNOTATIONS.contains(&word.as_str());
        }
        written.into()
    }
}

/// The target of a local reference.
pub(crate) fn find<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
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
