//! Trees to search in, and the questions about them.

use std::{
    collections::HashMap,
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use toolbay_search::chunk::{self, Chunk};

use super::{method::Hit, questions::Written};
use crate::{
    packages::Source,
    pairs::{self, Pair, Source as PairSource},
};

/// At most so many questions about one package, so that none outweighs the others.
const MOST_QUESTIONS: usize = 60;
/// Functions of fewer lines do nothing that a question could be about.
const FEWEST_LINES: usize = 3;
/// Larger files are generated.
const LARGEST: u64 = 512 * 1024;

/// A tree of files on disk, and what is asked about it.
#[derive(Debug)]
pub(super) struct Corpus {
    pub(super) root: PathBuf,
    /// Path from the root, and text.
    pub(super) files: Vec<(String, String)>,
    pub(super) questions: Vec<Question>,
}

impl Corpus {
    /// What is in a file.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|(known, _)| known == path).map(|(_, text)| text.as_str())
    }
}

/// A question with its answer.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) text: String,
    pub(super) path: String,
    /// Where in the file the answer is, counted from line 1.
    pub(super) lines: Range<u32>,
}

impl Question {
    /// Whether a hit shows the answer: most of the hit is of the answer, or most of the answer is in the hit.
    pub(super) fn is_answered_by(&self, hit: &Hit) -> bool {
        let both = self.lines.end.min(hit.lines.end).saturating_sub(self.lines.start.max(hit.lines.start));
        self.path == hit.path
            && (both * 2 > hit.lines.end - hit.lines.start || both * 2 > self.lines.end - self.lines.start)
    }
}

/// A package as it was published, with the questions that were written about it.
pub(super) fn as_it_is(source: &Source, questions: &[Written]) -> Result<Corpus> {
    let root = code_folder(source);
    let files = read(&root)?;
    let answer = |question: &Written| {
        let (path, text) = files
            .iter()
            .find(|(path, _)| path == question.path)
            .with_context(|| format!("{} has no file {}", source.package, question.path))?;
        let lines = definition(path, text, question.symbol)
            .with_context(|| format!("{path} of {} does not define {}", source.package, question.symbol))?;
        Ok(Question { text: question.text.to_owned(), path: path.clone(), lines })
    };
    let questions = questions.iter().map(answer).collect::<Result<_>>()?;
    Ok(Corpus { root, files, questions })
}

/// The lines of a definition: of the chunk that has its name, and of those that go on with it.
fn definition(path: &str, text: &str, symbol: &str) -> Option<Range<u32>> {
    let (scope, name) = symbol.rsplit_once('.').unwrap_or(("", symbol));
    let chunks = chunk::cut(chunk::language(path, text), text);
    let at = chunks.iter().position(|chunk| {
        chunk.names.iter().any(|known| known == name)
            && (scope.is_empty() || chunk.scopes.iter().chain(&chunk.names).any(|known| known == scope))
    })?;
    let goes_on =
        |chunk: &&Chunk| chunk.names.is_empty() && chunk.scopes.last().is_some_and(|last| last == name);
    let more = chunks[at + 1..].iter().take_while(goes_on).count();
    Some(chunks[at].start_line..chunks[at + more].end_line + 1)
}

/// A package without the doc comments of its functions, which become the questions.
pub(super) fn without_comments(source: &Source, folder: &Path) -> Result<Corpus> {
    let root = folder.join(&source.package);
    let mut files = read(&code_folder(source))?;
    let mut questions = Vec::new();
    for (path, text) in &mut files {
        let mut pairs = pairs::extract(path, text);
        pairs.retain(|pair| pair.source == PairSource::Function && lines_of_code(text, pair) >= FEWEST_LINES);
        pairs.sort_by_key(|pair| pair.comment.start);
        let (stripped, found) = strip(text, &pairs);
        if !is_aside(path) {
            questions.extend(pairs.iter().zip(found).map(|(pair, lines)| Question {
                text: pair.query.clone(),
                path: path.clone(),
                lines,
            }));
        }
        *text = stripped;
    }
    write(&root, &files)?;
    Ok(Corpus { root, files, questions: chosen(questions) })
}

