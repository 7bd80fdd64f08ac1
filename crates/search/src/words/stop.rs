//! Words that say nothing about what is looked for.

/// Sorted, for the search by halves.
#[rustfmt::skip]
const STOP_WORDS: &[&str] = &[
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "because", "been", "before", "being",
    "both", "but", "by", "can", "could", "d", "did", "do", "does", "doing", "don", "each", "either", "etc", "every", "for", "from",
    "had", "has", "have", "having", "he", "her", "here", "his", "how", "i", "if", "in", "into", "is", "it", "its", "itself", "just",
    "ll", "may", "me", "might", "must", "my", "of", "on", "or", "our", "re", "s", "shall", "she", "should", "so", "some", "such",
    "t", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "too", "us", "ve", "very",
    "was", "we", "were", "what", "when", "where", "which", "while", "who", "whose", "why", "will", "with", "would", "you", "your",
];

/// How long the words are that begin with a byte, a bit for each length: most words of a text are told by it.
const LENGTHS: [u8; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < STOP_WORDS.len() {
        let word = STOP_WORDS[at].as_bytes();
        table[word[0] as usize] |= 1 << word.len();
        at += 1;
    }
    table
};

/// Whether a lower-case word is too common in English to tell texts apart.
pub fn is_stop_word(word: &str) -> bool {
    let bytes = word.as_bytes();
    let lengths = bytes.first().map_or(0, |first| LENGTHS[*first as usize]);
    bytes.len() < 8 && lengths & (1 << bytes.len()) != 0 && STOP_WORDS.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted() {
        assert!(STOP_WORDS.is_sorted());
        assert!(STOP_WORDS.iter().all(|word| is_stop_word(word)));
        assert!(is_stop_word("where") && is_stop_word("your") && is_stop_word("a"));
        assert!(!is_stop_word("retry") && !is_stop_word("not") && !is_stop_word(""));
    }
}
