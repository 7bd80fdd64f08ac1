//! What a program asks of a host: the way of all other clients.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{sync::Notify, time::timeout};
use toolbay_agent::{Agent, CallOptions, CompletionReference, Error, Naming, transport::InProcess};
use toolbay_protocol::LogLevel;
use toolbay_testkit::{SupportedRevisions, TestServer};

use crate::{
    agent,
    test_host::{eventually, server},
};

#[tokio::test(start_paused = true)]
async fn everything_a_server_offers_can_be_used() {
    for revisions in [SupportedRevisions::Legacy, SupportedRevisions::Modern] {
        let agent = agent(&[("demo", &TestServer::demo().revisions(revisions))], Naming::Prefix).await;
        let sum = agent.call_tool("demo__add", json!({"a": 1, "b": 2})).await.unwrap();
        assert_eq!(sum.structured::<serde_json::Value>().unwrap()["sum"], 3);
        assert_eq!(sum.server().as_str(), "demo");
        let echo = agent.call_tool_on("demo", "echo", json!({"text": "hi"})).await.unwrap();
        assert_eq!(echo.to_text(), "hi");
        assert_eq!(agent.read_resource("test://readme").await.unwrap().to_text(), "Read me.");
        assert_eq!(agent.read_resource("test://user/7").await.unwrap().to_text(), "The user 7");
        let prompt = agent.get_prompt("demo__greet", json!({"name": "Ada"})).await.unwrap();
        assert_eq!(prompt.to_text(), "user: Greet Ada.");
        let names =
            agent.complete(&CompletionReference::Prompt("demo__greet".into()), "name", "A").await.unwrap();
        assert_eq!(names.values(), ["Ada", "Alan"]);
        let ids = CompletionReference::Template("test://user/{id}".into());
        assert_eq!(agent.complete(&ids, "id", "1").await.unwrap().values(), ["1", "10"]);
    }
}

#[tokio::test(start_paused = true)]
async fn lists_are_typed_and_merged() {
    let (a, b) = (
        server("a", &["x", "y"]),
        server("b", &["x"]).with_resource("b://1", "").with_prompt("p", |_| json!("")),
    );
    let agent = agent(&[("a", &a), ("b", &b)], Naming::Prefix).await;
    let names: Vec<String> = agent.all_tools().iter().map(|tool| tool.name().to_owned()).collect();
    assert_eq!(names, ["a__x", "a__y", "b__x"]);
    assert_eq!(agent.all_resources()[0].uri(), "b://1");
    assert_eq!(agent.all_prompts()[0].name(), "b__p");
    assert!(agent.all_templates().is_empty());
}