/// The text without the comments, and the lines on which each definition then is.
fn strip(text: &str, pairs: &[Pair]) -> (String, Vec<Range<u32>>) {
    let mut stripped = String::with_capacity(text.len());
    let mut removed: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    for pair in pairs {
        let start = text[..pair.comment.start].trim_end_matches([' ', '\t']).len().max(at);
        let rest = &text[pair.comment.end..];
        let own_line = text[..start].ends_with('\n') || start == 0;
        let end = match rest.trim_start_matches([' ', '\t', '\r']).strip_prefix('\n') {
            Some(after) if own_line => text.len() - after.len(),
            _ => pair.comment.end,
        };
        stripped.push_str(&text[at..start]);
        removed.push(start..end);
        at = end;
    }
    stripped.push_str(&text[at..]);
    let moved = |place: usize| {
        let before: usize = removed
            .iter()
            .take_while(|gone| gone.start < place)
            .map(|gone| gone.end.min(place) - gone.start)
            .sum();
        place - before
    };
    let line = |place: usize| {
        let lines = stripped[..place].matches('\n').count() + 1;
        u32::try_from(lines).unwrap_or(u32::MAX)
    };
    let found = pairs
        .iter()
        .map(|pair| line(moved(pair.bytes.start))..line(moved(pair.bytes.end)).saturating_add(1))
        .collect();
    (stripped, found)
}

fn lines_of_code(text: &str, pair: &Pair) -> usize {
    let all = text[pair.bytes.clone()].lines().count();
    let inside = pair.comment.start >= pair.bytes.start;
    all - if inside { text[pair.comment.clone()].lines().count().min(all) } else { 0 }
}

/// Those that ask for one thing only, and of these a part that is always the same.
fn chosen(questions: Vec<Question>) -> Vec<Question> {
    let mut times: HashMap<String, usize> = HashMap::new();
    for question in &questions {
        *times.entry(question.text.to_lowercase()).or_default() += 1;
    }
    let mut questions = questions;
    questions.retain(|question| times.get(&question.text.to_lowercase()) == Some(&1));
    let order =
        |question: &Question| Sha256::digest(format!("{}\n{}", question.path, question.text)).to_vec();
    questions.sort_by_cached_key(order);
    questions.truncate(MOST_QUESTIONS);
    questions
}

/// Where the code of a package is: of what npm has, the sources and not what was made of them.
fn code_folder(source: &Source) -> PathBuf {
    let package = source.folder.join("package");
    if !source.package.starts_with("js/") {
        return source.folder.clone();
    }
    ["src", "lib"]
        .map(|name| package.join(name))
        .into_iter()
        .find(|folder| folder.is_dir())
        .unwrap_or(package)
}

/// Every file that is parsed, in order.
fn read(root: &Path) -> Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            let relative = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            if kind.is_dir() && !is_foreign(&entry.file_name().to_string_lossy()) {
                folders.push(path);
            } else if kind.is_file() && entry.metadata()?.len() < LARGEST && !relative.ends_with(".d.ts") {
                let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
                if chunk::language(&relative, &text).is_parsed() && !text.contains('\0') {
                    files.push((relative, text));
                }
            }
        }
    }
    files.sort();
    Ok(files)
}

/// What is not the package's own, or was made from it.
fn is_foreign(folder: &str) -> bool {
    folder.starts_with('.')
        || matches!(
            folder,
            "node_modules" | "vendor" | "third-party" | "third_party" | "deps" | "dist" | "build"
        )
}

/// Code that is not what a question is about.
fn is_aside(path: &str) -> bool {
    path.to_lowercase().split(['/', '_', '.', '-']).any(|part| {
        matches!(
            part,
            "test"
                | "tests"
                | "testing"
                | "spec"
                | "specs"
                | "example"
                | "examples"
                | "demo"
                | "doc"
                | "docs"
        )
    })
}

/// The tree as it is searched; written anew, so that nothing of an earlier run is in it.
fn write(root: &Path, files: &[(String, String)]) -> Result<()> {
    if root.exists() {
        fs::remove_dir_all(root)?;
    }
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().context("a file is in a folder")?)?;
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stripped_text_has_its_functions_where_it_says() {
        let text = "/// Adds the two numbers together.\nfn add(a: u8, b: u8) -> u8 {\n    let sum = a + b;\n    sum\n}\n\n/// Takes one number from another.\nfn take(a: u8) -> u8 {\n    let less = a - 1;\n    less\n}\n";
        let pairs = pairs::extract("a.rs", text);
        let (stripped, lines) = strip(text, &pairs);
        assert!(!stripped.contains("///"));
        assert_eq!(lines, [1..5, 6..10]);
        assert_eq!(stripped.lines().nth(5), Some("fn take(a: u8) -> u8 {"));
        let python = "def f(a):\n    \"\"\"Return the larger of both values.\"\"\"\n    b = a\n    c = b\n    return c\n";
        let pairs = pairs::extract("a.py", python);
        assert_eq!(strip(python, &pairs).0, "def f(a):\n    b = a\n    c = b\n    return c\n");
    }
}
