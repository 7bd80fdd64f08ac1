//! A catalog as text, to be kept for another day.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Catalog, CatalogKind};

/// What is written today; anything else is not read.
const FORMAT: u32 = 2;

/// Cache hints are left out: they will have expired.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredCatalog<'a> {
    format: u32,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    server_info: Option<&'a RawValue>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    capabilities: Option<&'a RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    #[serde(borrow)]
    resources: Vec<&'a RawValue>,
    #[serde(borrow)]
    resource_templates: Vec<&'a RawValue>,
    #[serde(borrow)]
    prompts: Vec<&'a RawValue>,
}

impl Catalog {
    /// As JSON, with the server's own texts in it.
    pub fn to_json(&self) -> String {
        let list = |kind| -> Vec<&RawValue> {
            self.list(kind).iter().filter_map(|item| serde_json::from_slice(item).ok()).collect()
        };
        let kept = StoredCatalog {
            format: FORMAT,
            server_info: raw(self.server_info.as_deref()),
            capabilities: raw(self.capabilities.as_deref()),
            instructions: self.instructions.clone(),
            tools: list(CatalogKind::Tools),
            resources: list(CatalogKind::Resources),
            resource_templates: list(CatalogKind::ResourceTemplates),
            prompts: list(CatalogKind::Prompts),
        };
        serde_json::to_string(&kept).unwrap_or_default()
    }

    /// What [`Catalog::to_json`] wrote; nothing for any other text.
    pub fn from_json(text: &[u8]) -> Option<Self> {
        let kept: StoredCatalog<'_> =
            serde_json::from_slice(text).ok().filter(|kept: &StoredCatalog<'_>| kept.format == FORMAT)?;
        let text = |raw: Option<&RawValue>| raw.map(|raw| raw.get().to_owned());
        let mut catalog = Self {
            server_info: text(kept.server_info),
            capabilities: text(kept.capabilities),
            instructions: kept.instructions,
            ..Self::default()
        };
        for (kind, items) in [
            (CatalogKind::Tools, kept.tools),
            (CatalogKind::Resources, kept.resources),
            (CatalogKind::ResourceTemplates, kept.resource_templates),
            (CatalogKind::Prompts, kept.prompts),
        ] {
            catalog.replace(kind, items.into_iter().map(|item| item.get().to_owned().into()).collect());
        }
        Some(catalog)
    }
}

fn raw(text: Option<&str>) -> Option<&RawValue> {
    serde_json::from_str(text?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back_as_it_was() {
        let mut catalog = Catalog {
            server_info: Some(r#"{"name":"s", "big": 12345678901234567890123, "f": 1.0}"#.to_owned()),
            capabilities: Some(r#"{"tools":{}}"#.to_owned()),
            instructions: Some("ask \"nicely\"\n".to_owned()),
            ..Catalog::default()
        };
        catalog.replace(
            CatalogKind::Tools,
            vec![r#"{"name":"t","x":1e400,"inputSchema":{ "type":"object"}}"#.into()],
        );
        catalog.replace(CatalogKind::Prompts, vec![r#"{"name":"p"}"#.into(), r#"{"name":"\u0070"}"#.into()]);
        assert_eq!(Catalog::from_json(catalog.to_json().as_bytes()), Some(catalog));
    }

    #[test]
    fn what_is_no_catalog_is_ignored() {
        let whole = Catalog::default().to_json();
        assert!(Catalog::from_json(whole.as_bytes()).is_some());
        for end in 0..whole.len() {
            assert_eq!(Catalog::from_json(&whole.as_bytes()[..end]), None);
        }
        assert_eq!(Catalog::from_json(whole.replace("\"format\":2", "\"format\":1").as_bytes()), None);
        assert_eq!(Catalog::from_json(b"\xff"), None);
    }
}
