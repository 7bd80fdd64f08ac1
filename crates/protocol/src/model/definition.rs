//! What servers offer: tools, resources, resource templates, prompts.

use std::borrow::Cow;

use bytes::Bytes;

use crate::{
    Fields, ParseError, Rope, Scanner, Span, Splice, decode_string, encode_string, json::keys::KeyChecker,
    message::envelope::plain_fields,
};

/// Makes a view of an [`Item`] whose key field is a required string.
macro_rules! offer {
    ($(#[$doc:meta])* $name:ident, $key:literal, $accessor:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone)]
        pub struct $name {
            key: String,
            item: Item,
        }

        impl $name {
            /// The field that names it.
            pub const KEY: &'static str = $key;

            /// Reads it and checks that its key is there.
            pub fn parse(text: Bytes) -> Result<Self, InvalidItem> {
                let item = Item::parse(text)?;
                let key = item.require($key)?;
                Ok(Self { key, item })
            }

            /// What names it.
            pub fn $accessor(&self) -> &str {
                &self.key
            }

            /// What people read.
            pub fn title(&self) -> Option<Cow<'_, str>> {
                self.item.string("title")
            }

            /// What models read.
            pub fn description(&self) -> Option<Cow<'_, str>> {
                self.item.string("description")
            }

            /// The whole definition.
            pub fn item(&self) -> &Item {
                &self.item
            }
        }
    };
}

offer!(
    /// A tool.
    Tool, "name", name
);
offer!(
    /// A resource.
    Resource, "uri", uri
);
offer!(
    /// A family of resources.
    ResourceTemplate, "uriTemplate", uri_template
);
offer!(
    /// A prompt.
    Prompt, "name", name
);

impl Tool {
    /// The schema of its arguments, as JSON text.
    pub fn input_schema(&self) -> Option<&str> {
        self.item.raw("inputSchema")
    }

    /// The schema of its structured results, as JSON text.
    pub fn output_schema(&self) -> Option<&str> {
        self.item.raw("outputSchema")
    }
}

impl Resource {
    /// The name beside the URI.
    pub fn name(&self) -> Option<Cow<'_, str>> {
        self.item.string("name")
    }

    /// The media type.
    pub fn mime_type(&self) -> Option<Cow<'_, str>> {
        self.item.string("mimeType")
    }
}

/// An object of a list, with the places of its fields.
#[derive(Debug, Clone)]
pub struct Item {
    text: Bytes,
    fields: Fields,
}

/// Why a text is not the item it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidItem {
    /// Not JSON, or no object.
    #[error("not an object")]
    NotAnObject(#[from] ParseError),
    /// A required field is missing or has the wrong type.
    #[error("`{field}` is missing or not {expected}")]
    BadField { field: &'static str, expected: &'static str },
    /// A field stands twice.
    #[error("duplicate `{field}`")]
    Duplicate { field: String },
}

impl Item {
    /// Reads one object. Its fields must be unambiguous.
    pub fn parse(text: Bytes) -> Result<Self, InvalidItem> {
        let mut scanner = Scanner::new(&text);
        let fields =
            plain_fields(&text, &mut scanner, Some(KeyChecker::new(&text, &[]))).map_err(
                |why| match why {
                    ParseError::DuplicateKey { key, .. } => InvalidItem::Duplicate { field: key },
                    other => other.into(),
                },
            )?;
        scanner.end()?;
        Ok(Self { text, fields })
    }

    /// The whole text.
    pub fn text(&self) -> &Bytes {
        &self.text
    }

    /// Where a field's value stands.
    pub fn span(&self, field: &str) -> Option<Span> {
        self.fields.get(&self.text, field)
    }

    /// A field as JSON text.
    pub fn raw(&self, field: &str) -> Option<&str> {
        let span = self.fields.get(&self.text, field)?;
        std::str::from_utf8(&self.text[span.range()]).ok()
    }

    /// A field that is a string.
    pub fn string(&self, field: &str) -> Option<Cow<'_, str>> {
        decode_string(&self.text[self.fields.get(&self.text, field)?.range()])
    }

    /// A string field that must be there.
    pub(crate) fn require(&self, field: &'static str) -> Result<String, InvalidItem> {
        let bad = InvalidItem::BadField { field, expected: "a string" };
        self.string(field).map(Cow::into_owned).ok_or(bad)
    }

    /// The text with another value for a string field.
    pub fn with_string(&self, field: &str, value: &str) -> Rope {
        let mut splice = Splice::new(&self.text);
        if let Some(span) = self.fields.get(&self.text, field) {
            splice.replace(span, encode_string(value));
        }
        splice.finish()
    }

    /// The text with another value (JSON text) for a field, which is added where it is missing.
    pub fn with_field(&self, field: &str, value: &str) -> Rope {
        let mut splice = Splice::new(&self.text);
        match self.fields.get(&self.text, field) {
            Some(span) => splice.replace(span, value),
            None => splice.insert_fields(&self.fields, &[(field, value)]),
        };
        splice.finish()
    }

    /// The text without some fields.
    pub fn without(&self, fields: &[&str]) -> Rope {
        let mut splice = Splice::new(&self.text);
        for cut in self.fields.cuts(&self.text, fields) {
            splice.replace(cut, "");
        }
        splice.finish()
    }
}

/// The objects of an array.
pub fn list_items(array: &Bytes) -> Result<Vec<Bytes>, ParseError> {
    let mut items = Vec::new();
    let mut scanner = Scanner::new(array);
    scanner.array(|scanner| {
        items.push(array.slice(scanner.value()?.range()));
        Ok(())
    })?;
    scanner.end()?;
    Ok(items)
}
