//! Built-in servers, over the protocol.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod agent_files; // read, write, edit, glob, grep
mod brave_search; // searches on a loopback service: answers, limits, failures
mod client; // a client of a server in this process
mod client_roots; // roots of clients and directories of servers
mod codebase; // search and reading: results, limits, errors
mod edits; // generated files keep what edits do not touch
mod endpoint; // embeddings from an endpoint, over HTTP
mod fetch; // pages as Markdown, robots.txt, private addresses
mod filesystem; // where the published server fails
mod grep; // searches: results, pages, limits, the same as rg
mod hub; // the hub's own server, legacy and modern
mod line_hashes; // edits of lines that are identified by hashes
mod memory; // a knowledge graph and text files that models remember
mod pages; // the page about built-in servers agrees with the code
mod races; // links that are swapped while tools use them
mod shell; // programs: toolsets, sandboxes, what they leave
mod text_editor; // views, edits, undo
