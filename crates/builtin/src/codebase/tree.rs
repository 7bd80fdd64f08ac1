//! The real tree, behind [`Code`].

use std::{error::Error, path::Path, sync::Arc};

use toolbay_protocol::printable::error_chain;
use toolbay_search::{
    chunk::{Chunk, Language},
    codebase::{Codebase, EntryKind as Kind, FileError, FolderEntry, Options, SemanticSearchError},
    semantic::{self, SemanticError},
    text::{self, Line, Total},
    tree::{PathError, RelPath, Rules, TreeError},
};

use super::{
    Case, Code, CodeChunk, CodeError, DirEntry, EntryKind, FileText, FilesPage, IndexState, ListedFile,
    MeaningAnswer, MeaningHit, MeaningQuery, Opener, TextAnswer, TextHit, TextQuery, TreeWork,
    arguments::misfit,
};

/// The longest line that is given whole.
const MAX_LINE: usize = 1000;

/// The tree of a folder. One that is watched is kept indexed while it is in use.
pub fn tree(root: &Path, options: Options) -> Opener {
    let root = root.to_owned();
    Opener::new(move || {
        let opened = Codebase::open(&root, options.clone());
        let tree = opened.map_err(|error| tree_error("path", &error))?;
        if options.watch {
            tree.keep_indexed();
        }
        Ok(Arc::new(Tree(tree)) as Arc<dyn Code>)
    })
}

#[derive(Debug)]
struct Tree(Arc<Codebase>);

impl Code for Tree {
    fn search_text(&self, query: &TextQuery, work: &TreeWork) -> Result<TextAnswer, CodeError> {
        let query = text::Query {
            regex: query.regex,
            case: match query.case {
                Case::Smart => text::Case::Smart,
                Case::Sensitive => text::Case::Sensitive,
                Case::Insensitive => text::Case::Insensitive,
            },
            word: query.word,
            rules: Rules { globs: query.globs.clone(), ..Rules::default() },
            path: self.optional_path("path", query.path.as_deref())?,
            context: u32::try_from(query.context).unwrap_or(u32::MAX),
            offset: query.offset,
            limit: query.limit,
            line_limit: MAX_LINE,
            ..text::Query::literal(query.pattern.as_str())
        };
        let answer = self.0.search_text(&query, work.stop().flag()).map_err(|error| match error {
            text::SearchError::Pattern(why) => misfit("query", &format!("cannot be used: {why}")),
            text::SearchError::Tree(why) => tree_error("path", &why),
        })?;
        if work.is_stopped() {
            return Err(CodeError::Stopped);
        }
        Ok(TextAnswer {
            total: usize::try_from(answer.total.count()).unwrap_or(usize::MAX),
            is_total_exact: matches!(answer.total, Total::Exactly(_)),
            hits: answer.hits.into_iter().map(text_hit).collect(),
        })
    }

    fn search_meaning(&self, query: &MeaningQuery, work: &TreeWork) -> Result<MeaningAnswer, CodeError> {
        if !query.query.contains(char::is_alphanumeric) {
            return Err(misfit("query", "has no words to search for"));
        }
        let language = query.language.as_deref().map(known_language).transpose()?;
        let query = semantic::Query {
            offset: query.offset,
            path: self.optional_path("path", query.path.as_deref())?,
            globs: query.globs.clone(),
            language: language.map(|language| language.name().to_owned()),
            ..semantic::Query::new(query.query.as_str(), query.limit)
        };
        let answer = self.0.search_meaning(&query, work.stop().flag()).map_err(|error| match &error {
            SemanticSearchError::Tree(why) => tree_error("path", why),
            SemanticSearchError::Meaning(SemanticError::Glob { .. }) => misfit("glob", &error_chain(&error)),
            SemanticSearchError::Meaning(SemanticError::Stopped) => CodeError::Stopped,
            SemanticSearchError::Meaning(_) => failed(&error),
        })?;
        let files = self.0.files().map_err(|error| failed(&error))?.len();
        Ok(MeaningAnswer {
            total: answer.total,
            index: IndexState {
                complete: !answer.partial,
                indexed_files: files.saturating_sub(answer.pending),
                files,
            },
            notices: answer.notices,
            hits: answer.hits.into_iter().map(meaning_hit).collect(),
        })
    }

    fn list(&self, path: &str, hidden: bool) -> Result<Vec<DirEntry>, CodeError> {
        let folder = self.path("path", path)?;
        let entries = self.0.list(&folder, hidden).map_err(|error| not_shown(&error))?;
        Ok(entries.iter().map(dir_entry).collect())
    }

