//! The codebase server over real files.

mod client; // a directory, and a client
mod protocol; // handshakes, failures, progress
mod results; // results of tools and resources: paging, limits, errors
