//! Trigrams of text: what the index knows of a file.
//!
//! Of the text as ripgrep's searcher sees it (UTF-16 decoded, up to the first NUL), folded: ASCII letters small, and the two
//! characters that are the same as an ASCII letter when case is ignored, U+212A (the Kelvin sign) and U+017F (the long s), as
//! `k` and `s`. So one index serves both kinds of case. No match goes across a line end, so trigrams do not either; but a line
//! end is the third byte of a trigram (the end of the file is one, too), so that any two bytes begin one.

use std::io::{self, Read};

use encoding_rs_io::DecodeReaderBytesBuilder;

/// Three bytes, the first one highest.
pub(super) type Trigram = u32;

/// Two bytes of a line, the first one higher.
pub(super) type Pair = u16;

const TRIGRAMS: usize = 1 << 24;
const KELVIN: &[u8] = "\u{212A}".as_bytes();
const LONG_S: &[u8] = "\u{17F}".as_bytes();
/// ripgrep looks at nothing in a file with a NUL byte so near its beginning: it fills a buffer twice this size first.
const FIRST_LOOK: u64 = 32 * 1024;

/// Bytes of a piece, and how many pieces a file has at most; those of larger files are larger.
const PIECE: u64 = 128 * 1024;
const PIECES: u64 = 64;

/// Folds a pattern's text as the index folds the text of files.
pub(super) fn fold(text: &str) -> Vec<u8> {
    let fold = |c: char| match c {
        '\u{212A}' => 'k',
        '\u{17F}' => 's',
        c => c.to_ascii_lowercase(),
    };
    text.chars().map(fold).collect::<String>().into_bytes()
}

/// What was found in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteKind {
    /// Text, at least at its beginning.
    Text,
    /// Nothing that ripgrep would look at: empty, or binary from the beginning.
    Nothing,
}

/// Finds the distinct trigrams of files. Keeps its memory from file to file.
///
/// A large file has nearly every trigram somewhere, so it is taken in pieces, at line ends: all of a match is in one of them.
pub(super) struct Extractor {
    /// A bit for each trigram of the current piece.
    seen: Vec<u64>,
    /// Of all pieces of the file, one after the other.
    found: Vec<Trigram>,
    /// Where in `found` the pieces before the current one end.
    ends: Vec<usize>,
    /// Bytes of the current piece, and how many are enough.
    in_piece: u64,
    piece: u64,
    buffer: Vec<u8>,
}

impl Extractor {
    pub(super) fn new() -> Self {
        Self {
            seen: vec![0; TRIGRAMS / 64],
            found: Vec::new(),
            ends: Vec::new(),
            in_piece: 0,
            piece: PIECE,
            buffer: vec![0; 256 * 1024],
        }
    }

    /// Reads a file of about that size to its end, or to its first NUL byte, and keeps its trigrams.
    pub(super) fn read(&mut self, file: impl Read, size: u64) -> io::Result<ByteKind> {
        self.end_piece();
        self.found.clear();
        self.ends.clear();
        self.piece = PIECE.max(size / PIECES);
        let mut file = DecodeReaderBytesBuilder::new().utf8_passthru(true).strip_bom(true).build(file);
        let mut window = Window::default();
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut offset = 0;
        // Bytes of the last piece that may be the beginning of a character that is folded.
        let mut held = 0;
        let mut first_line_is_short = false;
        let kind = loop {
            let read = match file.read(&mut buffer[held..]) {
                Ok(read) => read,
                Err(error) => {
                    self.buffer = buffer;
                    return Err(error);
                }
            };
            let piece = &buffer[..held + read];
            if offset < 4 {
                first_line_is_short |= piece.iter().take(4).any(|byte| *byte == b'\n');
            }
            if let Some(end) = memchr::memchr(0, piece) {
                self.take(&piece[..end], &mut window);
                self.end_line(&mut window);
                let unseen = offset + (end as u64) < FIRST_LOOK && !first_line_is_short;
                break if unseen { ByteKind::Nothing } else { ByteKind::Text };
            }
            if read == 0 {
                self.take(piece, &mut window);
                self.end_line(&mut window);
                break if offset + held as u64 == 0 { ByteKind::Nothing } else { ByteKind::Text };
            }
            let rest = unfinished(piece);
            let taken = piece.len() - rest;
            self.take(&piece[..taken], &mut window);
            offset += taken as u64;
            buffer.copy_within(taken..taken + rest, 0);
            held = rest;
        };
        self.buffer = buffer;
        Ok(kind)
    }

