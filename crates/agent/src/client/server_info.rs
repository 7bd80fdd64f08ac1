//! What a server says about itself.

use serde_json::Value;
use toolbay_protocol::Revision;
use toolbay_upstream::UpstreamStatus;

/// Who a server is.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerInfo {
    /// What it calls itself.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The revision of MCP that is spoken with it.
    pub revision: Option<Revision>,
    /// What it tells models about itself.
    pub instructions: Option<String>,
    /// Everything it said of itself, as it said it.
    pub raw: Value,
}

impl ServerInfo {
    pub(super) fn of(status: &UpstreamStatus) -> Self {
        let catalogue = &status.catalog;
        let raw: Value = catalogue
            .server_info
            .as_deref()
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default();
        let text = |field: &str| raw[field].as_str().unwrap_or_default().to_owned();
        Self {
            name: text("name"),
            version: text("version"),
            revision: status.revision,
            instructions: catalogue.instructions.clone(),
            raw,
        }
    }
}
