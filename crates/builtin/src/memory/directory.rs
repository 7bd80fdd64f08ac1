//! Memory as text files, behind the tool `memory` that Anthropic's models are trained on.
//!
//! Models see a directory `/memories`. Answers are those of Anthropic's SDK for Python, except that changes of another process
//! are noticed before they are overwritten, encodings and line endings are kept, and results and disk space are bounded.

use std::{
    fmt::Write,
    fs,
    io::{self, ErrorKind},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;
use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolbay_files::{
    AccessError, AllowedDirectories, Found, Protection, Secrets, Text, WriteMode,
    edit::{MatchError, find_one},
};
use toolbay_server::{
    Annotations, Server, Tool, ToolContext, ToolError, ToolOutput, ToolResult, ToolServer, Toolset, limit,
};

use crate::files::{ClientRoots, Files, Opened, read_bytes, size};

/// The directory as models see it.
const ROOT: &str = "/memories";
/// The largest file.
const MAX_FILE: u64 = 4 * 1024 * 1024;
/// The longest view of a file. More is viewed with `view_range`.
const MAX_VIEW: usize = 256 * 1024;
/// The most files and directories.
const MAX_ENTRIES: usize = 10_000;
/// The most lines of a view of a directory.
const MAX_LISTED: usize = 1_000;
/// How many lines around a replacement are shown.
const SNIPPET: usize = 2;

/// The server of the directory at `path`, which is created with the first call.
pub(super) fn server(path: PathBuf, max_bytes: u64) -> Arc<dyn Server> {
    let memories = Memories { path, max_bytes, changing: Mutex::default() };
    Arc::new(ToolServer::new("memory", memories, tools()))
}

fn tools() -> Toolset<Memories> {
    Toolset::new([Tool::blocking("memory", run)
        .title("Memory")
        .description(
            "Store and retrieve information across conversations in text files below /memories. `view` shows a file with line \
             numbers, or a directory; `create` creates a file; `str_replace` replaces text that must occur exactly once; `insert` \
             inserts text after a line; `delete` deletes a file or directory; `rename` moves one.",
        )
        .output_schema(json!({
            "type": "object",
            "properties": { "message": { "type": "string", "description": "The text of the result" } },
            "required": ["message"],
        }))
        .annotations(Annotations {
            read_only: Some(false),
            destructive: Some(true),
            idempotent: Some(false),
            open_world: Some(false),
        })])
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum MemoryCommand {
    View,
    Create,
    StrReplace,
    Insert,
    Delete,
    Rename,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The command to run
    command: MemoryCommand,
    /// The file or directory, such as /memories/notes.md; for all commands but `rename`
    path: Option<String>,
    /// For `view` of a file: first and last line, from 1; -1 is the end
    #[schemars(length(equal = 2))]
    view_range: Option<Vec<i64>>,
    /// For `create`: the content
    file_text: Option<String>,
    /// For `str_replace`: the text to replace
    old_str: Option<String>,
    /// For `str_replace`: the new text
    new_str: Option<String>,
    /// For `insert`: the line after which to insert, 0 for the beginning
    insert_line: Option<i64>,
    /// For `insert`: the text
    insert_text: Option<String>,
    /// For `rename`: what to move
    old_path: Option<String>,
    /// For `rename`: where to
    new_path: Option<String>,
}

fn run(memories: &Memories, arguments: Arguments, _: &ToolContext) -> ToolResult {
    let required = |value: Option<String>, name: &str| {
        value.ok_or_else(|| ToolError::argument(name, "is required for this command"))
    };
    let path = || required(arguments.path.clone(), "path");
    let message = match arguments.command {
        MemoryCommand::View => memories.view(&path()?, arguments.view_range.as_deref())?,
        MemoryCommand::Create => memories.create(&path()?, &required(arguments.file_text, "file_text")?)?,
        MemoryCommand::StrReplace => {
            let old = required(arguments.old_str, "old_str")?;
            memories.replace(&path()?, &old, arguments.new_str.as_deref().unwrap_or_default())?
        }
        MemoryCommand::Insert => {
            let missing = || ToolError::argument("insert_line", "is required for this command");
            let line = arguments.insert_line.ok_or_else(missing)?;
            memories.insert(&path()?, line, &required(arguments.insert_text, "insert_text")?)?
        }
        MemoryCommand::Delete => memories.delete(&path()?)?,
        MemoryCommand::Rename => {
            let (old, new) =
                (required(arguments.old_path, "old_path")?, required(arguments.new_path, "new_path")?);
            memories.rename(&old, &new)?
        }
    };
    Ok(ToolOutput::text(message.as_str()).with_structured(&json!({ "message": message })))
}

/// The directory.
#[derive(Debug)]
struct Memories {
    path: PathBuf,
    max_bytes: u64,
    /// Held by the one call that changes files.
    changing: Mutex<()>,
}

impl Memories {
    /// Opens the directory, which is created if it does not exist.
    fn open(&self) -> Result<Files, ToolError> {
        let failed = |error: &io::Error| {
            ToolError::failed(format!("cannot open the memory directory {}: {error}", self.path.display()))
        };
        let created = fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.path);
        if let Err(error) = created
            && !self.path.is_dir()
        {
            return Err(failed(&error));
        }
        let (allowed, skipped) = AllowedDirectories::open([self.path.clone()]);
        if let Some((_, error)) = skipped.first() {
            return Err(failed(error));
        }
        let allowed = allowed.secrets(Secrets::Shown).protection(Protection::Allow);
        Ok(Files { allowed, write_mode: WriteMode::Atomic, client_roots: ClientRoots::Ignore })
    }

    /// Returns where a path of models is.
    fn real(&self, path: &str) -> Result<String, ToolError> {
        let inside = path.strip_prefix(ROOT).filter(|rest| rest.is_empty() || rest.starts_with('/'));
        let inside =
            inside.ok_or_else(|| ToolError::failed(format!("Path must start with {ROOT}, got: {path}")))?;
        let real = self.path.join(inside.trim_start_matches('/'));
        let escapes = Path::new(inside).components().try_fold(0_usize, |depth, part| match part {
            std::path::Component::ParentDir => depth.checked_sub(1),
            std::path::Component::Normal(_) => Some(depth + 1),
            _ => Some(depth),
        });
        match (escapes, real.to_str()) {
            (Some(_), Some(real)) => Ok(real.to_owned()),
            _ => Err(escaping(path)),
        }
    }

    fn is_root(&self, found: &Found) -> bool {
        fs::canonicalize(found.path()).ok() == fs::canonicalize(&self.path).ok()
    }

    fn find(&self, files: &Files, path: &str) -> Result<Found, ToolError> {
        files.allowed.find(&self.real(path)?).map_err(|error| not_found(path, &error))
    }

    fn view(&self, path: &str, range: Option<&[i64]>) -> Result<String, ToolError> {
        let files = self.open()?;
        let found = self.find(&files, path)?;
        if found.is_directory() {
            return view_directory(&files, &found, path);
        }
        if !found.is_file() {
            return Err(ToolError::failed(format!("Unsupported file type for {path}")));
        }
        let bytes = read_bytes(&found, MAX_FILE, "it is too large to be viewed")?;
        let text = Text::decode(&bytes).map_err(|error| ToolError::failed(format!("{path}: {error}")))?;
        let lines: Vec<&str> = text.as_str().split('\n').collect();
        let (first, last) = match range {
            Some([first, last]) => {
                let first = usize::try_from(first.saturating_sub(1)).unwrap_or(0).min(lines.len());
                let last = usize::try_from(*last).unwrap_or(lines.len()).min(lines.len());
                (first, last.max(first))
            }
            _ => (0, lines.len()),
        };
        let shown = numbered(&lines[first..last], first + 1);
        let head = limit::head(&shown, MAX_VIEW);
        let mut view = format!("Here's the content of {path} with line numbers:\n{head}");
        if head.len() < shown.len() {
            let next = first + head.matches('\n').count() + 1;
            let _ = write!(view, "[truncated; view the rest with view_range [{next}, -1]]");
        }
        Ok(view)
    }

    fn create(&self, path: &str, content: &str) -> Result<String, ToolError> {
        let files = self.open()?;
        let _changing = self.changing.lock();
        let real = self.real(path)?;
        self.check_room(content.len())?;
        if let Some(parent) = Path::new(&real).parent().and_then(Path::to_str) {
            files.allowed.create_directories(parent).map_err(|error| not_found(path, &error))?;
        }
        let place = files.allowed.place(&real).map_err(|error| not_found(path, &error))?;
        let is_new = |old: Option<&rustix::fs::Stat>| match old {
            Some(_) => Err(ErrorKind::AlreadyExists.into()),
            None => Ok(()),
        };
        match place.write(content.as_bytes(), files.write_mode, is_new) {
            Ok(_) => Ok(format!("File created successfully at: {path}")),
            Err(_) if files.allowed.find(&real).is_ok() => {
                Err(ToolError::failed(format!("File {path} already exists")))
            }
            Err(error) => Err(not_found(path, &error)),
        }
    }

    fn replace(&self, path: &str, old: &str, new: &str) -> Result<String, ToolError> {
        let files = self.open()?;
        let _changing = self.changing.lock();
        let mut opened = self.open_text(&files, path)?;
        let old = old.replace("\r\n", "\n");
        let place = find_one(opened.text.as_str(), &old).map_err(|error| not_replaced(path, &old, &error))?;
        self.check_room(new.len().saturating_sub(old.len()))?;
        let line = opened.text.as_str()[..place.start].matches('\n').count();
        opened.text.replace(place, new);
        files.save(&opened)?;
        let lines: Vec<&str> = opened.text.as_str().split('\n').collect();
        let first = line.saturating_sub(SNIPPET);
        let last = (line + SNIPPET + 1).min(lines.len());
        let snippet = numbered(&lines[first..last], first + 1);
        Ok(format!(
            "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{}",
            limit::head(&snippet, MAX_VIEW)
        ))
    }

    fn insert(&self, path: &str, line: i64, new: &str) -> Result<String, ToolError> {
        let files = self.open()?;
        let _changing = self.changing.lock();
        let mut opened = self.open_text(&files, path)?;
        let text = opened.text.as_str();
        let lines = text.lines().count();
        let after = usize::try_from(line).ok().filter(|line| *line <= lines).ok_or_else(|| {
            ToolError::failed(format!(
                "Invalid `insert_line` parameter: {line}. It should be within the range [0, {lines}]."
            ))
        })?;
        self.check_room(new.len() + 2)?;
        let at = text.split_inclusive('\n').take(after).map(str::len).sum();
        // The last line has a line ending, too, afterwards.
        if !text.is_empty() && !text.ends_with('\n') {
            let end = text.len();
            opened.text.replace(end..end, "\n");
        }
        let at = if after == lines { opened.text.as_str().len() } else { at };
        opened.text.replace(at..at, &format!("{}\n", new.trim_end_matches('\n').replace("\r\n", "\n")));
        files.save(&opened)?;
        Ok(format!("The file {path} has been edited."))
    }

    fn delete(&self, path: &str) -> Result<String, ToolError> {
        let files = self.open()?;
        let _changing = self.changing.lock();
        let missing = || ToolError::failed(format!("The path {path} does not exist"));
        let found = match files.allowed.find(&self.real(path)?) {
            Err(AccessError::Missing { .. }) => return Err(missing()),
            found => found.map_err(|error| not_found(path, &error))?,
        };
        if self.is_root(&found) {
            return Err(ToolError::failed(format!("Cannot delete the {ROOT} directory itself")));
        }
        let deleted = match found.is_directory() {
            true => fs::remove_dir_all(found.path()),
            false => fs::remove_file(found.path()),
        };
        deleted.map_err(|error| ToolError::failed(format!("cannot delete {path}: {error}")))?;
        Ok(format!("Successfully deleted {path}"))
    }

    fn rename(&self, old: &str, new: &str) -> Result<String, ToolError> {
        let files = self.open()?;
        let _changing = self.changing.lock();
        let (real_old, real_new) = (self.real(old)?, self.real(new)?);
        let found = files.allowed.find(&real_old).map_err(|error| match error {
            AccessError::Missing { .. } => ToolError::failed(format!("The path {old} does not exist")),
            error => not_found(old, &error),
        })?;
        if self.is_root(&found) {
            return Err(ToolError::failed(format!("Cannot rename the {ROOT} directory itself")));
        }
        let exists = || ToolError::failed(format!("The destination {new} already exists"));
        if files.allowed.find(&real_new).is_ok() {
            return Err(exists());
        }
        if let Some(parent) = Path::new(&real_new).parent().and_then(Path::to_str) {
            files.allowed.create_directories(parent).map_err(|error| not_found(new, &error))?;
        }
        let from = files.allowed.place(&real_old).map_err(|error| not_found(old, &error))?;
        let to = files.allowed.place(&real_new).map_err(|error| not_found(new, &error))?;
        match from.rename(&to) {
            Ok(()) => Ok(format!("Successfully renamed {old} to {new}")),
            Err(AccessError::Exists { .. }) => Err(exists()),
            Err(error) => Err(not_found(old, &error)),
        }
    }

    fn open_text(&self, files: &Files, path: &str) -> Result<Opened, ToolError> {
        if !self.find(files, path)?.is_file() {
            return Err(ToolError::failed(format!("The path {path} is not a file.")));
        }
        files.open_text(&self.real(path)?, None).map_err(|error| error.describe(path))
    }

    /// Refuses to add more than there is room for.
    fn check_room(&self, bytes: usize) -> Result<(), ToolError> {
        if bytes as u64 > MAX_FILE {
            return Err(ToolError::failed(format!("a memory file has at most {MAX_FILE} bytes")));
        }
        let mut used = Used::default();
        used.count(&self.path);
        if used.entries >= MAX_ENTRIES || used.bytes + bytes as u64 > self.max_bytes {
            return Err(ToolError::failed(format!(
                "the memory is full: at most {MAX_ENTRIES} files and {} bytes; delete what is no longer needed",
                self.max_bytes
            )));
        }
        Ok(())
    }
}

/// How much a directory has.
#[derive(Debug, Default)]
struct Used {
    entries: usize,
    bytes: u64,
}

impl Used {
    fn count(&mut self, directory: &Path) {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return;
            }
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => self.count(&entry.path()),
                Ok(metadata) => self.bytes += metadata.len(),
                Err(_) => {} // deleted meanwhile
            }
        }
    }
}

