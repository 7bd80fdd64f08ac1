//! Reading parts of a result: pages, lines that match, values of JSON.
//!
//! Nothing reads a whole result into memory but a JSON pointer, for which one at a time is loaded.

use std::{
    fmt::Write as _,
    fs::File,
    io::{self, Read, Seek, SeekFrom},
};

use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use parking_lot::Mutex;
use toolbay_protocol::{Scanner, decode_string};

use crate::{ResultFormat, ResultStore, SCHEME};

/// The most bytes that one read returns.
const MAX_PAGE: u64 = 1024 * 1024;
/// The fewest: one character.
const MIN_PAGE: u64 = 4;
/// What a read returns that asks for no number of bytes: some thousand tokens.
const USUAL_PART: u64 = 32 * 1024;
/// The longest result in which a JSON pointer is followed: it is read as a whole.
const MAX_POINTED: u64 = 64 * 1024 * 1024;
/// How much of a result is searched at once.
const WINDOW: u64 = 1024 * 1024;
/// Pieces of a longer line overlap by this, so that a match at their border is found.
const OVERLAP: u64 = 4 * 1024;
/// Longer lines are shown around the match.
const MAX_LINE: usize = 500;
/// The longest pattern.
const MAX_PATTERN: usize = 1000;

/// Results are loaded as a whole one at a time.
static LOADING: Mutex<()> = Mutex::new(());

/// Why a result cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// This caller has none with this URI (any more).
    #[error("unknown result")]
    NotFound,
    /// It is there, and reading it failed.
    #[error("{0}")]
    Failed(String),
}

/// Which part of a result is wanted.
#[derive(Debug, Clone, Default)]
pub struct PartRequest {
    /// The first byte.
    pub offset: u64,
    /// How many bytes to return.
    pub limit: Option<u64>,
    /// Only lines in which this regular expression matches.
    pub grep: Option<String>,
    /// Only the value at this JSON pointer.
    pub pointer: Option<String>,
}

/// A part of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResultPart {
    /// Text, with a last line that says what part it is.
    Text(String),
    /// Bytes, which are never returned in parts.
    Base64 {
        /// The bytes in base64.
        data: String,
        /// What they are.
        media_type: String,
    },
}

/// Reads a part of a result for a model.
///
/// # Errors
/// If there is no such result, the request makes no sense, or the file cannot be read.
pub fn read_part(store: &ResultStore, id: &str, request: &PartRequest) -> Result<ResultPart, ReadError> {
    let id = id.strip_prefix(SCHEME).unwrap_or(id);
    let found = store.find(id).ok_or(ReadError::NotFound)?;
    let mut source = Source::File(File::open(&found.path).map_err(failed)?, found.size);
    if let ResultFormat::Base64(media_type) = found.format {
        let data = String::from_utf8_lossy(&source.read(0, found.size).map_err(failed)?).into_owned();
        return Ok(ResultPart::Base64 { data, media_type });
    }
    let _loading = request.pointer.as_ref().map(|_| LOADING.lock());
    if let Some(pointer) = &request.pointer {
        if found.size > MAX_POINTED {
            let message = format!(
                "the result is too long for `pointer` ({} bytes); use `grep` or `offset`",
                found.size
            );
            return Err(ReadError::Failed(message));
        }
        let text = source.read(0, found.size).map_err(failed)?;
        source = Source::Memory(value_at(text, pointer).map_err(ReadError::Failed)?);
    }
    let limit = request.limit.unwrap_or(USUAL_PART).clamp(MIN_PAGE, MAX_PAGE);
    let text = match &request.grep {
        Some(pattern) => matching_lines(&mut source, pattern, request.offset, limit)?,
        None => {
            let page = TextPage::read(&mut source, request.offset, limit).map_err(failed)?;
            page.with_note(|end| format!("next: offset {end}"))
        }
    };
    Ok(ResultPart::Text(text))
}

