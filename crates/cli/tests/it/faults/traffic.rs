//! Many requests, confused ids, unknown messages, and clients that disconnect.

use std::{collections::HashSet, thread, time::Duration};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use toolbay_testkit::harness::{Disconnect, Http2Request, wait_until};

use super::{AT_ONCE, Scene, says};

#[test]
fn f17_a_storm_of_list_changed_is_gathered() -> Result<()> {
    let scene = Scene::new(&[], json!({}))?;
    let mut client = scene.client()?;
    client.tools()?;
    let mut events = client.listen()?;
    let before = scene.received("tools/list").len();
    ensure!(client.text("bad__list_changed_storm", json!({ "count": 10_000 }))? == "ok");
    let told = events.until_quiet(Duration::from_secs(2))?;
    let asked = scene.received("tools/list").len() - before;
    ensure!((1..=5).contains(&asked), "{asked} times tools/list");
    ensure!(told.len() <= 5, "{} notifications: {told:?}", told.len());
    drop((events, client));
    scene.end()
}

#[test]
fn f18_confused_ids_never_mix_responses() -> Result<()> {
    const CLIENTS: usize = 8;
    const CALLS: usize = 500;
    let scene = Scene::new(&[], json!({}))?;
    // Every client counts its ids from 1, so they all use the same ones.
    thread::scope(|scope| {
        let callers: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let scene = &scene;
                scope.spawn(move || -> Result<()> {
                    let mut caller = scene.client()?;
                    for call in 0..CALLS {
                        let (tool, expected) = match call % 8 {
                            0 => ("bad__duplicate_answer", "first".to_owned()),
                            1 => ("bad__unknown_id_answer", "ok".to_owned()),
                            2 => ("bad__string_id_answer", "right".to_owned()),
                            3 => ("good__echo", format!("good {client} {call}")),
                            _ => ("bad__ok", format!("{client} {call}")),
                        };
                        let text = caller.text(tool, json!({ "text": expected }))?;
                        ensure!(text == expected, "{tool}: {text} instead of {expected}");
                    }
                    Ok(())
                })
            })
            .collect();
        callers.into_iter().try_for_each(|caller| caller.join().expect("it returns its failures"))
    })?;
    let odd = CLIENTS * CALLS.div_ceil(8) * 3 - 2 * CLIENTS; // 500 is no multiple of 8
    let stray = scene.hub.wait_until("bad", "stray answers", |bad| {
        bad["counts"]["stray_answers"].as_u64() >= Some(odd as u64)
    })?;
    ensure!(stray["starts"] == 1, "{stray}");
    scene.end()
}

#[test]
fn f18_an_id_that_is_in_use_is_refused_within_a_session() -> Result<()> {
    let scene = Scene::new(&[], json!({}))?;
    let mut first = scene.client()?;
    let call = |id: Value, tool: &str| {
        let params = json!({ "name": tool, "arguments": { "ms": 1000 } });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
    };
    first.send(&[], &call(json!(77), "bad__late"))?;
    scene.hub.wait_until("bad", "has a call", |bad| bad["counts"]["in_flight"] == 1)?;
    let mut second = first.same_session();
    says(&second.post(&call(json!(77), "bad__ok"))?.messages.concat(), &["-32600", "\"id\":77"])?;
    // A string is another id, and another session has ids of its own.
    says(&second.post(&call(json!("77"), "bad__ok"))?.messages.concat(), &["result", "\"id\":\"77\""])?;
    let mut stranger = scene.client()?;
    says(&stranger.post(&call(json!(77), "bad__ok"))?.messages.concat(), &["result", "\"id\":77"])?;
    says(&first.receive()?.messages.concat(), &["late", "\"id\":77"])?;
    drop((first, second, stranger));
    scene.end()
}

#[test]
fn f19_unknown_fields_arrive_as_they_were_written() -> Result<()> {
    let scene = Scene::new(&[], json!({}))?;
    let mut client = scene.client()?;
    let params = json!({ "name": "bad__extra_fields", "arguments": {} });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    let answer = client.post(&call)?.messages.concat();
    let expected = concat!(
        r#""result":{"content":[{"type":"text","text":"ok","unknownInBlock":[1,2,{"a":null}]}],"#,
        r#""isError":false,"unknown":{"deep":{"x":null}},"big":12345678901234567890,"#,
        r#""bigger":123456789012345678901234567890,"float":1.0,"exponent":1e400,"tiny":1E-7,"#,
        r#""negativeZero":-0,"escaped":"\u0041\/\ud83d\ude00","empty":{}, "spaced" : [ 1 , 2 ] ,"#,
        r#""_meta":{"hostile/key":1.50}}"#
    );
    says(&answer, &[expected])?;
    drop(client);
    scene.end()
}

