//! Servers that can be installed: what they are, what they must be told, and how they are started then.
//!
//! Three kinds of people describe servers: authors of extensions (`manifest`), of bundles (`mcpb`), and those who publish in
//! the registry (`registry_json`). Each is a [`DescriptorSource`]; what they have in common is in `descriptor`. None of
//! them is trusted: what they say is filled in as text, never run through a shell, and what reaches beyond the server
//! itself must be confirmed first.

#![forbid(unsafe_code)]

mod archive;
mod descriptor;
mod error;
mod install;
mod manifest;
mod mcpb;
mod registry_json;
mod settings;
mod template;

pub use descriptor::Resolved;
pub use descriptor::{
    Confirmed, Described, Descriptor, DescriptorOrigin, DescriptorSource, Descriptors, Machine, Platform,
};
pub use error::{DescriptorError, SettingProblem};
pub use install::{InstallError, install_bundle};
pub use manifest::read_manifest;
pub use mcpb::Bundle;
pub use registry_json::read_server_json;
