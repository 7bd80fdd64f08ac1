//! Configuration files.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod approvals; // what a project may run, and by whose approval
mod auth; // who may use the hub
mod broken_files; // files that are half written or damaged
mod built_in; // servers that are a part of Toolbay
mod edits; // changing files in place
mod entries; // one entry, valid or not
mod environments; // what servers inherit of our environment
mod exports; // servers in files of other programs
mod files; // a whole file
mod formats; // every format, with the same servers
mod launch_hashes; // which launches are the same
mod native; // our own file
mod policy; // profiles and rules
mod replacements; // built-in servers in place of published ones
mod scopes; // which file counts
mod secrets; // references to secrets
mod support; // servers to test with
mod unpinned; // packages without a fixed version
mod variables; // expansion of variables
mod watch; // files that change, in a real file system
