//! An agent's host in ten lines: servers, their tools for a model, and one turn of it.
//!
//! Run it with `cargo run -p toolbay-agent --example agent_host -- uvx mcp-server-time`, or with any other server. Without
//! one it uses a tool of its own. The model is played by the program itself: it wants the first tool, with no arguments.

use serde_json::json;
use toolbay_agent::{
    Agent, Error, Shim, ToolContext,
    adapter::{ToolSet, anthropic},
    shim, tool_fn,
};

/// The ten lines.
pub(crate) async fn turn(builder: toolbay_agent::AgentBuilder) -> Result<String, Error> {
    let agent = builder.build().await?;
    let tools = ToolSet::new(agent.as_tools());
    let request = json!({ "tools": anthropic::definitions(&tools), "messages": [] }); // goes to the API …
    let response = played_model(&request); // … which answers
    let done = tools.run(anthropic::calls(&response), &ToolContext::new()).await;
    let message = anthropic::results(&done); // goes to the API with the next request
    agent.shutdown(std::time::Duration::from_secs(10)).await;
    Ok(message["content"][0]["content"][0]["text"].as_str().unwrap_or_default().to_owned())
}

/// Wants the first tool that there is.
fn played_model(request: &serde_json::Value) -> serde_json::Value {
    json!({ "content": [{ "type": "tool_use", "id": "1", "name": request["tools"][0]["name"], "input": {} }] })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    shim::run_if_asked(); // so that whatever servers start ends with this program
    let mut builder = Agent::builder().inherit_env().shim(Shim::current_exe());
    let mut arguments = std::env::args().skip(1);
    builder = match arguments.next() {
        Some(command) => builder.stdio_server("server", &command, arguments),
        None => {
            let hello = |_| async { Ok("Hello!".to_owned()) };
            builder.tools("own", vec![tool_fn("hello", "Says hello.", json!({ "type": "object" }), hello)])
        }
    };
    let said = tokio::runtime::Runtime::new()?.block_on(turn(builder)).map_err(|error| error.explained())?;
    eprintln!("the tool said: {said}");
    Ok(())
}
