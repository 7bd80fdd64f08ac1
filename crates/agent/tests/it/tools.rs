//! What agents run: tools of servers, and their own.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use toolbay_agent::{
    Agent, BoxFuture, CallOptions, Naming, OutputLimit, Progress, Tool, ToolContext, ToolNames, ToolOutput,
    tool_fn,
};
use toolbay_testkit::TestServer;

use crate::{
    agent,
    test_host::{eventually, server},
};

fn named<'a>(tools: &'a [Arc<dyn Tool>], name: &str) -> &'a dyn Tool {
    &**tools.iter().find(|tool| tool.name() == name).unwrap_or_else(|| panic!("no {name} in {tools:?}"))
}

#[tokio::test(start_paused = true)]
async fn tools_have_names_descriptions_and_schemas() {
    let agent = agent(&[("demo", &TestServer::demo())], Naming::Prefix).await;
    let tools = agent.as_tools();
    let add = named(&tools, "demo__add");
    assert_eq!(add.schema()["required"], json!(["a", "b"]));
    assert_eq!(add.description(), "The tool add");
    let output = add.execute(json!({"a": 2, "b": 3}), &ToolContext::new()).await;
    assert_eq!((output.text.as_str(), output.is_error), (r#"{"sum":5}"#, false));
    assert_eq!(output.result.unwrap().structured::<serde_json::Value>().unwrap()["sum"], 5);
}

#[tokio::test(start_paused = true)]
async fn names_can_be_those_of_the_servers() {
    let (a, b) = (server("a", &["x", "y"]), server("b", &["x"]));
    let agent = agent(&[("a", &a), ("b", &b)], Naming::Prefix).await;
    let tools = agent.as_tools_named(ToolNames::Bare);
    let names: Vec<&str> = tools.iter().map(|tool| tool.name()).collect();
    assert_eq!(names, ["a__x", "y", "b__x"], "where two have one name, both say whose it is");
    let output = named(&tools, "y").execute(Value::Null, &ToolContext::new()).await;
    assert!(output.text.contains("\"a\""), "{}", output.text);
}

/// The model gets details, whatever went wrong.
#[tokio::test(start_paused = true)]
async fn failures_go_to_the_model() {
    let demo = TestServer::demo();
    let agent = agent(&[("demo", &demo)], Naming::Prefix).await;
    let tools = agent.as_tools();
    let context = ToolContext::new();
    let failed = named(&tools, "demo__fail").execute(json!({"text": "no luck"}), &context).await;
    assert!(failed.is_error && failed.text.contains("no luck"));
    let misfit = named(&tools, "demo__add").execute(json!({"a": 1}), &context).await;
    assert!(misfit.is_error && misfit.text.contains("\"b\""), "{}", misfit.text);
    let quick = ToolContext::with(CallOptions::new().timeout(Duration::from_secs(1)));
    let late = named(&tools, "demo__sleep").execute(json!({"ms": 9000}), &quick).await;
    assert!(
        late.is_error && late.text.contains("timeout of 1 s") && late.text.contains("hint:"),
        "{}",
        late.text
    );
    demo.handle().remove_tool("echo");
    eventually("the table has changed", || agent.host().table().tool("demo__echo").is_none()).await;
    let gone = named(&tools, "demo__echo").execute(json!({"text": "x"}), &context).await;
    assert!(gone.is_error && gone.text.contains("`demo__echo`"), "{}", gone.text);
}

/// Handles look their server up for each call.
#[tokio::test(start_paused = true)]
async fn handles_survive_restarts() {
    let agent = agent(&[("s", &server("s", &["x"]))], Naming::Prefix).await;
    let tools = agent.as_tools();
    let handle = agent.server("s").unwrap();
    for lives in 2..=4 {
        handle.restart().await.unwrap();
        assert!(handle.settled().await.unwrap().is_up());
        assert_eq!(handle.status().unwrap().starts, lives);
        let output = named(&tools, "s__x").execute(Value::Null, &ToolContext::new()).await;
        assert!(!output.is_error, "{}", output.text);
    }
}

#[tokio::test]
async fn long_outputs_are_kept_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::new("s")
        .with_tool("t", |_| Ok(json!({"content": [{"type": "text", "text": "line\n".repeat(10_000)}]})));
    let agent = agent(&[("s", &server)], Naming::Prefix).await;
    let agent = agent.output_limit(OutputLimit::new(1000).spill_to(folder.path()));
    let output = agent.as_tools()[0].execute(Value::Null, &ToolContext::new()).await;
    let file = output.file.unwrap();
    assert!(output.text.len() < 1500 && output.text.contains(file.to_str().unwrap()), "{}", output.text);
    assert!(file.file_name().unwrap().to_str().unwrap().contains("s__t"));
    assert_eq!(std::fs::metadata(file).unwrap().len(), 50_000);
    assert_eq!(output.result.unwrap().to_text().len(), 50_000, "the whole is still at hand");
}

struct Counter(Value);

impl Tool for Counter {
    fn name(&self) -> &str {
        "count"
    }

    fn description(&self) -> &str {
        "Counts."
    }

    fn schema(&self) -> &Value {
        &self.0
    }

    fn execute<'a>(&'a self, arguments: Value, context: &'a ToolContext) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let to = arguments["to"].as_u64().unwrap_or_default();
            for step in 1..=to {
                tokio::time::sleep(Duration::from_secs(1)).await;
                context.report(Progress { progress: step as f64, total: Some(to as f64), message: None });
            }
            ToolOutput::text(format!("counted to {to}"))
        })
    }
}

/// Tools of this program are tools of a server, with all that belongs to it.
#[tokio::test(start_paused = true)]
async fn own_tools_are_offered_like_all_others() {
    let dropped = Arc::new(Mutex::new(0));
    let hang = {
        let dropped = dropped.clone();
        tool_fn("hang", "", json!({"type": "object"}), move |_| {
            let guard = Dropped(dropped.clone());
            async move {
                std::future::pending::<()>().await;
                drop(guard);
                Ok(String::new())
            }
        })
    };
    let schema = json!({"type": "object", "properties": {"to": {"type": "integer"}}, "required": ["to"]});
    let fail = tool_fn("fail", "", json!({"type": "object"}), |_| async { Err("broken".into()) });
    let agent =
        Agent::builder().tools("own", vec![Arc::new(Counter(schema)), hang, fail]).build().await.unwrap();

    let steps = Arc::new(Mutex::new(Vec::new()));
    let told = steps.clone();
    let agent =
        agent.with(CallOptions::new().on_progress(move |step| told.lock().unwrap().push(step.progress)));
    let counted = agent.call_tool("own__count", json!({"to": 3})).await.unwrap();
    assert_eq!(counted.to_text(), "counted to 3");
    assert_eq!(*steps.lock().unwrap(), [1.0, 2.0, 3.0]);
    assert!(agent.call_tool("own__count", json!({"to": "x"})).await.unwrap().is_error());
    let failed = agent.call_tool("own__fail", Value::Null).await.unwrap();
    assert!(failed.is_error() && failed.to_text() == "broken");
    let slow = tokio::time::timeout(Duration::from_secs(1), agent.call_tool("own__hang", Value::Null)).await;
    assert!(slow.is_err());
    eventually("the tool was dropped", || *dropped.lock().unwrap() == 1).await;
}

struct Dropped(Arc<Mutex<usize>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        *self.0.lock().unwrap() += 1;
    }
}
