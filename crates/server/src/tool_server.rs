//! A server that is declared: a state, tools, resources and prompts.

use std::{fmt, sync::Arc};

use serde_json::Value;

use crate::{
    Call, CallFuture, ChangeNotifier, Prompt, Resource, Server, Toolset, server::unknown_prompt,
    unknown_resource,
};

/// A server of declared tools, and of resources and prompts if it has any.
#[derive(Debug)]
pub struct ToolServer<S> {
    name: String,
    instructions: Option<String>,
    state: Arc<S>,
    tools: Toolset<S>,
    resources: Vec<Resource<S>>,
    prompts: Vec<Prompt<S>>,
    changes: Option<ChangeNotifier>,
    wants_roots: bool,
}

impl<S: Send + Sync + 'static> ToolServer<S> {
    /// A server with these tools on this state.
    pub fn new(name: impl Into<String>, state: S, tools: Toolset<S>) -> Self {
        Self {
            name: name.into(),
            instructions: None,
            state: Arc::new(state),
            tools,
            resources: Vec::new(),
            prompts: Vec::new(),
            changes: None,
            wants_roots: false,
        }
    }

    /// Sets what models read about the server as a whole.
    pub fn instructions(self, instructions: impl Into<String>) -> Self {
        Self { instructions: Some(instructions.into()), ..self }
    }

    /// Adds a resource, or a template of resources.
    pub fn resource(mut self, resource: Resource<S>) -> Self {
        self.resources.push(resource);
        self
    }

    /// Adds a prompt.
    pub fn prompt(mut self, prompt: Prompt<S>) -> Self {
        self.prompts.push(prompt);
        self
    }

    /// Lets clients subscribe to what is announced here.
    pub fn changes(self, changes: &ChangeNotifier) -> Self {
        Self { changes: Some(changes.clone()), ..self }
    }

    /// Asks clients for their roots, which tools read with [`ToolContext::roots`](crate::ToolContext::roots).
    pub fn with_roots(self) -> Self {
        Self { wants_roots: true, ..self }
    }

    fn definitions(&self, are_templates: bool) -> String {
        let resources = self.resources.iter().filter(|resource| resource.is_template() == are_templates);
        Value::from_iter(resources.map(Resource::definition)).to_string()
    }
}

impl<S: fmt::Debug + Send + Sync + 'static> Server for ToolServer<S> {
    fn name(&self) -> &str {
        &self.name
    }

    fn instructions(&self) -> Option<&str> {
        self.instructions.as_deref()
    }

    fn tools(&self) -> String {
        self.tools.definitions()
    }

    fn call<'a>(&'a self, call: Call<'a>) -> CallFuture<'a> {
        Box::pin(self.tools.call(&self.state, call))
    }

    fn resources(&self) -> Option<String> {
        (!self.resources.is_empty()).then(|| self.definitions(false))
    }

    fn resource_templates(&self) -> String {
        self.definitions(true)
    }

    fn read<'a>(&'a self, uri: &'a str) -> CallFuture<'a> {
        match self.resources.iter().find(|resource| resource.matches(uri)) {
            Some(resource) => Box::pin(resource.read(&self.state, self.tools.threads(), uri)),
            None => Box::pin(std::future::ready(Err(unknown_resource(uri)))),
        }
    }

    fn prompts(&self) -> Option<String> {
        let definitions = || Value::from_iter(self.prompts.iter().map(Prompt::definition)).to_string();
        (!self.prompts.is_empty()).then(definitions)
    }

    fn prompt<'a>(&'a self, name: &'a str, arguments: &'a str) -> CallFuture<'a> {
        match self.prompts.iter().find(|prompt| prompt.name() == name) {
            Some(prompt) => Box::pin(prompt.get(self.state.clone(), arguments)),
            None => Box::pin(std::future::ready(Err(unknown_prompt(name)))),
        }
    }

    fn changes(&self) -> Option<&ChangeNotifier> {
        self.changes.as_ref()
    }

    fn wants_roots(&self) -> bool {
        self.wants_roots
    }
}
