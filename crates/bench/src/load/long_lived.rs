//! Load over one long-lived connection: WebSocket, and HTTP+SSE.

use std::time::Duration;

use anyhow::{Context, bail};
use bytes::Bytes;
use tokio::time::{self, Instant};
use tokio_util::task::TaskTracker;
use toolbay_transport::{Connection, Incoming, http::client::Target, legacy_sse, websocket};

use super::call::{Call, Expected, FIRST_ID, INITIALIZED, Verdict, initialize};
use super::options::Options;
use super::tally::{Report, Tally};

pub(super) async fn run(options: &Options, url: &str) -> anyhow::Result<Report> {
    let tasks = TaskTracker::new();
    let mut wire = connect(url, &tasks)?;
    if !options.modern {
        wire.outgoing.send(initialize(options.revision()).into()).await?;
        let answer = time::timeout(Duration::from_secs(10), wire.incoming.recv()).await;
        match answer.context("no handshake within 10 s")? {
            Some(Incoming::Message(_)) => {}
            other => bail!("no handshake: {other:?}"),
        }
        wire.outgoing.send(INITIALIZED.to_owned().into()).await?;
    }
    let tally = Tally::new(options.warmup, options.window);
    tally.watch(calls(&mut wire, &tally, options)).await;
    Ok(tally.report())
}

fn connect(url: &str, tasks: &TaskTracker) -> anyhow::Result<Connection> {
    let is_web_socket = url.starts_with("ws://");
    let target = Target {
        url: url.parse()?,
        headers: Default::default(),
        max_message: 64 << 20,
        max_running: 4096,
        route: Default::default(),
        authorizer: None,
    };
    Ok(if is_web_socket { websocket::connect(target, tasks) } else { legacy_sse::connect(target, tasks) })
}

/// Every answer brings about the next call, until the window is over and all are answered.
async fn calls(wire: &mut Connection, tally: &Tally, options: &Options) {
    let expected = Expected::of(options);
    let mut call = Call::new(options);
    let mut asked: Vec<Instant> = Vec::new();
    let mut next = |asked: &mut Vec<Instant>| {
        asked.push(Instant::now());
        let id = FIRST_ID + asked.len() as u64 - 1;
        Bytes::copy_from_slice(call.with_id(id)).into()
    };
    let mut in_flight = options.in_flight;
    for _ in 0..in_flight {
        if wire.outgoing.send(next(&mut asked)).await.is_err() {
            return tally.bad(|| "the connection is gone".to_owned());
        }
    }
    while in_flight > 0 {
        let text = match wire.incoming.recv().await {
            Some(Incoming::Message(message)) => message.text().clone(),
            other => return tally.bad(|| format!("{other:?}")),
        };
        let now = Instant::now();
        let began = |id: u64| asked.get(usize::try_from(id.checked_sub(FIRST_ID)?).ok()?).copied();
        match expected.judge(&text) {
            Verdict::Other => continue,
            Verdict::Good(id) if let Some(asked) = began(id) => tally.good(asked, now),
            Verdict::Good(_) | Verdict::Bad(_) => {
                tally.bad(|| String::from_utf8_lossy(&text).into_owned());
            }
        }
        if !tally.goes_on(now) {
            in_flight -= 1;
        } else if wire.outgoing.send(next(&mut asked)).await.is_err() {
            return tally.bad(|| "the connection is gone".to_owned());
        }
    }
}
