//! Lines on a terminal that are drawn anew in place.

/// Lines that stand on a terminal.
#[derive(Debug, Default)]
pub(crate) struct Redraw {
    drawn: Vec<String>,
}

impl Redraw {
    /// What to write so that `lines` stand where the last ones stood; nothing if they do already.
    pub(crate) fn with(&mut self, lines: Vec<String>) -> Option<String> {
        if lines == self.drawn {
            return None;
        }
        // Up to the first line, then each line anew; longer ones are cut by the terminal, not wrapped.
        let mut text = String::from("\x1b[?7l");
        if !self.drawn.is_empty() {
            text.push_str(&format!("\x1b[{}A", self.drawn.len()));
        }
        for line in &lines {
            text.push_str(&format!("\r\x1b[2K{line}\n"));
        }
        text.push_str("\x1b[J\x1b[?7h");
        self.drawn = lines;
        Some(text)
    }
}
