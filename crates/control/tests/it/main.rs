//! The control API without a binary around it.

mod events; // waiting for what happens next
mod place; // where sockets are, and whose folders are trusted
