//! The bare forwarder of bytes: HTTP in front, one stdio server behind, and nothing in between but the swap of ids
//! that several calls in flight need. What a proxy adds is measured against what this adds.
//!
//! It checks nothing, keeps no sessions and trusts both sides: it is a yardstick, not a proxy to use.

use std::cell::RefCell;
use std::collections::HashMap;
use std::convert::Infallible;
use std::process::Stdio;
use std::rc::Rc;

use anyhow::Context;
use bytes::Bytes;
use http::{HeaderValue, Method, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;

const QUEUE: usize = 256;

/// What the connections share; the runtime has one thread, so no lock is needed.
struct Shared {
    to_child: mpsc::Sender<Vec<u8>>,
    waiting: RefCell<Waiting>,
}

#[derive(Default)]
struct Waiting {
    last_id: u64,
    calls: HashMap<u64, oneshot::Sender<Vec<u8>>>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
}

/// Starts `command` and serves `/mcp` on `listener` until the child ends. To be run on a `LocalSet`.
#[expect(
    clippy::disallowed_methods,
    reason = "a yardstick without supervision; the child ends with its stdin"
)]
pub async fn serve(listener: TcpListener, command: &[String]) -> anyhow::Result<()> {
    let (program, args) = command.split_first().context("no command given")?;
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("cannot start {program}"))?;
    let stdin = child.stdin.take().context("the child has no stdin")?;
    let stdout = child.stdout.take().context("the child has no stdout")?;
    let (to_child, queue) = mpsc::channel(QUEUE);
    let shared = Rc::new(Shared { to_child, waiting: RefCell::default() });
    let tasks = TaskTracker::new();
    tasks.spawn_local(write_lines(stdin, queue));
    tasks.spawn_local(read_lines(stdout, Rc::clone(&shared)));
    loop {
        tokio::select! {
            status = child.wait() => anyhow::bail!("the child ended: {}", status?),
            accepted = listener.accept() => {
                let (stream, _) = accepted?;
                stream.set_nodelay(true)?;
                let shared = Rc::clone(&shared);
                let service = service_fn(move |request| respond(Rc::clone(&shared), request));
                let connection = http1::Builder::new().auto_date_header(false).serve_connection(TokioIo::new(stream), service);
                tasks.spawn_local(connection);
            }
        }
    }
}

async fn respond(
    shared: Rc<Shared>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.method() != Method::POST {
        return Ok(empty(StatusCode::METHOD_NOT_ALLOWED));
    }
    let Ok(body) = request.into_body().collect().await else {
        return Ok(empty(StatusCode::BAD_REQUEST));
    };
    Ok(match exchange(&shared, &body.to_bytes()).await {
        Some(answer) if answer.is_empty() => empty(StatusCode::ACCEPTED),
        Some(answer) => {
            let mut response = Response::new(Full::new(Bytes::from(answer)));
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response
        }
        None => empty(StatusCode::BAD_GATEWAY),
    })
}

/// Sends `message` to the child and waits for its answer; a notification has an empty one.
async fn exchange(shared: &Shared, message: &[u8]) -> Option<Vec<u8>> {
    let Some(id) = id_of(message) else {
        let mut line = message.to_vec();
        line.push(b'\n');
        shared.to_child.send(line).await.ok()?;
        return Some(Vec::new());
    };
    let (reply, answer) = oneshot::channel();
    let ours = {
        let mut waiting = shared.waiting.borrow_mut();
        waiting.last_id += 1;
        let ours = waiting.last_id;
        waiting.calls.insert(ours, reply);
        ours
    };
    let mut line = with_id(message, id, &ours.to_string());
    line.push(b'\n');
    shared.to_child.send(line).await.ok()?;
    let answer = answer.await.ok()?;
    Some(with_id(&answer, id_of(&answer)?, id))
}

fn id_of(message: &[u8]) -> Option<&str> {
    Some(serde_json::from_slice::<Envelope<'_>>(message).ok()?.id?.get())
}

/// `message` with another id. Invariant: `old` is a part of `message`, as [`id_of`] gave it.
fn with_id(message: &[u8], old: &str, new: &str) -> Vec<u8> {
    let start = old.as_ptr().addr() - message.as_ptr().addr();
    let mut changed = Vec::with_capacity(message.len() + new.len() + 1);
    changed.extend_from_slice(&message[..start]);
    changed.extend_from_slice(new.as_bytes());
    changed.extend_from_slice(&message[start + old.len()..]);
    changed
}

async fn write_lines(mut stdin: impl AsyncWrite + Unpin, mut queue: mpsc::Receiver<Vec<u8>>) {
    let mut lines = Vec::new();
    while queue.recv_many(&mut lines, QUEUE).await > 0 {
        let together = if lines.len() == 1 { lines.remove(0) } else { lines.concat() };
        lines.clear();
        if stdin.write_all(&together).await.is_err() {
            return;
        }
    }
}

async fn read_lines(stdout: impl AsyncRead + Unpin, shared: Rc<Shared>) {
    let mut stdout = BufReader::with_capacity(64 * 1024, stdout);
    let mut line = Vec::new();
    while stdout.read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
        let line = std::mem::take(&mut line);
        let id = id_of(&line).and_then(|id| id.parse().ok());
        if let Some(reply) = id.and_then(|id: u64| shared.waiting.borrow_mut().calls.remove(&id)) {
            let _ = reply.send(line);
        }
    }
    shared.waiting.borrow_mut().calls.clear();
}

fn empty(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}
