//! A validating JSON scanner that reports spans instead of values.
//!
//! It walks the text once, checks structure, strings, numbers and depth, allocates nothing and never recurses: the
//! kind of each open container is one bit of a `u128`, which is also why depth ends at 128.
//!
//! It accepts what RFC 8259 calls JSON, and so what `serde_json` skips over as `RawValue`, with these differences:
//! depth ends at 128 (`RawValue` knows no end, `Token` ends at 127), and numbers may be of any size (`Token` refuses
//! `1e400`). Lone surrogates (`"\ud800"`) are well-formed and pass; only decoding makes them U+FFFD.
//!
//! Inside, positions are passed on as plain indices and a fault is one too, so that results stay in registers. That is
//! also why the small steps are always inlined: together it is worth a third of the time.

use crate::{
    ParseError,
    json::{fields::Span, simd::Window},
};

/// Containers may nest this deep.
pub const MAX_DEPTH: u32 = 128;

/// A cursor over JSON text that is known to be UTF-8.
#[derive(Debug, Clone)]
pub struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    depth: u32,
    /// One bit per open container, lowest is innermost: set for an object, clear for an array.
    kinds: u128,
    saw_line_break: bool,
    saw_wide_number: bool,
    /// Where strings may end in the window of the text that was looked at last.
    window: Window,
}

/// Where the text is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ScanError(usize);

impl ScanError {
    /// Not a place: the text nests too deep.
    const DEEP: Self = Self(usize::MAX);
}

/// The index of the next byte to look at.
type Next = Result<usize, ScanError>;

