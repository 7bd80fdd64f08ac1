//! Text as it is in a file, and back without a changed byte.

use std::{borrow::Cow, ops::Range};

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// Bytes of a UTF-8 file that are not valid UTF-8 become characters from here on, of a plane that no text uses, so that
/// they are written back as they were.
const STRAY: u32 = 0x10_ff00;

/// How many bytes are looked at to tell UTF-16 without a byte order mark and binary data from text.
const SAMPLE: usize = 8192;

/// The content of a text file: line endings are `\n` here, and as they were in the file once it is encoded again.
///
/// Whatever [`Text::replace`] does not touch is encoded to exactly the bytes it was decoded from.
#[derive(Debug, Clone)]
pub struct Text {
    text: String,
    encoding: TextEncoding,
    endings: Endings,
}

/// The encoding of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextEncoding {
    encoding: &'static Encoding,
    byte_order_mark: bool,
    /// Whether characters from [`STRAY`] on are bytes that are not valid UTF-8.
    has_stray_bytes: bool,
}

/// A line ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEnding {
    /// `\n`
    Lf,
    /// `\r\n`
    CrLf,
}

/// The line endings of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Endings {
    /// All the same.
    Uniform(LineEnding),
    /// The offsets of those `\n`, in ascending order, that are `\r\n` in the file.
    Mixed { crlf: Vec<usize>, dominant: LineEnding },
}

/// Why some bytes are not text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Images, archives, programs.
    #[error("the file is binary")]
    Binary,
    /// It would not be written back as it was.
    #[error("the file is not valid {encoding}")]
    Invalid {
        /// The encoding that was asked for.
        encoding: &'static str,
    },
    /// No such encoding.
    #[error("unknown encoding `{label}`")]
    Unknown {
        /// What was asked for.
        label: String,
    },
}

/// A character that the encoding of a file does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the file is encoded in {encoding}, which has no character {character:?}")]
pub struct EncodeError {
    encoding: &'static str,
    character: char,
}

impl TextEncoding {
    /// What new files are written in.
    pub const UTF_8: Self = Self::of(UTF_8);

    const fn of(encoding: &'static Encoding) -> Self {
        Self { encoding, byte_order_mark: false, has_stray_bytes: false }
    }

    const fn marked(encoding: &'static Encoding) -> Self {
        Self { encoding, byte_order_mark: true, has_stray_bytes: false }
    }

    /// Its name: `UTF-8`, `windows-1252`.
    pub fn name(self) -> &'static str {
        self.encoding.name()
    }

    /// Whether the file begins with a byte order mark.
    pub fn has_byte_order_mark(self) -> bool {
        self.byte_order_mark
    }
}

impl LineEnding {
    /// The characters.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
        }
    }
}

