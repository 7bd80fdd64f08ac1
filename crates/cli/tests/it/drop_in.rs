//! Published servers and the built-in ones that take their place, called by one client.
//!
//! Both get the same calls, each in a directory of its own with the same files. Tools, answers and, at the end, the files must
//! be equal. Where ours differs on purpose, the call says why, the server's page in `docs` says it too, and an answer that does
//! not differ fails: the lists of differences are never longer than the truth.
#![expect(
    clippy::disallowed_methods,
    reason = "runs the published servers, with an environment made for them"
)]

mod brave_search;
mod client;
mod comparison;
mod fetch;
mod filesystem;
mod memory;
mod ripgrep;
mod shell;
mod text_editor;
mod time;

pub(crate) use client::Server;
pub(crate) use comparison::{Call, Comparison, Servers, call};

// Where all of ours are better, in the words of their pages.
const ARGUMENTS: &str = "Invalid arguments are named by their JSON pointer.";
const UNKNOWN_TOOL: &str = "A call of an unknown tool is a JSON-RPC error, as the specification has it.";