/// Reads a result as a resource: all of it if it is short, else a page that names the next one. `?offset=N&limit=M` asks for a
/// part, in bytes.
///
/// # Errors
/// If there is no such result, or it cannot be read.
pub fn read_page(store: &ResultStore, uri: &str) -> Result<String, ReadError> {
    let (name, query) = uri.split_once('?').unwrap_or((uri, ""));
    let (mut offset, mut limit) = (0, MAX_PAGE);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let number = |text: &str| {
            text.parse::<u64>().map_err(|_| ReadError::Failed(format!("`{pair}` needs a number")))
        };
        match pair.split_once('=') {
            Some(("offset", text)) => offset = number(text)?,
            Some(("limit", text)) => limit = number(text)?.clamp(MIN_PAGE, MAX_PAGE),
            _ => {
                return Err(ReadError::Failed(format!("`{pair}` is unknown; expected `offset` or `limit`")));
            }
        }
    }
    let found = store.find(name).ok_or(ReadError::NotFound)?;
    let mut source = Source::File(File::open(&found.path).map_err(failed)?, found.size);
    let page = TextPage::read(&mut source, offset, limit).map_err(failed)?;
    Ok(page.with_note(|end| format!("next: {name}?offset={end}")))
}

fn failed(error: io::Error) -> ReadError {
    match error.kind() {
        io::ErrorKind::NotFound => ReadError::NotFound, // it made room for another just now
        _ => ReadError::Failed(error.to_string()),
    }
}

/// What is read from.
enum Source {
    File(File, u64),
    Memory(Vec<u8>),
}

impl Source {
    fn size(&self) -> u64 {
        match self {
            Self::File(_, size) => *size,
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }

    fn read(&mut self, offset: u64, limit: u64) -> io::Result<Vec<u8>> {
        match self {
            Self::File(file, _) => {
                file.seek(SeekFrom::Start(offset))?;
                let mut bytes = Vec::new();
                file.take(limit).read_to_end(&mut bytes)?;
                Ok(bytes)
            }
            Self::Memory(bytes) => {
                let index = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
                Ok(bytes[index(offset)..index(offset.saturating_add(limit))].to_vec())
            }
        }
    }
}

/// Whole characters of a text, and whole lines where there are any.
struct TextPage {
    text: String,
    start: u64,
    end: u64,
    size: u64,
}

impl TextPage {
    fn read(source: &mut Source, offset: u64, limit: u64) -> io::Result<Self> {
        let size = source.size();
        let bytes = source.read(offset, limit)?;
        let is_inside = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
        let skipped = bytes.iter().take(3).take_while(is_inside).count();
        let start = offset + skipped as u64;
        let mut bytes = &bytes[skipped.min(bytes.len())..];
        if start + (bytes.len() as u64) < size {
            match memchr::memrchr(b'\n', bytes) {
                Some(line) => bytes = &bytes[..=line],
                None => bytes = &bytes[..whole_characters(bytes)],
            }
        }
        let end = start + bytes.len() as u64;
        Ok(Self { text: String::from_utf8_lossy(bytes).into_owned(), start, end, size })
    }

