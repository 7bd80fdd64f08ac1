//! Files as people write them.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod approvals; // what a project may run, and who said so
mod bundles; // zips, some of which are meant to harm
mod changes; // what changed between two readings, and what makes two launches the same
mod descriptors; // what manifests of extensions and bundles come to
mod entries; // what one entry comes to, good and bad
mod environments; // what servers get of our environment
mod files; // what a whole file comes to
mod floating; // packages whose version nobody fixed
mod registry_entries; // what entries of the registry come to
mod scopes; // which file counts
mod support; // servers to test with
mod watching; // files that change, in a real file system
mod zips; // archives, byte by byte
