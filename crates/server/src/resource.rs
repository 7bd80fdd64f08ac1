//! Resources, declared in one expression each.

use std::{fmt, sync::Arc};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use toolbay_protocol::{ErrorCode, ErrorObject};

use crate::{BlockingThreads, ToolContext, unknown_resource};

/// A resource of a server whose state is an `S`, or many with a common form of URI: its definition and the function that
/// reads it.
pub struct Resource<S> {
    uri: String,
    name: String,
    title: Option<String>,
    description: Option<String>,
    mime_type: Option<String>,
    read: Arc<ReadFunction<S>>,
}

type ReadFunction<S> = dyn Fn(&S, &str) -> Result<ResourceContents, ResourceError> + Send + Sync;

/// What a resource contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResourceContents {
    /// A text.
    Text(String),
    /// Bytes that are no text.
    Blob(Vec<u8>),
}

/// Why a resource cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResourceError {
    /// There is none with this URI.
    #[error("unknown resource")]
    NotFound,
    /// It is there, and reading it failed.
    #[error("{0}")]
    Failed(String),
}

impl<S: Send + Sync + 'static> Resource<S> {
    /// A resource that is read by a `fn(&S, uri: &str) -> Result<ResourceContents, ResourceError>`, on a thread for blocking
    /// work. A URI with a variable, such as `notes://{id}`, is a template: the function gets every URI of that form.
    pub fn blocking<F>(uri: impl Into<String>, name: impl Into<String>, read: F) -> Self
    where
        F: Fn(&S, &str) -> Result<ResourceContents, ResourceError> + Send + Sync + 'static,
    {
        let (uri, name, read) = (uri.into(), name.into(), Arc::new(read));
        Self { uri, name, title: None, description: None, mime_type: None, read }
    }

    /// Sets the name for people.
    pub fn title(self, title: impl Into<String>) -> Self {
        Self { title: Some(title.into()), ..self }
    }

    /// Sets the description for models.
    pub fn description(self, description: impl Into<String>) -> Self {
        Self { description: Some(description.into()), ..self }
    }

    /// Sets the media type.
    pub fn mime_type(self, mime_type: impl Into<String>) -> Self {
        Self { mime_type: Some(mime_type.into()), ..self }
    }

    /// Whether the URI has a variable.
    pub(crate) fn is_template(&self) -> bool {
        self.uri.contains('{')
    }

    /// Whether a URI names this resource, or one of this template.
    pub(crate) fn matches(&self, uri: &str) -> bool {
        match (self.uri.split_once('{'), self.uri.rsplit_once('}')) {
            (Some((before, _)), Some((_, after))) => {
                uri.len() > before.len() + after.len() && uri.starts_with(before) && uri.ends_with(after)
            }
            _ => uri == self.uri,
        }
    }

    /// Returns the definition as the list of resources, or of templates, has it.
    pub(crate) fn definition(&self) -> Value {
        let key = if self.is_template() { "uriTemplate" } else { "uri" };
        let mut definition = json!({ key: self.uri, "name": self.name });
        let optional =
            [("title", &self.title), ("description", &self.description), ("mimeType", &self.mime_type)];
        for (key, value) in optional {
            if let Some(value) = value {
                definition[key] = value.as_str().into();
            }
        }
        definition
    }

    /// Reads the resource: the result of `resources/read`.
    pub(crate) async fn read(
        &self,
        state: &Arc<S>,
        threads: &BlockingThreads,
        uri: &str,
    ) -> Result<String, ErrorObject> {
        let (read, state, wanted) = (self.read.clone(), state.clone(), uri.to_owned());
        let done = threads.run(ToolContext::default(), move |_| read(&state, &wanted)).await;
        let failed = |reason: String| {
            ErrorObject::new(ErrorCode::INTERNAL_ERROR, format!("cannot read resource `{uri}`: {reason}"))
        };
        let mut contents = match done.map_err(|error| failed(error.to_string()))? {
            Ok(ResourceContents::Text(text)) => json!({ "uri": uri, "text": text }),
            Ok(ResourceContents::Blob(bytes)) => json!({ "uri": uri, "blob": BASE64_STANDARD.encode(bytes) }),
            Err(ResourceError::NotFound) => return Err(unknown_resource(uri)),
            Err(ResourceError::Failed(reason)) => return Err(failed(reason)),
        };
        if let Some(mime_type) = &self.mime_type {
            contents["mimeType"] = mime_type.as_str().into();
        }
        Ok(json!({ "contents": [contents] }).to_string())
    }
}

impl<S> fmt::Debug for Resource<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resource").field("uri", &self.uri).finish_non_exhaustive()
    }
}
