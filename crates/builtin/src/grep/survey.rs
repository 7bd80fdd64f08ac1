//! The survey: every file is searched, and what matches is counted.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkFinish, SinkMatch};
use ignore::WalkState;
use parking_lot::Mutex;

use super::{
    files::{FileId, GrepError, Search, Walk, Watched},
    query::{FileOrigin, GrepQuery},
};

/// Files up to this size are read at once, which saves the searcher's copying.
const WHOLE: u64 = 1 << 20;
/// The same for a file that was named. ripgrep maps such a file, so it sees all of it at once.
const WHOLE_NAMED: u64 = 32 << 20;
/// Something larger can make a searcher's buffer grow for good. How much is read at once decides what is found before a NUL
/// byte, so each file gets a buffer of the size that ripgrep begins with.
const SMALL: usize = 48 * 1024;
/// Marks of encodings: UTF-16 of both kinds, UTF-8.
const MARKS: [&[u8]; 3] = [b"\xFF\xFE", b"\xFE\xFF", b"\xEF\xBB\xBF"];
/// How often progress is reported.
const PROGRESS: Duration = Duration::from_millis(500);

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counting {
    /// Nothing: files are listed, not searched (`rg --files`).
    Files,
    /// Files with a match; the first match of each ends its search (`rg -l`).
    FilesWithMatches,
    /// Matching lines, to show them.
    Lines,
    /// Matching lines of each file (`rg -c`). As with ripgrep, a file that turns out to be binary has none.
    LinesPerFile,
    /// Matches of each file (`rg --count-matches`).
    MatchesPerFile,
}

/// What a survey found.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// The first files with what was counted in them, in order. As many as the page can come from.
    pub(super) first: Vec<(FileId, u64)>,
    /// Files in all.
    pub(super) files: u64,
    /// Matches in all.
    pub(super) matches: u64,
    /// Files that could not be searched, and the first reason.
    pub(super) failed: Option<(u64, String)>,
    /// Whether every file was searched before time was up.
    pub(super) is_complete: bool,
}

impl Search<'_> {
    /// Counts in all files. `wanted` is the end of the page: a number of lines for [`Counting::Lines`], else of files.
    pub(super) fn survey(
        &self,
        query: &GrepQuery,
        counting: Counting,
        wanted: usize,
    ) -> Result<Survey, GrepError> {
        let matcher = query.matcher()?;
        let run = Run {
            search: self,
            query,
            counting,
            found: Mutex::new(Found { wanted: wanted as u64, ..Found::default() }),
            visited: AtomicU64::new(0),
            reported: Mutex::new((Instant::now(), 0)),
        };
        for target in 0..self.targets.len() {
            match self.walk(target)? {
                Walk::File(file) => Worker::new(&run, &matcher, FileOrigin::Named).visit(file),
                Walk::Directory(walk) => walk.run(|| {
                    // A matcher of its own: threads that share one wait for its scratch space.
                    let mut worker = Worker::new(&run, &matcher, FileOrigin::Walked);
                    Box::new(move |entry| {
                        if worker.run.search.is_over() {
                            return WalkState::Quit;
                        }
                        match entry {
                            Ok(entry) => {
                                if let Some(file) = worker.run.search.file(target, &entry) {
                                    worker.visit(file);
                                }
                            }
                            Err(error) => worker.run.found.lock().fail(error.to_string()),
                        }
                        WalkState::Continue
                    })
                }),
            }
        }
        if self.context.is_cancelled() {
            return Err(GrepError::Canceled);
        }
        let found = run.found.into_inner();
        Ok(Survey {
            first: found.first.into_iter().collect(),
            files: found.files,
            matches: found.matches,
            failed: found.failed,
            is_complete: Instant::now() < self.deadline,
        })
    }
}

/// What the threads of a survey share.
struct Run<'a> {
    search: &'a Search<'a>,
    query: &'a GrepQuery,
    counting: Counting,
    found: Mutex<Found>,
    visited: AtomicU64,
    /// When progress was last reported, and how many files.
    reported: Mutex<(Instant, u64)>,
}

#[derive(Default)]
struct Found {
    wanted: u64,
    first: BTreeMap<FileId, u64>,
    /// What the files in `first` fill of the page.
    filled: u64,
    files: u64,
    matches: u64,
    failed: Option<(u64, String)>,
}

impl Found {
    fn add(&mut self, file: FileId, count: u64, fills: impl Fn(u64) -> u64) {
        self.files += 1;
        self.matches += count;
        // Invariant: without its last file, `first` does not fill the page.
        if self.filled >= self.wanted && self.first.last_key_value().is_none_or(|(last, _)| *last < file) {
            return;
        }
        self.filled += fills(count);
        self.first.insert(file, count);
        while let Some(last) = self.first.last_entry()
            && self.filled - fills(*last.get()) >= self.wanted
        {
            self.filled -= fills(last.remove());
        }
    }

    fn fail(&mut self, reason: String) {
        self.failed.get_or_insert((0, reason)).0 += 1;
    }
}