impl Text {
    /// Decodes the content of a file. The encoding is UTF-8 or UTF-16 where a byte order mark or the bytes say so, else
    /// Windows-1252, which Latin-1 is a part of.
    ///
    /// # Errors
    /// If the bytes are not text.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
            return Self::decode_as(&bytes[mark..], TextEncoding::marked(encoding));
        }
        if let Ok(text) = std::str::from_utf8(bytes)
            && memchr::memchr(0, bytes).is_none()
        {
            return Ok(Self::new(text, TextEncoding::UTF_8));
        }
        let sample = &bytes[..bytes.len().min(SAMPLE)];
        let encoding = match wide(sample) {
            Some(encoding) => encoding,
            None if is_binary(sample) || memchr::memchr(0, bytes).is_some() => {
                return Err(DecodeError::Binary);
            }
            None if is_mostly_utf_8(bytes) => UTF_8,
            None => WINDOWS_1252,
        };
        Self::decode_as(bytes, TextEncoding::of(encoding))
    }

    /// Decodes the content of a file whose encoding is known by its name, such as `shift_jis` or `latin1`, or as Python spells
    /// it, `latin-1` and `euc_jp`.
    ///
    /// # Errors
    /// If there is no such encoding, or the bytes are not text in it.
    pub fn decode_named(bytes: &[u8], label: &str) -> Result<Self, DecodeError> {
        let spellings = [label.to_owned(), label.replace('_', "-"), label.replace(['_', '-'], "")];
        let encoding = spellings
            .iter()
            .find_map(|label| Encoding::for_label(label.as_bytes()))
            .ok_or_else(|| DecodeError::Unknown { label: label.to_owned() })?;
        match Encoding::for_bom(bytes) {
            Some((found, mark)) if found == encoding => {
                Self::decode_as(&bytes[mark..], TextEncoding::marked(encoding))
            }
            _ => Self::decode_as(bytes, TextEncoding::of(encoding)),
        }
    }

    fn decode_as(bytes: &[u8], encoding: TextEncoding) -> Result<Self, DecodeError> {
        let invalid = DecodeError::Invalid { encoding: encoding.name() };
        let (text, encoding) = if encoding.encoding == UTF_8 {
            match std::str::from_utf8(bytes) {
                Ok(text) => return Ok(Self::new(text, encoding)),
                Err(_) => (decode_damaged(bytes).into(), TextEncoding { has_stray_bytes: true, ..encoding }),
            }
        } else {
            let decoded = encoding.encoding.decode_without_bom_handling_and_without_replacement(bytes);
            (decoded.ok_or_else(|| invalid.clone())?, encoding)
        };
        let mut again = Vec::with_capacity(bytes.len());
        match encode_into(&text, encoding, &mut again) {
            Ok(()) if again == bytes => Ok(Self::new(&text, encoding)),
            _ => Err(invalid),
        }
    }

    /// A text that is in no file yet, with the line endings that most of its lines have.
    pub fn new(text: &str, encoding: TextEncoding) -> Self {
        let Some(first) = memchr::memmem::find(text.as_bytes(), b"\r\n") else {
            return Self { text: text.to_owned(), encoding, endings: Endings::Uniform(LineEnding::Lf) };
        };
        let mut normalized = String::with_capacity(text.len());
        let mut crlf = Vec::new();
        let mut rest = text;
        let mut next = Some(first);
        while let Some(at) = next {
            normalized.push_str(&rest[..at]);
            crlf.push(normalized.len());
            normalized.push('\n');
            rest = &rest[at + 2..];
            next = memchr::memmem::find(rest.as_bytes(), b"\r\n");
        }
        normalized.push_str(rest);
        let lines = memchr::memchr_iter(b'\n', normalized.as_bytes()).count();
        let endings = if crlf.len() == lines {
            Endings::Uniform(LineEnding::CrLf)
        } else {
            let dominant = if crlf.len() * 2 > lines { LineEnding::CrLf } else { LineEnding::Lf };
            Endings::Mixed { crlf, dominant }
        };
        Self { text: normalized, encoding, endings }
    }

    /// The text, with `\n` as line ending.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The text with its own line endings.
    pub fn with_line_endings(&self) -> Cow<'_, str> {
        match &self.endings {
            Endings::Uniform(LineEnding::Lf) => Cow::Borrowed(&self.text),
            Endings::Uniform(LineEnding::CrLf) => Cow::Owned(self.text.replace('\n', "\r\n")),
            Endings::Mixed { crlf, .. } => {
                let mut text = String::with_capacity(self.text.len() + crlf.len());
                let mut from = 0;
                for at in crlf {
                    text.push_str(&self.text[from..*at]);
                    text.push('\r');
                    from = *at;
                }
                text.push_str(&self.text[from..]);
                Cow::Owned(text)
            }
        }
    }

    /// The encoding of the file.
    pub fn encoding(&self) -> TextEncoding {
        self.encoding
    }

    /// The line ending of most lines, which new lines get.
    pub fn line_ending(&self) -> LineEnding {
        match self.endings {
            Endings::Uniform(ending) | Endings::Mixed { dominant: ending, .. } => ending,
        }
    }

    /// Replaces a part of the text. Where the new text begins or ends as the old one did, those lines stay as they are in
    /// the file; new lines get the line ending of most lines.
    ///
    /// # Panics
    /// If the range does not lie on characters of the text.
    pub fn replace(&mut self, range: Range<usize>, new: &str) {
        let normalized;
        let new = if new.contains("\r\n") {
            normalized = new.replace("\r\n", "\n");
            &normalized
        } else {
            new
        };
        let (start, end) = common_ends(&self.text[range.clone()], new);
        let range = range.start + start..range.end - end;
        let new = &new[start..new.len() - end];
        if let Endings::Mixed { crlf, dominant } = &mut self.endings {
            let first = crlf.partition_point(|at| *at < range.start);
            let after = crlf.partition_point(|at| *at < range.end);
            for at in &mut crlf[after..] {
                *at = *at - range.len() + new.len();
            }
            let added = memchr::memchr_iter(b'\n', new.as_bytes()).map(|at| range.start + at);
            match dominant {
                LineEnding::CrLf => drop(crlf.splice(first..after, added)),
                LineEnding::Lf => drop(crlf.drain(first..after)),
            }
        }
        self.text.replace_range(range, new);
    }

    /// The bytes of the file.
    ///
    /// # Errors
    /// If the text has a character that the encoding of the file does not have.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut bytes = Vec::with_capacity(self.text.len() + self.text.len() / 16);
        let encoding = self.encoding;
        if encoding.byte_order_mark {
            encode_into("\u{feff}", encoding, &mut bytes)?;
        }
        encode_into(&self.with_line_endings(), encoding, &mut bytes)?;
        Ok(bytes)
    }
}

