//! [`ByteReader`]: searches one file after the other, as ripgrep does, on one thread.
//!
//! ripgrep reads a file in pieces. A file that is plain text from end to end gives the same lines when it is searched as one
//! piece, which takes one read instead of three and no copying; that is nearly every file of most trees. A file with a mark
//! of its encoding or with a NUL byte is searched piece by piece: there, where a piece ends decides what is found.

use std::fs::File;
use std::io::{self, Read, Seek};

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher};

use super::collect::Collect;
use super::{INDEXED_SIZE, Query, query};
use crate::tree::{Links, RelPath, TreeError, TreeRoot};

/// Files up to this size are read at once.
const WHOLE: u64 = 1 << 20;

/// Something larger can make a searcher's buffer grow for good. How much is read at once decides how much is found before a
/// NUL byte, so each file gets a buffer of the size that ripgrep begins with, whatever was searched before.
const SMALL: u64 = 48 * 1024;

/// Marks of encodings: UTF-16 of both kinds, UTF-8.
const MARKS: [&[u8]; 3] = [b"\xFF\xFE", b"\xFE\xFF", b"\xEF\xBB\xBF"];

/// What a thread needs to search files; kept from file to file.
pub(super) struct FileSearcher<'a> {
    root: &'a TreeRoot,
    query: &'a Query,
    matcher: &'a RegexMatcher,
    searcher: Searcher,
    buffer: Vec<u8>,
}

impl<'a> FileSearcher<'a> {
    pub(super) fn new(root: &'a TreeRoot, query: &'a Query, matcher: &'a RegexMatcher) -> Self {
        Self { root, query, matcher, searcher: query::searcher(query), buffer: Vec::new() }
    }

    /// Searches a file that a walk found. An error in the middle of it is none: what was found before stands, as with
    /// ripgrep.
    pub(super) fn search(&mut self, path: &RelPath, collect: &mut Collect<'_>) -> Result<(), TreeError> {
        let (mut file, stamp) = self.root.open_file(path, Links::Refuse)?;
        let read = if stamp.size <= WHOLE { self.read(&mut file, stamp.size) } else { Ok(None) };
        let failed = |source| TreeError::Read { path: path.clone(), source };
        if let Some(len) = read.map_err(failed)? {
            self.whole(len, collect);
        } else {
            let _ = self.searcher.search_file(self.matcher, &file, collect);
            self.searcher = query::searcher(self.query);
        }
        Ok(())
    }

    /// Searches a file that the caller named: ripgrep shows a part of it even if it is binary.
    pub(super) fn search_named(
        &mut self,
        path: &RelPath,
        collect: &mut Collect<'_>,
    ) -> Result<(), TreeError> {
        self.searcher.set_binary_detection(BinaryDetection::convert(0));
        match self.root.read(path, Links::Follow, INDEXED_SIZE) {
            // ripgrep maps such a file, so that it sees all of it at once.
            Ok(content) => {
                let _ = self.searcher.search_slice(self.matcher, &content.bytes, collect);
            }
            Err(TreeError::TooLarge { .. }) => {
                let (file, _) = self.root.open_file(path, Links::Follow)?;
                let _ = self.searcher.search_file(self.matcher, &file, collect);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Reads a file of that size into the buffer; `None`, and nothing read, if it has become larger.
    fn read(&mut self, file: &mut File, size: u64) -> io::Result<Option<usize>> {
        // One more byte, to see the end of the file: a short read means that there is no more.
        let room = size as usize + 1;
        if self.buffer.len() < room {
            self.buffer.resize(room.next_power_of_two(), 0);
        }
        let mut len = 0;
        loop {
            match file.read(&mut self.buffer[len..room]) {
                Ok(0) => return Ok(Some(len)),
                Ok(read) => len += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if len as u64 == size {
                return Ok(Some(len));
            }
            if len == room {
                return file.rewind().map(|()| None);
            }
        }
    }

    /// Searches what is in the buffer.
    fn whole(&mut self, len: usize, collect: &mut Collect<'_>) {
        let bytes = &self.buffer[..len];
        let marked = MARKS.iter().any(|mark| bytes.starts_with(mark));
        // With a line end that no match goes across, a text in which nothing matches has no line that does.
        let in_lines = self.matcher.line_terminator().is_some();
        if !marked && in_lines && matches!(self.matcher.find_candidate_line(bytes), Ok(None)) {
            return;
        }
        if !marked && memchr::memchr(0, bytes).is_none() {
            let _ = self.searcher.search_slice(self.matcher, bytes, collect);
            return;
        }
        let _ = self.searcher.search_reader(self.matcher, bytes, collect);
        if len as u64 > SMALL {
            self.searcher = query::searcher(self.query);
        }
    }
}
