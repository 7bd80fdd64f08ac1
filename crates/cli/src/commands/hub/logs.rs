//! `toolbay hub logs`: what the hub in the background wrote to its log.

use std::{
    fs::File,
    io::{self, ErrorKind, Read, Seek, SeekFrom},
    path::Path,
    time::Duration,
};

use toolbay_control::ControlError;

use crate::{
    args::HubLogsArgs, background::Sharing, context::Context, error::CliError, hub::Plan, session,
    style::clean,
};

/// Only so much of a log is looked at for its last lines.
const MOST: u64 = 4 * 1024 * 1024;
/// How often one looks for more.
const LOOK: Duration = Duration::from_millis(200);

pub(super) async fn run(context: &Context, args: &HubLogsArgs) -> Result<(), CliError> {
    let log = match session::running(context).await {
        Ok(client) => {
            let hub = client.hub().await?;
            hub.log.ok_or(CliError::InForeground { pid: hub.pid })?
        }
        // What it said before it ended is of interest, too.
        Err(CliError::Control(ControlError::NoHub)) => {
            Sharing::new(context, &Plan::read(context)?).log().to_owned()
        }
        Err(error) => return Err(error),
    };
    let mut read_to = show_last(context, &log, args.lines)?;
    if !args.follow {
        return Ok(());
    }
    loop {
        tokio::time::sleep(LOOK).await;
        read_to = show_more(context, &log, read_to)?;
    }
}

/// Shows the last lines, and tells how far the log was read.
fn show_last(context: &Context, log: &Path, lines: usize) -> Result<u64, CliError> {
    let unreadable = |source| CliError::Unreadable { path: log.to_owned(), source };
    let mut file = match File::open(log) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            context.out.note(&format!("there is no log yet: {}", log.display()));
            return Ok(0);
        }
        file => file.map_err(unreadable)?,
    };
    let length = file.metadata().map_err(unreadable)?.len();
    let from = length.saturating_sub(MOST);
    let text = read(&mut file, from).map_err(unreadable)?;
    let all: Vec<&str> = text.lines().collect();
    for line in &all[all.len().saturating_sub(lines)..] {
        context.out.data(&format!("{}\n", clean(line)))?;
    }
    Ok(from + text.len() as u64)
}

/// Shows what came since. A log that is shorter than it was is another one.
fn show_more(context: &Context, log: &Path, read_to: u64) -> Result<u64, CliError> {
    let Ok(mut file) = File::open(log) else { return Ok(0) };
    let length = file.metadata()?.len();
    let from = if length < read_to { 0 } else { read_to };
    if length == from {
        return Ok(from);
    }
    let text = read(&mut file, from)?;
    // The last line may not be whole yet.
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    context.out.data(&clean(&text[..whole]))?;
    Ok(from + whole as u64)
}

fn read(file: &mut File, from: u64) -> io::Result<String> {
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes)?;
    Ok(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            error.into_bytes().iter().map(|&byte| if byte.is_ascii() { byte as char } else { '?' }).collect()
        }
    })
}
