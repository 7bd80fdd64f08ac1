//! What servers ask in the middle of a call, and who answers.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use toolbay_agent::{
    Agent, BoxError, Error, Handlers, Naming,
    handlers::{
        BoxFuture, ElicitRequest, ElicitResult, Root, Roots, Sampling, SamplingRequest, SamplingResult,
    },
};
use toolbay_protocol::{Message, ServerName};
use toolbay_testkit::{SupportedRevisions, TestServer};
use toolbay_transport::{Incoming, memory};

use crate::agent;

const REVISIONS: [SupportedRevisions; 2] = [SupportedRevisions::Legacy, SupportedRevisions::Modern];

async fn demo(revisions: SupportedRevisions) -> Agent {
    agent(&[("demo", &TestServer::demo().revisions(revisions))], Naming::Prefix).await
}

struct Parrot;

impl Sampling for Parrot {
    fn sample(&self, asked: SamplingRequest) -> BoxFuture<'_, Result<SamplingResult, BoxError>> {
        Box::pin(async move {
            let said = asked.messages()[0]["content"]["text"].as_str().unwrap_or_default().to_owned();
            Ok(SamplingResult::text("parrot", format!("{} {said}", asked.server)))
        })
    }
}

struct OwnFolder;

impl Roots for OwnFolder {
    fn roots(&self, server: &ServerName) -> BoxFuture<'_, Vec<Root>> {
        let root = Root::new(format!("file:///srv/{server}"));
        Box::pin(async move { vec![root] })
    }
}

fn all() -> Handlers {
    Handlers::new().sampling(Parrot).roots(OwnFolder).elicitation(|asked: ElicitRequest| async move {
        assert!(!asked.message().is_empty());
        match asked.url() {
            Some(url) if url.starts_with("https://") => ElicitResult::Accept(None),
            Some(_) => ElicitResult::Decline,
            None => ElicitResult::accept(json!({"name": "Ada", "colour": "red"})),
        }
    })
}

