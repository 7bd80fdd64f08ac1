//! Reading server-sent events.

use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};

/// Takes a stream of events apart, whatever the pieces in which it arrives.
///
/// Lines may end in CR, LF or both. Comments and unknown fields are skipped; an event without data says nothing, but its
/// id and `retry` count.
///
/// Invariant: never holds more than the limit plus one piece.
#[derive(Debug)]
pub struct EventReader {
    buffer: BytesMut,
    /// How far the buffer was searched for the end of a line.
    searched: usize,
    limit: usize,
    at_start: bool,
    /// The last line ended in CR; an LF that follows belongs to it.
    after_cr: bool,
    /// Data of the event that is being read.
    data: EventData,
    /// Type of the event that is being read; empty means `message`.
    kind: Bytes,
    last_id: Option<String>,
    retry: Option<Duration>,
}

/// An event with data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its type; empty means `message`.
    pub kind: Bytes,
    /// Its data.
    pub data: Bytes,
}

impl Event {
    /// Whether it is of the type that carries messages.
    pub fn is_message(&self) -> bool {
        matches!(&self.kind[..], b"message" | b"")
    }
}

/// An event was longer than allowed. Nothing can be read behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is longer than {limit} bytes")]
pub struct EventTooLong {
    /// What is allowed.
    pub limit: usize,
}

/// The data of an event: nearly always one line, which then is the text itself.
#[derive(Debug, Default)]
enum EventData {
    #[default]
    None,
    Line(Bytes),
    Lines(BytesMut),
}

impl EventData {
    fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Line(line) => line.len(),
            Self::Lines(lines) => lines.len(),
        }
    }

    fn push(&mut self, line: Bytes) {
        let mut lines = match std::mem::take(self) {
            Self::None => {
                *self = Self::Line(line);
                return;
            }
            Self::Line(first) => BytesMut::from(first),
            Self::Lines(lines) => lines,
        };
        lines.extend_from_slice(b"\n");
        lines.extend_from_slice(&line);
        *self = Self::Lines(lines);
    }

    fn take(&mut self) -> Bytes {
        match std::mem::take(self) {
            Self::None => Bytes::new(),
            Self::Line(line) => line,
            Self::Lines(lines) => lines.freeze(),
        }
    }
}

impl EventReader {
    /// Reads events whose data is at most `limit` bytes long.
    pub fn new(limit: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            searched: 0,
            limit,
            at_start: true,
            after_cr: false,
            data: EventData::None,
            kind: Bytes::new(),
            last_id: None,
            retry: None,
        }
    }

    /// Forgets a half-read event, to go on with another stream that takes up where this one broke off.
    pub fn resume(&mut self) {
        let (last_id, retry) = (self.last_id.take(), self.retry);
        *self = Self { last_id, retry, ..Self::new(self.limit) };
    }

    /// Takes the next piece of the stream; [`EventReader::next_event`] must have returned nothing before.
    pub fn push(&mut self, piece: &[u8]) {
        self.buffer.extend_from_slice(piece);
    }

    /// The data of the next event that carries a message; events of other types are skipped.
    pub fn next_event(&mut self) -> Result<Option<Bytes>, EventTooLong> {
        while let Some(event) = self.next_of_any_kind()? {
            if event.is_message() {
                return Ok(Some(event.data));
            }
        }
        Ok(None)
    }

    /// The next event that carries data.
    pub fn next_of_any_kind(&mut self) -> Result<Option<Event>, EventTooLong> {
        while let Some(line) = self.next_line() {
            if line.is_empty() {
                let kind = std::mem::take(&mut self.kind);
                let data = self.data.take();
                if !data.is_empty() {
                    return Ok(Some(Event { kind, data }));
                }
                continue;
            }
            self.take(line);
            self.check_length()?;
        }
        self.check_length()?;
        Ok(None)
    }

    /// The id of the last event, for taking up a stream that broke off.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// How long to wait before that.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    fn check_length(&self) -> Result<(), EventTooLong> {
        // A field name and its colon do not count.
        const FIELD: usize = 16;
        let limit = self.limit;
        if self.data.len() > limit || self.buffer.len() > limit.saturating_add(FIELD) {
            return Err(EventTooLong { limit });
        }
        Ok(())
    }

    fn next_line(&mut self) -> Option<Bytes> {
        if self.after_cr && !self.buffer.is_empty() {
            self.after_cr = false;
            if self.buffer[0] == b'\n' {
                self.buffer.advance(1);
            }
        }
        let Some(found) = memchr::memchr2(b'\n', b'\r', &self.buffer[self.searched..]) else {
            self.searched = self.buffer.len();
            return None;
        };
        let length = self.searched + found;
        self.searched = 0;
        self.after_cr = self.buffer[length] == b'\r';
        let mut line = self.buffer.split_to(length + 1).freeze();
        line.truncate(length);
        if std::mem::take(&mut self.at_start) && line.starts_with(b"\xEF\xBB\xBF") {
            line.advance(3);
        }
        Some(line)
    }

    fn take(&mut self, line: Bytes) {
        let colon = memchr::memchr(b':', &line).unwrap_or(line.len());
        let mut value = line.slice((colon + 1).min(line.len())..);
        if value.starts_with(b" ") {
            value.advance(1);
        }
        match &line[..colon] {
            b"data" => self.data.push(value),
            b"event" => self.kind = value,
            b"id" if !value.contains(&0) => {
                let id = String::from_utf8_lossy(&value).into_owned();
                self.last_id = (!id.is_empty()).then_some(id);
            }
            b"retry" if value.iter().all(u8::is_ascii_digit) => {
                let millis = std::str::from_utf8(&value).ok().and_then(|digits| digits.parse().ok());
                self.retry = millis.map(Duration::from_millis).or(self.retry);
            }
            _ => {}
        }
    }
}
