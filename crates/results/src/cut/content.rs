//! Cutting content blocks: the beginning and the end stay, with a note between them.
//!
//! The blocks are walked more than once and not collected: there may be hundreds of thousands of them.

use toolbay_protocol::{Scanner, Span, decode_pieces, decode_string};

use super::{ResultKeeping, WhatWasKept, escaped, link_block, text_block, within};
use crate::{ResultFormat, ResultWriter};

/// What a block counts at least, however short its text is.
const MIN_WEIGHT: u64 = 16;
/// How much of the limit is the beginning; the rest is the end.
const HEAD: (u64, u64) = (2, 3);
/// How many images, audio and blobs of one result are kept.
const MAX_BLOBS: usize = 64;
/// Whole lines stay, if that costs no more than one part in this.
const LINE_SHARE: u64 = 5;

/// A content block.
struct Block<'a> {
    raw: &'a [u8],
    kind: BlockKind<'a>,
}

enum BlockKind<'a> {
    /// Text, or a resource with a text: where the text stands in the block, without quotes.
    Text(Span),
    /// An image, audio, or a resource with a blob: what it is, and its data in base64.
    Blob { media_type: String, data: &'a [u8] },
    /// Anything else, such as a link.
    Other,
}

/// Cuts an array of content blocks; none if it is short enough.
pub(super) fn cut(text: &[u8], span: Span, keeping: &mut ResultKeeping<'_>) -> Option<Vec<u8>> {
    let array = &text[span.range()];
    let limit = keeping.options.limit as u64;
    let (mut total, mut has_long_blob) = (0, false);
    walk(array, |block| {
        let weight = block.weight(limit);
        has_long_blob |= block.is_long_blob(limit);
        total += weight;
    });
    if total <= limit && !has_long_blob {
        return None;
    }
    let mut blobs = Vec::new();
    let is_all_kept = total > limit;
    let mut left = MAX_BLOBS;
    walk(array, |block| {
        if let BlockKind::Blob { media_type, data } = &block.kind {
            let is_kept = left > 0 && (is_all_kept || block.is_long_blob(limit));
            left -= usize::from(is_kept);
            blobs.push(is_kept.then(|| keep_blob(keeping, media_type, data)));
        }
    });
    let whole = is_all_kept.then(|| keep_text(array, keeping, &blobs));
    let head = limit * HEAD.0 / HEAD.1;
    let gap = if total > limit { (head, total - (limit - head)) } else { (total, total) };
    let mut writer = BlockWriter {
        out: vec![b'['],
        gap,
        at: 0,
        limit,
        text: 0,
        shown: 0,
        note: None,
        blobs: blobs.into_iter(),
        has_resource_links: keeping.options.has_resource_links,
        is_text_kept: whole.is_some(),
        dropped_blocks: 0,
    };
    walk(array, |block| writer.add(&block));
    Some(writer.finish(whole.as_ref()))
}

/// Calls `on_block` for every block.
fn walk<'a>(array: &'a [u8], mut on_block: impl FnMut(Block<'a>)) {
    let mut scanner = Scanner::new(array);
    // The message was scanned when it was received.
    let _ = scanner.array(|scanner| {
        let span = scanner.value()?;
        on_block(Block::read(&array[span.range()]));
        Ok(())
    });
}

