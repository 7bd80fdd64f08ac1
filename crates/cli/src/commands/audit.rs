//! `toolbay audit`: shows and verifies the records of calls.

use std::{
    collections::HashMap,
    fs::File,
    io::{BufRead, BufReader, Seek, SeekFrom},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde::Deserialize;
use serde_json::{json, value::RawValue};
use toolbay_audit::{FileSet, file_sets, verify};

use crate::{
    app::{audit::folder, context::Context, error::CliError},
    args::AuditArgs,
    configured::files::Configuration,
    term::{style::clean_line, time::rfc3339},
};

/// How often files are looked at for more.
const POLL: Duration = Duration::from_millis(250);

pub(crate) async fn run(context: &Context, args: &AuditArgs) -> Result<(), CliError> {
    let reading = Configuration::find(context)?.read();
    let folder = folder(context, &reading.audit)?;
    if args.verify {
        return verify_all(context, &folder);
    }
    let mut reader = AuditReader::new(folder);
    let since = args.since.map(|since| rfc3339(SystemTime::from(since)));
    let mut records = reader.read()?;
    records.sort_by(|one, other| one.time.cmp(&other.time));
    if records.is_empty() && !args.follow {
        context.out.note(&format!("no calls are recorded in {}", reader.folder.display()));
    }
    loop {
        for record in records.iter().filter(|record| record.is_wanted(args, since.as_deref())) {
            show(context, record)?;
        }
        if !args.follow {
            return Ok(());
        }
        tokio::select! {
            () = context.stop.cancelled() => return Ok(()),
            () = tokio::time::sleep(POLL) => {}
        }
        records = reader.read()?;
    }
}

fn verify_all(context: &Context, folder: &Path) -> Result<(), CliError> {
    let (out, mut bad) = (&context.out, 0);
    let sets = file_sets(folder)?;
    if sets.is_empty() {
        out.note(&format!("no calls are recorded in {}", folder.display()));
    }
    for set in &sets {
        let found = verify(set)?;
        bad += usize::from(!found.problems.is_empty());
        if out.json {
            out.json_object(&json!({
                "log": set.current(),
                "records": found.records,
                "first": found.range.map(|(first, _)| first),
                "last": found.range.map(|(_, last)| last),
                "intact": found.problems.is_empty(),
                "problems": found.problems,
            }))?;
            continue;
        }
        let verdict = match found.problems.is_empty() {
            true => out.paint.green("intact"),
            false => out.paint.red("not intact"),
        };
        out.data(&format!("{}: {} records, {verdict}\n", set.current().display(), found.records))?;
        for problem in &found.problems {
            out.data(&format!("  {}\n", clean_line(problem)))?;
        }
    }
    match bad {
        0 => Ok(()),
        count => Err(CliError::AuditNotIntact { count }),
    }
}

/// A record as it is read back.
#[derive(Debug, Deserialize)]
struct ReadRecord {
    time: String,
    event: String,
    principal: Option<String>,
    client: Option<String>,
    method: Option<String>,
    server: Option<String>,
    target: Option<String>,
    outcome: Option<String>,
    rule: Option<String>,
    bytes_out: Option<u64>,
    us: Option<u64>,
    records: Option<u64>,
    #[serde(skip)]
    text: String,
}

impl ReadRecord {
    fn is_wanted(&self, args: &AuditArgs, since: Option<&str>) -> bool {
        let is = |value: &Option<String>, wanted: &Option<String>| {
            wanted.as_ref().is_none_or(|wanted| value.as_ref() == Some(wanted))
        };
        let outcome = args.outcome.map(|outcome| outcome.as_str());
        // Times of one form sort as text.
        since.is_none_or(|since| self.time.as_str() >= since)
            && is(&self.server, &args.server)
            && is(&self.principal, &args.principal)
            && outcome.is_none_or(|outcome| self.outcome.as_deref() == Some(outcome))
    }
}

fn show(context: &Context, record: &ReadRecord) -> Result<(), CliError> {
    let out = &context.out;
    if out.json {
        let record: &RawValue = serde_json::from_str(&record.text).map_err(std::io::Error::other)?;
        return Ok(out.json_object(&json!({ "record": record }))?);
    }
    let text = |field: &Option<String>| clean_line(field.as_deref().unwrap_or("–"));
    let what = match (record.event.as_str(), record.records) {
        ("lost", Some(count)) => format!("{count} calls were not recorded"),
        ("start", _) => format!("{} {} started", text(&record.method), text(&record.target)),
        _ => {
            let outcome = record.outcome.as_deref().unwrap_or("–");
            let painted =
                if outcome == "success" { out.paint.green(outcome) } else { out.paint.yellow(outcome) };
            let took = record.us.map(|us| format!(" in {:.1} ms", us as f64 / 1000.0)).unwrap_or_default();
            let size = record.bytes_out.map(|bytes| format!(", {bytes} bytes")).unwrap_or_default();
            let rule = record.rule.as_ref().map(|rule| format!(", rule {}", clean_line(rule)));
            format!(
                "{} {} {painted}{took}{size}{}",
                text(&record.method),
                text(&record.target),
                rule.unwrap_or_default()
            )
        }
    };
    let who = format!("{} ({})", text(&record.principal), text(&record.client));
    Ok(out.data(&format!("{} {who} {}: {what}\n", out.paint.dim(&record.time), text(&record.server)))?)
}

/// Reads all files of a directory, each from where it was read before.
struct AuditReader {
    folder: PathBuf,
    /// How far each file was read; by its number in the file system, because files are renamed when they are full.
    read: HashMap<u64, u64>,
}

impl AuditReader {
    fn new(folder: PathBuf) -> Self {
        Self { folder, read: HashMap::new() }
    }

    /// The records that were written since the last call.
    fn read(&mut self) -> Result<Vec<ReadRecord>, CliError> {
        let mut records = Vec::new();
        for set in file_sets(&self.folder)? {
            self.read_set(&set, &mut records)?;
        }
        Ok(records)
    }

    fn read_set(&mut self, set: &FileSet, records: &mut Vec<ReadRecord>) -> Result<(), CliError> {
        for path in set.files()? {
            let mut file = match File::open(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue, // rotated meanwhile
                opened => opened?,
            };
            let read = self.read.entry(file.metadata()?.ino()).or_default();
            file.seek(SeekFrom::Start(*read))?;
            let mut reader = BufReader::new(file);
            let mut line = String::new();
            // The last line may be half written.
            while reader.read_line(&mut line)? > 0 && line.ends_with('\n') {
                *read += line.len() as u64;
                // Whatever else is in the file is a matter of `--verify`.
                if let Ok(record) = serde_json::from_str::<ReadRecord>(&line) {
                    records.push(ReadRecord { text: line.trim_end().to_owned(), ..record });
                }
                line.clear();
            }
        }
        Ok(())
    }
}
