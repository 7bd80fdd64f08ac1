//! Storms, confused ids, clients that go away, and long lists.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use toolbay_testkit::harness::{Client, Disconnect, cpu_time, wait_until};

use super::stage::{Figure, Stage, median, percentile};

pub(super) fn storm(stage: &Stage) -> Result<Vec<Figure>> {
    let scene = stage.ready(&[], json!({}))?;
    let mut client = scene.hub.client()?;
    client.tools()?;
    let mut events = client.listen()?;
    let (lists, used) = (scene.received("tools/list"), cpu_time(scene.hub.pid()));
    client.call("bad__list_changed_storm", json!({ "count": 10_000 }))?;
    let told = events.until_quiet(Duration::from_secs(2))?.len();
    Ok(vec![
        Figure::new("tools/list at the server", scene.received("tools/list") - lists, "≤ 5"),
        Figure::new("notifications at a client", told, "≤ 5"),
        Figure::ms("CPU of the hub, 2 s in all", cpu_time(scene.hub.pid()) - used, ""),
    ])
}

pub(super) fn confused_ids(stage: &Stage) -> Result<Vec<Figure>> {
    const CLIENTS: usize = 8;
    const CALLS: usize = 2500;
    let scene = stage.ready(&[], json!({}))?;
    let mixed = thread::scope(|scope| {
        let callers: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let hub = &scene.hub;
                scope.spawn(move || -> Result<usize> {
                    let mut caller = hub.client()?;
                    let mut mixed = 0;
                    for call in 0..CALLS {
                        let own = format!("{client} {call}");
                        let (tool, expected) = match call % 4 {
                            0 => ("bad__duplicate_answer", "first"),
                            1 => ("bad__unknown_id_answer", "ok"),
                            2 => ("bad__string_id_answer", "right"),
                            _ => ("bad__ok", own.as_str()),
                        };
                        mixed += usize::from(caller.text(tool, json!({ "text": own }))? != expected);
                    }
                    Ok(mixed)
                })
            })
            .collect();
        callers
            .into_iter()
            .map(|caller| caller.join().expect("it returns its failures"))
            .sum::<Result<usize>>()
    })?;
    Ok(vec![Figure::new("answers mixed up, of 20,000", mixed, "0")])
}

pub(super) fn disconnect(stage: &Stage) -> Result<Vec<Figure>> {
    let scene = stage.ready(&[], json!({}))?;
    let mut figures = Vec::new();
    for (what, how) in
        [("FIN: the server is told", Disconnect::Fin), ("RST: the server is told", Disconnect::Reset)]
    {
        let mut times = Vec::new();
        for _ in 0..10 {
            let told = scene.received("notifications/cancelled");
            let mut client = scene.hub.client()?;
            client.start_call("bad__hang", json!({}))?;
            scene.await_calls(1)?;
            let left = Instant::now();
            client.disconnect(how)?;
            wait_until("the server is told", || {
                Ok((scene.received("notifications/cancelled") > told).then_some(()))
            })?;
            times.push(left.elapsed());
        }
        figures.push(Figure::ms(what, median(times)?, "≤ 100 ms"));
    }
    Ok(figures)
}

pub(super) fn many_tools(stage: &Stage) -> Result<Vec<Figure>> {
    let flags = ["--tools", "1000", "--tool-bytes", "4096", "--page-size", "50", "--big-schema"];
    let scene = stage.ready(&flags, json!({}))?;
    let mut client = scene.hub.client()?;
    let (mut pages, mut lists) = (Vec::new(), Vec::new());
    for _ in 0..100 {
        let times = list(&mut client)?;
        lists.push(times.iter().sum());
        pages.extend(times);
    }
    Ok(vec![
        Figure::ms("page p99", percentile(pages, 99)?, "≤ 50 ms"),
        Figure::ms("all pages (4 MB) p99", percentile(lists, 99)?, ""),
        Figure::new("tools/list at the server", scene.received("tools/list"), "21"),
    ])
}

/// Lists all tools; gives how long each page took until its last byte, without reading what it says.
fn list(client: &mut Client) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    let mut params = json!({});
    loop {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params }).to_string();
        let asked = Instant::now();
        let reply = client.post(&body)?;
        times.push(asked.elapsed());
        let text = reply.messages.first().context("no list")?;
        let answer: Value = serde_json::from_str(text)?;
        match answer["result"].get("nextCursor") {
            Some(cursor) => params["cursor"] = cursor.clone(),
            None => return Ok(times),
        }
    }
}