    /// The trigrams of each piece of the last file, each once, in no order. There is one piece at least.
    pub(super) fn pieces(&self) -> impl Iterator<Item = &[Trigram]> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        let ends = self.ends.iter().copied().chain([self.found.len()]);
        starts.zip(ends).map(|(start, end)| &self.found[start..end])
    }

    fn take(&mut self, bytes: &[u8], window: &mut Window) {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            at += 1;
            let byte = match byte {
                b'\n' => {
                    self.end_line(window);
                    continue;
                }
                0xE2 if bytes[at - 1..].starts_with(KELVIN) => {
                    at += KELVIN.len() - 1;
                    b'k'
                }
                0xC5 if bytes[at - 1..].starts_with(LONG_S) => {
                    at += LONG_S.len() - 1;
                    b's'
                }
                byte => byte.to_ascii_lowercase(),
            };
            self.push(byte, window);
        }
    }

    fn end_line(&mut self, window: &mut Window) {
        self.push(b'\n', window);
        self.in_piece += window.len;
        *window = Window::default();
        if self.in_piece >= self.piece {
            self.end_piece();
            self.ends.push(self.found.len());
        }
    }

    fn end_piece(&mut self) {
        for trigram in &self.found[self.ends.last().copied().unwrap_or(0)..] {
            self.seen[*trigram as usize / 64] = 0;
        }
        self.in_piece = 0;
    }

    fn push(&mut self, byte: u8, window: &mut Window) {
        window.last = (window.last << 8 | u32::from(byte)) & 0xFF_FFFF;
        window.len += 1;
        if window.len >= 3 {
            let (word, bit) = (window.last as usize / 64, 1 << (window.last % 64));
            if self.seen[word] & bit == 0 {
                self.seen[word] |= bit;
                self.found.push(window.last);
            }
        }
    }
}

/// The last bytes of the current line.
#[derive(Default)]
struct Window {
    last: u32,
    len: u64,
}

/// How many bytes at the end may be the beginning of a folded character.
fn unfinished(bytes: &[u8]) -> usize {
    let begins = |len: usize| {
        let end = &bytes[bytes.len().saturating_sub(len)..];
        end.len() == len && (KELVIN.starts_with(end) || LONG_S.starts_with(end) && len < LONG_S.len())
    };
    [2, 1].into_iter().find(|len| begins(*len)).unwrap_or(0)
}

/// The trigrams of folded text.
pub(super) fn of(folded: &[u8]) -> impl Iterator<Item = Trigram> {
    folded.windows(3).map(|it| u32::from(it[0]) << 16 | u32::from(it[1]) << 8 | u32::from(it[2]))
}

