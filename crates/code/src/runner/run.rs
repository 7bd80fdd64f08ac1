//! One run: the conversation with its process.

use std::{collections::VecDeque, future::Future, pin::Pin, time::Duration};

use futures_util::{StreamExt, stream::FuturesUnordered};
use serde_json::value::RawValue;
use tokio::{
    io::AsyncWriteExt,
    time::{Instant, sleep, timeout, timeout_at},
};
use tokio_util::task::TaskTracker;
use toolbay_sandbox::setup_failure;
use toolbay_supervise::{ChildStdin, ChildStdout, Process, ProcessHandle};

use super::{CodeError, Finished, ToolCall, ToolCaller, ToolReply};
use crate::{
    lines::{LineReader, NoLine},
    messages::{
        FromEngine, MAX_CALLS, MAX_CALLS_AT_ONCE, MAX_LINE, MAX_LOGS, MAX_REPLY, MAX_TIMERS, ToEngine, line,
    },
};

/// How long a process that closed its output may take to end.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A run that goes on.
pub(super) struct Run {
    handle: ProcessHandle,
    tasks: TaskTracker,
    lines: LineReader<ChildStdout>,
    outgoing: LineWriter,
    finished: Finished,
    logged_bytes: usize,
}

/// What waits to be written. The engine may write before it reads, so that is never waited for alone.
struct LineWriter {
    stdin: ChildStdin,
    queue: VecDeque<Vec<u8>>,
    written: usize,
}

/// A call or a timer that has ended, as a line for the engine.
struct Ended {
    line: Vec<u8>,
    is_call: bool,
}

/// Why a run goes no further.
enum Stop {
    /// The code came to an end.
    Outcome(Result<Option<String>, String>),
    /// The engine closed its output.
    Closed,
}

impl Run {
    pub(super) fn new(process: Process, tasks: TaskTracker, code: &str) -> Self {
        let Process { stdin, stdout, handle, .. } = process;
        let queue = VecDeque::from([line(&ToEngine::Run(code.into()))]);
        let finished = Finished { outcome: Ok(None), logs: Vec::new(), omitted_logs: 0, calls: 0 };
        Self {
            handle,
            tasks,
            lines: LineReader::new(stdout, MAX_LINE),
            outgoing: LineWriter { stdin, queue, written: 0 },
            finished,
            logged_bytes: 0,
        }
    }

    /// Answers the engine until the code has ended, or its time is over.
    pub(super) async fn finish(
        mut self,
        limit: Duration,
        caller: &impl ToolCaller,
    ) -> Result<Finished, CodeError> {
        let deadline = Instant::now() + limit;
        let stopped = timeout_at(deadline, self.converse(caller)).await;
        let outcome = match stopped {
            Ok(Stop::Outcome(outcome)) => outcome,
            Ok(Stop::Closed) => Err(self.why_it_ended().await?),
            Err(_) => {
                self.handle.kill();
                Err(format!(
                    "timed out after {} ms. Calls of tools count, too: call them at the same time with Promise.all, or pass a longer timeout_ms",
                    limit.as_millis()
                ))
            }
        };
        self.finished.outcome = outcome;
        // It ends by itself, which leaves less to do for others than killing it; dropping the handle does that.
        let handle = self.handle;
        self.tasks.spawn(async move { drop(timeout(LAST_WORDS, handle.exited()).await) });
        Ok(self.finished)
    }

