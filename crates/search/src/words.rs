//! Text as words: identifiers split, stemmed, stop words known.