/// All trigrams that begin with these two bytes.
pub(super) fn beginning(pair: Pair) -> std::ops::RangeInclusive<Trigram> {
    let first = u32::from(pair) << 8;
    first..=first | 0xFF
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trigrams(bytes: &[u8]) -> Vec<Trigram> {
        let mut extractor = Extractor::new();
        extractor.read(bytes, bytes.len() as u64).unwrap();
        let mut found = extractor.pieces().collect::<Vec<_>>().concat();
        found.sort_unstable();
        found
    }

    fn sorted(folded: &[u8]) -> Vec<Trigram> {
        let mut found: Vec<_> = of(folded).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Gives one byte at a time, so that every border between pieces is met.
    struct Drop<'a>(&'a [u8]);

    impl Read for Drop<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let len = self.0.len().min(into.len()).min(1);
            into[..len].copy_from_slice(&self.0[..len]);
            self.0 = &self.0[len..];
            Ok(len)
        }
    }

    #[test]
    fn folded_and_once() {
        assert_eq!(trigrams(b"AbCabcABC"), sorted(b"abcabcabc\n"));
        assert_eq!(trigrams("a\u{212A}b \u{17F}t".as_bytes()), sorted(b"akb st\n"));
    }

    #[test]
    fn a_line_end_ends_what_is_before_it() {
        let mut wanted: Vec<Trigram> = [b"ab\n", b"efg", b"fg\n"].iter().flat_map(|it| of(&it[..])).collect();
        wanted.sort_unstable();
        assert_eq!(trigrams(b"ab\nc\n\nefg"), wanted);
        assert_eq!(trigrams(b"ab\nc\n\nefg\n"), wanted);
        assert_eq!(trigrams(b"ab\nc\n\nefg\0x"), wanted);
    }

    #[test]
    fn two_bytes_begin_a_trigram() {
        let pair = Pair::from_be_bytes(*b"fg");
        let found = trigrams(b"efg");
        assert!(found.iter().any(|it| beginning(pair).contains(it)), "{found:?}");
        assert!(!beginning(pair).contains(&of(b"fh\n").next().unwrap()));
    }

    #[test]
    fn pieces_do_not_matter() {
        let text = "x\u{212A}y\u{17F}z\u{2122}\u{E2}end\u{C5}";
        let mut extractor = Extractor::new();
        extractor.read(Drop(text.as_bytes()), 0).unwrap();
        let mut found = extractor.pieces().collect::<Vec<_>>().concat();
        found.sort_unstable();
        assert_eq!(found, trigrams(text.as_bytes()));
        assert_eq!(found, sorted(&fold(&format!("{text}\n"))));
    }

    #[test]
    fn a_large_file_has_pieces_and_each_line_is_in_one() {
        let lines: Vec<String> = (0..40_000).map(|number| format!("line{number:05}")).collect();
        let text = lines.join("\n");
        let mut extractor = Extractor::new();
        extractor.read(text.as_bytes(), text.len() as u64).unwrap();
        let pieces: Vec<Vec<Trigram>> = extractor.pieces().map(<[_]>::to_vec).collect();
        assert_eq!(pieces.len(), text.len().div_ceil(PIECE as usize));
        for line in lines.iter().step_by(97) {
            let whole = |piece: &&Vec<Trigram>| of(line.as_bytes()).all(|it| piece.contains(&it));
            assert!(pieces.iter().any(|piece| whole(&piece)), "{line}");
        }
        // Nothing of it is left for the next file.
        extractor.read(&b"line0"[..], 5).unwrap();
        assert_eq!(extractor.pieces().map(<[_]>::len).collect::<Vec<_>>(), [4]);
        // Larger ones have larger pieces.
        extractor.read(text.as_bytes(), 1 << 40).unwrap();
        assert_eq!(extractor.pieces().count(), 1);
    }

    #[test]
    fn utf_16_is_decoded() {
        let mut bytes = vec![0xFF, 0xFE];
        bytes.extend("Grüße".encode_utf16().flat_map(u16::to_le_bytes));
        assert_eq!(trigrams(&bytes), sorted("grüße\n".as_bytes()));
    }

    #[test]
    fn what_ripgrep_does_not_look_at() {
        let mut extractor = Extractor::new();
        assert_eq!(extractor.read(&b""[..], 0).unwrap(), ByteKind::Nothing);
        assert_eq!(extractor.pieces().count(), 1);
        assert_eq!(extractor.read(&b"\x7fELF\0abc"[..], 0).unwrap(), ByteKind::Nothing);
        // It fills its buffer only to the first line end if that is among the first bytes.
        assert_eq!(extractor.read(&b"a\nb\0"[..], 0).unwrap(), ByteKind::Text);
        let late = [vec![b'x'; 100_000], vec![0]].concat();
        assert_eq!(extractor.read(&late[..], 0).unwrap(), ByteKind::Text);
    }
}
