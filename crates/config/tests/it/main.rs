//! Files as people write them.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod broken; // files that are half written or hurt
mod edits; // changing files in place
mod entries; // what one entry comes to, good and bad
mod exports; // servers in files of other programs
mod files; // what a whole file comes to
mod formats; // every format comes to the same servers
mod native; // our own file
mod variables; // what variables come to
