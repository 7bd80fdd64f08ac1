//! A client of one era, a server of the other.

use serde_json::{Value, json};

use super::server::{self, Seen};
use crate::{
    http::{Answer, Ask},
    test_gateway::{Hub, call, initialize, modern, rpc},
};

pub(crate) fn elicit(message: &str) -> Value {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    json!({"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}})
}

pub(crate) fn sample() -> Value {
    let content = json!({"type": "text", "text": "?"});
    json!({"method": "sampling/createMessage",
        "params": {"messages": [{"role": "user", "content": content}], "maxTokens": 5}})
}

pub(crate) fn roots() -> Value {
    json!({"method": "roots/list"})
}

pub(crate) fn everything() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}})
}

/// A call of the stateless era by a client that can be asked everything.
pub(crate) fn asking(id: impl Into<Value>, params: Value) -> Ask {
    let mut message = call(id, "ask", json!({}));
    for (key, value) in params.as_object().unwrap() {
        message["params"][key] = value.clone();
    }
    capable(message, everything())
}

fn capable(message: Value, capabilities: Value) -> Ask {
    let ask = modern(message);
    ask.with_body(|body| body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities)
}

/// What a client says to a question.
fn answer_to(question: &Value) -> Value {
    match question["method"].as_str().unwrap() {
        "elicitation/create" => {
            json!({"action": "accept", "content": {"name": question["params"]["message"]}})
        }
        "sampling/createMessage" => {
            json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "!"}})
        }
        "roots/list" => json!({"roots": [{"uri": "file:///x"}]}),
        other => panic!("{other}"),
    }
}

/// Answers whatever is asked until there is a result; gives it, and how many rounds it took.
async fn converse(hub: &Hub, arguments: &Value) -> (Value, usize) {
    let mut params = json!({"arguments": arguments});
    for round in 0..10 {
        let mut answer = hub.send(asking(round, params.clone())).await.json().await;
        assert_eq!(answer["id"], round, "{answer}");
        let result = answer["result"].take();
        if result["resultType"] != "input_required" {
            return (if result.is_null() { answer } else { result }, round);
        }
        let requests = result["inputRequests"].as_object().unwrap().iter();
        params["inputResponses"] = requests.map(|(key, asked)| (key.clone(), answer_to(asked))).collect();
        params["requestState"] = result["requestState"].clone();
        if result.get("requestState").is_none() {
            params.as_object_mut().unwrap().remove("requestState");
        }
    }
    panic!("it never ends");
}

#[tokio::test]
async fn a_modern_client_responds_to_servers_of_all_revisions() {
    let answers = json!([
        [answer_to(&elicit("a"))],
        [answer_to(&sample()), answer_to(&elicit("b")), answer_to(&roots())],
        [answer_to(&elicit("c"))],
    ]);
    let rounds = json!([[elicit("a")], [sample(), elicit("b"), roots()], [elicit("c")]]);
    for era in [server::legacy, server::modern] {
        let seen = Seen::default();
        let hub = Hub::around(era(&seen)).await;
        let (result, took) = converse(&hub, &json!({"rounds": rounds})).await;
        assert_eq!(result["structuredContent"]["answers"], answers, "{result}");
        assert_eq!(took, 3);
    }
    // A server that needs no state of its own gets none.
    let hub = Hub::around(server::modern(&Seen::default())).await;
    let arguments = json!({"rounds": [[elicit("a")]], "stateless": true});
    let (result, _) = converse(&hub, &arguments).await;
    assert_eq!(result["structuredContent"]["answers"], json!([[answer_to(&elicit("a"))]]));
}

#[tokio::test]
async fn a_legacy_client_responds_to_servers_of_all_revisions() {
    let rounds = json!([[elicit("a")], [sample(), elicit("b"), roots()]]);
    for era in [server::legacy, server::modern] {
        let seen = Seen::default();
        let hub = Hub::around(era(&seen)).await;
        let mut hello = initialize("2025-11-25");
        hello["params"]["capabilities"] = everything();
        let session = hub.send(Ask::post(&hello)).await.header("mcp-session-id").unwrap().to_owned();
        let post = |message: &Value| Ask::post(message).header("mcp-session-id", &session);
        let mut stream = hub.send(post(&call("c", "ask", json!({"rounds": rounds})))).await;
        assert!(stream.is_stream());
        let result = loop {
            let message = stream.event().await.unwrap();
            if message["method"].is_null() {
                break message;
            }
            let reply = match message["params"]["message"].as_str() {
                Some("b") => json!({"action": "decline"}),
                _ => answer_to(&message),
            };
            let reply = json!({"jsonrpc": "2.0", "id": message["id"], "result": reply});
            assert_eq!(hub.send(post(&reply)).await.status, 202);
        };
        assert_eq!(result["id"], "c");
        let expected = json!([[answer_to(&elicit("a"))],
            [answer_to(&sample()), {"action": "decline"}, answer_to(&roots())]]);
        assert_eq!(result["result"]["structuredContent"]["answers"], expected, "{result}");
        assert_eq!(result["result"].get("resultType"), None);
    }
}