#[tokio::test(start_paused = true)]
async fn handlers_respond_to_servers_of_all_revisions() {
    for revisions in REVISIONS {
        let agent = demo(revisions).await.handlers(all());
        let call = async |tool: &str, arguments: Value| {
            agent.call_tool(&format!("demo__{tool}"), arguments).await.unwrap()
        };
        assert_eq!(call("elicit", json!({})).await.to_text(), "Ada", "{revisions:?}");
        assert_eq!(call("elicit_several", json!({})).await.to_text(), "Ada and red", "{revisions:?}");
        assert_eq!(
            call("sample", json!({"text": "hello"})).await.to_text(),
            "demo Say something. hello",
            "{revisions:?}"
        );
        assert_eq!(call("list_roots", json!({})).await.to_text(), "file:///srv/demo", "{revisions:?}");
        let url = json!({"url": "https://example.com/"});
        assert_eq!(call("elicit_url", url).await.to_text(), "visited", "{revisions:?}");
        let everything =
            call("ask_everything", json!({"text": "hello"})).await.structured::<serde_json::Value>().unwrap();
        assert_eq!(
            everything["answers"],
            json!(["Ada", "demo Say something. hello", "file:///srv/demo"]),
            "{revisions:?}"
        );
        let rounds = call("elicit_rounds", json!({"rounds": 3})).await;
        assert!(!rounds.is_error(), "{revisions:?}: {}", rounds.to_text());
        let written = agent.read_resource("test://asked").await.unwrap();
        assert_eq!(written.to_text(), "Written for Ada.", "{revisions:?}");
        let interview = agent.get_prompt("demo__interview", Value::Null).await.unwrap();
        assert_eq!(interview.to_text(), "user: Interview Ada.", "{revisions:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_is_sent_again_to_a_server_that_requires_a_retry() {
    for revisions in REVISIONS {
        let agent = demo(revisions).await.handlers(all());
        assert_eq!(
            agent.call_tool("demo__pause", Value::Null).await.unwrap().to_text(),
            "back again",
            "{revisions:?}"
        );
    }
}

/// The call ends, and says why; it never hangs.
#[tokio::test(start_paused = true)]
async fn without_a_handler_the_server_gets_the_proper_error() {
    for revisions in REVISIONS {
        let agent = demo(revisions).await;
        for tool in ["elicit", "sample", "list_roots"] {
            let ended = agent.call_tool(&format!("demo__{tool}"), Value::Null).await;
            match ended {
                Ok(result) => assert!(result.is_error(), "{revisions:?} {tool}: {}", result.to_text()),
                Err(error) => {
                    assert!(matches!(error, Error::Server { .. } | Error::Refused { .. }), "{tool}: {error}")
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_may_refuse() {
    for revisions in REVISIONS {
        let refusing = Handlers::new()
            .sampling(|_: SamplingRequest| async { Err::<SamplingResult, BoxError>("not today".into()) })
            .elicitation(|_: ElicitRequest| async { ElicitResult::Decline });
        let agent = demo(revisions).await.handlers(refusing);
        let declined = agent.call_tool("demo__elicit", Value::Null).await.unwrap();
        assert!(declined.to_text().contains("declined"), "{revisions:?}: {}", declined.to_text());
        let told = match agent.call_tool("demo__sample", Value::Null).await {
            Ok(result) => result.to_text(),
            Err(error) => error.to_string(),
        };
        assert!(told.contains("not today"), "{revisions:?}: {told}");
    }
}

/// While one handler waits for a person, other calls and their questions go on.
#[tokio::test(start_paused = true)]
async fn a_slow_handler_blocks_no_other_call() {
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let seen = Arc::new(Mutex::new(0));
    let handlers = {
        let (gate, seen) = (gate.clone(), seen.clone());
        Handlers::new().elicitation(move |_: ElicitRequest| {
            *seen.lock().unwrap() += 1;
            let gate = gate.clone();
            async move {
                let _opened = gate.acquire().await;
                ElicitResult::accept(json!({"name": "late"}))
            }
        })
    };
    let agent = demo(SupportedRevisions::Legacy).await.handlers(handlers);
    let (slow, ()) = tokio::join!(agent.call_tool("demo__elicit", Value::Null), async {
        crate::test_host::eventually("somebody is asked", || *seen.lock().unwrap() == 1).await;
        let sum = agent.call_tool("demo__add", json!({"a": 1, "b": 2})).await.unwrap();
        assert_eq!(sum.structured::<serde_json::Value>().unwrap()["sum"], 3);
        gate.add_permits(1);
    });
    assert_eq!(slow.unwrap().to_text(), "late");
}

/// A server that asks, thinks better of it, and answers much later.
fn fickle() -> toolbay_agent::transport::InProcess {
    Arc::new(|tasks| {
        let (mut inside, outside) = memory::pair(tasks);
        tasks.spawn(async move {
            while let Some(Incoming::Message(message)) = inside.incoming.recv().await {
                let Message::Request(request) = message else { continue };
                let result = match request.call.method() {
                    "initialize" => json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                        "serverInfo": {"name": "fickle", "version": "1"}}),
                    "tools/list" => json!({"tools": [{"name": "ask", "inputSchema": {"type": "object"}}]}),
                    "tools/call" => {
                        let question = json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create",
                            "params": {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}});
                        let never_mind = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                            "params": {"requestId": "q"}});
                        for text in [question, never_mind] {
                            inside.outgoing.send(text.to_string().into()).await.unwrap();
                            tokio::time::sleep(Duration::from_secs(5)).await;
                        }
                        json!({"content": []})
                    }
                    _ => continue,
                };
                let text = toolbay_protocol::result(&request.id, &result.to_string());
                inside.outgoing.send(text.into()).await.unwrap();
            }
        });
        outside
    })
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_withdrawn_is_not_answered() {
    /// A form on a screen, and when it went away.
    struct Shown(tokio::time::Instant, Arc<Mutex<Option<Duration>>>);
    impl Drop for Shown {
        fn drop(&mut self) {
            *self.1.lock().unwrap() = Some(self.0.elapsed());
        }
    }
    let gone = Arc::new(Mutex::new(None));
    let form = gone.clone();
    let handlers = Handlers::new().elicitation(move |_: ElicitRequest| {
        let shown = Shown(tokio::time::Instant::now(), form.clone());
        async move {
            std::future::pending::<()>().await;
            drop(shown);
            ElicitResult::Cancel
        }
    });
    let agent = Agent::builder().in_process("fickle", fickle()).build().await.unwrap();
    agent.handlers(handlers).call_tool("fickle__ask", Value::Null).await.unwrap();
    let gone = gone.lock().unwrap().unwrap().as_secs();
    assert_eq!(gone, 5, "with the server's interest, not with the call, which took twice as long");
}
