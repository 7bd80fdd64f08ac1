//! Prompts, declared in one expression each.

use std::{collections::BTreeMap, fmt, pin::Pin, sync::Arc};

use serde_json::{Value, json};
use toolbay_protocol::{ErrorCode, ErrorObject};

/// A prompt of a server whose state is an `S`: its definition and the function that makes its text.
pub struct Prompt<S> {
    name: String,
    description: String,
    arguments: Vec<PromptArgument>,
    handler: Box<PromptHandler<S>>,
}

#[derive(Debug)]
struct PromptArgument {
    name: String,
    description: String,
}

/// The arguments of a prompt: texts by name.
pub type PromptArguments = BTreeMap<String, String>;

type PromptFuture = Pin<Box<dyn Future<Output = PromptText> + Send>>;
type PromptHandler<S> = dyn Fn(Arc<S>, PromptArguments) -> PromptFuture + Send + Sync;

/// What a prompt comes to: one message of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptText {
    /// What it is, for people.
    pub description: String,
    /// The message.
    pub text: String,
}

impl<S: Send + Sync + 'static> Prompt<S> {
    /// A prompt whose text is made by an `async fn(Arc<S>, PromptArguments) -> PromptText`.
    pub fn new<F, R>(name: impl Into<String>, handler: F) -> Self
    where
        F: Fn(Arc<S>, PromptArguments) -> R + Send + Sync + 'static,
        R: Future<Output = PromptText> + Send + 'static,
    {
        let handler =
            Box::new(move |state, arguments| -> PromptFuture { Box::pin(handler(state, arguments)) });
        Self { name: name.into(), description: String::new(), arguments: Vec::new(), handler }
    }

    /// Sets the description.
    pub fn description(self, description: impl Into<String>) -> Self {
        Self { description: description.into(), ..self }
    }

    /// Adds an argument, which is required.
    pub fn argument(mut self, name: impl Into<String>, description: impl Into<String>) -> Self {
        self.arguments.push(PromptArgument { name: name.into(), description: description.into() });
        self
    }

    /// Returns the name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the definition as `prompts/list` has it.
    pub(crate) fn definition(&self) -> Value {
        let arguments = self.arguments.iter().map(|argument| {
            json!({ "name": argument.name, "description": argument.description, "required": true })
        });
        json!({ "name": self.name, "description": self.description, "arguments": Value::from_iter(arguments) })
    }

    /// Makes the text: the result of `prompts/get`.
    pub(crate) async fn get(&self, state: Arc<S>, arguments: &str) -> Result<String, ErrorObject> {
        let invalid = |reason: String| ErrorObject::new(ErrorCode::INVALID_PARAMS, reason);
        let arguments: PromptArguments = serde_json::from_str(arguments)
            .map_err(|error| invalid(format!("`params.arguments` must be an object of strings: {error}")))?;
        if let Some(missing) = self.arguments.iter().find(|it| !arguments.contains_key(&it.name)) {
            return Err(invalid(format!(
                "argument `{}` of prompt `{}` is required",
                missing.name, self.name
            )));
        }
        let PromptText { description, text } = (self.handler)(state, arguments).await;
        let message = json!({ "role": "user", "content": { "type": "text", "text": text } });
        Ok(json!({ "description": description, "messages": [message] }).to_string())
    }
}

impl<S> fmt::Debug for Prompt<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompt").field("name", &self.name).finish_non_exhaustive()
    }
}
