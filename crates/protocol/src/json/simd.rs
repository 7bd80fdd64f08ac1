//! Where JSON strings may end, many bytes at a time.

#![expect(unsafe_code, reason = "SSE2 intrinsics: text is looked at sixteen bytes at a time")]

pub(crate) const BLOCK: usize = 16;

/// Whether a byte ends a run of plain string content.
pub(crate) fn is_stop(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// The stops of 64 bytes of a text.
///
/// Finding the end of a string by looking at its bytes makes each string wait for the one before: where it starts is
/// known only when that is found. The stops of a whole window depend on nothing, so the processor finds them ahead.
#[derive(Debug, Clone)]
pub(crate) struct Window {
    start: usize,
    /// One bit for each byte that is not plain, the first byte lowest. What lies behind the end is not plain.
    stops: u64,
}

impl Default for Window {
    fn default() -> Self {
        Self { start: usize::MAX, stops: 0 }
    }
}

impl Window {
    const LEN: usize = 64;

    /// The first byte from `at` on that is not plain, or the end of the text.
    #[inline(always)]
    pub(crate) fn next_stop(&mut self, text: &[u8], mut at: usize) -> usize {
        loop {
            let start = at & !(Self::LEN - 1);
            if start != self.start {
                self.move_to(text, start);
            }
            let stops = self.stops >> (at - start);
            if stops != 0 {
                return at + stops.trailing_zeros() as usize;
            }
            at = start + Self::LEN;
        }
    }

    #[inline(always)]
    fn move_to(&mut self, text: &[u8], start: usize) {
        let rest = text.get(start..).unwrap_or_default();
        self.start = start;
        self.stops = match rest.first_chunk() {
            Some(window) => window_stops(window),
            None => {
                let mut padded = [0; Self::LEN];
                padded[..rest.len()].copy_from_slice(rest);
                window_stops(&padded)
            }
        };
    }
}

#[inline]
fn window_stops(window: &[u8; Window::LEN]) -> u64 {
    let (blocks, _) = window.as_chunks();
    blocks.iter().rev().fold(0, |all, block| all << BLOCK | u64::from(stops(block)))
}

/// One bit for each byte of `block` that is not plain, the first byte lowest.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn stops(block: &[u8; BLOCK]) -> u32 {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { stops_sse2(block) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(crate) fn stops(block: &[u8; BLOCK]) -> u32 {
    block.iter().rev().fold(0, |stops, &byte| stops << 1 | u32::from(is_stop(byte)))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
#[inline]
fn stops_sse2(block: &[u8; BLOCK]) -> u32 {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8,
    };
    let block = u128::from_le_bytes(*block);
    let block = _mm_set_epi64x((block >> 64) as i64, block as i64); // compiles to one load
    let quote = _mm_cmpeq_epi8(block, _mm_set1_epi8(b'"' as i8));
    let backslash = _mm_cmpeq_epi8(block, _mm_set1_epi8(b'\\' as i8));
    let control = _mm_cmpeq_epi8(block, _mm_min_epu8(block, _mm_set1_epi8(0x1f)));
    _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, backslash), control)) as u32
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, Window, is_stop, stops};

    #[test]
    fn a_block_stops_where_its_bytes_do() {
        for byte in 0..=u8::MAX {
            for place in 0..BLOCK {
                let mut block = [b'a'; BLOCK];
                block[place] = byte;
                assert_eq!(stops(&block), u32::from(is_stop(byte)) << place, "{byte:#x} at {place}");
            }
        }
    }
    #[test]
    fn a_window_finds_every_stop_of_a_text_of_any_length() {
        for length in 0..200 {
            let text: Vec<u8> = (0..length).map(|at| if at % 37 == 36 { b'"' } else { b'a' }).collect();
            let mut window = Window::default();
            for at in 0..=length {
                let next = (at..length).find(|&at| is_stop(text[at])).unwrap_or(length);
                assert_eq!(window.next_stop(&text, at), next, "from {at} of {length}");
            }
        }
    }
}
