//! Blocks of content in results and prompts.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::value::RawValue;

use super::result::ResourceContents;

/// One block of content. Serialising gives back the text it was read from.
#[derive(Debug, Clone)]
pub struct ContentBlock {
    raw: Box<RawValue>,
    kind: ContentKind,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentKind {
    Text {
        text: String,
    },
    #[serde(rename_all = "camelCase")]
    Image {
        data: String,
        mime_type: String,
    },
    #[serde(rename_all = "camelCase")]
    Audio {
        data: String,
        mime_type: String,
    },
    ResourceLink {
        uri: String,
    },
    Resource {
        resource: ResourceContents,
    },
    #[serde(other)]
    Other,
}

impl ContentBlock {
    /// The text, if this is a text block.
    pub fn as_text(&self) -> Option<&str> {
        match &self.kind {
            ContentKind::Text { text } => Some(text),
            _ => None,
        }
    }

    /// What a person reads: the text, or one line that says what is there.
    pub fn to_text(&self) -> String {
        match &self.kind {
            ContentKind::Text { text } => text.clone(),
            ContentKind::Image { data, mime_type } => {
                format!("[image {mime_type}, {} bytes]", decoded_len(data))
            }
            ContentKind::Audio { data, mime_type } => {
                format!("[audio {mime_type}, {} bytes]", decoded_len(data))
            }
            ContentKind::ResourceLink { uri } => format!("[link {uri}]"),
            ContentKind::Resource { resource } => resource.to_text(),
            ContentKind::Other => self.raw.get().to_owned(),
        }
    }

    /// The block as JSON text.
    pub fn raw(&self) -> &str {
        self.raw.get()
    }
}

/// How many bytes a base64 text stands for.
pub(super) fn decoded_len(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

impl<'de> Deserialize<'de> for ContentBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let kind = serde_json::from_str(raw.get()).map_err(D::Error::custom)?;
        Ok(Self { raw, kind })
    }
}

impl Serialize for ContentBlock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.raw.serialize(serializer)
    }
}