    /// The text, and which part it is where it does not end with the whole.
    fn with_note(self, next: impl Fn(u64) -> String) -> String {
        let Self { mut text, start, end, size } = self;
        if end < size {
            let _ = writeln!(text, "[bytes {start} to {end} of {size}; {}]", next(end));
        } else if start > size {
            let _ = writeln!(text, "[there are only {size} bytes]");
        }
        text
    }
}

/// How many bytes are whole characters: a text that was cut may end inside one.
fn whole_characters(bytes: &[u8]) -> usize {
    let is_inside = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
    let inside = bytes.iter().rev().take(3).take_while(|byte| is_inside(byte)).count();
    let Some(start) = bytes.len().checked_sub(inside + 1) else { return bytes.len() };
    let length = match bytes[start] {
        0b1100_0000..=0b1101_1111 => 2,
        0b1110_0000..=0b1110_1111 => 3,
        0b1111_0000..=0b1111_0111 => 4,
        _ => return bytes.len(),
    };
    if inside + 1 < length { start } else { bytes.len() }
}

/// The lines in which a pattern matches, each behind its offset; of long lines, what is around the match.
fn matching_lines(source: &mut Source, pattern: &str, offset: u64, limit: u64) -> Result<String, ReadError> {
    let matcher = matcher(pattern)?;
    let size = source.size();
    let (mut shown, mut count, mut shown_until) = (String::new(), 0_u64, offset);
    let mut at = offset;
    let mut next = None;
    while at < size && next.is_none() {
        let window = source.read(at, WINDOW).map_err(failed)?;
        if window.is_empty() {
            break;
        }
        let is_last = at + window.len() as u64 >= size;
        let line_end = memchr::memrchr(b'\n', &window).map(|end| end + 1);
        let (searched, advance) = match line_end {
            _ if is_last => (window.len(), window.len() as u64),
            Some(end) => (end, end as u64),
            None => (window.len(), (window.len() as u64).saturating_sub(OVERLAP)),
        };
        let text = &window[..searched];
        let mut on_match = |found: grep_matcher::Match| {
            if at + (found.start() as u64) < shown_until {
                return true;
            }
            let start = memchr::memrchr(b'\n', &text[..found.start()]).map_or(0, |end| end + 1);
            let end =
                memchr::memchr(b'\n', &text[found.start()..]).map_or(text.len(), |end| found.start() + end);
            let (start, end) = if end - start <= MAX_LINE {
                (start, end)
            } else {
                let from = start.max(found.start().saturating_sub(MAX_LINE / 4));
                (from, end.min(from + MAX_LINE))
            };
            let line = String::from_utf8_lossy(&text[start..end]);
            if count > 0 && (shown.len() + line.len()) as u64 > limit {
                next = Some(at + start as u64);
                return false;
            }
            count += 1;
            let _ = writeln!(shown, "{}: {line}", at + start as u64);
            shown_until = at + end.max(found.end()) as u64 + 1;
            true
        };
        // The matcher of this crate never fails.
        let _ = matcher.find_iter(text, &mut on_match);
        at += advance;
    }
    Ok(match (next, count) {
        (Some(next), _) => format!("{shown}[{count} matches so far; next: offset {next}]\n"),
        (None, 0) => format!("[no line matches; {size} bytes were searched from offset {offset} on]\n"),
        (None, count) => format!("{shown}[{count} matches, all from offset {offset} on]\n"),
    })
}

fn matcher(pattern: &str) -> Result<RegexMatcher, ReadError> {
    if pattern.len() > MAX_PATTERN {
        return Err(ReadError::Failed(format!("`grep` is longer than {MAX_PATTERN} bytes")));
    }
    let mut builder = RegexMatcherBuilder::new();
    builder.multi_line(true).line_terminator(Some(b'\n')).size_limit(1 << 20).dfa_size_limit(1 << 20);
    builder
        .build(pattern)
        .map_err(|error| ReadError::Failed(format!("`grep` is not a regular expression: {error}")))
}

/// The value at a JSON pointer: a string as its text, everything else as JSON.
fn value_at(text: Vec<u8>, pointer: &str) -> Result<Vec<u8>, String> {
    let no_json = "the result is not JSON; `pointer` cannot be used".to_owned();
    if std::str::from_utf8(&text).is_err() {
        return Err(no_json);
    }
    let mut scanner = Scanner::new(&text);
    let whole = scanner.value().and_then(|span| scanner.end().map(|()| span)).map_err(|_| no_json)?;
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return Err(format!("`{pointer}` is no JSON pointer; one begins with `/`"));
    }
    let mut value = &text[whole.range()];
    let mut path = String::new();
    for token in pointer.split('/').skip(1) {
        let name = token.replace("~1", "/").replace("~0", "~");
        let missing = |what: String| format!("there is no `{path}/{token}`: {what}");
        value = match value.first() {
            Some(b'{') => {
                field(value, &name).ok_or_else(|| missing(format!("the keys are {}", keys(value))))?
            }
            Some(b'[') => {
                let (items, found) = item(value, name.parse().ok());
                found.ok_or_else(|| missing(format!("the array has {items} items")))?
            }
            _ => return Err(missing("the value before it has no members".to_owned())),
        };
        path = format!("{path}/{token}");
    }
    Ok(match decode_string(value) {
        Some(string) => string.into_owned().into_bytes(),
        None => value.to_vec(),
    })
}

