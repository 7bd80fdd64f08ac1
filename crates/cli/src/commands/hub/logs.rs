//! `toolbay hub logs`: the log of the hub in the background.

use std::{
    fs::{self, File},
    io::{self, ErrorKind, Read, Seek, SeekFrom},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Duration,
};

use toolbay_control::ControlError;

use crate::{
    app::{
        context::Context,
        error::CliError,
        hub::HubPlan,
        session,
        shared_hub::{SharedHub, log_files},
    },
    args::HubLogsArgs,
    term::style::clean,
};

/// Only so much of a log is looked at for its last lines, and so much at once for new ones.
const MOST: u64 = 4 * 1024 * 1024;
/// How often one looks for more.
const LOOK: Duration = Duration::from_millis(200);

pub(super) async fn run(context: &Context, args: &HubLogsArgs) -> Result<(), CliError> {
    let log = match session::running(context).await {
        Ok(client) => {
            let hub = client.hub().await?;
            hub.log.ok_or(CliError::InForeground { pid: hub.pid })?
        }
        // Its last lines before it ended are of interest, too.
        Err(CliError::Control(ControlError::NoHub)) => {
            SharedHub::new(context, &HubPlan::read(context)?).log().to_owned()
        }
        Err(error) => return Err(error),
    };
    let unreadable = |source| CliError::Unreadable { path: log.clone(), source };
    let mut reader = LogReader::new(&log);
    match reader.last_lines(args.lines).map_err(unreadable)? {
        None => context.out.note(&format!("no log yet: {}", log.display())),
        Some(lines) => {
            for line in lines {
                context.out.data(&format!("{}\n", clean(&line)))?;
            }
        }
    }
    if !args.follow {
        return Ok(());
    }
    loop {
        tokio::time::sleep(LOOK).await;
        while let Some(text) = reader.more().map_err(unreadable)? {
            context.out.data(&clean(&text))?;
        }
    }
}

/// Reads a log that is put aside when it is long.
struct LogReader<'a> {
    log: &'a Path,
    /// The file that is read now, and how far it was read.
    file: Option<File>,
    read_to: u64,
}

impl<'a> LogReader<'a> {
    fn new(log: &'a Path) -> Self {
        Self { log, file: None, read_to: 0 }
    }

    /// The last lines, of several files if need be; nothing where there is no log. What follows them is for [`Self::more`].
    fn last_lines(&mut self, count: usize) -> io::Result<Option<Vec<String>>> {
        let mut lines: Vec<String> = Vec::new();
        let mut room = MOST;
        for path in log_files(self.log) {
            let Some(mut file) = open(&path)? else { break };
            let length = file.metadata()?.len();
            let from = length.saturating_sub(room);
            let bytes = read(&mut file, from, length - from)?;
            if self.file.is_none() {
                (self.file, self.read_to) = (Some(file), from + bytes.len() as u64);
            }
            let text = text(bytes);
            // A line that was cut is incomplete.
            let is_cut = from > 0;
            let older = text.lines().skip(is_cut.into()).map(str::to_owned);
            lines.splice(..0, older);
            room -= length - from;
            if lines.len() >= count || is_cut {
                break;
            }
        }
        lines.drain(..lines.len().saturating_sub(count));
        Ok(self.file.is_some().then_some(lines))
    }

    /// New complete lines, if any.
    fn more(&mut self) -> io::Result<Option<String>> {
        loop {
            if let Some(file) = &mut self.file {
                if file.metadata()?.len() < self.read_to {
                    self.read_to = 0; // it was emptied
                }
                let mut bytes = read(file, self.read_to, MOST)?;
                // The last line may not be whole yet; one that is longer than all this is shown in parts.
                let whole = bytes.iter().rposition(|byte| *byte == b'\n').map(|end| end + 1);
                match whole {
                    Some(whole) => bytes.truncate(whole),
                    None if (bytes.len() as u64) < MOST => bytes.clear(),
                    None => {}
                }
                if !bytes.is_empty() {
                    self.read_to += bytes.len() as u64;
                    return Ok(Some(text(bytes)));
                }
            }
            match self.next_file()? {
                Some(file) => (self.file, self.read_to) = (Some(file), 0),
                None => return Ok(None),
            }
        }
    }

    /// The file that follows the one that is read, if that was put aside.
    fn next_file(&self) -> io::Result<Option<File>> {
        let identity = |file: fs::Metadata| (file.dev(), file.ino());
        let here = self.file.as_ref().map(File::metadata).transpose()?.map(identity);
        let files: Vec<PathBuf> = log_files(self.log).collect();
        let place = |path: &PathBuf| fs::metadata(path).map(identity).ok() == here;
        let newer = match here.and_then(|_| files.iter().position(place)) {
            Some(place) => &files[..place],
            // There was none, or it was rotated away: the remaining lines come after it.
            None => &files,
        };
        for path in newer.iter().rev() {
            if let Some(file) = open(path)? {
                return Ok(Some(file));
            }
        }
        Ok(None)
    }
}

/// Opens a file, if it is there.
fn open(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        file => file.map(Some),
    }
}

fn read(file: &mut File, from: u64, most: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