#[test]
fn f19_unknown_messages_get_an_error_or_are_dropped() -> Result<()> {
    let scene = Scene::new(&[], json!({ "roots": ["file:///somewhere"] }))?;
    let mut client = scene.client()?;
    ensure!(client.text("bad__unknown_notification", json!({}))? == "ok");
    says(&client.text("bad__ask_ping", json!({}))?, &["\"result\":{}"])?;
    says(&client.text("bad__ask_roots", json!({}))?, &["file:///somewhere"])?;
    says(&client.text("bad__ask_unknown", json!({}))?, &["-32601", "hostile/unknown"])?;
    let unknown = client.request("hostile/unknown", &json!({}))?;
    ensure!(unknown["error"]["code"] == -32601, "{unknown}");
    ensure!(scene.bad()?["starts"] == 1, "{}", scene.bad()?);
    drop(client);
    scene.end()
}

#[test]
fn f19_invalid_responses_fail_one_call_at_once() -> Result<()> {
    let scene = Scene::new(&[], json!({ "idle_timeout": "2s" }))?;
    let mut client = scene.client()?;
    for tool in ["two_envelopes_one_line", "wrong_jsonrpc", "no_jsonrpc", "result_and_error"] {
        let answer = client.call(&format!("bad__{tool}"), json!({}))?;
        let message = answer["error"]["message"].as_str().with_context(|| format!("{tool}: {answer}"))?;
        says(message, &["`bad`", "invalid response"]).context(tool)?;
    }
    // It names two calls: nobody can say which one it answers.
    says(&client.error("bad__duplicate_keys", json!({}))?, &["`bad`", "timed out"])?;
    ensure!(scene.bad()?["counts"]["noise"] == 1, "{}", scene.bad()?);
    for tool in ["null_result", "error_without_message"] {
        let answer = client.call(&format!("bad__{tool}"), json!({}))?;
        ensure!(answer.get("result").is_some() || answer.get("error").is_some(), "{tool}: {answer}");
    }
    ensure!(client.text("bad__ok", json!({}))? == "ok");
    ensure!(scene.bad()?["starts"] == 1, "{}", scene.bad()?);
    drop(client);
    scene.end()
}

#[test]
fn f20_a_client_that_goes_away_cancels_its_call() -> Result<()> {
    let scene = Scene::new(&[], json!({}))?;
    let ways = [Disconnect::Fin, Disconnect::Reset];
    for (number, how) in ways.into_iter().enumerate() {
        let mut client = scene.client()?;
        client.start_call("bad__hang", json!({}))?;
        scene.hub.wait_until("bad", "has a call", |bad| bad["counts"]["in_flight"] == 1)?;
        let left = std::time::Instant::now();
        client.disconnect(how)?;
        wait_until("the server is told", || {
            Ok((scene.received("notifications/cancelled").len() > number).then_some(()))
        })?;
        ensure!(left.elapsed() < AT_ONCE, "{how:?}: it took {:?}", left.elapsed());
        ensure!(scene.bad()?["counts"]["in_flight"] == 0, "{}", scene.bad()?);
    }
    let calls: HashSet<String> =
        scene.received("tools/call").iter().map(|call| call["id"].to_string()).collect();
    let cancelled = scene.received("notifications/cancelled");
    let cancelled: HashSet<String> =
        cancelled.iter().map(|it| it["params"]["requestId"].to_string()).collect();
    ensure!(calls == cancelled, "{calls:?} were called, {cancelled:?} cancelled");
    scene.end()
}

#[test]
fn f20_a_client_that_goes_away_from_a_stream_cancels_its_call() -> Result<()> {
    let scene = Scene::new(&[], json!({}))?;
    let mut client = scene.client()?;
    let params = json!({ "name": "bad__progress", "_meta": { "progressToken": "p" },
        "arguments": { "steps": 1000, "every_ms": 20 } });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    client.send(&[], &call.to_string())?;
    scene.hub.wait_until("bad", "has a call", |bad| bad["counts"]["in_flight"] == 1)?;
    client.disconnect(Disconnect::Fin)?;
    wait_until("the server is told", || {
        Ok((scene.received("notifications/cancelled").len() == 1).then_some(()))
    })?;
    scene.end()
}

#[test]
fn f20_a_stream_of_http_2_that_is_reset_cancels_its_call() -> Result<()> {
    let scene = Scene::new(&[], json!({}))?;
    let params = json!({ "name": "bad__hang", "arguments": {} });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let mut request = Http2Request::post(scene.hub.address(), &call.to_string())?;
    scene.hub.wait_until("bad", "has a call", |bad| bad["counts"]["in_flight"] == 1)?;
    let left = std::time::Instant::now();
    request.reset()?;
    wait_until("the server is told", || {
        Ok((scene.received("notifications/cancelled").len() == 1).then_some(()))
    })?;
    ensure!(left.elapsed() < AT_ONCE, "it took {:?}", left.elapsed());
    drop(request);
    scene.end()
}
