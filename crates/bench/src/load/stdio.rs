//! Load over the stdin and stdout of a child.

use std::cell::RefCell;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::process::Command;
use tokio::sync::Notify;
use tokio::time::{self, Instant};

use super::call::{Call, Expected, FIRST_ID, INITIALIZED, Verdict, initialize};
use super::options::Options;
use super::tally::{Report, Tally};

/// The side that writes takes from here whatever the side that reads has put in.
struct Outbox {
    state: RefCell<State>,
    filled: Notify,
}

struct State {
    bytes: Vec<u8>,
    call: Call,
    /// When the call of each id was sent, from `FIRST_ID` on.
    asked: Vec<Instant>,
}

#[expect(clippy::disallowed_methods, reason = "the child is the target, and it ends with us")]
pub(super) async fn run(options: &Options, command: &[String]) -> anyhow::Result<Report> {
    let mut child = Command::new(&command[0])
        .args(&command[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("cannot start {}", command[0]))?;
    let mut stdin = child.stdin.take().context("the child has no stdin")?;
    let stdout = child.stdout.take().context("the child has no stdout")?;
    let mut stdout = BufReader::with_capacity(256 * 1024, stdout);
    if !options.modern {
        let hello = initialize(options.revision()) + "\n";
        stdin.write_all(hello.as_bytes()).await?;
        let mut line = String::new();
        let answer = stdout.read_line(&mut line);
        time::timeout(Duration::from_secs(10), answer).await.context("no handshake within 10 s")??;
        stdin.write_all(INITIALIZED.as_bytes()).await?;
        stdin.write_all(b"\n").await?;
    }
    let tally = Tally::new(options.warmup, options.window);
    let state = State { bytes: Vec::new(), call: Call::new(options).before("\n"), asked: Vec::new() };
    let outbox = Outbox { state: RefCell::new(state), filled: Notify::new() };
    for _ in 0..options.in_flight {
        outbox.call(Instant::now());
    }
    let calls = async {
        tokio::select! {
            () = write(&outbox, &mut stdin, &tally) => {}
            () = read(&outbox, &mut stdout, &tally, options) => {}
        }
    };
    tally.watch(calls).await;
    drop(stdin);
    let _ = time::timeout(Duration::from_secs(2), child.wait()).await;
    Ok(tally.report())
}

impl Outbox {
    fn call(&self, now: Instant) {
        let state = &mut *self.state.borrow_mut();
        let id = FIRST_ID + state.asked.len() as u64;
        state.asked.push(now);
        state.bytes.extend_from_slice(state.call.with_id(id));
        self.filled.notify_one();
    }

    fn asked(&self, id: u64) -> Option<Instant> {
        let index = usize::try_from(id.checked_sub(FIRST_ID)?).ok()?;
        self.state.borrow().asked.get(index).copied()
    }
}

async fn write(outbox: &Outbox, stdin: &mut (impl AsyncWrite + Unpin), tally: &Tally) {
    let mut bytes = Vec::new();
    loop {
        outbox.filled.notified().await;
        std::mem::swap(&mut bytes, &mut outbox.state.borrow_mut().bytes);
        if let Err(error) = stdin.write_all(&bytes).await {
            return tally.bad(|| error.to_string());
        }
        bytes.clear();
    }
}

/// Every answer brings about the next call, until the window is over and all are answered.
async fn read(
    outbox: &Outbox,
    stdout: &mut BufReader<impl AsyncRead + Unpin>,
    tally: &Tally,
    options: &Options,
) {
    let expected = Expected::of(options);
    let mut in_flight = options.in_flight;
    let mut line = Vec::new();
    while in_flight > 0 {
        line.clear();
        match stdout.read_until(b'\n', &mut line).await {
            Ok(0) => return tally.bad(|| "the child closed its stdout".to_owned()),
            Err(error) => return tally.bad(|| error.to_string()),
            Ok(_) => {}
        }
        let now = Instant::now();
        let verdict = expected.judge(&line);
        match verdict {
            Verdict::Other => continue,
            Verdict::Good(id) if let Some(asked) = outbox.asked(id) => tally.good(asked, now),
            Verdict::Good(_) | Verdict::Bad(_) => {
                tally.bad(|| String::from_utf8_lossy(&line).into_owned());
            }
        }
        if tally.goes_on(now) {
            outbox.call(now);
        } else {
            in_flight -= 1;
        }
    }
}
