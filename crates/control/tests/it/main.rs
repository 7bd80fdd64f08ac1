//! The control API without a binary around it.

mod place; // where sockets are, and whose folders are trusted
