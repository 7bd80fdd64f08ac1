//! A crowd: many clients that each keep a stream open, and how fast lists are while they are there.

use std::rc::Rc;
use std::{cell::Cell, io};

use anyhow::{Context, ensure};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::{net::TcpStream, time::Instant};
use tokio_util::task::TaskTracker;

use super::call::modern_meta;
use super::connection::Connection;
use super::http::{open, request_head};
use super::options::{Options, Url};
use super::sse::Events;
use super::tally::{Report, Tally};

/// Opens `count` streams, asks for lists during the window, and looks whether all streams are still there.
pub(super) async fn run(options: &Options, url: &Url, count: usize) -> anyhow::Result<Report> {
    raise_file_limit()?;
    let mut shaking_hands = Connection::new(&url.authority);
    let mut headers = String::new();
    let mut streams = Vec::with_capacity(count);
    for number in 0..count {
        let who = || format!("client number {number}");
        headers = open(&mut shaking_hands, options, url).await.with_context(who)?;
        streams.push(listen(options, url, &headers).await.with_context(who)?);
    }
    let tally = Rc::new(Tally::new(options.warmup, options.window));
    let next_id = Rc::new(Cell::new(1));
    let workers = TaskTracker::new();
    for _ in 0..options.in_flight {
        let lists = lists(options.clone(), url.clone(), headers.clone(), next_id.clone(), tally.clone());
        workers.spawn_local(lists);
    }
    workers.close();
    tally.watch(workers.wait()).await;
    for stream in &streams {
        if is_closed(stream) {
            tally.bad(|| "a stream was closed".to_owned());
        }
    }
    Ok(tally.report())
}

/// Opens a stream of changes and gives it once the server has agreed.
async fn listen(options: &Options, url: &Url, headers: &str) -> anyhow::Result<TcpStream> {
    let mut connection = Connection::new(&url.authority);
    let request = if options.modern {
        let meta = modern_meta();
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true}},"_meta":{meta}}}}}"#
        );
        let headers = format!("{headers}Mcp-Method: subscriptions/listen\r\n");
        request_head("POST", url, &headers, body.len()) + &body
    } else {
        request_head("GET", url, headers, 0)
    };
    let mut head = connection.send(request.as_bytes()).await?;
    ensure!(head.status == 200 && head.sse, "no stream, but status {}", head.status);
    // The first event: that of a session has no message, the other is the agreement.
    let mut events = Events::default();
    while events.next(connection.body()).is_none() {
        ensure!(connection.more(&mut head).await?, "the stream ended at once");
    }
    connection.into_stream().context("not connected")
}

/// One list after the other until the window is over.
async fn lists(options: Options, url: Url, headers: String, next_id: Rc<Cell<u64>>, tally: Rc<Tally>) {
    let mut connection = Connection::new(&url.authority);
    let mut asked = Instant::now();
    while tally.goes_on(asked) {
        let id = next_id.replace(next_id.get() + 1);
        match list(&mut connection, &options, &url, &headers, id).await {
            Ok(()) => tally.good(asked, Instant::now()),
            Err(error) => tally.bad(|| format!("{error:#}")),
        }
        asked = Instant::now();
    }
}

async fn list(
    connection: &mut Connection,
    options: &Options,
    url: &Url,
    headers: &str,
    id: u64,
) -> anyhow::Result<()> {
    let (params, more) = match options.modern {
        true => (format!(r#"{{"_meta":{}}}"#, modern_meta()), "Mcp-Method: tools/list\r\n"),
        false => ("{}".to_owned(), ""),
    };
    let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{params}}}"#);
    let request = request_head("POST", url, &format!("{headers}{more}"), body.len()) + &body;
    let mut head = connection.send(request.as_bytes()).await?;
    while connection.more(&mut head).await? {}
    let answer: serde_json::Value = serde_json::from_slice(connection.body())?;
    ensure!(answer["id"] == id && answer["result"]["tools"].is_array(), "status {}: {answer}", head.status);
    Ok(())
}

fn is_closed(stream: &TcpStream) -> bool {
    let mut bytes = [0; 4096];
    loop {
        match stream.try_read(&mut bytes) {
            Ok(0) => return true,
            Ok(_) => {} // a sign of life
            Err(error) => return error.kind() != io::ErrorKind::WouldBlock,
        }
    }
}

/// Every stream takes a file.
fn raise_file_limit() -> anyhow::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })?)
}
