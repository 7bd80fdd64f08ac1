//! The embedding model inside the program: a static table of word vectors.
