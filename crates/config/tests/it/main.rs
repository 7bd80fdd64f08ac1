//! Files as people write them.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod approvals; // what a project may run, and who said so
mod broken; // files that are half written or hurt
mod built_in; // servers that are a part of Toolbay
mod edits; // changing files in place
mod entries; // what one entry comes to, good and bad
mod environments; // what servers get of our environment
mod exports; // servers in files of other programs
mod files; // what a whole file comes to
mod floating; // packages whose version nobody fixed
mod formats; // every format comes to the same servers
mod launch_hashes; // what makes two launches the same
mod native; // our own file
mod scopes; // which file counts
mod support; // servers to test with
mod variables; // what variables come to
mod watching; // files that change, in a real file system
