//! Lists of files per trigram: gathered in memory, packed on disk.
//!
//! A list is a bitmap if that is smaller, else the distances from file to file, seven bits a byte.

use super::trigrams::Trigram;

const TRIGRAMS: usize = 1 << 24;

/// Lists being gathered. Files are added in the order of their numbers.
pub(super) struct Gathered {
    /// Place in `lists`, plus one; 0 for trigrams that have not been met.
    places: Vec<u32>,
    lists: Vec<List>,
    bytes: usize,
}

/// The files with one trigram.
pub(super) struct List {
    pub(super) trigram: Trigram,
    /// The last file's number plus one.
    next: u32,
    pub(super) count: u32,
    /// Distances.
    packed: Vec<u8>,
}

impl Gathered {
    pub(super) fn new() -> Self {
        Self { places: vec![0; TRIGRAMS], lists: Vec::new(), bytes: 0 }
    }

    /// Adds a file, whose number is greater than all before.
    pub(super) fn add(&mut self, file: u32, trigrams: &[Trigram]) {
        for &trigram in trigrams {
            let place = &mut self.places[trigram as usize];
            if *place == 0 {
                self.lists.push(List { trigram, next: 0, count: 0, packed: Vec::new() });
                *place = self.lists.len() as u32;
            }
            let list = &mut self.lists[*place as usize - 1];
            let before = list.packed.len();
            put(&mut list.packed, file - list.next);
            list.next = file + 1;
            list.count += 1;
            self.bytes += list.packed.len() - before;
        }
    }

    /// Bytes gathered; about twice that is in use.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The lists, sorted by trigram.
    pub(super) fn into_sorted(mut self) -> Vec<List> {
        self.lists.sort_unstable_by_key(|list| list.trigram);
        self.lists
    }
}

impl List {
    pub(super) fn files(&self) -> Vec<u32> {
        unpack_distances(&self.packed, self.count).unwrap_or_default()
    }
}

/// Packs a sorted list of files, of which there are `all`.
pub(super) fn pack(files: &[u32], all: u32, into: &mut Vec<u8>) {
    if is_bitmap(files.len() as u32, all) {
        let start = into.len();
        into.resize(start + (all as usize).div_ceil(8), 0);
        for file in files {
            into[start + *file as usize / 8] |= 1 << (file % 8);
        }
        return;
    }
    let mut next = 0;
    for file in files {
        put(into, file - next);
        next = file + 1;
    }
}

/// Unpacks a list of `count` files; `None` if the bytes are not such a list.
pub(super) fn unpack(packed: &[u8], count: u32, all: u32) -> Option<Vec<u32>> {
    let files =
        if is_bitmap(count, all) { unpack_bitmap(packed, count) } else { unpack_distances(packed, count)? };
    (files.len() == count as usize && files.last().is_none_or(|last| *last < all)).then_some(files)
}

/// Both sides know which form it is from the numbers alone.
fn is_bitmap(count: u32, all: u32) -> bool {
    count > all / 8
}

fn unpack_bitmap(packed: &[u8], count: u32) -> Vec<u32> {
    let mut files = Vec::with_capacity(count as usize);
    for (at, byte) in packed.iter().enumerate() {
        let mut rest = *byte;
        while rest != 0 {
            files.push(at as u32 * 8 + rest.trailing_zeros());
            rest &= rest - 1;
        }
    }
    files
}

fn unpack_distances(packed: &[u8], count: u32) -> Option<Vec<u32>> {
    let mut files = Vec::with_capacity((count as usize).min(packed.len()));
    let mut next: u32 = 0;
    let mut rest = packed;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        let mut distance = u32::from(first & 0x7F);
        let (mut more, mut shift) = (first & 0x80 != 0, 7);
        while more {
            let (&byte, after) = rest.split_first()?;
            rest = after;
            distance |= u32::from(byte & 0x7F).checked_shl(shift)?;
            more = byte & 0x80 != 0;
            shift += 7;
        }
        let file = next.checked_add(distance)?;
        files.push(file);
        next = file.checked_add(1)?;
    }
    Some(files)
}

fn put(into: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

/// Those in both of two sorted lists.
pub(super) fn in_both(a: &[u32], b: &[u32]) -> Vec<u32> {
    let (few, many) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let mut both = Vec::with_capacity(few.len());
    let mut at = 0;
    if few.len() * 16 < many.len() {
        for file in few {
            at += many[at..].partition_point(|it| it < file);
            if many.get(at) == Some(file) {
                both.push(*file);
            }
        }
        return both;
    }
    for file in few {
        while many.get(at).is_some_and(|it| it < file) {
            at += 1;
        }
        if many.get(at) == Some(file) {
            both.push(*file);
        }
    }
    both
}

/// Files of several lists, each once.
pub(super) struct Union {
    /// A bit for each file.
    has: Vec<u64>,
}

impl Union {
    /// None of `all` files yet.
    pub(super) fn new(all: usize) -> Self {
        Self { has: vec![0; all.div_ceil(64)] }
    }

    /// Adds files; their numbers are below `all`.
    pub(super) fn add(&mut self, files: &[u32]) {
        for file in files {
            self.has[*file as usize / 64] |= 1 << (file % 64);
        }
    }

    /// All that were added, sorted.
    pub(super) fn files(&self) -> Vec<u32> {
        let mut files = Vec::new();
        for (at, word) in self.has.iter().enumerate() {
            let mut rest = *word;
            while rest != 0 {
                files.push(at as u32 * 64 + rest.trailing_zeros());
                rest &= rest - 1;
            }
        }
        files
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lists_come_back(files in proptest::collection::btree_set(0..3_000u32, 0..900)) {
            let files: Vec<u32> = files.into_iter().collect();
            for all in [3_000, 100_000] {
                let mut packed = Vec::new();
                pack(&files, all, &mut packed);
                prop_assert_eq!(unpack(&packed, files.len() as u32, all), Some(files.clone()));
            }
        }

        #[test]
        fn no_bytes_do_harm(bytes: Vec<u8>, count in 0..200u32, all in 0..1_000u32) {
            let _ = unpack(&bytes, count, all);
        }

        #[test]
        fn both_lists(a in proptest::collection::btree_set(0..500u32, 0..300), b in proptest::collection::btree_set(0..500u32, 0..20)) {
            let wanted: Vec<u32> = a.intersection(&b).copied().collect();
            let (a, b): (Vec<_>, Vec<_>) = (a.into_iter().collect(), b.into_iter().collect());
            prop_assert_eq!(in_both(&a, &b), wanted);
        }

        #[test]
        fn any_list(a in proptest::collection::btree_set(0..500u32, 0..300), b in proptest::collection::btree_set(0..500u32, 0..20)) {
            let wanted: Vec<u32> = a.union(&b).copied().collect();
            let (a, b): (Vec<_>, Vec<_>) = (a.into_iter().collect(), b.into_iter().collect());
            let mut union = Union::new(500);
            union.add(&a);
            union.add(&b);
            prop_assert_eq!(union.files(), wanted);
        }
    }
}
