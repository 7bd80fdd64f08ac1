//! What the tools need of a tree of files, in the words in which clients get it.

use std::fmt;

use serde::Serialize;

use super::worker::TreeWork;

/// A tree of files. Everything blocks; everything looks at [`TreeWork::is_stopped`] when it takes long.
pub trait Code: fmt::Debug + Send + Sync {
    /// Lines that hold a text or fit a pattern.
    fn search_text(&self, query: &TextQuery, work: &TreeWork) -> Result<TextAnswer, CodeError>;

    /// Chunks that are about something.
    fn search_meaning(&self, query: &MeaningQuery, work: &TreeWork) -> Result<MeaningAnswer, CodeError>;

    /// What is in a folder.
    fn list(&self, path: &str, hidden: bool) -> Result<Vec<DirEntry>, CodeError>;

    /// A file as text.
    fn read(&self, path: &str) -> Result<FileText, CodeError>;

    /// A file, cut into pieces.
    fn chunks(&self, path: &str) -> Result<Vec<CodeChunk>, CodeError>;

    /// At most `limit` of all files, from the first after `after` in the order of their paths.
    fn files(&self, after: Option<&str>, limit: usize) -> Result<FilesPage, CodeError>;
}

/// Why a tree does not give what it was asked for.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CodeError {
    /// An argument does not fit. The caller can ask better.
    #[error("/{argument} {why}")]
    Misfit {
        /// Its name.
        argument: String,
        /// What about it.
        why: String,
    },
    /// The name of what was asked for says that it holds secrets.
    #[error("`{0}` is hidden because its name indicates secrets; set `secrets = true` to include it")]
    Secret(String),
    /// It fits, and yet.
    #[error("{0}")]
    Failed(String),
    /// Nobody waits for the answer any more.
    #[error("the call was canceled")]
    Stopped,
}

/// How case matters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Case {
    /// It matters if there is an upper-case letter in the query.
    #[default]
    Smart,
    /// It matters.
    Sensitive,
    /// It does not.
    Insensitive,
}

/// A question for lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextQuery {
    /// A text, or a pattern.
    pub pattern: String,
    /// Whether it is a pattern.
    pub regex: bool,
    /// How case matters.
    pub case: Case,
    /// Whether only whole words count.
    pub word: bool,
    /// Which files to look in, as `rg --glob` takes them.
    pub globs: Vec<String>,
    /// The file or folder to look in.
    pub path: Option<String>,
    /// How many lines around each hit are wanted.
    pub context: usize,
    /// How many hits to leave out.
    pub offset: usize,
    /// How many hits to give.
    pub limit: usize,
}

/// Lines that were found.
#[derive(Debug, Clone, Default)]
pub struct TextAnswer {
    /// Some of them.
    pub hits: Vec<TextHit>,
    /// How many there are in all, or were seen before the search was ended.
    pub total: usize,
    /// Whether that is all: every file was looked at.
    pub is_total_exact: bool,
}

/// A line that was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TextHit {
    /// Relative to the root.
    pub file_path: String,
    /// From 1.
    pub line_number: u64,
    /// Without its line end.
    pub line_content: String,
    /// Whether the line is longer than that: the part around the match is given.
    #[serde(rename = "line_truncated", skip_serializing_if = "std::ops::Not::not")]
    pub is_part: bool,
    /// Where in the content the matches are, in bytes; for people, not for clients.
    #[serde(skip)]
    pub matches: Vec<std::ops::Range<usize>>,
    /// Lines before it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
    /// Lines after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
}

/// A question for code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MeaningQuery {
    /// In words.
    pub query: String,
    /// Which files to look in.
    pub globs: Vec<String>,
    /// The file or folder to look in.
    pub path: Option<String>,
    /// The language to look for.
    pub language: Option<String>,
    /// How many hits to leave out.
    pub offset: usize,
    /// How many hits to give.
    pub limit: usize,
}

/// Chunks that were found.
#[derive(Debug, Clone, Default)]
pub struct MeaningAnswer {
    /// The best of them, best first.
    pub hits: Vec<MeaningHit>,
    /// How many there are to go through with `offset`.
    pub total: usize,
    /// What was searched.
    pub index: IndexState,
    /// What somebody should know: an endpoint did not answer, an index was damaged.
    pub notices: Vec<String>,
}

/// How much of the tree is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct IndexState {
    /// Whether all files are in it, as they are now.
    pub complete: bool,
    /// How many are.
    pub indexed_files: usize,
    /// How many there are.
    pub files: usize,
}

/// A chunk that was found.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct MeaningHit {
    /// Relative to the root.
    pub file_path: String,
    /// From 1.
    pub start_line: u64,
    /// The last line of it.
    pub end_line: u64,
    /// Its text.
    pub content: String,
    /// Higher is better; only comparable within an answer.
    pub score: f64,
    /// What it defines, with what that is in.
    pub symbol: Option<String>,
    /// In what language.
    pub language: String,
}

/// A piece of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CodeChunk {
    /// Relative to the root.
    pub file_path: String,
    /// From 1.
    pub start_line: u64,
    /// The last line of it.
    pub end_line: u64,
    /// Its text.
    pub content: String,
    /// What it defines, with what that is in.
    pub symbol: Option<String>,
    /// In what language.
    pub language: String,
    /// What it is.
    pub kind: String,
}

/// Something in a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DirEntry {
    /// Its own name.
    pub name: String,
    /// Relative to the root.
    pub path: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: EntryKind,
    /// In bytes, of files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// What something in a folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    /// A file with contents.
    File,
    /// A folder.
    Directory,
    /// A link, wherever it leads.
    Symlink,
    /// A socket, a pipe, a device: never opened.
    Other,
}

/// A file as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileText {
    /// Relative to the root.
    pub file_path: String,
    /// All of it.
    pub text: String,
}

/// Some of the files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilesPage {
    /// In the order of their paths.
    pub files: Vec<ListedFile>,
    /// How many there are in all.
    pub total: usize,
    /// Whether there are more after the last.
    pub has_more: bool,
}

/// A file of the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListedFile {
    /// Relative to the root.
    pub path: String,
    /// In bytes.
    pub size: u64,
}
