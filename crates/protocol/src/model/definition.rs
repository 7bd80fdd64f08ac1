//! What servers offer: tools, resources, resource templates, prompts.

use std::borrow::Cow;

use bytes::Bytes;

use super::item::{InvalidItem, Item};

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