/// One thread of a survey.
struct Worker<'a> {
    run: &'a Run<'a>,
    matcher: RegexMatcher,
    searcher: Searcher,
    origin: FileOrigin,
    buffer: Vec<u8>,
}

impl<'a> Worker<'a> {
    fn new(run: &'a Run<'a>, matcher: &RegexMatcher, origin: FileOrigin) -> Self {
        let searcher = run.query.counter(origin);
        Self { run, matcher: matcher.clone(), searcher, origin, buffer: Vec::new() }
    }

    fn visit(&mut self, file: FileId) {
        self.report();
        let run = self.run;
        let count = match run.counting {
            Counting::Files => Ok(u64::from(run.search.exists(&file))),
            _ => run.search.open(&file).and_then(|opened| self.count(opened)),
        };
        match count {
            Ok(0) => {}
            Ok(count) => run.found.lock().add(file, count, |count| match run.counting {
                Counting::Lines => count,
                _ => 1,
            }),
            Err(_) if run.search.is_over() => {}
            Err(error) => run.found.lock().fail(format!("{}: {error}", run.search.shown(&file).display())),
        }
    }

    fn count(&mut self, mut file: File) -> io::Result<u64> {
        let mut count =
            Count { matcher: &self.matcher, counting: self.run.counting, count: 0, is_binary: false };
        let size = file.metadata()?.len();
        let whole = if self.origin == FileOrigin::Named { WHOLE_NAMED } else { WHOLE };
        if size <= whole {
            self.buffer.clear();
            // One that grows meanwhile is searched as far as it was.
            (&mut file).take(size).read_to_end(&mut self.buffer)?;
        }
        let (searcher, matcher, bytes) = (&mut self.searcher, &self.matcher, self.buffer.as_slice());
        match self.origin {
            _ if size > whole => {
                searcher.search_reader(matcher, Watched { file, search: self.run.search }, &mut count)?;
            }
            FileOrigin::Named => searcher.search_slice(matcher, bytes, &mut count)?,
            FileOrigin::Walked => search_bytes(searcher, matcher, bytes, &mut count)?,
        }
        if size > SMALL as u64 {
            self.searcher = self.run.query.counter(self.origin);
        }
        let is_left_out = count.is_binary
            && self.origin == FileOrigin::Walked
            && matches!(self.run.counting, Counting::LinesPerFile | Counting::MatchesPerFile);
        Ok(if is_left_out { 0 } else { count.count })
    }

    fn report(&self) {
        let visited = self.run.visited.fetch_add(1, Ordering::Relaxed) + 1;
        if !visited.is_multiple_of(64) {
            return;
        }
        let Some(mut reported) = self.run.reported.try_lock() else { return };
        if reported.0.elapsed() >= PROGRESS && visited > reported.1 {
            *reported = (Instant::now(), visited);
            self.run.search.context.report_progress(visited, None, &format!("searched {visited} files"));
        }
    }
}

/// Shows a file to a sink as ripgrep does.
pub(super) fn search_as_ripgrep<S: Sink<Error = io::Error>>(
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    mut file: Watched<'_>,
    origin: FileOrigin,
    sink: S,
) -> io::Result<()> {
    let size = file.file.metadata()?.len();
    if origin == FileOrigin::Walked || size > WHOLE_NAMED {
        return searcher.search_reader(matcher, file, sink);
    }
    let mut bytes = Vec::new();
    (&mut file).take(size).read_to_end(&mut bytes)?;
    searcher.search_slice(matcher, &bytes, sink)
}

/// Searches a file that was read as a whole. Plain text is searched in one piece; where there is a mark of an encoding or a
/// NUL byte, ripgrep's pieces decide what is found.
fn search_bytes<S: Sink<Error = io::Error>>(
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    bytes: &[u8],
    sink: S,
) -> io::Result<()> {
    let is_marked = MARKS.iter().any(|mark| bytes.starts_with(mark));
    let is_quick = !is_marked && !searcher.invert_match() && matcher.line_terminator().is_some();
    if is_quick && matches!(matcher.find_candidate_line(bytes), Ok(None)) {
        return Ok(());
    }
    if is_marked || memchr::memchr(0, bytes).is_some() {
        return searcher.search_reader(matcher, bytes, sink);
    }
    searcher.search_slice(matcher, bytes, sink)
}

struct Count<'a> {
    matcher: &'a RegexMatcher,
    counting: Counting,
    count: u64,
    is_binary: bool,
}

impl Sink for Count<'_> {
    type Error = io::Error;

    fn matched(&mut self, searcher: &Searcher, matched: &SinkMatch<'_>) -> io::Result<bool> {
        match self.counting {
            Counting::MatchesPerFile if !searcher.invert_match() => {
                let bytes = &matched.buffer()[matched.bytes_range_in_buffer()];
                self.matcher.find_iter(bytes, |_| {
                    self.count += 1;
                    true
                })?;
            }
            _ => self.count += 1,
        }
        Ok(self.counting != Counting::FilesWithMatches)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.is_binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}