#[tokio::test]
async fn server_requests_that_a_client_does_not_support_are_refused() {
    let rounds = json!({"rounds": [[elicit("a"), sample()]]});
    let seen = Seen::default();
    let hub = Hub::around(server::legacy(&seen)).await;
    let silent = hub.send(modern(call(2, "ask", rounds.clone()))).await.json().await;
    assert_eq!(silent["result"]["structuredContent"]["answers"], json!([[null, null]]), "{silent}");
    assert_eq!(seen.errors().iter().map(|error| &error["code"]).collect::<Vec<_>>(), [-32601, -32601]);
    // Nor a session whose client reads no streams.
    let mut hello = initialize("2025-11-25");
    hello["params"]["capabilities"] = everything();
    let session = hub.send(Ask::post(&hello)).await.header("mcp-session-id").unwrap().to_owned();
    let deaf = Ask::post(&call(3, "ask", rounds)).header("mcp-session-id", &session);
    let result = hub.send(deaf.header("accept", "application/json")).await.json().await;
    assert_eq!(result["result"]["structuredContent"]["answers"], json!([[null, null]]));
    // One that can do some of it is asked that, in every round.
    let rounds = json!([[elicit("a"), sample()], [sample(), roots()]]);
    let mut params = json!({"name": "s__ask", "arguments": {"rounds": rounds}});
    for round in 0..2 {
        let only_sampling = capable(rpc(round, "tools/call", params.clone()), json!({"sampling": {}}));
        let result = hub.send(only_sampling).await.json().await["result"].take();
        let requests = result["inputRequests"].as_object().unwrap();
        let methods: Vec<_> = requests.values().map(|asked| &asked["method"]).collect();
        assert_eq!(methods, ["sampling/createMessage"], "{result}");
        let answers = requests.iter().map(|(key, asked)| (key.clone(), answer_to(asked)));
        params["inputResponses"] = answers.collect();
        params["requestState"] = result["requestState"].clone();
    }
    let done = hub.send(capable(rpc(2, "tools/call", params), json!({"sampling": {}}))).await.json().await;
    let said = answer_to(&sample());
    assert_eq!(done["result"]["structuredContent"]["answers"], json!([[null, said], [said, null]]), "{done}");
}

#[tokio::test]
async fn an_ambiguous_server_request_reaches_no_client() {
    let seen = Seen::default();
    let hub = Hub::around(server::legacy(&seen)).await;
    let parked = hub.send(asking(1, json!({"arguments": {"rounds": [[elicit("a")]]}}))).await.json().await;
    assert_eq!(parked["result"]["resultType"], "input_required");
    let other = hub.send(asking(2, json!({"arguments": {"rounds": [[elicit("b")]]}}))).await.json().await;
    assert_eq!(other["result"]["structuredContent"]["answers"], json!([[null]]), "{other}");
    assert_eq!(seen.errors().len(), 1);
    // From then on clients that would meet there get processes of their own.
    let mut waiting = vec![parked["result"].clone()];
    for id in 3..6 {
        let question = elicit(&id.to_string());
        let result = hub.send(asking(id, json!({"arguments": {"rounds": [[question]]}}))).await.json().await;
        assert_eq!(result["result"]["resultType"], "input_required", "{result}");
        waiting.push(result["result"].clone());
    }
    let asked = waiting.iter().map(|result| {
        let asked = result["inputRequests"].as_object().unwrap().values().next().unwrap();
        asked["params"]["message"].as_str().unwrap()
    });
    assert_eq!(asked.collect::<Vec<_>>(), ["a", "3", "4", "5"]);
    assert_eq!(seen.errors().len(), 1);
}

#[tokio::test]
async fn an_elicitation_of_a_url_is_a_server_request_too() {
    let arguments = json!({"rounds": [], "visit": "https://example.com/login"});
    let hub = Hub::around(server::legacy(&Seen::default())).await;
    let asked = hub.send(asking(1, json!({"arguments": arguments}))).await.json().await["result"].take();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let (key, question) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(question["method"], "elicitation/create");
    let page = json!({"mode": "url", "message": "go", "url": "https://example.com/login"});
    assert_eq!(question["params"], page, "without the id that its era does not know");
    let retry = json!({"arguments": arguments, "inputResponses": {key: {"action": "accept"}}});
    assert_eq!(hub.send(asking(2, retry)).await.json().await["result"]["resultType"], "complete");
    // A client that cannot be asked to visit pages is told what it lacks.
    let hub = Hub::around(server::legacy(&Seen::default())).await;
    let refused = hub.send(capable(call(1, "ask", arguments), json!({"elicitation": {}}))).await;
    assert_eq!(refused.status, 400);
    let error = refused.json().await["error"].take();
    assert_eq!(
        (&error["code"], &error["data"]["requiredCapabilities"]["elicitation"]["url"]),
        (&json!(-32021), &json!({}))
    );
}

/// On a pipe nothing says which of a client's calls asked; it is enough that its client is asked.
#[tokio::test]
async fn a_server_request_outlives_the_call_that_carried_it_by_mistake() {
    let hub = Hub::around(server::legacy(&Seen::default())).await;
    let mut hello = initialize("2025-11-25");
    hello["params"]["capabilities"] = everything();
    let session = hub.send(Ask::post(&hello)).await.header("mcp-session-id").unwrap().to_owned();
    let post = |message: &Value| Ask::post(message).header("mcp-session-id", &session);
    // The first call is older, so it carries the question of the second, and ends before that is answered.
    let (quiet, asks) = (json!({"rounds": [], "ms": 300}), json!({"rounds": [[elicit("a")]], "ms": 100}));
    let first = post(&call(1, "ask", quiet)).open(&hub.address).await;
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    let second = post(&call(2, "ask", asks)).open(&hub.address).await;
    let (mut first, mut second) = (Answer::read(first).await, Answer::read(second).await);
    assert_eq!(first.event().await.unwrap()["method"], "elicitation/create");
    assert_eq!(first.event().await.unwrap()["id"], 1);
    let question = second.event().await.unwrap();
    assert_eq!(question["method"], "elicitation/create");
    let reply = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}});
    assert_eq!(hub.send(post(&reply)).await.status, 202);
    let done = second.event().await.unwrap();
    assert_eq!(done["result"]["structuredContent"]["answers"], json!([[{"action": "decline"}]]), "{done}");
}
