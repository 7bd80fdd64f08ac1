//! A server on stdio, or on WebSocket, with every misbehaviour that we know of, each behind a flag or the name of a tool.
//!
//! It shares no code with the hub and writes raw bytes, so that it can send anything. Without flags it is a plain
//! server of 2025-11-25: `initialize`, `tools/list`, `tools/call`, `ping`; each call runs on a thread of its own.
//! The flags are listed in [`USAGE`], the tools in `hostile/tools.rs`.

mod descendants;
mod flags;
mod flood;
mod listing;
mod message;
mod output;
mod peer;
mod raw_answers;
mod reexec;
mod server_requests;
mod tools;
mod web_socket;

use std::{
    fs::OpenOptions,
    io::{BufRead, Write},
    path::Path,
    process::ExitCode,
    sync::Arc,
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use flags::Flags;
use peer::{Next, Peer};

pub use flags::USAGE;

/// Runs the hostile server with these arguments until its input ends (or longer, by a flag).
pub fn run(arguments: Vec<String>) -> ExitCode {
    if let Some(code) = descendants::run_if_asked(&arguments) {
        return code;
    }
    let flags = match Flags::parse(&arguments) {
        Ok(flags) => flags,
        Err(problem) => {
            eprintln!("{problem}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if flags.ignore_sigterm && !reexec::sigterm_is_ignored() {
        return reexec::with_sigterm_ignored(&arguments);
    }
    start(flags)
}

fn start(flags: Flags) -> ExitCode {
    if let Some(file) = &flags.spawn_log {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        append(file, format!("{} {}", now.as_millis(), std::process::id()).as_bytes());
    }
    if let Some(code) = flags.exit_at_start {
        eprintln!("hostile: reading settings");
        eprintln!("hostile: cannot start: API_KEY is not set");
        return ExitCode::from(code);
    }
    if let Some(amount) = flags.stderr_flood {
        thread::spawn(move || flood::stderr(amount));
    }
    if flags.grandchildren {
        descendants::spawn(flags.pid_file.as_deref());
    }
    thread::sleep(flags.start_delay);
    if let Some(port) = flags.ws {
        return web_socket::serve(flags, port);
    }
    let ignores_eof = flags.ignore_eof;
    let code = serve(flags);
    if ignores_eof {
        sleep_forever();
    }
    code
}

fn serve(flags: Flags) -> ExitCode {
    let received = flags.received.clone();
    let peer = Arc::new(Peer::new(flags));
    let mut lines = std::io::stdin().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        match lines.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return ExitCode::SUCCESS,
            Ok(_) => {}
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        if let Some(file) = &received {
            append(file, &line);
        }
        match peer.take(&line) {
            Next::Read => {}
            Next::StopReading => sleep_forever(),
            Next::Exit(code) => return ExitCode::from(code),
        }
    }
}

/// Appends a line, in one write, so that several processes may share the file.
fn append(file: &Path, line: &[u8]) {
    let mut text = line.to_vec();
    text.push(b'\n');
    let opened = OpenOptions::new().create(true).append(true).open(file);
    if let Err(error) = opened.and_then(|mut file| file.write_all(&text)) {
        eprintln!("hostile: cannot write {}: {error}", file.display());
    }
}

fn sleep_forever() -> ! {
    loop {
        thread::sleep(Duration::from_secs(3600));
    }
}