impl<'a> Block<'a> {
    fn read(raw: &'a [u8]) -> Self {
        let other = Self { raw, kind: BlockKind::Other };
        let Some([kind, text, data, mime, resource]) =
            fields(raw, ["type", "text", "data", "mimeType", "resource"])
        else {
            return other;
        };
        let kind = kind.map(|span| &raw[span.range()]).unwrap_or_default();
        let blob = |data: &'a [u8], media_type: Option<&[u8]>, usual: &str| BlockKind::Blob {
            media_type: media_type
                .and_then(decode_string)
                .map_or_else(|| usual.to_owned(), |text| text.into_owned()),
            data,
        };
        let bytes = |span: Span| &raw[span.range()];
        let kind =
            match (kind, text.and_then(|span| inside(raw, span)), data.and_then(|span| inside(raw, span))) {
                (b"\"text\"", Some(text), _) => BlockKind::Text(text),
                (b"\"image\"" | b"\"audio\"", _, Some(data)) => {
                    blob(&raw[data.range()], mime.map(bytes), "application/octet-stream")
                }
                (b"\"resource\"", ..) => {
                    let Some(resource) = resource else { return other };
                    let object = &raw[resource.range()];
                    let Some([text, data, mime]) = fields(object, ["text", "blob", "mimeType"]) else {
                        return other;
                    };
                    match (
                        text.and_then(|span| inside(object, span)),
                        data.and_then(|span| inside(object, span)),
                    ) {
                        (Some(text), _) => BlockKind::Text(within(resource, text)),
                        (None, Some(data)) => blob(
                            &object[data.range()],
                            mime.map(|span| &object[span.range()]),
                            "application/octet-stream",
                        ),
                        (None, None) => return other,
                    }
                }
                _ => return other,
            };
        Self { raw, kind }
    }

    /// How much of the limit it takes.
    fn weight(&self, limit: u64) -> u64 {
        let length = match &self.kind {
            BlockKind::Text(span) => decoded_length(&self.raw[span.range()]),
            BlockKind::Blob { .. } if self.is_long_blob(limit) => 0, // a link takes its place
            BlockKind::Blob { data, .. } => data.len() as u64,
            BlockKind::Other => self.raw.len() as u64,
        };
        length.max(MIN_WEIGHT)
    }

    /// Whether it is an image, audio or a blob that alone exceeds the limit.
    fn is_long_blob(&self, limit: u64) -> bool {
        matches!(&self.kind, BlockKind::Blob { data, .. } if data.len() as u64 > limit)
    }
}

/// The values of some fields of an object; none if it is no object, or has keys that are written with escapes.
fn fields<const N: usize>(object: &[u8], names: [&str; N]) -> Option<[Option<Span>; N]> {
    let mut found = [None; N];
    let mut has_escapes = false;
    let walked = Scanner::new(object).object(|scanner, key| {
        let value = scanner.value()?;
        let key = &object[key.range()];
        has_escapes |= key.contains(&b'\\');
        if let Some(index) = names.iter().position(|name| name.as_bytes() == key) {
            found[index] = Some(value);
        }
        Ok(())
    });
    (walked.is_ok() && !has_escapes).then_some(found)
}

/// The inside of a string, without its quotes.
fn inside(text: &[u8], span: Span) -> Option<Span> {
    let is_string = text[span.start as usize] == b'"';
    is_string.then_some(Span { start: span.start + 1, end: span.end - 1 })
}

fn decoded_length(inner: &[u8]) -> u64 {
    let mut length = 0;
    decode_pieces(inner, |_, piece| {
        length += piece.len() as u64;
        true
    });
    length
}

/// Keeps the text of all blocks, one below the other; blobs are named there, and kept by themselves.
fn keep_text(array: &[u8], keeping: &mut ResultKeeping<'_>, blobs: &[Option<WhatWasKept>]) -> WhatWasKept {
    let mut kept = blobs.iter();
    keeping.keep(ResultFormat::Text, |writer| {
        let mut text = LineWriter { writer, buffer: Vec::new(), ends_line: true, error: None };
        walk(array, |block| {
            text.end_line();
            match &block.kind {
                BlockKind::Text(span) => decode_pieces(&block.raw[span.range()], |_, piece| {
                    text.write(piece.as_bytes());
                    text.error.is_none()
                }),
                BlockKind::Blob { media_type, data } => {
                    let place = kept.next().and_then(Option::as_ref);
                    text.write(blob_note(media_type, data.len(), place).as_bytes());
                }
                BlockKind::Other => text.write(block.raw),
            }
        });
        text.finish()
    })
}

fn keep_blob(keeping: &mut ResultKeeping<'_>, media_type: &str, data: &[u8]) -> WhatWasKept {
    keeping.keep(ResultFormat::Base64(media_type.to_owned()), |writer| writer.write(data))
}

fn blob_note(media_type: &str, length: usize, kept: Option<&WhatWasKept>) -> String {
    let bytes = length / 4 * 3;
    match kept {
        Some(kept) => match kept.uri() {
            Some(uri) => format!("[{media_type}, about {bytes} bytes: {uri}]"),
            None => format!("[{media_type}, about {bytes} bytes, could not be kept]"),
        },
        None => format!("[{media_type}, about {bytes} bytes, not kept: there are more than {MAX_BLOBS}]"),
    }
}

