//! The output of a program: its beginning and its end, and all of it in the result store.

use std::collections::VecDeque;

use toolbay_results::{ResultFormat, ResultLink, ResultStore, ResultWriter};

/// What is kept of an output, at most `limit` bytes in memory.
#[derive(Debug)]
pub(super) struct Captured {
    limit: usize,
    /// How much of it is the beginning. The rest is the end.
    head_limit: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    store: Option<ResultStore>,
    whole: Option<ResultWriter>,
}

/// An output as it is shown.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) text: String,
    /// Bytes of the whole output.
    pub(super) total: u64,
    /// Where the whole output is, if it is longer than what is shown.
    pub(super) uri: Option<String>,
}

impl Captured {
    pub(super) fn new(limit: usize, store: Option<ResultStore>) -> Self {
        Self {
            limit,
            head_limit: limit / 2,
            head: Vec::new(),
            tail: VecDeque::new(),
            total: 0,
            store,
            whole: None,
        }
    }

    /// Keeps only the end.
    pub(super) fn tail(limit: usize, store: Option<ResultStore>) -> Self {
        Self { head_limit: 0, ..Self::new(limit, store) }
    }

    /// Bytes so far.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let fits = self.total + bytes.len() as u64 <= self.limit as u64;
        if !fits
            && self.whole.is_none()
            && let Some(store) = self.store.take()
        {
            self.whole = store.create(ResultFormat::Text).ok();
            let begun = [self.head.as_slice(), &self.tail.iter().copied().collect::<Vec<u8>>()].concat();
            self.keep(&begun);
        }
        if self.whole.is_some() {
            self.keep(bytes);
        }
        self.total += bytes.len() as u64;
        let into_head = bytes.len().min(self.head_limit.saturating_sub(self.head.len()));
        self.head.extend_from_slice(&bytes[..into_head]);
        self.tail.extend(&bytes[into_head..]);
        let excess = self.tail.len().saturating_sub(self.limit - self.head_limit);
        self.tail.drain(..excess);
    }

    /// Adds to the whole output, which goes to the page cache. On a full disk it is given up: the beginning and the end are still shown.
    fn keep(&mut self, bytes: &[u8]) {
        if self.whole.as_mut().is_some_and(|whole| whole.write(bytes).is_err()) {
            self.whole = None;
        }
    }

    /// The output so far, with a line in place of what is left out.
    pub(super) fn finish(mut self) -> Shown {
        let link = self.whole.take().map(ResultWriter::keep);
        let shown = self.head.len() + self.tail.len();
        let left_out = self.total - shown as u64;
        let tail: Vec<u8> = self.tail.into_iter().collect();
        let text = if left_out == 0 {
            String::from_utf8_lossy(&[self.head, tail].concat()).into_owned()
        } else {
            // Whole lines on both sides of the gap where there are any.
            let head =
                memchr::memrchr(b'\n', &self.head).map_or(self.head.as_slice(), |end| &self.head[..=end]);
            let start = memchr::memchr(b'\n', &tail).map_or(0, |end| end + 1);
            let left_out = self.total - (head.len() + tail.len() - start) as u64;
            let whole = match &link {
                Some(ResultLink { uri, is_whole: true }) => format!("; all of it: {uri}"),
                Some(ResultLink { uri, is_whole: false }) => format!("; the beginning: {uri}"),
                None => String::new(),
            };
            format!(
                "{}[… {left_out} of {} bytes left out{whole} …]\n{}",
                String::from_utf8_lossy(head),
                self.total,
                String::from_utf8_lossy(&tail[start..])
            )
        };
        Shown { text, total: self.total, uri: link.map(|link| link.uri) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_output_is_shown_at_both_ends() {
        let directory = tempfile::tempdir().unwrap();
        let store = ResultStore::open(directory.path()).unwrap();
        let mut captured = Captured::new(64, Some(store.clone()));
        let all: String = (0..100).map(|n| format!("line {n}\n")).collect();
        for part in all.as_bytes().chunks(7) {
            captured.push(part);
        }
        let shown = captured.finish();
        let uri = shown.uri.unwrap();
        assert!(
            shown.text.starts_with("line 0\nline 1\n") && shown.text.ends_with("line 98\nline 99\n"),
            "{}",
            shown.text
        );
        assert!(
            shown.text.contains(&format!(" of {} bytes left out; all of it: {uri} …]\n", all.len())),
            "{}",
            shown.text
        );
        assert_eq!(store.read(&uri, 0, 10_000).unwrap().unwrap().0, all.as_bytes());
        let mut short = Captured::new(64, Some(store));
        short.push(b"done\n");
        assert_eq!(short.finish(), Shown { text: "done\n".into(), total: 5, uri: None });
    }
}