/// Names are exact, also where a split would mislead.
#[tokio::test(start_paused = true)]
async fn a_tool_is_found_by_its_server_and_its_own_name_however_names_are_made() {
    let (git, git_hub) = (server("git", &["hub_x", "weird name", "same"]), server("git-hub", &["x", "same"]));
    for naming in [Naming::Prefix, Naming::None, Naming::PrefixAndAlias] {
        let agent = agent(&[("git", &git), ("git-hub", &git_hub)], naming).await;
        let mut tools = vec![("git", "hub_x"), ("git", "weird name"), ("git-hub", "x")];
        if naming != Naming::None {
            tools.extend([("git", "same"), ("git-hub", "same")]); // without prefixes they hide each other
        }
        for (server, tool) in tools {
            let result = agent.call_tool_on(server, tool, Value::Null).await.unwrap();
            assert_eq!(result.structured::<serde_json::Value>().unwrap()["server"], server, "{naming:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn unknown_names_are_errors_with_similar_names() {
    let agent = agent(&[("demo", &TestServer::demo())], Naming::Prefix).await;
    let error = agent.call_tool("ad", Value::Null).await.unwrap_err();
    assert!(
        matches!(&error, Error::ToolNotFound { similar, .. } if similar.contains(&"demo__add".to_owned())),
        "{error}"
    );
    let error = agent.call_tool_on("dem", "add", Value::Null).await.unwrap_err();
    assert_eq!(error.to_string(), "no server named `dem`; there are demo");
    let error = agent.call_tool_on("demo", "ad", Value::Null).await.unwrap_err();
    assert!(matches!(error, Error::ToolNotFound { .. }), "{error}");
    assert!(matches!(agent.get_prompt("demo__gret", Value::Null).await, Err(Error::PromptNotFound { .. })));
    assert!(matches!(agent.read_resource("nowhere://1").await, Err(Error::ResourceNotFound { .. })));
    assert!(matches!(agent.call_tool("demo__add", json!([1])).await, Err(Error::Refused { .. })));
    let error = agent.read_resource("test://readme/nothing").await.unwrap_err();
    assert!(matches!(&error, Error::Server { server, .. } if server.as_str() == "demo"), "{error}");
}

/// They never reach the server, and the model can do better.
#[tokio::test(start_paused = true)]
async fn failures_of_tools_and_bad_arguments_are_results() {
    let demo = TestServer::demo();
    let agent = agent(&[("demo", &demo)], Naming::Prefix).await;
    let failed = agent.call_tool("demo__fail", json!({"text": "no luck"})).await.unwrap();
    assert!(failed.is_error() && failed.to_text().contains("no luck"));
    let misfit = agent.call_tool("demo__add", json!({"a": "one", "b": 2})).await.unwrap();
    assert!(misfit.is_error() && misfit.to_text().contains("`/a`"), "{}", misfit.to_text());
    assert_eq!(demo.handle().count("tools/call"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_a_server_that_may_bring_the_name() {
    let opened = Arc::new(Notify::new());
    let late: InProcess = {
        let (server, opened) = (server("late", &["x"]), opened.clone());
        Arc::new(move |tasks| {
            let (mut inside, outside) = toolbay_transport::memory::pair(tasks);
            let (mut real, opened) = (server.in_memory(tasks), opened.clone());
            tasks.spawn(async move {
                opened.notified().await;
                loop {
                    tokio::select! {
                        Some(toolbay_transport::Incoming::Message(said)) = inside.incoming.recv() => {
                            let _ = real.outgoing.send(said.text().clone().into()).await;
                        }
                        Some(toolbay_transport::Incoming::Message(said)) = real.incoming.recv() => {
                            let _ = inside.outgoing.send(said.text().clone().into()).await;
                        }
                        else => return,
                    }
                }
            });
            outside
        })
    };
    let agent = Agent::builder().in_process("late", late).wait_timeout(Duration::ZERO).build().await.unwrap();
    let by_name = agent.call_tool("late__x", Value::Null);
    let by_server = agent.call_tool_on("late", "x", Value::Null);
    let (by_name, by_server, ()) = tokio::join!(by_name, by_server, async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        opened.notify_one();
    });
    assert!(!by_name.unwrap().is_error() && !by_server.unwrap().is_error());
}

#[tokio::test(start_paused = true)]
async fn progress_and_log_messages_reach_the_caller() {
    for revisions in [SupportedRevisions::Legacy, SupportedRevisions::Modern] {
        let agent = agent(&[("demo", &TestServer::demo().revisions(revisions))], Naming::Prefix).await;
        let (steps, logs) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
        let options = {
            let (steps, logs) = (steps.clone(), logs.clone());
            CallOptions::new()
                .on_progress(move |step| steps.lock().unwrap().push(step.progress))
                .on_log(LogLevel::Info, move |message| {
                    logs.lock().unwrap().push(message.data["number"].clone())
                })
        };
        let agent = agent.with(options);
        agent.call_tool("demo__progress", json!({"steps": 3})).await.unwrap();
        agent.call_tool("demo__log", json!({"count": 2})).await.unwrap();
        assert_eq!(*steps.lock().unwrap(), [1.0, 2.0, 3.0], "{revisions:?}");
        assert_eq!(*logs.lock().unwrap(), [json!(1), json!(2)], "{revisions:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_is_cancelled_at_the_server() {
    let demo = TestServer::demo();
    let agent = agent(&[("demo", &demo)], Naming::Prefix).await;
    let patient = agent.with(CallOptions::new().timeout(Duration::from_secs(2)));
    let error = patient.call_tool("demo__sleep", json!({"ms": 30_000})).await.unwrap_err();
    assert!(matches!(error, Error::CallerTimeout { .. }), "{error}");
    eventually("the first is cancelled", || demo.handle().count("notifications/cancelled") == 1).await;
    let dropped =
        timeout(Duration::from_secs(1), agent.call_tool("demo__sleep", json!({"ms": 30_000}))).await;
    assert!(dropped.is_err());
    eventually("the second is cancelled", || demo.handle().count("notifications/cancelled") == 2).await;
}

#[tokio::test(start_paused = true)]
async fn calls_run_beside_each_other() {
    let agent = agent(&[("demo", &TestServer::demo())], Naming::Prefix).await;
    let started = tokio::time::Instant::now();
    let calls = (0..8).map(|_| agent.call_tool("demo__sleep", json!({"ms": 500})));
    let results = futures_util::future::join_all(calls).await;
    assert!(results.iter().all(Result::is_ok));
    assert!(started.elapsed() < Duration::from_millis(1500), "{:?}", started.elapsed());
}

/// Whoever asks for progress gets it from prompts and resources, too.
#[tokio::test(start_paused = true)]
async fn prompts_and_resources_report_progress_too() {
    for revisions in [SupportedRevisions::Legacy, SupportedRevisions::Modern] {
        let server = TestServer::new("s")
            .with_async_resource("s://slow", async |context| {
                context.progress(1.0, 2.0).await;
                Ok(json!("read"))
            })
            .revisions(revisions);
        let agent = agent(&[("s", &server)], Naming::Prefix).await;
        let steps = Arc::new(Mutex::new(Vec::new()));
        let told = steps.clone();
        let agent =
            agent.with(CallOptions::new().on_progress(move |step| told.lock().unwrap().push(step.progress)));
        assert_eq!(agent.read_resource("s://slow").await.unwrap().to_text(), "read");
        assert_eq!(*steps.lock().unwrap(), [1.0], "{revisions:?}");
    }
}

/// What programs spawn must be `Send`.
#[tokio::test(start_paused = true)]
async fn calls_can_be_spawned() {
    fn spawned<T: Send + 'static>(
        future: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = T> {
        future
    }
    let agent = agent(&[("demo", &TestServer::demo())], Naming::Prefix).await;
    let agent = agent.clone();
    let all = spawned(async move {
        agent.call_tool("demo__add", json!({"a": 1, "b": 1})).await.unwrap();
        agent.read_resource("test://readme").await.unwrap();
        agent.get_prompt("demo__hello", Value::Null).await.unwrap();
        agent.complete(&CompletionReference::Prompt("demo__greet".into()), "name", "").await.unwrap();
        let tools = toolbay_agent::adapter::ToolSet::new(agent.as_tools());
        tools.run(Vec::new(), &toolbay_agent::ToolContext::new()).await.len()
    });
    assert_eq!(all.await, 0);
}