impl<'a> Scanner<'a> {
    /// Starts at the beginning of `text`.
    pub fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            at: 0,
            depth: 0,
            kinds: 0,
            saw_line_break: false,
            saw_wide_number: false,
            window: Window::default(),
        }
    }

    /// Whether white space held a line break so far.
    pub fn saw_line_break(&self) -> bool {
        self.saw_line_break
    }

    /// Whether a number so far may not survive a trip through `f64` or `i64`.
    pub fn saw_wide_number(&self) -> bool {
        self.saw_wide_number
    }

    /// The first byte of the next value.
    pub fn peek_kind(&mut self) -> Result<u8, ParseError> {
        self.at = self.space(self.at);
        self.text.get(self.at).copied().ok_or(ParseError::Truncated)
    }

    /// Checks that nothing but white space is left.
    pub fn end(&mut self) -> Result<(), ParseError> {
        self.at = self.space(self.at);
        if self.at == self.text.len() { Ok(()) } else { Err(self.malformed(ScanError(self.at))) }
    }

    /// Walks one object; `on_field` gets each key (between its quotes) and must consume the value.
    pub fn object(
        &mut self,
        mut on_field: impl FnMut(&mut Self, Span) -> Result<(), ParseError>,
    ) -> Result<Span, ParseError> {
        self.container(b'{', b'}', |scanner| {
            let open = scanner.at;
            let close = scanner.key_string(open).map_err(|fault| scanner.malformed(fault))?;
            scanner.at = scanner.colon(close).map_err(|fault| scanner.malformed(fault))?;
            on_field(scanner, Span::new(open + 1, close - 1))
        })
    }

    /// Walks one array; `on_item` must consume each item.
    pub fn array(
        &mut self,
        on_item: impl FnMut(&mut Self) -> Result<(), ParseError>,
    ) -> Result<Span, ParseError> {
        self.container(b'[', b']', on_item)
    }

    fn container(
        &mut self,
        open: u8,
        close: u8,
        mut on_member: impl FnMut(&mut Self) -> Result<(), ParseError>,
    ) -> Result<Span, ParseError> {
        let start = self.space(self.at);
        if self.byte(start) != open {
            return Err(self.malformed(ScanError(start)));
        }
        self.open(open == b'{').map_err(|fault| self.malformed(fault))?;
        self.at = self.space(start + 1);
        if self.byte(self.at) != close {
            loop {
                on_member(self)?;
                self.at = self.space(self.at);
                match self.byte(self.at) {
                    b',' => self.at = self.space(self.at + 1),
                    byte if byte == close => break,
                    _ => return Err(self.malformed(ScanError(self.at))),
                }
            }
        }
        self.close();
        self.at += 1;
        Ok(Span::new(start, self.at))
    }

    /// Walks one value of any kind.
    pub fn value(&mut self) -> Result<Span, ParseError> {
        let start = self.space(self.at);
        let mut walker = self.clone(); // a copy that is not shared stays in registers
        match walker.walk(start) {
            Ok(end) => {
                *self = walker;
                self.at = end;
                Ok(Span::new(start, end))
            }
            Err(fault) => Err(self.malformed(fault)),
        }
    }

    /// One value that starts at `at`, with everything in it.
    #[inline(always)]
    fn walk(&mut self, mut at: usize) -> Next {
        let floor = self.depth;
        loop {
            at = match self.byte(at) {
                b'"' => self.string(at)?,
                b'{' => {
                    self.open(true)?;
                    at = self.space(at + 1);
                    if self.byte(at) != b'}' {
                        at = self.key(at)?;
                        continue;
                    }
                    self.close();
                    at + 1
                }
                b'[' => {
                    self.open(false)?;
                    at = self.space(at + 1);
                    if self.byte(at) != b']' {
                        continue;
                    }
                    self.close();
                    at + 1
                }
                b'-' | b'0'..=b'9' => self.number(at)?,
                b't' => self.literal(at, b"true")?,
                b'f' => self.literal(at, b"false")?,
                b'n' => self.literal(at, b"null")?,
                _ => return Err(ScanError(at)),
            };
            // Close what ends here; a comma leads to the next value.
            loop {
                if self.depth == floor {
                    return Ok(at);
                }
                at = self.space(at);
                let in_object = self.kinds & 1 == 1;
                match self.byte(at) {
                    b',' if in_object => {
                        at = self.space(at + 1);
                        at = self.key(at)?;
                        break;
                    }
                    b',' => {
                        at = self.space(at + 1);
                        break;
                    }
                    b'}' if in_object => self.close(),
                    b']' if !in_object => self.close(),
                    _ => return Err(ScanError(at)),
                }
                at += 1;
            }
        }
    }

    /// A key with its colon and the white space around that.
    #[inline(always)]
    fn key(&mut self, at: usize) -> Next {
        let close = self.key_string(at)?;
        self.colon(close)
    }

    #[inline(always)]
    fn key_string(&mut self, at: usize) -> Next {
        if self.byte(at) == b'"' { self.string(at) } else { Err(ScanError(at)) }
    }

    #[inline(always)]
    fn colon(&mut self, at: usize) -> Next {
        let at = self.space(at);
        if self.byte(at) == b':' { Ok(self.space(at + 1)) } else { Err(ScanError(at)) }
    }

    /// A string whose opening quote is at `open`.
    #[inline(always)]
    fn string(&mut self, open: usize) -> Next {
        let mut at = open + 1;
        loop {
            at = self.window.next_stop(self.text, at);
            match self.byte(at) {
                b'"' => return Ok(at + 1),
                b'\\' => at = self.escape(at + 1)?,
                _ => return Err(ScanError(at)), // a raw control character, or the end
            }
        }
    }

    /// What follows a backslash.
    #[inline(never)]
    fn escape(&self, at: usize) -> Next {
        match self.byte(at) {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(at + 1),
            b'u' => match (at + 1..at + 5).find(|&at| !self.byte(at).is_ascii_hexdigit()) {
                None => Ok(at + 5),
                Some(at) => Err(ScanError(at)),
            },
            _ => Err(ScanError(at)),
        }
    }

    #[inline(always)]
    fn number(&mut self, start: usize) -> Next {
        let mut at = start + usize::from(self.byte(start) == b'-');
        at = if self.byte(at) == b'0' { at + 1 } else { self.digits(at)? };
        let mut longest = 18; // 18 digits survive any i64
        if self.byte(at) == b'.' {
            at = self.digits(at + 1)?;
            longest = 16; // 15 digits and the point survive any f64
        }
        if matches!(self.byte(at), b'e' | b'E') {
            at += 1 + usize::from(matches!(self.byte(at + 1), b'+' | b'-'));
            at = self.digits(at)?;
            longest = 0;
        }
        self.saw_wide_number |= at - start > longest;
        Ok(at)
    }

    /// One digit or more.
    #[inline(always)]
    fn digits(&self, start: usize) -> Next {
        let mut at = start;
        while self.byte(at).is_ascii_digit() {
            at += 1;
        }
        if at > start { Ok(at) } else { Err(ScanError(at)) }
    }

    #[inline(always)]
    fn literal<const N: usize>(&self, at: usize, word: &[u8; N]) -> Next {
        if self.text[at..].first_chunk() == Some(word) {
            return Ok(at + N);
        }
        let agreed = (0..N).take_while(|&index| self.byte(at + index) == word[index]).count();
        Err(ScanError(at + agreed))
    }

    #[inline(always)]
    fn open(&mut self, object: bool) -> Result<(), ScanError> {
        if self.depth == MAX_DEPTH {
            return Err(ScanError::DEEP);
        }
        self.depth += 1;
        self.kinds = self.kinds << 1 | u128::from(object);
        Ok(())
    }

    #[inline(always)]
    fn close(&mut self) {
        self.depth -= 1;
        self.kinds >>= 1;
    }

    /// The next byte from `at` on that is no white space.
    #[inline(always)]
    fn space(&mut self, mut at: usize) -> usize {
        loop {
            match self.byte(at) {
                b' ' | b'\t' => {}
                b'\n' | b'\r' => self.saw_line_break = true,
                _ => return at,
            }
            at += 1;
        }
    }

    /// The byte at `at`; past the end a NUL, which is welcome nowhere in JSON.
    #[inline(always)]
    fn byte(&self, at: usize) -> u8 {
        self.text.get(at).copied().unwrap_or(0)
    }

    #[cold]
    fn malformed(&self, fault: ScanError) -> ParseError {
        match fault {
            ScanError::DEEP => ParseError::TooDeep,
            ScanError(at) if at >= self.text.len() => ParseError::Truncated,
            ScanError(at) => ParseError::Syntax { at },
        }
    }
}
