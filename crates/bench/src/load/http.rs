//! Load over Streamable HTTP: one session, a connection for every call in flight.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, bail};
use serde::Deserialize;
use tokio::time::{self, Instant};
use tokio_util::task::TaskTracker;

use super::call::{Call, Expected, FIRST_ID, INITIALIZED, Verdict, initialize};
use super::connection::{Connection, Head};
use super::options::{Options, Url};
use super::sse::Events;
use super::tally::{Report, Tally};

const HANDSHAKE: Duration = Duration::from_secs(10);

/// What every worker of a run holds in common.
struct Run {
    tally: Tally,
    expected: Expected,
    next_id: Cell<u64>,
}

pub(super) async fn run(options: &Options, url: &Url) -> anyhow::Result<Report> {
    if let Some(count) = options.idle_sessions.filter(|_| options.listening) {
        return super::crowd::run(options, url, count).await;
    }
    let mut first = Connection::new(&url.authority);
    if let Some(count) = options.idle_sessions {
        for _ in 0..count {
            open(&mut first, options, url).await?;
        }
        return Ok(Tally::new(Duration::ZERO, Duration::from_secs(1)).report());
    }
    let headers = time::timeout(HANDSHAKE, open(&mut first, options, url))
        .await
        .context("no handshake within 10 s")??;
    let call = Call::new(options);
    let call_headers = if options.modern {
        format!("{headers}Mcp-Method: tools/call\r\nMcp-Name: {}\r\n", options.tool)
    } else {
        headers.clone()
    };
    let head = request_head("POST", url, &call_headers, call.len());
    let call = call.after(&head);
    let run = Rc::new(Run {
        tally: Tally::new(options.warmup, options.window),
        expected: Expected::of(options),
        next_id: Cell::new(FIRST_ID),
    });
    let workers = TaskTracker::new();
    for _ in 0..options.in_flight {
        let connection = Connection::new(&url.authority);
        workers.spawn_local(work(Rc::clone(&run), connection, call.clone()));
    }
    workers.close();
    run.tally.watch(workers.wait()).await;
    if headers.contains("Mcp-Session-Id") {
        let delete = request_head("DELETE", url, &headers, 0);
        let _ = time::timeout(Duration::from_secs(2), first.send(delete.as_bytes())).await;
    }
    Ok(run.tally.report())
}

/// One call after the other until the window is over.
async fn work(run: Rc<Run>, mut connection: Connection, mut call: Call) {
    let mut asked = Instant::now();
    while run.tally.goes_on(asked) {
        let id = run.next_id.get();
        run.next_id.set(id + 1);
        match ask(&mut connection, call.with_id(id), id, run.expected).await {
            Ok(answered) => run.tally.good(asked, answered),
            Err(error) => {
                run.tally.bad(|| format!("{error:#}"));
                // A target that refuses at once must not turn us into a busy loop.
                time::sleep(Duration::from_millis(5)).await;
            }
        }
        asked = Instant::now();
    }
}

/// Sends one call and reads its answer to the end; says when the answer itself was there.
async fn ask(
    connection: &mut Connection,
    request: &[u8],
    id: u64,
    expected: Expected,
) -> anyhow::Result<Instant> {
    let mut head = connection.send(request).await?;
    let mut events = Events::default();
    let mut answered = None;
    while connection.more(&mut head).await? {
        if !head.sse || answered.is_some() {
            continue;
        }
        while let Some(data) = events.next(connection.body()) {
            match expected.judge(data) {
                Verdict::Other => {}
                Verdict::Good(of) if of == id => answered = Some(Instant::now()),
                verdict => {
                    let data = String::from_utf8_lossy(data).into_owned();
                    connection.close();
                    bail!("{verdict:?} for call {id}: {data}");
                }
            }
        }
    }
    if !head.sse && head.status == 200 && expected.judge(connection.body()) == Verdict::Good(id) {
        answered = Some(Instant::now());
    }
    answered
        .with_context(|| format!("status {}: {}", head.status, String::from_utf8_lossy(connection.body())))
}

/// Opens the session and gives the headers that belong to it.
pub(super) async fn open(
    connection: &mut Connection,
    options: &Options,
    url: &Url,
) -> anyhow::Result<String> {
    if options.modern {
        return Ok(format!("MCP-Protocol-Version: {}\r\n", options.revision()));
    }
    let body = initialize(options.revision());
    let mut head = connection.send((request_head("POST", url, "", body.len()) + &body).as_bytes()).await?;
    let message = first_message(connection, &mut head).await?;
    let answer: Initialized = serde_json::from_slice(&message)
        .with_context(|| format!("status {}: {}", head.status, String::from_utf8_lossy(&message)))?;
    let mut headers = format!("MCP-Protocol-Version: {}\r\n", answer.result.protocol_version);
    if let Some(session) = &head.session {
        headers.push_str(&format!("Mcp-Session-Id: {session}\r\n"));
    }
    let request = request_head("POST", url, &headers, INITIALIZED.len()) + INITIALIZED;
    let mut head = connection.send(request.as_bytes()).await?;
    while connection.more(&mut head).await? {}
    if head.status >= 300 {
        bail!("`notifications/initialized` got status {}", head.status);
    }
    Ok(headers)
}

/// The whole JSON body, or the first event with data.
async fn first_message(connection: &mut Connection, head: &mut Head) -> anyhow::Result<Vec<u8>> {
    let mut events = Events::default();
    let mut message = None;
    while connection.more(head).await? {
        while let Some(data) = events.next(connection.body()).filter(|_| head.sse && message.is_none()) {
            if !data.is_empty() {
                message = Some(data.to_vec());
            }
        }
    }
    Ok(message.unwrap_or_else(|| connection.body().to_vec()))
}

#[derive(Deserialize)]
struct Initialized {
    result: InitializeResult,
}

#[derive(Deserialize)]
struct InitializeResult {
    #[serde(rename = "protocolVersion")]
    protocol_version: String,
}

pub(super) fn request_head(method: &str, url: &Url, headers: &str, length: usize) -> String {
    format!(
        "{method} {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{headers}Content-Length: {length}\r\n\r\n",
        url.path, url.authority
    )
}
