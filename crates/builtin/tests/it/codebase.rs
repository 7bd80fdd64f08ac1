//! The codebase server over a tree that is made up.

mod answers; // what tools and resources say, and how much
mod made; // the tree, and a client
mod manners; // handshakes, failures, progress, cancelling
