//! The calls of an agent, for programs that need no agent of their own.

use serde_json::Value;

use crate::{
    Agent, CallToolResult, CompleteResult, CompletionReference, Error, GetPromptResult, Host,
    ReadResourceResult,
};

impl Host {
    /// Someone who uses this host: with a name, handlers and limits of its own.
    pub fn agent(&self) -> Agent {
        Agent::new(self.clone())
    }

    /// Calls a tool: [`Agent::call_tool`].
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn call_tool(&self, name: &str, arguments: Value) -> Result<CallToolResult, Error> {
        self.as_agent().call_tool(name, arguments).await
    }

    /// Calls a tool of a server by the name that the server uses: [`Agent::call_tool_on`].
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn call_tool_on(
        &self,
        server: &str,
        tool: &str,
        arguments: Value,
    ) -> Result<CallToolResult, Error> {
        self.as_agent().call_tool_on(server, tool, arguments).await
    }

    /// Reads a resource: [`Agent::read_resource`].
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn read_resource(&self, uri: &str) -> Result<ReadResourceResult, Error> {
        self.as_agent().read_resource(uri).await
    }

    /// Gets a prompt: [`Agent::get_prompt`].
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn get_prompt(&self, name: &str, arguments: Value) -> Result<GetPromptResult, Error> {
        self.as_agent().get_prompt(name, arguments).await
    }

    /// Asks how an argument may go on: [`Agent::complete`].
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn complete(
        &self,
        what: &CompletionReference,
        argument: &str,
        begun: &str,
    ) -> Result<CompleteResult, Error> {
        self.as_agent().complete(what, argument, begun).await
    }

    pub(crate) fn as_agent(&self) -> Agent {
        Agent::of_program(self.clone())
    }
}