    async fn converse(&mut self, caller: &impl ToolCaller) -> Stop {
        let mut running: FuturesUnordered<Pin<Box<dyn Future<Output = Ended> + Send + '_>>> =
            FuturesUnordered::new();
        let (mut calls, mut timers) = (0, 0);
        loop {
            let message = tokio::select! {
                biased;
                Some(Ended { line, is_call }) = running.next() => {
                    *(if is_call { &mut calls } else { &mut timers }) -= 1;
                    self.outgoing.queue.push_back(line);
                    continue;
                }
                () = self.outgoing.write_some() => continue,
                line = self.lines.next() => match line {
                    Ok(line) => serde_json::from_slice::<FromEngine<'_>>(line),
                    Err(NoLine::Ended) => return Stop::Closed,
                    Err(NoLine::TooLong) => {
                        return violation(format!("arguments and results must be shorter than {MAX_LINE} bytes"));
                    }
                },
            };
            match message {
                Ok(FromEngine::Call { id, server, name, arguments }) => {
                    calls += 1;
                    self.finished.calls += 1;
                    if calls > MAX_CALLS_AT_ONCE || self.finished.calls > MAX_CALLS {
                        return violation("it makes too many calls".to_owned());
                    }
                    let call = ToolCall {
                        server: server.map(Into::into),
                        name: name.into(),
                        arguments: arguments.get().into(),
                    };
                    let called = caller.call(call);
                    running.push(Box::pin(
                        async move { Ended { line: reply(id, called.await), is_call: true } },
                    ));
                }
                Ok(FromEngine::Sleep { id, milliseconds }) => {
                    timers += 1;
                    if timers > MAX_TIMERS {
                        return violation("it starts too many timers".to_owned());
                    }
                    running.push(Box::pin(async move {
                        sleep(Duration::from_millis(milliseconds)).await;
                        Ended { line: line(&ToEngine::Elapsed { id }), is_call: false }
                    }));
                }
                Ok(FromEngine::Log(text)) => {
                    let text = text.into_owned();
                    self.log(text);
                }
                Ok(FromEngine::Returned(value)) => return Stop::Outcome(Ok(value.map(Into::into))),
                Ok(FromEngine::Threw(message)) => return Stop::Outcome(Err(message.into())),
                Err(error) => return violation(format!("it sent something else than a message: {error}")),
            }
        }
    }

    fn log(&mut self, text: String) {
        if self.logged_bytes + text.len() > MAX_LOGS {
            self.finished.omitted_logs += 1;
        } else {
            // Empty lines take room, too.
            self.logged_bytes += text.len() + 1;
            self.finished.logs.push(text);
        }
    }

    /// What is known of a process that closed its output before the code had ended.
    async fn why_it_ended(&mut self) -> Result<String, CodeError> {
        let exit = timeout(LAST_WORDS, self.handle.exited()).await;
        let words: Vec<String> =
            self.handle.stderr().tail(20).iter().map(|line| line.text.to_string()).collect();
        let words = words.join("\n");
        let code = exit.as_ref().ok().and_then(|exit| exit.code);
        if let Some(reason) = code.and_then(|code| setup_failure(code, &words)) {
            return Err(CodeError::Ended(format!("cannot build the sandbox: {reason}")));
        }
        if words.contains("of memory") {
            return Ok(OUT_OF_MEMORY.to_owned());
        }
        tracing::debug!(?exit, words, "the engine of `run_code` ended by itself");
        Ok("the process of the code ended; most likely it needs more memory than it may use".to_owned())
    }
}

const OUT_OF_MEMORY: &str = "the code was ended, because it used more memory than it may";

/// The end of a run that the engine itself would not let come to this.
fn violation(reason: String) -> Stop {
    Stop::Outcome(Err(format!("the code was ended: {reason}")))
}

impl LineWriter {
    /// Writes a piece of what waits; never resolves while nothing does. Cancel safe.
    async fn write_some(&mut self) {
        let Some(line) = self.queue.front() else { return std::future::pending().await };
        match self.stdin.write(&line[self.written..]).await {
            Ok(length @ 1..) => {
                self.written += length;
                if self.written == line.len() {
                    self.queue.pop_front();
                    self.written = 0;
                }
            }
            // It reads no more. What it said before that is still to be read.
            Ok(0) | Err(_) => {
                self.queue.clear();
                self.written = 0;
            }
        }
    }
}

/// What a tool returned, for the engine.
fn reply(id: u64, reply: ToolReply) -> Vec<u8> {
    let failed = |message: &str| line(&ToEngine::Failed { id, message: message.into() });
    match reply {
        ToolReply::Result(result) if result.len() > MAX_REPLY => failed(&format!(
            "the result is {} bytes long; code gets at most {MAX_REPLY}. Ask for less",
            result.len()
        )),
        ToolReply::Result(result) => match serde_json::from_slice::<&RawValue>(&result) {
            Ok(result) => line(&ToEngine::Result { id, result }),
            Err(_) => failed("the result is not JSON"),
        },
        ToolReply::Failed(message) => failed(&message),
    }
}
