//! Descriptions of installable servers.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bundles; // zips, some of which are meant to harm
mod descriptors; // what manifests of extensions and bundles come to
mod registry_entries; // what entries of the registry come to
mod zips; // archives, byte by byte