/// Writes in large pieces: escapes make many small ones.
struct LineWriter<'a> {
    writer: &'a mut ResultWriter,
    buffer: Vec<u8>,
    ends_line: bool,
    error: Option<std::io::Error>,
}

impl LineWriter<'_> {
    const BUFFER: usize = 64 * 1024;

    fn write(&mut self, bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        self.ends_line = *last == b'\n';
        if self.buffer.len() + bytes.len() > Self::BUFFER {
            self.flush();
        }
        if bytes.len() > Self::BUFFER {
            self.pass_on(bytes);
        } else {
            self.buffer.extend_from_slice(bytes);
        }
    }

    fn end_line(&mut self) {
        if !self.ends_line {
            self.write(b"\n");
        }
    }

    fn flush(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        self.pass_on(&buffer);
        self.buffer = buffer;
        self.buffer.clear();
    }

    fn pass_on(&mut self, bytes: &[u8]) {
        if self.error.is_none() {
            self.error = self.writer.write(bytes).err();
        }
    }

    fn finish(mut self) -> std::io::Result<()> {
        self.flush();
        self.error.map_or(Ok(()), Err)
    }
}

/// Writes the blocks that stay, and the parts of those that are cut.
struct BlockWriter {
    out: Vec<u8>,
    /// What is left out, in weights from the first block on.
    gap: (u64, u64),
    /// The weight of the blocks so far.
    at: u64,
    limit: u64,
    /// Bytes of text so far, and those of them that stay.
    text: u64,
    shown: u64,
    /// Where the note stands in `out`, and whether inside a text.
    note: Option<(usize, bool)>,
    blobs: std::vec::IntoIter<Option<WhatWasKept>>,
    has_resource_links: bool,
    is_text_kept: bool,
    dropped_blocks: u64,
}

impl BlockWriter {
    fn add(&mut self, block: &Block<'_>) {
        let weight = block.weight(self.limit);
        let (start, end) = (self.at, self.at + weight);
        self.at = end;
        let (gap_start, gap_end) = self.gap;
        let stays = end <= gap_start || start >= gap_end;
        match &block.kind {
            BlockKind::Blob { media_type, data } => {
                let kept = self.blobs.next().flatten();
                if block.is_long_blob(self.limit) || !stays {
                    self.replace_blob(media_type, data.len(), kept.as_ref());
                } else {
                    self.whole(block);
                }
            }
            BlockKind::Text(span) if stays => {
                let length = decoded_length(&block.raw[span.range()]);
                self.text += length;
                self.shown += length;
                self.whole(block);
            }
            BlockKind::Other if stays => self.whole(block),
            BlockKind::Text(span) if start < gap_start || end > gap_end => {
                self.part(block, *span, gap_start.saturating_sub(start), end.saturating_sub(gap_end));
            }
            BlockKind::Text(span) => {
                self.text += decoded_length(&block.raw[span.range()]);
                self.drop_block();
            }
            BlockKind::Other => self.drop_block(),
        }
    }

    /// Adds a text block of which the first `head` and the last `tail` bytes stay, one of which may be none.
    fn part(&mut self, block: &Block<'_>, span: Span, head: u64, tail: u64) {
        let inner = &block.raw[span.range()];
        let length = decoded_length(inner);
        let (head, head_shown) = if head > 0 { head_end(inner, head) } else { (0, 0) };
        let (tail, tail_shown) = match tail {
            0 => (inner.len(), 0),
            tail if tail >= length => (0, length - head_shown),
            tail => tail_start(inner, length - tail, length),
        };
        if head == 0 {
            self.mark_gap(); // before the block
        }
        self.text += length;
        self.shown += head_shown + tail_shown;
        self.separate();
        self.out.extend_from_slice(&block.raw[..span.start as usize]);
        self.out.extend_from_slice(&inner[..head]);
        if head > 0 && self.note.is_none() {
            self.note = Some((self.out.len(), true));
        }
        self.out.extend_from_slice(&inner[tail.max(head)..]);
        self.out.extend_from_slice(&block.raw[span.end as usize..]);
    }

