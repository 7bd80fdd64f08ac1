//! As much of server-sent events as an answer needs: the data of the next whole event.

/// Takes whole events off a growing body.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// Where the event being received begins.
    start: usize,
    /// How far its lines have been looked at: the beginning of the first line that may be unfinished.
    line: usize,
    data: Vec<u8>,
}

impl Events {
    /// The data of the next event that is complete in `body`; `body` must only have grown since the last call.
    pub(super) fn next<'a>(&'a mut self, body: &[u8]) -> Option<&'a [u8]> {
        if self.start == self.line {
            self.data.clear();
        }
        loop {
            let rest = body.get(self.line..)?;
            let end = memchr::memchr(b'\n', rest)?;
            let line = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
            self.line += end + 1;
            if line.is_empty() {
                self.start = self.line;
                return Some(&self.data);
            }
            if let Some(data) = line.strip_prefix(b"data:") {
                if !self.data.is_empty() {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_arrive_in_any_pieces() {
        let body = b"id: 1\ndata:\n\n: ping\r\n\r\nevent: message\ndata: {\"a\":\ndata: 1}\n\ndata: rest";
        for step in 1..body.len() {
            let mut events = Events::default();
            let mut seen = Vec::new();
            for end in (0..=body.len()).step_by(step).chain([body.len()]) {
                while let Some(data) = events.next(&body[..end]) {
                    seen.push(String::from_utf8_lossy(data).into_owned());
                }
            }
            assert_eq!(seen, ["", "", "{\"a\":\n1}"], "in steps of {step}");
        }
    }
}
