//! What servers ask in the middle of a call, and who answers.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolbay_host::{
    BoxError, Error, Handlers, Host, Naming,
    questions::{BoxFuture, ElicitRequest, Elicited, Root, Roots, Sampled, Sampling, SamplingRequest},
};
use toolbay_protocol::ServerName;
use toolbay_testkit::{Era, TestServer};

use crate::bay::host;

const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

async fn demo(era: Era) -> Host {
    host(&[("demo", &TestServer::demo().era(era))], Naming::Prefix).await
}

struct Parrot;

impl Sampling for Parrot {
    fn sample(&self, asked: SamplingRequest) -> BoxFuture<'_, Result<Sampled, BoxError>> {
        Box::pin(async move {
            let said = asked.messages()[0]["content"]["text"].as_str().unwrap_or_default().to_owned();
            Ok(Sampled::text("parrot", format!("{} {said}", asked.server)))
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
            Some(url) if url.starts_with("https://") => Elicited::Accept(None),
            Some(_) => Elicited::Decline,
            None => Elicited::accept(json!({"name": "Ada", "colour": "red"})),
        }
    })
}

#[tokio::test(start_paused = true)]
async fn handlers_answer_servers_of_both_eras() {
    for era in ERAS {
        let agent = demo(era).await.agent().handlers(all());
        let call = async |tool: &str, arguments: Value| {
            agent.call_tool(&format!("demo__{tool}"), arguments).await.unwrap()
        };
        assert_eq!(call("elicit", json!({})).await.to_text(), "Ada", "{era:?}");
        assert_eq!(call("elicit_several", json!({})).await.to_text(), "Ada and red", "{era:?}");
        assert_eq!(
            call("sample", json!({"text": "hello"})).await.to_text(),
            "demo Say something. hello",
            "{era:?}"
        );
        assert_eq!(call("list_roots", json!({})).await.to_text(), "file:///srv/demo", "{era:?}");
        let url = json!({"url": "https://example.com/"});
        assert_eq!(call("elicit_url", url).await.to_text(), "visited", "{era:?}");
        let everything = call("ask_everything", json!({"text": "hello"})).await.structured_value().unwrap();
        assert_eq!(
            everything["answers"],
            json!(["Ada", "demo Say something. hello", "file:///srv/demo"]),
            "{era:?}"
        );
        let rounds = call("elicit_rounds", json!({"rounds": 3})).await;
        assert!(!rounds.is_error(), "{era:?}: {}", rounds.to_text());
        let written = agent.read_resource("test://asked").await.unwrap();
        assert_eq!(written.to_text(), "Written for Ada.", "{era:?}");
        let interview = agent.get_prompt("demo__interview", Value::Null).await.unwrap();
        assert_eq!(interview.to_text(), "user: Interview Ada.", "{era:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_only_wants_to_be_asked_later_is_asked_later() {
    for era in ERAS {
        let agent = demo(era).await.agent().handlers(all());
        assert_eq!(
            agent.call_tool("demo__pause", Value::Null).await.unwrap().to_text(),
            "back again",
            "{era:?}"
        );
    }
}

/// The call ends, and says why; it never hangs.
#[tokio::test(start_paused = true)]
async fn without_a_handler_the_server_gets_the_proper_error() {
    for era in ERAS {
        let host = demo(era).await;
        for tool in ["elicit", "sample", "list_roots"] {
            let ended = host.call_tool(&format!("demo__{tool}"), Value::Null).await;
            match ended {
                Ok(result) => assert!(result.is_error(), "{era:?} {tool}: {}", result.to_text()),
                Err(error) => {
                    assert!(matches!(error, Error::Server { .. } | Error::Refused { .. }), "{tool}: {error}")
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_may_refuse() {
    for era in ERAS {
        let refusing = Handlers::new()
            .sampling(|_: SamplingRequest| async { Err::<Sampled, BoxError>("not today".into()) })
            .elicitation(|_: ElicitRequest| async { Elicited::Decline });
        let agent = demo(era).await.agent().handlers(refusing);
        let declined = agent.call_tool("demo__elicit", Value::Null).await.unwrap();
        assert!(declined.to_text().contains("declined"), "{era:?}: {}", declined.to_text());
        let told = match agent.call_tool("demo__sample", Value::Null).await {
            Ok(result) => result.to_text(),
            Err(error) => error.to_string(),
        };
        assert!(told.contains("not today"), "{era:?}: {told}");
    }
}

/// While one handler waits for a person, other calls and their questions go on.
#[tokio::test(start_paused = true)]
async fn a_slow_answer_keeps_nothing_waiting() {
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let seen = Arc::new(Mutex::new(0));
    let handlers = {
        let (gate, seen) = (gate.clone(), seen.clone());
        Handlers::new().elicitation(move |_: ElicitRequest| {
            *seen.lock().unwrap() += 1;
            let gate = gate.clone();
            async move {
                let _opened = gate.acquire().await;
                Elicited::accept(json!({"name": "late"}))
            }
        })
    };
    let agent = demo(Era::Legacy).await.agent().handlers(handlers);
    let (slow, ()) = tokio::join!(agent.call_tool("demo__elicit", Value::Null), async {
        crate::bay::eventually("somebody is asked", || *seen.lock().unwrap() == 1).await;
        let sum = agent.call_tool("demo__add", json!({"a": 1, "b": 2})).await.unwrap();
        assert_eq!(sum.structured_value().unwrap()["sum"], 3);
        gate.add_permits(1);
    });
    assert_eq!(slow.unwrap().to_text(), "late");
}