    fn replace_blob(&mut self, media_type: &str, length: usize, kept: Option<&WhatWasKept>) {
        let block = match kept.and_then(WhatWasKept::uri) {
            Some(uri) if self.has_resource_links => {
                link_block(uri, &format!("{media_type}, about {} bytes", length / 4 * 3), media_type)
            }
            // Those beyond the first few are in the text that was kept, with all that is left out.
            None if kept.is_none() && self.is_text_kept => return self.drop_block(),
            _ => text_block(&blob_note(media_type, length, kept)),
        };
        self.separate();
        self.out.extend_from_slice(block.as_bytes());
    }

    fn whole(&mut self, block: &Block<'_>) {
        self.separate();
        self.out.extend_from_slice(block.raw);
    }

    fn drop_block(&mut self) {
        self.mark_gap();
        self.dropped_blocks += 1;
    }

    /// The note comes here, unless it has come.
    fn mark_gap(&mut self) {
        self.note.get_or_insert((self.out.len(), false));
    }

    fn separate(&mut self) {
        if self.out.len() > 1 {
            self.out.push(b',');
        }
    }

    /// The array, with the note in its place.
    fn finish(mut self, whole: Option<&WhatWasKept>) -> Vec<u8> {
        self.out.push(b']');
        let (Some((at, is_inside)), Some(whole)) = (self.note, whole) else { return self.out };
        let blocks = match self.dropped_blocks {
            0 => String::new(),
            1 => " and 1 content block".to_owned(),
            count => format!(" and {count} content blocks"),
        };
        let left_out = self.text.saturating_sub(self.shown);
        let note = format!("[… {left_out} of {} bytes{blocks} left out; {} …]", self.text, whole.described());
        let note = if is_inside {
            escaped(&format!("\n{note}\n"))
        } else {
            let (before, after) = (self.out[at - 1], self.out[at]);
            let block = text_block(&note);
            match (before, after) {
                (b'[', b']') => block,
                (b'[', _) => format!("{block},"),
                _ => format!(",{block}"), // what follows begins with a comma, or ends the array
            }
        };
        self.out.splice(at..at, note.into_bytes());
        self.out
    }
}

/// Where the first `budget` bytes of a text end in what is written, and how many they are.
fn head_end(inner: &[u8], budget: u64) -> (usize, u64) {
    let (mut at, mut length) = (0, 0_u64);
    let mut line = (0, 0_u64);
    decode_pieces(inner, |written, piece| {
        let room = usize::try_from(budget - length).unwrap_or(usize::MAX);
        if piece.len() <= room {
            at += written;
            length += piece.len() as u64;
            if piece == "\n" {
                line = (at, length);
            }
            return true;
        }
        // A run of plain text is written as it is; an escape is one character.
        if written == piece.len() {
            let end = piece.floor_char_boundary(room);
            at += end;
            length += end as u64;
        }
        false
    });
    if length - line.1 <= budget / LINE_SHARE && line.0 > 0 { line } else { (at, length) }
}

/// Where the rest of a text begins in what is written, if its first `skipped` bytes of `total` are left out, and how many bytes
/// remain.
fn tail_start(inner: &[u8], skipped: u64, total: u64) -> (usize, u64) {
    let patience = (total - skipped) / LINE_SHARE;
    let (mut at, mut length) = (0, 0_u64);
    let mut start: Option<(usize, u64)> = None;
    decode_pieces(inner, |written, piece| {
        let end = length + piece.len() as u64;
        if start.is_none() && end >= skipped {
            let inside = usize::try_from(skipped - length).unwrap_or(usize::MAX);
            start = Some(if written == piece.len() {
                let inside =
                    (inside..=piece.len()).find(|at| piece.is_char_boundary(*at)).unwrap_or(piece.len());
                (at + inside, length + inside as u64)
            } else {
                (at + written, end)
            });
        }
        at += written;
        length = end;
        match start {
            // The end of a line that is near: the next one is shown whole.
            Some(_) if piece == "\n" && length >= skipped => {
                start = Some((at, length));
                false
            }
            Some((_, begun)) => length <= begun + patience,
            None => true,
        }
    });
    let (at, skipped) = start.unwrap_or((inner.len(), total));
    // A newline that was found too far away is none.
    (at, total - skipped)
}
