//! Subscriptions to resources: one request for all clients, and again on each connection.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use toolbay_testkit::{SupportedRevisions, TestServer};
use toolbay_upstream::{Endpoint, SubscribeError};

use crate::harness::{Harness, Script, discovery, eventually, hello, scripted, tools};

const URI: &str = "test://r";

fn server(era: SupportedRevisions) -> TestServer {
    TestServer::new("s").with_tool("t", |_| Ok(json!(1))).with_resource(URI, "text").revisions(era)
}

/// The resources that the newest request to listen names.
fn listened(server: &TestServer) -> Vec<String> {
    let is_listen = |message: &Value| message["method"] == "subscriptions/listen";
    let received = server.handle().received();
    let mut messages = received.iter().map(|text| serde_json::from_str::<Value>(text).unwrap());
    let Some(last) = messages.rfind(is_listen) else { return Vec::new() };
    let uris = last["params"]["notifications"]["resourceSubscriptions"].as_array().cloned();
    uris.unwrap_or_default().iter().map(|uri| uri.as_str().unwrap().to_owned()).collect()
}

async fn next_update(harness: &mut Harness) -> String {
    let (name, update) = timeout(Duration::from_secs(5), harness.updates.recv()).await.unwrap().unwrap();
    assert_eq!(name.as_str(), "s");
    update.string_param("uri").unwrap().into_owned()
}

#[tokio::test(start_paused = true)]
async fn the_first_interest_subscribes_and_the_last_one_unsubscribes() {
    for era in [SupportedRevisions::Legacy, SupportedRevisions::Modern] {
        let server = server(era);
        let handle = server.handle();
        let mut harness = Harness::ready(&server).await;
        let (first, second) = tokio::join!(harness.server.watch(URI), harness.server.watch(URI));
        let (first, second) = (first.unwrap(), second.unwrap());
        let third = harness.server.watch(URI).await.unwrap();
        let asked = |method| handle.count(method);
        if era == SupportedRevisions::Legacy {
            assert_eq!(asked("resources/subscribe"), 1);
        } else {
            assert_eq!(listened(&server), [URI]);
        }
        let listens = asked("subscriptions/listen");
        handle.set_resource(URI, "new");
        assert_eq!(next_update(&mut harness).await, URI);
        drop((first, third));
        sleep(Duration::from_secs(2)).await;
        handle.set_resource(URI, "newer");
        assert_eq!(next_update(&mut harness).await, URI, "one is still interested");
        assert_eq!((asked("resources/unsubscribe"), asked("subscriptions/listen")), (0, listens));
        drop(second);
        if era == SupportedRevisions::Legacy {
            eventually("it unsubscribes", || asked("resources/unsubscribe") == 1).await;
        } else {
            eventually("it asks for less", || listened(&server).is_empty()).await;
            eventually("it ends the old one", || asked("notifications/cancelled") == listens).await;
        }
        handle.set_resource(URI, "newest");
        sleep(Duration::from_secs(2)).await;
        assert!(harness.updates.try_recv().is_err(), "{era:?}: nobody is interested");
    }
}

#[tokio::test(start_paused = true)]
async fn a_restart_subscribes_again() {
    for era in [SupportedRevisions::Legacy, SupportedRevisions::Modern] {
        let server = server(era);
        let handle = server.handle();
        let mut harness = Harness::ready(&server).await;
        let _interest = harness.server.watch(URI).await.unwrap();
        harness.server.restart().await;
        harness.until(|status| status.starts == 2).await;
        harness.until_ready().await;
        if era == SupportedRevisions::Legacy {
            eventually("it subscribes", || handle.count("resources/subscribe") == 2).await;
        } else {
            eventually("it listens", || listened(&server) == [URI]).await;
        }
        sleep(Duration::from_secs(1)).await;
        handle.set_resource(URI, "new");
        assert_eq!(next_update(&mut harness).await, URI, "{era:?}");
    }
}