/// How many bytes two texts have in common at the start and at the end, in whole characters and without an overlap.
fn common_ends(old: &str, new: &str) -> (usize, usize) {
    let same = |(a, b): &(char, char)| a == b;
    let length = |pair: (char, char)| pair.0.len_utf8();
    let start: usize = old.chars().zip(new.chars()).take_while(same).map(length).sum();
    let (old, new) = (&old[start..], &new[start..]);
    let end = old.chars().rev().zip(new.chars().rev()).take_while(same).map(length).sum();
    (start, end)
}

/// UTF-16 without a byte order mark: every other byte of common texts is zero.
fn wide(sample: &[u8]) -> Option<&'static Encoding> {
    if sample.len() < 4 || !sample.len().is_multiple_of(2) {
        return None;
    }
    let zeros = |odd: usize| sample.iter().skip(odd).step_by(2).filter(|byte| **byte == 0).count();
    let units = sample.len() / 2;
    match (zeros(0), zeros(1)) {
        (0, high) if high * 10 >= units * 7 => Some(UTF_16LE),
        (high, 0) if high * 10 >= units * 7 => Some(UTF_16BE),
        _ => None,
    }
}

fn is_binary(sample: &[u8]) -> bool {
    let is_control = |byte: &&u8| matches!(byte, 0..=8 | 14..=26 | 28..=31 | 127);
    sample.contains(&0) || sample.iter().filter(is_control).count() * 10 > sample.len()
}

/// Whether what is invalid is damage to a UTF-8 file rather than another encoding.
fn is_mostly_utf_8(bytes: &[u8]) -> bool {
    let (mut characters, mut stray) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        characters += chunk.valid().chars().filter(|character| !character.is_ascii()).count();
        stray += chunk.invalid().len();
    }
    characters * 2 > stray
}

fn decode_damaged(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().filter_map(|byte| char::from_u32(STRAY + u32::from(*byte))));
    }
    text
}

fn encode_into(text: &str, encoding: TextEncoding, bytes: &mut Vec<u8>) -> Result<(), EncodeError> {
    let TextEncoding { encoding, has_stray_bytes, .. } = encoding;
    if encoding == UTF_16LE || encoding == UTF_16BE {
        let order = if encoding == UTF_16LE { u16::to_le_bytes } else { u16::to_be_bytes };
        bytes.extend(text.encode_utf16().flat_map(order));
        return Ok(());
    }
    if encoding == UTF_8 {
        let mut rest = text;
        let is_stray = |(_, character): &(usize, char)| has_stray_bytes && u32::from(*character) >= STRAY;
        while let Some((at, stray)) = rest.char_indices().find(is_stray) {
            bytes.extend_from_slice(&rest.as_bytes()[..at]);
            bytes.push((u32::from(stray) & 0xff) as u8);
            rest = &rest[at + stray.len_utf8()..];
        }
        bytes.extend_from_slice(rest.as_bytes());
        return Ok(());
    }
    let mut encoder = encoding.new_encoder();
    let needed = encoder.max_buffer_length_from_utf8_without_replacement(text.len()).unwrap_or(text.len());
    bytes.reserve(needed);
    match encoder.encode_from_utf8_to_vec_without_replacement(text, bytes, true).0 {
        encoding_rs::EncoderResult::Unmappable(character) => {
            Err(EncodeError { encoding: encoding.name(), character })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
