//! Lines of files by their numbers, from the start or from the end.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
};

use toolbay_files::{DecodeError, Found};
use toolbay_server::ToolError;

use super::{MAX_EDITED, decode, failed, read_bytes, size, unreadable};

/// How much is read at once.
const BLOCK: usize = 64 * 1024;

/// Lines of a file, from 1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LineRange {
    pub(crate) first: u64,
    /// `None` is the end of the file.
    pub(crate) last: Option<u64>,
}

/// Why lines are not read.
#[derive(Debug)]
pub(crate) enum LinesError {
    /// They are longer than the limit.
    TooLong {
        /// How many of them fit.
        fit: u64,
    },
    NotText(DecodeError),
    Failed(ToolError),
}

impl From<ToolError> for LinesError {
    fn from(error: ToolError) -> Self {
        Self::Failed(error)
    }
}

/// Lines that were read, with all line endings.
#[derive(Debug)]
pub(crate) struct ReadLines {
    pub(crate) text: String,
    /// Whether all of them are there. Otherwise the file ends before the range does.
    is_complete: bool,
}

impl ReadLines {
    /// The lines joined: the last one has no line ending, unless the file ends before the range does.
    pub(crate) fn joined(mut self) -> String {
        if self.is_complete {
            self.text.truncate(without_line_ending(&self.text).len());
        }
        self.text
    }
}

/// Reads lines, at most `limit` bytes, and nothing after them.
pub(crate) fn range(
    found: &Found,
    range: LineRange,
    encoding: Option<&str>,
    limit: usize,
) -> Result<ReadLines, LinesError> {
    let mut file = found.open_file().map_err(|error| failed("open", error))?;
    let mut kept = Kept { range, line: 1, bytes: Vec::new(), limit };
    if is_wide(&mut file, encoding).map_err(|error| unreadable(found, &error))? {
        kept.take(whole(found, encoding)?.as_bytes())?;
        return kept.decode(Some("utf-8"));
    }
    let mut block = vec![0; BLOCK];
    while !kept.is_complete() {
        let length = file.read(&mut block).map_err(|error| unreadable(found, &error))?;
        if length == 0 {
            break;
        }
        kept.take(&block[..length])?;
    }
    kept.decode(encoding)
}

/// The lines of a range, as far as they were read.
struct Kept {
    range: LineRange,
    /// The number of the next line.
    line: u64,
    bytes: Vec<u8>,
    limit: usize,
}

impl Kept {
    fn is_complete(&self) -> bool {
        self.range.last.is_some_and(|last| self.line > last)
    }

    fn take(&mut self, block: &[u8]) -> Result<(), LinesError> {
        let ends = memchr::memchr_iter(b'\n', block).count() as u64;
        if self.line + ends < self.range.first {
            self.line += ends;
            return Ok(());
        }
        for part in block.split_inclusive(|byte| *byte == b'\n') {
            if self.is_complete() {
                break;
            }
            if self.line >= self.range.first {
                self.bytes.extend_from_slice(part);
            }
            if self.bytes.len() > self.limit {
                return Err(LinesError::TooLong { fit: self.line - self.range.first });
            }
            self.line += u64::from(part.ends_with(b"\n"));
        }
        Ok(())
    }

    fn decode(self, encoding: Option<&str>) -> Result<ReadLines, LinesError> {
        let text = decode(&self.bytes, encoding).map_err(LinesError::NotText)?;
        Ok(ReadLines { text: text.with_line_endings().into_owned(), is_complete: self.is_complete() })
    }
}

/// Reads the last lines of a file from its end, at most `limit` bytes, without the last line ending.
pub(crate) fn tail(
    found: &Found,
    lines: u64,
    encoding: Option<&str>,
    limit: usize,
) -> Result<String, LinesError> {
    let mut file = found.open_file().map_err(|error| failed("open", error))?;
    let wanted = usize::try_from(lines).unwrap_or(usize::MAX);
    if is_wide(&mut file, encoding).map_err(|error| unreadable(found, &error))? {
        let text = whole(found, encoding)?;
        let from = start_of_last(text.as_bytes(), wanted).unwrap_or_default();
        return Ok(without_line_ending(&text[from..]).to_owned());
    }
    let mut start = size(found);
    let mut read: Vec<u8> = Vec::new();
    let from = loop {
        if let Some(from) = start_of_last(&read, wanted) {
            break from;
        }
        if start == 0 {
            break 0;
        }
        if read.len() >= limit {
            let fit = memchr::memchr_iter(b'\n', &read).count() as u64;
            return Err(LinesError::TooLong { fit });
        }
        read_before(&mut file, &mut start, &mut read).map_err(|error| unreadable(found, &error))?;
    };
    let text = decode(&read[from..], encoding).map_err(LinesError::NotText)?;
    Ok(without_line_ending(&text.with_line_endings()).to_owned())
}

/// Where the last lines begin, if all of them are there.
fn start_of_last(bytes: &[u8], wanted: usize) -> Option<usize> {
    let end = bytes.len() - usize::from(bytes.ends_with(b"\n"));
    match wanted {
        0 => Some(bytes.len()),
        wanted => memchr::memrchr_iter(b'\n', &bytes[..end]).nth(wanted - 1).map(|at| at + 1),
    }
}

/// Reads the block before what was read.
fn read_before(file: &mut File, start: &mut u64, read: &mut Vec<u8>) -> io::Result<()> {
    let length = (BLOCK as u64).min(*start);
    *start -= length;
    file.seek(SeekFrom::Start(*start))?;
    let mut block = vec![0; usize::try_from(length).unwrap_or_default()];
    file.read_exact(&mut block)?;
    read.splice(..0, block);
    Ok(())
}

/// A text without the line ending of its last line.
pub(crate) fn without_line_ending(text: &str) -> &str {
    text.strip_suffix('\n').map_or(text, |text| text.strip_suffix('\r').unwrap_or(text))
}

/// Whether lines do not end at a byte: UTF-16.
fn is_wide(file: &mut File, encoding: Option<&str>) -> io::Result<bool> {
    let mut mark = [0; 2];
    let length = file.read(&mut mark)?;
    file.rewind()?;
    let is_named = encoding.is_some_and(|label| label.to_ascii_lowercase().starts_with("utf-16"));
    Ok(is_named || (length == 2 && matches!(mark, [0xff, 0xfe] | [0xfe, 0xff])))
}

fn whole(found: &Found, encoding: Option<&str>) -> Result<String, LinesError> {
    let bytes = read_bytes(found, MAX_EDITED, "it is in UTF-16, which cannot be read in parts")?;
    let text = decode(&bytes, encoding).map_err(LinesError::NotText)?;
    Ok(text.with_line_endings().into_owned())
}
