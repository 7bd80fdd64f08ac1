//! Which words there are, found without an allocation.

/// Longer words are always taken apart.
const LONGEST: usize = 24;
/// A piece of a word that is not known.
const SHORTEST_PIECE: usize = 2;
const EMPTY: u32 = u32::MAX;

/// Words by number: the row of the table, from 0.
///
/// Open addressing over a hash that grows letter by letter, so that all beginnings of a word are hashed in one walk.
#[derive(Debug, Clone)]
pub struct Vocabulary {
    text: String,
    /// Where each word begins in `text`, and the end of the last.
    starts: Vec<u32>,
    slots: Vec<u32>,
}

impl Vocabulary {
    /// Words in order of their numbers. One that stands twice keeps its first number.
    pub fn new<'a>(words: impl Iterator<Item = &'a str>) -> Self {
        let mut text = String::new();
        let mut starts = vec![0];
        for word in words {
            text.push_str(word);
            starts.push(text.len() as u32);
        }
        let count = starts.len() - 1;
        // At most a third full: what is not there is found out in little more than one look.
        let slots = vec![EMPTY; (count * 3).next_power_of_two().max(2)];
        let mut vocabulary = Self { text, starts, slots };
        for number in 0..count as u32 {
            let hash = vocabulary.word(number).bytes().fold(Hash::START, Hash::then);
            let mask = vocabulary.slots.len() - 1;
            let mut slot = hash.slot(mask);
            while vocabulary.slots[slot] != EMPTY {
                slot = (slot + 1) & mask;
            }
            vocabulary.slots[slot] = number;
        }
        vocabulary
    }

    /// How many words there are.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there is no word at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The word of a number below [`Vocabulary::len`].
    pub fn word(&self, number: u32) -> &str {
        let at = number as usize;
        &self.text[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// The number of a word in lower case.
    pub fn find(&self, word: &str) -> Option<u32> {
        self.look(word.as_bytes(), word.bytes().fold(Hash::START, Hash::then))
    }

    /// The numbers of a word: its own, or those of the longest known beginnings, one after the other. What has no known
    /// beginning is left out letter by letter. Numerals are known or not, never taken apart.
    pub fn pieces(&self, word: &str, mut found: impl FnMut(u32)) {
        let bytes = word.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..bytes.len().min(at + LONGEST)];
            let mut hashes = [Hash::START; LONGEST];
            let mut hash = Hash::START;
            for (place, byte) in hashes.iter_mut().zip(rest) {
                hash = hash.then(*byte);
                *place = hash;
            }
            if at == 0 && rest.len() == bytes.len() {
                if let Some(number) = self.look(rest, hash) {
                    return found(number);
                }
                if bytes[0].is_ascii_digit() {
                    return;
                }
            }
            let mut lengths = (SHORTEST_PIECE..=rest.len()).rev();
            let piece =
                lengths.find_map(|length| Some((self.look(&rest[..length], hashes[length - 1])?, length)));
            if let Some((number, length)) = piece {
                found(number);
                at += length;
            } else {
                at += 1;
            }
        }
    }

    fn look(&self, word: &[u8], hash: Hash) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut slot = hash.slot(mask);
        loop {
            let number = self.slots[slot];
            if number == EMPTY {
                return None;
            }
            let at = number as usize;
            let known = &self.text.as_bytes()[self.starts[at] as usize..self.starts[at + 1] as usize];
            if known == word {
                return Some(number);
            }
            slot = (slot + 1) & mask;
        }
    }
}

/// FNV-1a, the bits mixed once more when it is used.
#[derive(Clone, Copy)]
struct Hash(u64);

impl Hash {
    const START: Self = Self(0xcbf2_9ce4_8422_2325);

    fn then(self, byte: u8) -> Self {
        Self((self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }

    fn slot(self, mask: usize) -> usize {
        ((self.0 ^ (self.0 >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(vocabulary: &Vocabulary, word: &str) -> Vec<String> {
        let mut found = Vec::new();
        vocabulary.pieces(word, |number| found.push(vocabulary.word(number).to_owned()));
        found
    }

    #[test]
    fn a_word_is_found_or_its_longest_beginnings_are() {
        let vocabulary = Vocabulary::new(["re", "retry", "count", "er", "6", "64"].into_iter());
        assert_eq!(vocabulary.find("count"), Some(2));
        assert_eq!(vocabulary.find("coun"), None);
        assert_eq!(pieces(&vocabulary, "retry"), ["retry"]);
        assert_eq!(pieces(&vocabulary, "retrycounter"), ["retry", "count", "er"]);
        assert_eq!(pieces(&vocabulary, "rexcount"), ["re", "count"]);
        assert_eq!(pieces(&vocabulary, "64"), ["64"]);
        assert_eq!(pieces(&vocabulary, "640"), Vec::<String>::new());
        assert_eq!(pieces(&vocabulary, ""), Vec::<String>::new());
    }

    #[test]
    fn an_empty_vocabulary_knows_nothing() {
        let vocabulary = Vocabulary::new(std::iter::empty());
        assert!(vocabulary.is_empty());
        assert_eq!(pieces(&vocabulary, "word"), Vec::<String>::new());
    }

    #[test]
    fn every_word_of_a_large_vocabulary_is_found() {
        let words: Vec<String> = (0..20_000).map(|number| format!("w{}", number * 7)).collect();
        let vocabulary = Vocabulary::new(words.iter().map(String::as_str));
        for (number, word) in words.iter().enumerate() {
            assert_eq!(vocabulary.find(word), Some(number as u32));
        }
    }
}
