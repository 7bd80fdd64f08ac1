//! Writing JSON objects.

use serde::Serialize;

use crate::encode_string;

/// Writes a JSON object field by field, in the order of the calls.
///
/// For objects in which values are JSON text already: a `serde_json::Value` would lose their order and number formats.
#[derive(Debug, Clone)]
pub struct ObjectBuilder {
    /// The object without its closing brace.
    text: String,
}

impl Default for ObjectBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl ObjectBuilder {
    /// An object without fields.
    pub fn new() -> Self {
        Self { text: "{".to_owned() }
    }

    /// As [`ObjectBuilder::new`], with room for so many bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        let mut text = String::with_capacity(bytes);
        text.push('{');
        Self { text }
    }

    /// Adds a field whose value is JSON text.
    pub fn raw(mut self, key: &str, json: &str) -> Self {
        self.separate();
        self.text.push_str(&encode_string(key));
        self.text.push(':');
        self.text.push_str(json);
        self
    }

    /// Adds a field with a string.
    pub fn string(self, key: &str, text: &str) -> Self {
        self.raw(key, &encode_string(text))
    }

    /// Adds a field with plain data.
    pub fn value(self, key: &str, value: &impl Serialize) -> Self {
        let json = serde_json::to_string(value).expect("plain data always serializes");
        self.raw(key, &json)
    }

    /// Adds a field with an array of values that are JSON text.
    pub fn array<'a>(self, key: &str, items: impl IntoIterator<Item = &'a str>) -> Self {
        let mut object = self.raw(key, "[");
        for (at, item) in items.into_iter().enumerate() {
            object.text.push_str(if at > 0 { "," } else { "" });
            object.text.push_str(item);
        }
        object.text.push(']');
        object
    }

    /// Adds the fields of an object that is JSON text.
    pub fn fields_of(mut self, object: &str) -> Self {
        let fields = object.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let fields = fields.unwrap_or_default();
        if !fields.trim().is_empty() {
            self.separate();
            self.text.push_str(fields);
        }
        self
    }

    /// Whether no field was added.
    pub fn is_empty(&self) -> bool {
        self.text.len() == 1
    }

    /// The object as JSON text.
    pub fn finish(mut self) -> String {
        self.text.push('}');
        self.text
    }

    fn separate(&mut self) {
        if !self.is_empty() {
            self.text.push(',');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_written_in_order_and_json_text_stays_as_it_is() {
        assert_eq!(ObjectBuilder::new().fields_of(" { } ").finish(), "{}");
        let object = ObjectBuilder::new()
            .string("a\"", "\n")
            .raw("b", "1.0e0")
            .value("c", &[Some(1), None])
            .array("d", ["{}", "2"])
            .fields_of(r#"{"z":0,"e":{}}"#);
        assert_eq!(object.finish(), r#"{"a\"":"\n","b":1.0e0,"c":[1,null],"d":[{},2],"z":0,"e":{}}"#);
    }
}
