//! Search by meaning: words, vectors and a ranking over chunks.
