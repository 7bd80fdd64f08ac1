//! Servers that can be installed: descriptions, their settings, and how they are started.
//!
//! Descriptions are manifests of extensions (`manifest`), bundles (`mcpb`) and entries of the registry (`registry_json`). Each is a
//! [`DescriptorSource`]; their common part is in `descriptor`. None of them is trusted: their values are filled in as text, never run
//! through a shell, and what reaches beyond the server itself must be confirmed first.

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
