//! Files cut into pieces that mean something: definitions where the language is known, headings, lines.