    fn read(&self, path: &str) -> Result<FileText, CodeError> {
        let file = self.0.read(&self.path("file_path", path)?).map_err(|error| unreadable(&error))?;
        Ok(FileText { file_path: file.path.to_str_lossy().into_owned(), text: file.text })
    }

    fn chunks(&self, path: &str) -> Result<Vec<CodeChunk>, CodeError> {
        let file = self.0.chunks(&self.path("file_path", path)?).map_err(|error| unreadable(&error))?;
        let chunk = |chunk: &Chunk| CodeChunk {
            file_path: file.path.to_str_lossy().into_owned(),
            start_line: chunk.start_line.into(),
            end_line: chunk.end_line.into(),
            content: file.text.get(chunk.bytes.clone()).unwrap_or_default().to_owned(),
            symbol: chunk.symbol().map(str::to_owned),
            language: file.language.name().to_owned(),
            kind: chunk.kind.as_str().to_owned(),
        };
        Ok(file.chunks.iter().map(chunk).collect())
    }

    fn files(&self, after: Option<&str>, limit: usize) -> Result<FilesPage, CodeError> {
        let files = self.0.files().map_err(|error| failed(&error))?;
        let after = self.optional_path("after", after)?;
        let start = after.map_or(0, |after| files.partition_point(|entry| entry.path <= after));
        let rest = &files[start..];
        let listed = rest
            .iter()
            .take(limit)
            .map(|entry| ListedFile { path: entry.path.to_str_lossy().into_owned(), size: entry.stamp.size });
        Ok(FilesPage { files: listed.collect(), total: files.len(), has_more: rest.len() > limit })
    }
}

impl Tree {
    /// A path as somebody wrote it: relative, or absolute and inside.
    fn path(&self, argument: &str, text: &str) -> Result<RelPath, CodeError> {
        let inside = Path::new(text).strip_prefix(self.0.root()).ok().and_then(Path::to_str);
        RelPath::parse(inside.unwrap_or(text))
            .map_err(|error: PathError| misfit(argument, &format!("cannot be used: {error}")))
    }

    fn optional_path(&self, argument: &str, text: Option<&str>) -> Result<Option<RelPath>, CodeError> {
        let path = text.map(|text| self.path(argument, text)).transpose()?;
        Ok(path.filter(|path| !path.is_root()))
    }
}

fn text_hit(hit: text::Hit) -> TextHit {
    let texts = |lines: Vec<Line>| lines.into_iter().map(|line| line.text).collect();
    TextHit {
        file_path: hit.path.to_str_lossy().into_owned(),
        line_number: hit.line.number,
        line_content: hit.line.text,
        is_part: hit.line.cut,
        matches: hit.matches,
        before: texts(hit.before),
        after: texts(hit.after),
    }
}

fn meaning_hit(hit: semantic::Hit) -> MeaningHit {
    MeaningHit {
        file_path: hit.path.to_str_lossy().into_owned(),
        start_line: hit.start_line.into(),
        end_line: hit.end_line.into(),
        content: hit.content.trim_end().to_owned(),
        // Three digits say it all.
        score: (f64::from(hit.score) * 1000.0).round() / 1000.0,
        symbol: hit.symbol,
        language: hit.language,
    }
}

fn dir_entry(entry: &FolderEntry) -> DirEntry {
    DirEntry {
        name: String::from_utf8_lossy(entry.path.name()).into_owned(),
        path: entry.path.to_str_lossy().into_owned(),
        kind: match entry.kind {
            Kind::Folder => EntryKind::Directory,
            Kind::File => EntryKind::File,
            Kind::Link => EntryKind::Symlink,
            Kind::Other => EntryKind::Other,
        },
        size: entry.size,
    }
}

fn known_language(name: &str) -> Result<Language, CodeError> {
    Language::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = Language::all().map(Language::name).collect();
        misfit("language", &format!("is unknown; expected one of: {}", known.join(", ")))
    })
}

fn tree_error(argument: &str, error: &TreeError) -> CodeError {
    match error {
        TreeError::Glob { .. } => misfit("glob", &format!("cannot be used: {}", error_chain(error))),
        TreeError::Missing { .. } | TreeError::Outside { .. } => {
            misfit(argument, &format!("cannot be used: {}", error_chain(error)))
        }
        _ => not_shown(error),
    }
}

fn unreadable(error: &FileError) -> CodeError {
    match error {
        FileError::Tree(error) => not_shown(error),
        FileError::Binary { .. } => failed(error),
    }
}

fn not_shown(error: &TreeError) -> CodeError {
    match error {
        TreeError::Secret { path } => CodeError::Secret(path.to_string()),
        _ => failed(error),
    }
}

fn failed(error: &dyn Error) -> CodeError {
    CodeError::Failed(error_chain(error))
}
