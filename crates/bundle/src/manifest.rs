//! Manifests of extensions: `context_servers.<id>.{command, settings_schema, installation_instructions}`.

use std::{collections::BTreeMap, sync::Arc};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolbay_config::{Command, ServerEndpoint};

use crate::{
    Described, Descriptor, DescriptorError, DescriptorOrigin, DescriptorSource, Machine, settings,
    template::Values,
};

/// The variable with the settings of a server as JSON; `${settings.<name>}` in `args` and `env` works, too.
const SETTINGS_VARIABLE: &str = "CONTEXT_SERVER_SETTINGS";

/// Keys that we do not know are the extension's own.
#[derive(Deserialize)]
struct ManifestFile {
    description: Option<String>,
    version: Option<String>,
    icon: Option<String>,
    #[serde(alias = "repository")]
    homepage: Option<String>,
    context_servers: Map<String, Value>,
}

#[derive(Deserialize)]
struct ServerFile {
    name: Option<String>,
    description: Option<String>,
    icon: Option<String>,
    command: CommandFile,
    settings_schema: Option<Value>,
    installation_instructions: Option<String>,
}

#[derive(Debug, Deserialize)]
struct CommandFile {
    path: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

#[derive(Debug)]
struct ManifestServer {
    descriptor: Descriptor,
    command: CommandFile,
}

/// The servers of an extension, and those of them that cannot be used: one bad entry drops no other.
///
/// # Errors
///
/// When the text is no manifest; `id` names the extension then.
pub fn read_manifest(id: &str, text: &str) -> Result<Described, DescriptorError> {
    let mut manifest: ManifestFile = serde_json::from_str(text)
        .map_err(|error| DescriptorError::Broken { id: id.to_owned(), message: error.to_string() })?;
    let mut described = Described::default();
    for (id, entry) in std::mem::take(&mut manifest.context_servers) {
        match read_server(&id, entry, &manifest) {
            Ok(server) => described.sources.push(Arc::new(server)),
            Err(message) => described.problems.push(DescriptorError::Broken { id, message }),
        }
    }
    Ok(described)
}

fn read_server(id: &str, entry: Value, manifest: &ManifestFile) -> Result<ManifestServer, String> {
    let file: ServerFile = serde_json::from_value(entry).map_err(|error| error.to_string())?;
    let settings_schema = file.settings_schema.unwrap_or_else(|| json!({ "type": "object" }));
    settings::check_schema(&settings_schema)?;
    let descriptor = Descriptor {
        id: id.to_owned(),
        name: file.name.unwrap_or_else(|| id.to_owned()),
        description: file.description.or_else(|| manifest.description.clone()),
        version: manifest.version.clone(),
        icon: file.icon.or_else(|| manifest.icon.clone()),
        homepage: manifest.homepage.clone(),
        settings_schema,
        installation_instructions: file.installation_instructions,
        origin: DescriptorOrigin::Manifest,
        asks: Vec::new(),
    };
    Ok(ManifestServer { descriptor, command: file.command })
}

impl DescriptorSource for ManifestServer {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    fn endpoint(
        &self,
        settings: &Map<String, Value>,
        here: &Machine,
    ) -> Result<ServerEndpoint, DescriptorError> {
        let mut values = Values::default();
        values.set("HOME", here.home.to_string_lossy());
        let declared = self.descriptor.settings_schema["properties"].as_object();
        for name in declared.into_iter().flatten().map(|(name, _)| name).chain(settings.keys()) {
            values.set_json(format!("settings.{name}"), settings.get(name));
        }
        let filled = |(name, value): (&String, &String)| Some((name.clone(), values.one(value)?));
        let mut env: BTreeMap<String, String> = self.command.env.iter().filter_map(filled).collect();
        if !settings.is_empty() {
            env.entry(SETTINGS_VARIABLE.to_owned())
                .or_insert_with(|| Value::Object(settings.clone()).to_string());
        }
        let args = values.arguments(&self.command.args);
        Ok(ServerEndpoint::Command(Command { command: self.command.path.clone(), args, env, cwd: None }))
    }
}