/// Two levels of a directory with sizes, without hidden entries.
fn view_directory(files: &Files, found: &Found, path: &str) -> Result<String, ToolError> {
    let mut view = format!(
        "Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:\n{}\t{path}",
        shown_size(size(found))
    );
    let mut left = MAX_LISTED;
    list(files, found, path, 2, &mut left, &mut view)?;
    if left == 0 {
        let _ = write!(view, "\n[only the first {MAX_LISTED} entries are shown; view a subdirectory]");
    }
    Ok(view)
}

fn list(
    files: &Files,
    directory: &Found,
    path: &str,
    depth: usize,
    left: &mut usize,
    view: &mut String,
) -> Result<(), ToolError> {
    for entry in files.allowed.entries(directory).map_err(|error| not_found(path, &error))? {
        let is_directory = entry.file_type == FileType::Directory;
        if entry.name.as_encoded_bytes().starts_with(b".") || *left == 0 {
            continue;
        }
        if !is_directory && entry.file_type != FileType::RegularFile {
            continue;
        }
        let Ok(found) = files.allowed.enter(directory, &entry.name) else { continue };
        *left -= 1;
        let path = format!("{path}/{}", entry.name.display());
        let slash = if is_directory { "/" } else { "" };
        let _ = write!(view, "\n{}\t{path}{slash}", shown_size(size(&found)));
        if is_directory && depth > 1 {
            list(files, &found, &path, depth - 1, left, view)?;
        }
    }
    Ok(())
}