fn field<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut found = None;
    let _ = Scanner::new(object).object(|scanner, key| {
        let value = scanner.value()?;
        let written = &object[key.start as usize - 1..key.end as usize + 1];
        if found.is_none() && decode_string(written).is_some_and(|key| key == name) {
            found = Some(&object[value.range()]);
        }
        Ok(())
    });
    found
}

/// The first keys of an object, for one who looked for another.
fn keys(object: &[u8]) -> String {
    const SHOWN: usize = 20;
    let (mut keys, mut count) = (Vec::new(), 0);
    let _ = Scanner::new(object).object(|scanner, key| {
        scanner.value()?;
        count += 1;
        if count <= SHOWN {
            keys.push(String::from_utf8_lossy(&object[key.range()]).chars().take(60).collect::<String>());
        }
        Ok(())
    });
    let more = if count > SHOWN { format!(" and {} more", count - SHOWN) } else { String::new() };
    format!("`{}`{more}", keys.join("`, `"))
}

/// How many items an array has, and one of them.
fn item(array: &[u8], index: Option<usize>) -> (usize, Option<&[u8]>) {
    let (mut count, mut found) = (0, None);
    let _ = Scanner::new(array).array(|scanner| {
        let value = scanner.value()?;
        if index == Some(count) {
            found = Some(&array[value.range()]);
        }
        count += 1;
        Ok(())
    });
    (count, found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(store: &ResultStore, text: &[u8]) -> String {
        let mut writer = store.create(ResultFormat::Text).unwrap();
        writer.write(text).unwrap();
        writer.keep().uri
    }

    fn text(store: &ResultStore, id: &str, request: &PartRequest) -> String {
        match read_part(store, id, request).unwrap() {
            ResultPart::Text(text) => text,
            part @ ResultPart::Base64 { .. } => panic!("{part:?}"),
        }
    }

    #[test]
    fn long_results_are_read_by_page() {
        let directory = tempfile::tempdir().unwrap();
        let store = ResultStore::open(directory.path()).unwrap();
        let all: String = (0..300_000).map(|number| format!("line {number}\n")).collect();
        let mut uri = keep(&store, all.as_bytes());
        let mut read = String::new();
        for _ in 0..10 {
            let page = read_page(&store, &uri).unwrap();
            let Some(note) = page.rfind("[bytes ") else {
                read.push_str(&page);
                break;
            };
            read.push_str(&page[..note]);
            let next = page[note..].split("next: ").nth(1).unwrap();
            uri = next.trim_end_matches("]\n").to_owned();
        }
        assert!(read == all, "{} of {} bytes", read.len(), all.len());
        let name = uri.split('?').next().unwrap();
        let part = read_page(&store, &format!("{name}?offset=7&limit=6")).unwrap();
        assert!(part.starts_with("line 1") && part.contains("bytes 7 to 13 of"), "{part}");
        assert_eq!(read_page(&store, "toolbay-result://no"), Err(ReadError::NotFound));
        assert!(matches!(read_page(&store, &format!("{name}?x=1")), Err(ReadError::Failed(_))));
    }

    #[test]
    fn characters_are_never_cut() {
        let directory = tempfile::tempdir().unwrap();
        let store = ResultStore::open(directory.path()).unwrap();
        let all = "aä€😀".repeat(50);
        let id = keep(&store, all.as_bytes());
        for limit in 4..20 {
            let (mut read, mut offset) = (String::new(), 0);
            while offset < all.len() as u64 {
                let part =
                    text(&store, &id, &PartRequest { offset, limit: Some(limit), ..Default::default() });
                let Some(note) = part.rfind("[bytes ") else {
                    read.push_str(&part);
                    break;
                };
                read.push_str(&part[..note]);
                offset = part[note..]
                    .trim_end()
                    .trim_end_matches(']')
                    .rsplit(' ')
                    .next()
                    .unwrap()
                    .parse()
                    .unwrap();
            }
            assert_eq!(read, all, "limit {limit}");
        }
        // One who asks for the middle of a character gets the next one.
        let part = text(&store, &id, &PartRequest { offset: 2, limit: Some(4), ..Default::default() });
        assert!(part.starts_with('€') && !part.contains('\u{fffd}'), "{part}");
    }

    #[test]
    fn lines_are_found_also_in_one_that_has_no_end() {
        let directory = tempfile::tempdir().unwrap();
        let store = ResultStore::open(directory.path()).unwrap();
        let lines: String = (0..200_000).map(|number| format!("entry {number}\n")).collect();
        let id = keep(&store, lines.as_bytes());
        let request = PartRequest { grep: Some("entry 1999(98|99)$".to_owned()), ..Default::default() };
        let found = text(&store, &id, &request);
        assert!(
            found.contains(": entry 199998\n") && found.ends_with("[2 matches, all from offset 0 on]\n"),
            "{found}"
        );
        let at: usize = found.split(':').next().unwrap().parse().unwrap();
        assert!(lines[at..].starts_with("entry 199998\n"), "the offset is where the line is");
        // Many matches come in pages that continue each other.
        let mut request =
            PartRequest { grep: Some("0$".to_owned()), limit: Some(100_000), ..Default::default() };
        let mut count = 0;
        for _ in 0..100 {
            let page = text(&store, &id, &request);
            count += page.lines().filter(|line| line.ends_with('0') && !line.starts_with('[')).count();
            let Some(next) =
                page.trim_end().strip_suffix(']').and_then(|page| page.rsplit_once("next: offset "))
            else {
                break;
            };
            request.offset = next.1.parse().unwrap();
        }
        assert_eq!(count, 20_000);
        let mut long = "x".repeat(3 << 20);
        long.insert_str((1 << 20) - 3, "NEEDLE");
        let id = keep(&store, long.as_bytes());
        let found = text(&store, &id, &PartRequest { grep: Some("NEEDLE".to_owned()), ..Default::default() });
        assert!(found.contains("NEEDLE") && found.len() < 700 && found.contains("[1 matches"), "{found}");
        let none = text(&store, &id, &PartRequest { grep: Some("absent".to_owned()), ..Default::default() });
        assert!(none.starts_with("[no line matches"), "{none}");
        let bad = read_part(&store, &id, &PartRequest { grep: Some("(".to_owned()), ..Default::default() });
        assert!(matches!(bad, Err(ReadError::Failed(_))));
    }

    #[test]
    fn values_are_found_by_pointer() {
        let directory = tempfile::tempdir().unwrap();
        let store = ResultStore::open(directory.path()).unwrap();
        let json = r#" {"rows":[{"id":1},{"id":2,"text":"a\nb"}],"a/b":{"~":1.50},"\u0078":true} "#;
        let id = keep(&store, json.as_bytes());
        let at = |pointer: &str| {
            read_part(&store, &id, &PartRequest { pointer: Some(pointer.to_owned()), ..Default::default() })
        };
        for (pointer, value) in [
            ("/rows/1/text", "a\nb"),
            ("/rows/0", r#"{"id":1}"#),
            ("/a~1b/~0", "1.50"),
            ("/x", "true"),
            ("", json.trim()),
        ] {
            assert_eq!(at(pointer), Ok(ResultPart::Text(value.to_owned())), "{pointer}");
        }
        for (pointer, part) in [
            ("/rows/2", "the array has 2 items"),
            ("/none", "`rows`, `a/b`"),
            ("rows", "begins with"),
            ("/x/y", "no members"),
        ] {
            let Err(ReadError::Failed(message)) = at(pointer) else { panic!("{pointer}") };
            assert!(message.contains(part), "{message}");
        }
        let id = keep(&store, b"no json");
        let request = PartRequest { pointer: Some("/a".to_owned()), ..Default::default() };
        assert!(matches!(read_part(&store, &id, &request), Err(ReadError::Failed(_))));
    }
}
