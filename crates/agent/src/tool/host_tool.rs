//! Tools of servers.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use serde_json::{Value, json};
use toolbay_protocol::{ServerName, decode_string, model};

use super::{Tool, ToolContext, ToolOutput};
use crate::{Agent, Error, handlers::BoxFuture};

/// How tools are named in [`Agent::as_tools_named`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolNames {
    /// By their listed names.
    #[default]
    AsListed,
    /// By the names of their servers; where two servers use one name, by their listed names.
    Bare,
}

/// A tool of a server.
///
/// It looks up its server by name for every call, so it stays valid over restarts, while the server is down, and after its
/// tools were listed again.
#[derive(Debug, Clone)]
pub struct HostTool {
    agent: Agent,
    name: String,
    server: ServerName,
    /// Its name at the server.
    raw: String,
    description: String,
    schema: Value,
}

impl HostTool {
    /// The server that has it.
    pub fn server(&self) -> &ServerName {
        &self.server
    }

    /// Its name at the server.
    pub fn raw_name(&self) -> &str {
        &self.raw
    }
}

impl Agent {
    /// The tools of all servers that are up.
    pub fn as_tools(&self) -> Vec<Arc<dyn Tool>> {
        self.as_tools_named(ToolNames::AsListed)
    }

    /// As [`Agent::as_tools`], with other names.
    pub fn as_tools_named(&self, names: ToolNames) -> Vec<Arc<dyn Tool>> {
        let mut tools = self.host_tools();
        if names == ToolNames::Bare {
            let mut uses: HashMap<String, usize> = HashMap::new();
            tools.iter().for_each(|tool| *uses.entry(tool.raw.clone()).or_default() += 1);
            for tool in tools.iter_mut().filter(|tool| uses[&tool.raw] == 1) {
                tool.name.clone_from(&tool.raw);
            }
        }
        tools.into_iter().map(|tool| Arc::new(tool) as Arc<dyn Tool>).collect()
    }

    /// As [`Agent::as_tools`], with the server of each.
    pub fn host_tools(&self) -> Vec<HostTool> {
        let table = self.host().table();
        let tools = self.all_tools().into_iter();
        tools
            .filter_map(|tool| {
                // A tool may be removed between the two lookups.
                let route = table.tool(tool.name())?;
                let raw = route.renamed.as_deref().and_then(decode_string);
                let raw = raw.unwrap_or(Cow::Borrowed(tool.name())).into_owned();
                Some(self.host_tool(&tool, route.server.name(), raw))
            })
            .collect()
    }

    fn host_tool(&self, tool: &model::Tool, server: &ServerName, raw: String) -> HostTool {
        let schema = tool.input_schema().and_then(|schema| serde_json::from_str(schema).ok());
        let description = tool.description().or_else(|| tool.title()).unwrap_or_default();
        HostTool {
            agent: self.clone(),
            name: tool.name().to_owned(),
            server: server.clone(),
            raw,
            description: description.into_owned(),
            schema: schema.unwrap_or_else(|| json!({ "type": "object" })),
        }
    }
}

impl Tool for HostTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn execute<'a>(&'a self, arguments: Value, context: &'a ToolContext) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let agent = self.agent.with(context.options().clone());
            let result = match agent.call_tool_on(self.server.as_str(), &self.raw, arguments).await {
                Ok(result) => result,
                Err(Error::ToolNotFound { similar, .. }) => {
                    return Error::ToolNotFound { name: self.name.clone(), similar }.into();
                }
                Err(error) => return error.into(),
            };
            let limited = self.agent.limit().apply(&self.name, result.to_text()).await;
            let is_error = result.is_error();
            ToolOutput { text: limited.text, is_error, result: Some(result), file: limited.file }
        })
    }
}