/// `512B`, `1.5K`, `4K`.
fn shown_size(bytes: u64) -> String {
    let (mut size, mut unit) = (bytes as f64, "B");
    for next in ["K", "M", "G"] {
        if size < 1024.0 {
            break;
        }
        (size, unit) = (size / 1024.0, next);
    }
    if size.fract() == 0.0 { format!("{size}{unit}") } else { format!("{size:.1}{unit}") }
}

fn numbered(lines: &[&str], first: usize) -> String {
    let numbered = lines.iter().zip(first..).map(|(line, number)| format!("{number:6}\t{line}"));
    numbered.collect::<Vec<_>>().join("\n")
}

fn not_replaced(path: &str, old: &str, error: &MatchError) -> ToolError {
    ToolError::failed(match error {
        MatchError::Empty => "No replacement was performed, old_str is empty.".to_owned(),
        MatchError::NotFound { .. } => {
            format!("No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
        }
        MatchError::Ambiguous { lines, .. } => {
            let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
            format!(
                "No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {}. Please ensure it is unique",
                lines.join(", ")
            )
        }
    })
}

fn escaping(path: &str) -> ToolError {
    ToolError::failed(format!("Path {path} would escape {ROOT} directory"))
}

fn not_found(path: &str, error: &AccessError) -> ToolError {
    match error {
        AccessError::Missing { .. } | AccessError::NoParent { .. } => {
            ToolError::failed(format!("The path {path} does not exist. Please provide a valid path."))
        }
        AccessError::Outside { .. } | AccessError::LinkOutside { .. } => escaping(path),
        AccessError::NotAFile { .. } => ToolError::failed(format!("The path {path} is not a file.")),
        AccessError::Io { source, .. } => ToolError::failed(format!("{path}: {source}")),
        error => ToolError::failed(format!("{path}: {error}")),
    }
}