/// A legacy server with resources that answers `resources/subscribe` with an error once, then agrees.
fn reluctant() -> Endpoint {
    scripted(|_, mut script: Script| async move {
        let mut refused = false;
        loop {
            let asked = script.next().await;
            match asked["method"].as_str() {
                Some("initialize") => {
                    let mut hello = hello();
                    hello["capabilities"] = json!({"resources": {"subscribe": true}});
                    script.answer(&asked, hello).await;
                }
                Some("resources/list") => script.answer(&asked, json!({"resources": []})).await,
                Some("resources/subscribe") if refused => script.answer(&asked, json!({})).await,
                Some("resources/subscribe") => {
                    refused = true;
                    script.refuse(&asked, -32002).await;
                }
                _ if asked.get("id").is_some() => script.refuse(&asked, -32601).await,
                _ => {}
            }
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_passed_on_and_not_held_against_the_next_one() {
    let harness = Harness::new(reluctant(), |_| {});
    let Err(SubscribeError::Refused(error)) = harness.server.watch(URI).await else {
        panic!("it was refused")
    };
    assert_eq!((error.code.0, error.message.as_str()), (-32002, "refused"));
    harness.server.watch(URI).await.unwrap();
}

fn logged(harness: &Harness, part: &str) -> usize {
    harness.server.log().tail(100).iter().filter(|line| line.text.contains(part)).count()
}

#[tokio::test(start_paused = true)]
async fn a_server_without_subscriptions_gets_no_subscribe_request() {
    let server = TestServer::new("s").with_tool("t", |_| Ok(json!(1)));
    for era in [SupportedRevisions::Legacy, SupportedRevisions::Modern] {
        let server = server.clone().revisions(era);
        let harness = Harness::ready(&server).await;
        for _ in 0..3 {
            assert!(matches!(harness.server.watch(URI).await, Err(SubscribeError::Unsupported)), "{era:?}");
        }
        assert_eq!(server.handle().count("resources/subscribe"), 0);
        assert!(listened(&server).is_empty());
        assert_eq!(logged(&harness, "does not support subscriptions"), 1, "{era:?}: said once");
    }
}

/// A modern server with the tool `t` and resources; `listen` decides what becomes of each request to listen.
async fn introduce(script: &mut Script) {
    loop {
        let asked = script.next().await;
        match asked["method"].as_str() {
            Some("server/discover") => {
                let mut found = discovery();
                found["capabilities"] =
                    json!({"tools": {"listChanged": true}, "resources": {"subscribe": true}});
                script.answer(&asked, found).await;
            }
            Some("tools/list") => script.answer(&asked, tools(&["t"])).await,
            Some("resources/list") => script.answer(&asked, json!({"resources": []})).await,
            Some("resources/templates/list") => {
                return script.answer(&asked, json!({"resourceTemplates": []})).await;
            }
            _ => script.refuse(&asked, -32601).await,
        }
    }
}

/// The next message with that method; lists are answered on the way.
async fn until(script: &mut Script, method: &str) -> Value {
    loop {
        let asked = script.next().await;
        match asked["method"].as_str() {
            Some(it) if it == method => return asked,
            Some("tools/list") => script.answer(&asked, tools(&["t"])).await,
            Some("resources/list") => script.answer(&asked, json!({"resources": []})).await,
            Some("resources/templates/list") => script.answer(&asked, json!({"resourceTemplates": []})).await,
            _ => panic!("{asked}"),
        }
    }
}

fn tag(listen: &Value) -> Value {
    json!({"io.modelcontextprotocol/subscriptionId": listen["id"]})
}

async fn acknowledge(script: &Script, listen: &Value, agreed: Value) {
    let params = json!({"_meta": tag(listen), "notifications": agreed});
    let method = "notifications/subscriptions/acknowledged";
    script.send(json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
}

async fn update(script: &Script, listen: &Value, uri: &str) {
    let params = json!({"_meta": tag(listen), "uri": uri});
    script
        .send(json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params}))
        .await;
}

#[tokio::test(start_paused = true)]
async fn only_what_is_acknowledged_is_watched() {
    let source = scripted(|_, mut script| async move {
        introduce(&mut script).await;
        loop {
            let listen = script.next().await;
            if listen["method"] != "subscriptions/listen" {
                continue; // lists that nobody needs here, and the end of the subscription before
            }
            let wanted = listen["params"]["notifications"]["resourceSubscriptions"].clone();
            let agreed: Vec<Value> =
                wanted.as_array().into_iter().flatten().filter(|uri| *uri == URI).cloned().collect();
            acknowledge(&script, &listen, json!({"resourceSubscriptions": agreed})).await;
        }
    });
    let harness = Harness::new(source, |_| {});
    harness.until_ready().await;
    let (good, bad) = tokio::join!(harness.server.watch(URI), harness.server.watch("test://other"));
    assert!(good.is_ok());
    assert!(matches!(bad, Err(SubscribeError::Unsupported)));
    assert_eq!(logged(&harness, "cannot subscribe to the resource test://other"), 1);
}

#[tokio::test(start_paused = true)]
async fn the_old_subscription_ends_when_the_new_one_is_open_and_no_change_is_reported_twice() {
    let source = scripted(|_, mut script| async move {
        introduce(&mut script).await;
        let old = until(&mut script, "subscriptions/listen").await;
        acknowledge(&script, &old, json!({})).await;
        let new = until(&mut script, "subscriptions/listen").await;
        // Nothing was cancelled up to here: `until` would have told.
        let agreed =
            json!({"resourceSubscriptions": new["params"]["notifications"]["resourceSubscriptions"]});
        acknowledge(&script, &new, agreed).await;
        update(&script, &old, URI).await;
        update(&script, &new, URI).await;
        let cancelled = until(&mut script, "notifications/cancelled").await;
        assert_eq!(cancelled["params"]["requestId"], old["id"]);
        update(&script, &new, "test://last").await;
        script.next().await;
    });
    let mut harness = Harness::new(source, |_| {});
    harness.until_ready().await;
    let _interest = harness.server.watch(URI).await.unwrap();
    assert_eq!(next_update(&mut harness).await, URI);
    assert_eq!(next_update(&mut harness).await, "test://last", "the old one is not heard any more");
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_the_server_ends_is_opened_again() {
    for ends_with_answer in [true, false] {
        let source = scripted(move |_, mut script| async move {
            introduce(&mut script).await;
            let mut listen = until(&mut script, "subscriptions/listen").await;
            acknowledge(&script, &listen, json!({"toolsListChanged": true})).await;
            if ends_with_answer {
                script.answer(&listen, json!({"resultType": "complete", "_meta": tag(&listen)})).await;
            } else {
                let params = json!({"requestId": listen["id"]});
                script
                    .send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))
                    .await;
            }
            listen = until(&mut script, "subscriptions/listen").await;
            acknowledge(&script, &listen, json!({"resourceSubscriptions": [URI]})).await;
            update(&script, &listen, URI).await;
            until(&mut script, "never").await;
        });
        let mut harness = Harness::new(source, |_| {});
        harness.until_ready().await;
        sleep(Duration::from_millis(100)).await;
        let _interest = harness.server.watch(URI).await.unwrap();
        assert_eq!(next_update(&mut harness).await, URI, "{ends_with_answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_to_be_listened_to_refuses_each_interest() {
    let source = scripted(|_, mut script| async move {
        introduce(&mut script).await;
        let listen = until(&mut script, "subscriptions/listen").await;
        script.refuse(&listen, -32601).await;
        let asked = until(&mut script, "tools/call").await;
        script.answer(&asked, json!({"content": []})).await;
        until(&mut script, "never").await;
    });
    let harness = Harness::new(source, |_| {});
    harness.until_ready().await;
    for _ in 0..2 {
        assert!(matches!(harness.server.watch(URI).await, Err(SubscribeError::Refused(_))));
    }
    harness.call("t").await.unwrap();
    assert_eq!(logged(&harness, "`subscriptions/listen` was refused"), 1);
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_server_that_is_down_for_good_learns_it() {
    let harness = Harness::new(scripted(|_, _| async {}), |_| {});
    let watched = timeout(Duration::from_secs(30), harness.server.watch(URI)).await.unwrap();
    assert!(matches!(watched, Err(SubscribeError::Down(_))), "{watched:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_watched_is_bounded() {
    let server = server(SupportedRevisions::Legacy);
    let harness = Harness::ready(&server).await;
    let mut watching = tokio::task::JoinSet::new();
    for n in 0..4096 {
        let server = harness.server.clone();
        watching.spawn(async move { server.watch(&format!("test://{n}")).await.unwrap() });
    }
    let mut kept = watching.join_all().await;
    assert!(matches!(harness.server.watch("test://more").await, Err(SubscribeError::TooMany)));
    kept.pop();
    harness.server.watch("test://more").await.unwrap();
}
