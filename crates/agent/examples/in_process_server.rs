//! A server inside the program: tools with a state of their own, used like those of any other server.
//!
//! Run it with `cargo run -p toolbay-agent --example in_process_server`.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolbay_agent::{Agent, BoxFuture, Error, Tool, ToolContext, ToolOutput, tool_fn};

/// Remembers notes.
struct Remember {
    notes: Arc<Mutex<Vec<String>>>,
    schema: Value,
}

impl Tool for Remember {
    fn name(&self) -> &str {
        "remember"
    }

    fn description(&self) -> &str {
        "Remembers a note."
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn execute<'a>(&'a self, arguments: Value, _: &'a ToolContext) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            // The host has checked the arguments against the schema.
            let note = arguments["note"].as_str().unwrap_or_default().to_owned();
            let Ok(mut notes) = self.notes.lock() else { return ToolOutput::error("the notes are lost") };
            notes.push(note);
            ToolOutput::text(format!("{} notes", notes.len()))
        })
    }
}

/// The server: a tool with a type of its own, and one from a closure.
fn notebook() -> Vec<Arc<dyn Tool>> {
    let notes: Arc<Mutex<Vec<String>>> = Arc::default();
    let schema =
        json!({ "type": "object", "properties": { "note": { "type": "string" } }, "required": ["note"] });
    let recall = {
        let notes = notes.clone();
        tool_fn("recall", "Tells all notes.", json!({ "type": "object" }), move |_| {
            let told = notes.lock().map(|notes| notes.join("; ")).map_err(|_| "the notes are lost".into());
            async move { told }
        })
    };
    vec![Arc::new(Remember { notes, schema }), recall]
}

/// Uses it as any client would; gives what was said.
pub(crate) async fn conversation() -> Result<Vec<String>, Error> {
    let agent = Agent::builder().tools("notebook", notebook()).build().await?;
    let mut said = Vec::new();
    for (tool, arguments) in [
        ("notebook__remember", json!({ "note": "buy milk" })),
        ("notebook__remember", json!({ "not": "so" })),
        ("notebook__recall", json!({})),
    ] {
        said.push(agent.call_tool(tool, arguments).await?.to_text());
    }
    agent.shutdown(std::time::Duration::from_secs(10)).await;
    Ok(said)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    for text in conversation().await? {
        eprintln!("{text}");
    }
    Ok(())
}
