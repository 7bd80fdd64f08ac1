//! A tree of files: its root, what is in it, and what has changed.
