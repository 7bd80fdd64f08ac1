//! Results of calls: content blocks, resources, prompts.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::value::RawValue;

/// The response to `tools/call`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallToolResult {
    /// The content, for people and models.
    #[serde(default)]
    pub content: Vec<ContentBlock>,
    /// The same for programs, as JSON text.
    pub structured_content: Option<Box<RawValue>>,
    /// Whether the tool failed.
    #[serde(default)]
    pub is_error: bool,
}

impl CallToolResult {
    /// Text for people and models: the blocks, or the structured content when no block holds any text (C11).
    pub fn to_text(&self) -> String {
        let text = self.content.iter().map(ContentBlock::to_text).collect::<Vec<_>>().join("\n");
        match &self.structured_content {
            Some(structured) if text.trim().is_empty() => structured.get().to_owned(),
            _ => text,
        }
    }
}

/// The response to `resources/read`.
#[derive(Debug, Clone, Deserialize)]
pub struct ReadResourceResult {
    /// One or more parts.
    pub contents: Vec<ResourceContents>,
}

/// A part of a resource.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceContents {
    /// Which resource.
    pub uri: String,
    /// Its media type.
    pub mime_type: Option<String>,
    /// Its text, when it is one.
    pub text: Option<String>,
    /// Its bytes in base64, when it is not.
    pub blob: Option<String>,
}

impl ResourceContents {
    /// What a person reads.
    pub fn to_text(&self) -> String {
        match (&self.text, &self.blob) {
            (Some(text), _) => text.clone(),
            (None, Some(blob)) => format!("[{} bytes of {}]", decoded_len(blob), self.uri),
            (None, None) => String::new(),
        }
    }
}

/// The response to `prompts/get`.
#[derive(Debug, Clone, Deserialize)]
pub struct GetPromptResult {
    /// What the prompt is for.
    pub description: Option<String>,
    /// The conversation it starts.
    pub messages: Vec<PromptMessage>,
}

/// One message of a prompt.
#[derive(Debug, Clone, Deserialize)]
pub struct PromptMessage {
    /// `user` or `assistant`.
    pub role: String,
    /// What it says.
    pub content: ContentBlock,
}

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

    /// Returns the text, or one line that describes what is not text.
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
