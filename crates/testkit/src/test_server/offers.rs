//! What a server offers.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use toolbay_protocol::Revision;

use super::{ToolContext, ToolError, ToolResult};

#[derive(Default)]
pub(super) struct Offers {
    /// Whether changes of the other lists are kept to itself.
    pub(super) announces_tools_only: bool,
    pub(super) tools: Vec<Tool>,
    resources: Vec<Resource>,
    pub(super) templates: Vec<Template>,
    pub(super) prompts: Vec<Prompt>,
    pub(super) completions: Vec<Completion>,
}

/// From arguments to the result.
pub(super) type Work = dyn Fn(Value, ToolContext) -> BoxFuture<'static, ToolResult> + Send + Sync;
type Raw = dyn Fn(&str) -> Result<String, ToolError> + Send + Sync;

pub(super) struct Tool {
    pub(super) name: String,
    /// As `tools/list` shows it.
    pub(super) listed: Value,
    pub(super) run: Run,
}

#[derive(Clone)]
pub(super) enum Run {
    Work(Arc<Work>),
    /// From the text of `params` to the text of the result.
    Raw(Arc<Raw>),
}

struct Resource {
    uri: String,
    /// Gives the text.
    read: Arc<Work>,
}

pub(super) struct Template {
    pub(super) uri: String,
    /// Gives the text for some variables.
    pub(super) read: Arc<Work>,
}

pub(super) struct Prompt {
    pub(super) name: String,
    pub(super) required: Vec<String>,
    /// Gives the messages, or a text of the user.
    pub(super) get: Arc<Work>,
}

pub(super) struct Completion {
    pub(super) reference: String,
    pub(super) argument: String,
    pub(super) values: Vec<String>,
}

/// Work that is done at once.
pub(super) fn at_once(work: impl Fn(Value) -> ToolResult + Send + Sync + 'static) -> Arc<Work> {
    Arc::new(move |arguments, _| Box::pin(std::future::ready(work(arguments))))
}

/// Work that takes time.
pub(super) fn in_time<F, R>(work: F) -> Arc<Work>
where
    F: Fn(Value, ToolContext) -> R + Send + Sync + 'static,
    R: Future<Output = ToolResult> + Send + 'static,
{
    Arc::new(move |arguments, context| Box::pin(work(arguments, context)))
}

impl Tool {
    pub(super) fn new(name: String, schema: Value, run: Run) -> Self {
        let listed = json!({"name": name, "description": format!("The tool {name}"), "inputSchema": schema});
        Self { name, listed, run }
    }
}

impl Offers {
    pub(super) fn put_tool(&mut self, tool: Tool) {
        match self.tools.iter_mut().find(|other| other.name == tool.name) {
            Some(other) => *other = tool,
            None => self.tools.push(tool),
        }
    }

    pub(super) fn describe_tool(&mut self, name: &str, more: Value) {
        let tool = self.tools.iter_mut().find(|tool| tool.name == name);
        if let (Some(tool), Value::Object(more)) = (tool, more) {
            for (key, value) in more {
                tool.listed[key] = value;
            }
        }
    }

    pub(super) fn remove_tool(&mut self, name: &str) {
        self.tools.retain(|tool| tool.name != name);
    }

    pub(super) fn put_resource(&mut self, uri: String, read: Arc<Work>) {
        match self.resources.iter_mut().find(|other| other.uri == uri) {
            Some(other) => other.read = read,
            None => self.resources.push(Resource { uri, read }),
        }
    }

    pub(super) fn resource(&self, uri: &str) -> Option<Arc<Work>> {
        self.resources.iter().find(|resource| resource.uri == uri).map(|resource| resource.read.clone())
    }

    pub(super) fn put_prompt(&mut self, prompt: Prompt) {
        match self.prompts.iter_mut().find(|other| other.name == prompt.name) {
            Some(other) => *other = prompt,
            None => self.prompts.push(prompt),
        }
    }

    pub(super) fn has_resources(&self) -> bool {
        !self.resources.is_empty() || !self.templates.is_empty()
    }

    pub(super) fn has_prompts(&self) -> bool {
        !self.prompts.is_empty()
    }

    pub(super) fn tool_list(&self, revision: Revision) -> Vec<Value> {
        self.tools.iter().map(|tool| as_listed_in(revision, tool.listed.clone())).collect()
    }

    pub(super) fn resource_list(&self) -> Vec<Value> {
        let listed = |resource: &Resource| json!({"uri": resource.uri, "name": resource.uri, "mimeType": "text/plain"});
        self.resources.iter().map(listed).collect()
    }

    pub(super) fn template_list(&self) -> Vec<Value> {
        let listed = |template: &Template| json!({"uriTemplate": template.uri, "name": template.uri, "mimeType": "text/plain"});
        self.templates.iter().map(listed).collect()
    }

    pub(super) fn prompt_list(&self) -> Vec<Value> {
        let argument = |name: &String| json!({"name": name, "required": true});
        let listed = |prompt: &Prompt| {
            let arguments: Vec<Value> = prompt.required.iter().map(argument).collect();
            json!({"name": prompt.name, "description": format!("The prompt {}", prompt.name),
                "arguments": arguments})
        };
        self.prompts.iter().map(listed).collect()
    }

    /// What is declared to clients. Tools always are, as they may come later.
    pub(super) fn capabilities(&self, revision: Revision) -> Value {
        let mut declared = Map::new();
        declared.insert("tools".to_owned(), json!({"listChanged": true}));
        declared.insert("logging".to_owned(), json!({}));
        if self.has_resources() {
            let announced = !self.announces_tools_only;
            declared.insert("resources".to_owned(), json!({"listChanged": announced, "subscribe": true}));
        }
        if self.has_prompts() {
            declared.insert("prompts".to_owned(), json!({"listChanged": !self.announces_tools_only}));
        }
        // In the first revision it was there without being declared.
        if !self.completions.is_empty() && revision >= Revision::V2025_03_26 {
            declared.insert("completions".to_owned(), json!({}));
        }
        declared.into()
    }
}

/// A tool without what its revision does not know.
fn as_listed_in(revision: Revision, mut listed: Value) -> Value {
    let newer = [
        ("annotations", Revision::V2025_03_26),
        ("title", Revision::V2025_06_18),
        ("outputSchema", Revision::V2025_06_18),
        ("icons", Revision::V2025_11_25),
    ];
    if let Some(fields) = listed.as_object_mut() {
        for (name, _) in newer.into_iter().filter(|(_, since)| revision < *since) {
            fields.remove(name);
        }
    }
    listed
}
