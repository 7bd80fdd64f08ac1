//! `server.json` as it is published. Older schemas have the same names with underscores.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

#[derive(Debug, Deserialize)]
pub(super) struct ServerFile {
    pub(super) name: String,
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) version: Option<String>,
    #[serde(rename = "websiteUrl", alias = "website_url")]
    pub(super) website_url: Option<String>,
    #[serde(default)]
    pub(super) icons: Vec<IconFile>,
    pub(super) repository: Option<RepositoryFile>,
    /// Each is read alone: one that we do not understand drops no other.
    #[serde(default)]
    pub(super) packages: Vec<Value>,
    #[serde(default)]
    pub(super) remotes: Vec<Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct IconFile {
    pub(super) src: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct RepositoryFile {
    pub(super) url: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct PackageFile {
    #[serde(rename = "registryType", alias = "registry_type", alias = "registry_name")]
    pub(super) registry_type: String,
    #[serde(rename = "registryBaseUrl", alias = "registry_base_url")]
    pub(super) registry_base_url: Option<String>,
    #[serde(alias = "name")]
    pub(super) identifier: String,
    pub(super) version: Option<String>,
    #[serde(rename = "fileSha256", alias = "file_sha256")]
    pub(super) file_sha256: Option<String>,
    #[serde(rename = "runtimeHint", alias = "runtime_hint")]
    pub(super) runtime_hint: Option<String>,
    #[serde(rename = "runtimeArguments", alias = "runtime_arguments", default)]
    pub(super) runtime_arguments: Vec<ArgumentFile>,
    #[serde(rename = "packageArguments", alias = "package_arguments", default)]
    pub(super) package_arguments: Vec<ArgumentFile>,
    #[serde(rename = "environmentVariables", alias = "environment_variables", default)]
    pub(super) environment_variables: Vec<KeyValueFile>,
    pub(super) transport: Option<TransportFile>,
}

#[derive(Debug, Deserialize)]
pub(super) struct TransportFile {
    #[serde(rename = "type")]
    pub(super) kind: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct RemoteFile {
    #[serde(rename = "type", alias = "transport_type")]
    pub(super) kind: String,
    pub(super) url: String,
    #[serde(default)]
    pub(super) headers: Vec<KeyValueFile>,
    #[serde(default)]
    pub(super) variables: BTreeMap<String, InputFile>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ArgumentFile {
    /// A flag, with its dashes; without one it is positional.
    pub(super) name: Option<String>,
    #[serde(rename = "valueHint", alias = "value_hint")]
    pub(super) value_hint: Option<String>,
    #[serde(rename = "isRepeated", alias = "is_repeated", default)]
    pub(super) is_repeated: bool,
    #[serde(flatten)]
    pub(super) input: InputFile,
}

/// A variable or header.
#[derive(Debug, Deserialize)]
pub(super) struct KeyValueFile {
    pub(super) name: String,
    #[serde(flatten)]
    pub(super) input: InputFile,
}

/// A value that is fixed (`value`) or an input.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(super) struct InputFile {
    pub(super) description: Option<String>,
    #[serde(rename = "isRequired", alias = "is_required", default)]
    pub(super) is_required: bool,
    #[serde(rename = "isSecret", alias = "is_secret", default)]
    pub(super) is_secret: bool,
    pub(super) format: Option<String>,
    #[serde(default, deserialize_with = "loose")]
    pub(super) value: Option<String>,
    #[serde(default, deserialize_with = "loose")]
    pub(super) default: Option<String>,
    #[serde(default)]
    pub(super) choices: Vec<String>,
    #[serde(default)]
    pub(super) variables: BTreeMap<String, InputFile>,
}

impl ServerFile {
    /// Reads a file, or a response of the registry, which has it one level down.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if let Some(server @ Value::Object(_)) = value.get_mut("server") {
            value = server.take();
        }
        let file: Self = serde_json::from_value(value).map_err(|error| error.to_string())?;
        let allowed = |part: &str, more: &str| {
            !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
        };
        match file.name.split_once('/') {
            Some((namespace, name)) if allowed(namespace, ".-") && allowed(name, "._-") => Ok(file),
            _ => Err(format!(
                "{:?} is not a valid registry name, such as io.github.somebody/server",
                file.name
            )),
        }
    }
}

/// Text that some write as a number or a boolean.
fn loose<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let value = Option::<Value>::deserialize(deserializer)?;
    Ok(value.filter(|value| !value.is_null()).map(|value| crate::template::text(&value)))
}
