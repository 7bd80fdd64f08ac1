//! Progress, server requests, stray responses.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;
use toolbay_testkit::{TestServer, ToolContext};
use toolbay_upstream::{CallError, CallEvent};

use crate::harness::{Harness, call, call_with_events, eventually, scripted, value};

#[tokio::test(start_paused = true)]
async fn progress_arrives_in_order_and_before_the_response() {
    let server = TestServer::new("s").with_async_tool("t", |_, context: ToolContext| async move {
        for step in 1..=20 {
            context.progress(f64::from(step), 20.0).await;
        }
        Ok(json!("done"))
    });
    let harness = Harness::ready(&server).await;
    let (call, mut events) = call_with_events("t");
    harness.server.call(call).await.unwrap();
    // The response is here: all events must be, without waiting.
    let mut steps = Vec::new();
    while let Some(CallEvent::Progress(notification)) = events.try_recv() {
        let params: Value = serde_json::from_str(notification.params_text().unwrap()).unwrap();
        steps.push(params["progress"].as_f64().unwrap());
    }
    assert_eq!(steps, (1..=20).map(f64::from).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_is_too_slow_misses_progress_but_never_the_response() {
    let server = TestServer::new("s").with_async_tool("t", |_, context: ToolContext| async move {
        for step in 1..=5000 {
            context.progress(f64::from(step), 5000.0).await;
        }
        Ok(json!("done"))
    });
    let harness = Harness::ready(&server).await;
    let (call, _unread) = call_with_events("t");
    assert!(harness.server.call(call).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn progress_of_one_call_reaches_no_other() {
    let source = scripted(|_, mut script| async move {
        let first = script.until("tools/call").await;
        let second = script.until("tools/call").await;
        let progress = |token: &Value| {
            json!({"jsonrpc": "2.0", "method": "notifications/progress",
            "params": {"progressToken": token, "progress": 1}})
        };
        script.send(progress(&first["id"])).await;
        script.send(progress(&json!(999))).await; // nobody's
        script.send(progress(&json!(first["id"].to_string()))).await; // a string is another token
        script.send(progress(&json!({"odd": true}))).await;
        script.answer(&second, json!({})).await;
        script.answer(&first, json!({})).await;
        script.until("never").await;
    });
    let harness = Harness::new(source, |_| {});
    harness.until_ready().await;
    let (first, mut first_events) = call_with_events("t");
    let (second, mut second_events) = call_with_events("t");
    let (first, second) = (harness.server.call(first), harness.server.call(second));
    second.await.unwrap();
    first.await.unwrap();
    assert!(matches!(first_events.try_recv(), Some(CallEvent::Progress(_))));
    assert!(first_events.try_recv().is_none());
    assert!(second_events.try_recv().is_none());
}

/// Log lines name no call: they go to a client only if its call is the only one.
#[tokio::test(start_paused = true)]
async fn log_messages_go_to_the_only_call_or_to_none() {
    let source = scripted(|_, mut script| async move {
        let log = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "hi"}});
        let first = script.until("tools/call").await;
        script.send(log.clone()).await;
        let second = script.until("tools/call").await;
        script.send(log.clone()).await;
        script.answer(&first, json!({})).await;
        script.answer(&second, json!({})).await;
        script.until("never").await;
    });
    let harness = Harness::new(source, |_| {});
    harness.until_ready().await;
    let (first, mut first_events) = call_with_events("t");
    let first = harness.server.call(first);
    assert!(matches!(first_events.recv().await, Some(CallEvent::Log(_))));
    let (second, mut second_events) = call_with_events("t");
    let second = harness.server.call(second);
    first.await.unwrap();
    second.await.unwrap();
    assert!(first_events.try_recv().is_none() && second_events.try_recv().is_none());
    let lines = harness.server.log().tail(100);
    assert_eq!(lines.iter().filter(|line| line.text.contains("log message")).count(), 2);
}

/// The response to a server request that belongs to no call.
async fn response_to(question: Value, roots: Option<&str>) -> Value {
    let (told, mut answers) = tokio::sync::mpsc::channel(1);
    let source = scripted(move |_, mut script| {
        let (told, question) = (told.clone(), question.clone());
        async move {
            script.until("notifications/initialized").await;
            script.send(question).await;
            loop {
                let message = script.until_response().await;
                let _ = told.send(message).await;
            }
        }
    });
    let _world = Harness::new(source, |settings| settings.roots = roots.map(str::to_owned));
    answers.recv().await.unwrap()
}

impl crate::harness::Script {
    /// Plays on until a response to a server request of ours comes.
    async fn until_response(&mut self) -> Value {
        loop {
            let message = self.next().await;
            match message["method"].as_str() {
                None => return message,
                Some("tools/list") => self.answer(&message, crate::harness::tools(&["t"])).await,
                Some(_) => {}
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn server_requests_get_responses() {
    let ask = |method: &str| json!({"jsonrpc": "2.0", "id": "q-1", "method": method});
    let answer = response_to(ask("ping"), None).await;
    assert_eq!(answer, json!({"jsonrpc": "2.0", "id": "q-1", "result": {}}));
    let answer = response_to(ask("roots/list"), Some(r#"[{"uri":"file:///w"}]"#)).await;
    assert_eq!(answer["result"], json!({"roots": [{"uri": "file:///w"}]}));
    for method in ["roots/list", "sampling/createMessage", "elicitation/create", "no/such"] {
        let answer = response_to(ask(method), None).await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("q-1"), &json!(-32601)), "{method}");
    }
}

/// F18: the first answer wins, the rest is counted.
#[tokio::test(start_paused = true)]
async fn late_duplicate_and_unknown_responses_are_dropped_and_counted() {
    let source = scripted(|_, mut script| async move {
        let slow = script.until("tools/call").await;
        let asked = script.until("tools/call").await;
        script.answer(&asked, json!({"which": "first"})).await;
        script.answer(&asked, json!({"which": "second"})).await; // duplicate
        script.answer(&slow, json!({})).await; // late
        script.answer(&json!({"id": 123_456}), json!({})).await; // unknown
        script.answer(&json!({"id": asked["id"].to_string()}), json!({})).await; // a string is another id
        script.answer(&json!({"id": -1}), json!({})).await;
        script.send(json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "?"}})).await;
        script.until("never").await;
    });
    let harness = Harness::new(source, |_| {});
    harness.until_ready().await;
    let slow = harness.server.call(call("t"));
    eventually("the server has it", || harness.server.counts().in_flight == 1).await;
    drop(slow);
    eventually("it is forgotten", || harness.server.counts().in_flight == 0).await;
    let answer = harness.server.call(call("t")).await.unwrap();
    assert_eq!(value(&answer)["result"]["which"], "first");
    eventually("they are counted", || harness.server.counts().stray_answers == 6).await;
}

#[tokio::test(start_paused = true)]
async fn noise_is_counted_and_shown_and_does_no_harm() {
    let source = scripted(|_, mut script| async move {
        script.until("notifications/initialized").await;
        for line in 0..100 {
            script.send_text(format!("Listening on port {line}")).await;
        }
        let asked = script.until("tools/call").await;
        script.answer(&asked, json!({})).await;
        script.until("never").await;
    });
    let harness = Harness::new(source, |_| {});
    harness.call("t").await.unwrap();
    assert_eq!(harness.server.counts().noise, 100);
    let lines = harness.server.log().tail(1000);
    let shown = lines.iter().filter(|line| line.text.contains("Listening on port")).count();
    assert_eq!(shown, 20);
    assert!(lines.iter().any(|line| line.text.contains("should use stderr")));
}

/// A server that writes without reading must not stop us from reading.
#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_read_delays_only_its_own_calls() {
    let source = scripted(|_, mut script| async move {
        let asked = script.until("tools/call").await;
        sleep(Duration::from_secs(30)).await; // hundreds of calls pile up
        script.answer(&asked, json!({})).await;
        script.until("never").await;
    });
    let harness = Harness::new(source, |settings| {
        settings.max_in_flight = 10_000;
        settings.max_waiting = 10_000;
        settings.timeouts.idle = Duration::from_secs(60);
    });
    harness.until_ready().await;
    let first = harness.server.call(call("t"));
    let rest: Vec<_> = (0..800).map(|_| harness.server.call(call("t"))).collect();
    first.await.unwrap();
    drop(rest);
    eventually("all are gone", || harness.server.counts().in_flight + harness.server.counts().waiting == 0)
        .await;
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_server_is_a_response() {
    let source = scripted(|_, mut script| async move {
        let asked = script.until("tools/call").await;
        script.refuse(&asked, -32602).await;
        script.until("never").await;
    });
    let answer = Harness::new(source, |_| {}).call("t").await.unwrap();
    assert_eq!(answer["error"]["code"], -32602);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_goes_away_in_mid_call_fails_the_call_at_once() {
    let source = scripted(|life, mut script| async move {
        let asked = script.until("tools/call").await;
        if life == 0 {
            return;
        }
        script.answer(&asked, json!({})).await;
        script.until("never").await;
    });
    let harness = Harness::new(source, |_| {});
    let error = harness.call("t").await.unwrap_err();
    assert!(matches!(error, CallError::Died { .. }), "{error}");
    assert!(!error.is_retryable());
    harness.call("t").await.unwrap();
}
