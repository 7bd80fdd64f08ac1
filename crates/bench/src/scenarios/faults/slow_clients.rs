//! Clients that send too slowly, or do not read.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;
use toolbay_testkit::harness::{fds, wait_until};

use super::stage::{Figure, Stage, p99};

const CALLS: usize = 500;

pub(super) fn trickle(stage: &Stage) -> Result<Vec<Figure>> {
    let scene = stage.ready(&[], json!({}))?;
    let mut client = scene.hub.client()?;
    let before = p99(&mut client, "good__echo", CALLS)?;
    let files = fds(scene.hub.pid());
    let mut slow = Vec::new();
    for _ in 0..500 {
        let mut stream = TcpStream::connect(scene.hub.address())?;
        stream.write_all(b"POST /mcp HTTP/1.1\r\nX-Slow: ")?;
        slow.push(stream);
    }
    let opened = Instant::now();
    let during = p99(&mut client, "good__echo", CALLS)?;
    wait_until("the hub closes them", || {
        // One may have been closed before its byte is sent.
        slow.iter_mut().for_each(|stream| drop(stream.write_all(b"a")));
        std::thread::sleep(Duration::from_millis(250));
        Ok((fds(scene.hub.pid()) <= files + 2).then_some(()))
    })?;
    Ok(vec![
        Figure::ms("500 closed after", opened.elapsed(), "10 s"),
        Figure::ms("p99 of another client before", before, ""),
        Figure::ms("p99 of another client meanwhile", during, "≤ twice that"),
    ])
}

pub(super) fn unread(stage: &Stage) -> Result<Vec<Figure>> {
    let scene = stage.ready(&[], json!({}))?;
    let (mut client, mut other) = (scene.hub.client()?, scene.hub.client()?);
    client.request("logging/setLevel", &json!({ "level": "debug" }))?;
    scene.hub.reset_peak();
    let (before, started) = (scene.hub.rss_kib(), Instant::now());
    let text = "x".repeat(100_000);
    client.start_call("good__log", json!({ "count": 1000, "level": "error", "text": text }))?;
    let others = p99(&mut other, "bad__ok", CALLS)?;
    wait_until("it is dropped", || {
        Ok(scene.hub.stderr().contains("a client has read nothing").then_some(()))
    })?;
    Ok(vec![
        Figure::ms("dropped after", started.elapsed(), "15 s of a full buffer"),
        Figure::mib(
            "rise of memory",
            scene.hub.peak_kib().saturating_sub(before),
            "≤ 4 MiB kept and buffers",
        ),
        Figure::ms("p99 of another client meanwhile", others, ""),
    ])
}
