//! `toolbay index`: the index of a folder, built, shown or removed.

use std::{
    io::{self, IsTerminal},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use serde_json::json;
use toolbay_search::{
    codebase::{Codebase, IndexError, IndexProgress, IndexStatus, Options, Phase, Summary},
    tree::Secrets,
};

use crate::{
    app::{codebases::folder, context::Context, error::CliError},
    args::IndexArgs,
    term::{
        output::{Output, to_stderr},
        style::clean_line,
    },
};

/// How long a file must have rested to be indexed, and some more.
const REST: Duration = Duration::from_millis(2200);
const STEP: Duration = Duration::from_millis(100);
/// How often files are waited for.
const TRIES: usize = 3;

pub(crate) async fn run(context: &Context, args: &IndexArgs) -> Result<(), CliError> {
    if args.clear {
        return clear(context, args.path.as_deref());
    }
    let root = folder(args.path.as_deref())?;
    let options = Options { cache: context.env.indexes(), ..Options::default() };
    let tree = Codebase::open(&root, options).map_err(failed)?;
    if args.status {
        let status = blocking({
            let tree = tree.clone();
            move || tree.status().map_err(failed)
        });
        return show_status(context, &status.await?);
    }
    build(context, tree).await
}

/// A folder that was removed may still have an index.
fn clear(context: &Context, path: Option<&Path>) -> Result<(), CliError> {
    let root = path.map_or_else(std::env::current_dir, |path| Ok(PathBuf::from(path)))?;
    if let Some(cache) = context.env.indexes() {
        Codebase::clear(&root, &cache).map_err(failed)?;
    }
    if context.out.json {
        return Ok(context.out.json_object(&json!({ "cleared": root }))?);
    }
    context.out.note(&format!("removed the index of {}", clean_line(&root.display().to_string())));
    Ok(())
}

async fn build(context: &Context, tree: Arc<Codebase>) -> Result<(), CliError> {
    let summary = with_bar(context, tree.clone(), index).await?;
    show_summary(context, tree.root(), &summary)
}

/// Brings an index up to date before a search. Without it the search reads the files themselves.
pub(super) async fn refresh(context: &Context, root: &Path, secrets: Secrets) -> Result<(), CliError> {
    let options = Options { cache: context.env.indexes(), secrets, ..Options::default() };
    let tree = Codebase::open(root, options).map_err(failed)?;
    match with_bar(context, tree, |tree, bar, stop| tree.index(&|at| bar.show(at), stop)).await {
        Err(error @ CliError::Index { .. }) => {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            context.out.warn(&format!("{error}{}; searching the files directly", cause.unwrap_or_default()));
            Ok(())
        }
        done => done.map(drop),
    }
}

async fn with_bar(
    context: &Context,
    tree: Arc<Codebase>,
    work: fn(&Codebase, &Bar, &AtomicBool) -> Result<Summary, IndexError>,
) -> Result<Summary, CliError> {
    let stop = Arc::new(AtomicBool::new(false));
    let bar = Bar::new(&context.out);
    let mut indexing = std::pin::pin!(blocking({
        let (tree, stop) = (tree.clone(), stop.clone());
        move || work(&tree, &bar, &stop).map_err(failed)
    }));
    let summary = tokio::select! {
        summary = &mut indexing => summary,
        () = context.stop.cancelled() => {
            // Finished work is kept.
            stop.store(true, Ordering::Relaxed);
            indexing.await
        }
    };
    Bar::end(&context.out);
    for notice in tree.take_notices() {
        context.out.warn(&notice);
    }
    match summary {
        Ok(summary) if summary.stopped => Err(CliError::Interrupted),
        summary => summary,
    }
}

/// Indexes, and then once more the files that changed too recently to be known by their stamps. A tree that keeps changing is left so.
fn index(tree: &Codebase, bar: &Bar, stop: &AtomicBool) -> Result<Summary, IndexError> {
    let mut all = tree.index(&|at| bar.show(at), stop)?;
    for _ in 0..TRIES {
        if all.young == 0 || all.busy {
            break;
        }
        for _ in 0..REST.as_millis() / STEP.as_millis() {
            if stop.load(Ordering::Relaxed) {
                return Ok(all);
            }
            thread::sleep(STEP);
        }
        let next = tree.index(&|at| bar.show(at), stop)?;
        // Most of these were read before: each file counts once.
        all = Summary {
            read: all.read.max(next.read),
            bytes: all.bytes.max(next.bytes),
            took: all.took + next.took,
            ..next
        };
    }
    Ok(all)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CliError> + Send + 'static,
) -> Result<T, CliError> {
    tokio::task::spawn_blocking(work).await.map_err(std::io::Error::other)?
}

fn show_summary(context: &Context, root: &Path, summary: &Summary) -> Result<(), CliError> {
    let out = &context.out;
    if out.json {
        let languages: serde_json::Map<String, serde_json::Value> =
            summary.languages.iter().map(|(name, files)| ((*name).to_owned(), (*files).into())).collect();
        return Ok(out.json_object(&json!({
            "root": root,
            "files": summary.files,
            "read": summary.read,
            "read_bytes": summary.bytes,
            "chunks": summary.chunks,
            "languages": languages,
            "bytes": summary.disk,
            "seconds": summary.took.as_secs_f64(),
            "young": summary.young,
            "busy": summary.busy,
        }))?);
    }
    if summary.busy {
        out.note("another process is building the index; its progress so far");
    }
    let seconds = summary.took.as_secs_f64();
    out.data(&format!(
        "{}: {} files, {} chunks, {} on disk; read {} files ({}) in {seconds:.1} s\n",
        out.paint.bold(&clean_line(&root.display().to_string())),
        summary.files,
        summary.chunks,
        bytes(summary.disk),
        summary.read,
        bytes(summary.bytes),
    ))?;
    let languages: Vec<String> =
        summary.languages.iter().map(|(name, files)| format!("{name} {files}")).collect();
    Ok(out.data(&format!("{}\n", languages.join(", ")))?)
}

fn show_status(context: &Context, status: &IndexStatus) -> Result<(), CliError> {
    let out = &context.out;
    let is_complete = status.indexed >= status.files;
    if out.json {
        return Ok(out.json_object(&json!({
            "root": status.root,
            "store": status.store,
            "files": status.files,
            "indexed_files": status.indexed,
            "complete": is_complete,
            "chunks": status.chunks,
            "bytes": status.bytes,
        }))?);
    }
    let root = out.paint.bold(&clean_line(&status.root.display().to_string()));
    let text = match (status.indexed, &status.store) {
        (0, _) => format!("{root}: {} files, no index\n", status.files),
        (indexed, Some(store)) => format!(
            "{root}: {indexed} of {} files indexed, {} chunks, {} in {}\n",
            status.files,
            status.chunks,
            bytes(status.bytes),
            clean_line(&store.display().to_string())
        ),
        (indexed, None) => format!("{root}: {indexed} of {} files indexed\n", status.files),
    };
    Ok(out.data(&text)?)
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> CliError {
    CliError::Index { source: Box::new(error) }
}

/// Formats a size.
fn bytes(count: u64) -> String {
    const STEP: f64 = 1024.0;
    let units = ["KB", "MB", "GB"];
    let (mut size, mut unit) = (count as f64 / STEP, 0);
    while size >= STEP && unit + 1 < units.len() {
        size /= STEP;
        unit += 1;
    }
    format!("{size:.1} {}", units[unit])
}

/// How often the line is drawn.
const PAUSE: Duration = Duration::from_millis(100);

const WIDTH: usize = 30;

/// A bar on a terminal; nothing elsewhere.
struct Bar {
    drawn: Option<Mutex<Instant>>,
}

impl Bar {
    fn new(out: &Output) -> Self {
        Self { drawn: is_shown(out).then(|| Mutex::new(Instant::now())) }
    }

    /// Draws the bar, if it is time to.
    fn show(&self, at: IndexProgress) {
        let Some(mut drawn) = self.drawn.as_ref().and_then(Mutex::try_lock) else { return };
        if drawn.elapsed() >= PAUSE {
            *drawn = Instant::now();
            to_stderr(&format!("\r\x1b[2K{}", line(at)));
        }
    }

    /// Leaves nothing of it.
    fn end(out: &Output) {
        if is_shown(out) {
            to_stderr("\r\x1b[2K");
        }
    }
}

fn is_shown(out: &Output) -> bool {
    io::stderr().is_terminal() && !out.is_quiet() && !out.json
}

fn line(at: IndexProgress) -> String {
    let what = match at.phase {
        Phase::Text => "text",
        Phase::Meaning => "meaning",
    };
    let filled = (WIDTH * at.done.min(at.of)).checked_div(at.of).unwrap_or(WIDTH);
    let megabytes = at.bytes as f64 / (1024.0 * 1024.0);
    format!(
        "{what:<8} {}{} {} of {} files, {megabytes:.0} MB",
        "█".repeat(filled),
        "░".repeat(WIDTH - filled),
        at.done,
        at.of
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fills() {
        let at = |done, of| line(IndexProgress { phase: Phase::Text, done, of, bytes: 3 << 20 });
        assert!(at(0, 10).starts_with("text     ░░░") && at(0, 10).ends_with("0 of 10 files, 3 MB"));
        assert_eq!(at(5, 10).matches('█').count(), WIDTH / 2);
        for (done, of) in [(10, 10), (11, 10), (0, 0)] {
            assert_eq!(at(done, of).matches('█').count(), WIDTH, "{done} {of}");
        }
    }
}
