//! Bundles (`.mcpb`): a server with all it needs, and a `manifest.json` of version 0.1 to 0.4.

mod user_config;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_json::{Map, Value};
use toolbay_config::{Command, ServerEndpoint, read_small_text};

use crate::{
    Descriptor, DescriptorError, DescriptorOrigin, DescriptorSource, Machine, settings, template::Values,
};
use user_config::UserConfigFile;

/// The name of the manifest in a bundle.
pub(super) const MANIFEST: &str = "manifest.json";
/// A longer manifest is none.
pub(super) const MAX_MANIFEST: u64 = 1024 * 1024;
/// What we know how to read.
const VERSIONS: [&str; 4] = ["0.1", "0.2", "0.3", "0.4"];

/// An unpacked bundle.
#[derive(Debug)]
pub struct Bundle {
    descriptor: Descriptor,
    folder: PathBuf,
    manifest: ManifestFile,
}

#[derive(Debug, Deserialize)]
pub(super) struct ManifestFile {
    #[serde(alias = "dxt_version")]
    manifest_version: String,
    pub(super) name: String,
    pub(super) version: String,
    display_name: Option<String>,
    description: String,
    icon: Option<String>,
    homepage: Option<String>,
    pub(super) server: ServerFile,
    #[serde(default)]
    user_config: BTreeMap<String, UserConfigFile>,
    #[serde(default)]
    compatibility: CompatibilityFile,
}

#[derive(Debug, Deserialize)]
pub(super) struct ServerFile {
    #[serde(rename = "type")]
    pub(super) kind: Kind,
    pub(super) entry_point: String,
    mcp_config: Option<ConfigFile>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Node,
    Python,
    Binary,
    Uv,
}

#[derive(Debug, Default, Deserialize)]
struct ConfigFile {
    command: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    platform_overrides: BTreeMap<String, OverrideFile>,
}

#[derive(Debug, Deserialize)]
struct OverrideFile {
    command: Option<String>,
    args: Option<Vec<String>>,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
struct CompatibilityFile {
    platforms: Option<Vec<String>>,
}

impl ManifestFile {
    /// Reads a manifest; the error is a sentence.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let manifest: Self = serde_json::from_str(text).map_err(|error| format!("{MANIFEST}: {error}"))?;
        if !VERSIONS.contains(&manifest.manifest_version.as_str()) {
            return Err(format!("unsupported manifest version {:?}", manifest.manifest_version));
        }
        let is_plain = |text: &str| {
            text.chars().all(|c| c.is_ascii_alphanumeric() || "._-+".contains(c))
                && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        };
        for (what, text) in [("name", &manifest.name), ("version", &manifest.version)] {
            if !is_plain(text) || text.len() > 100 {
                return Err(format!("its {what} must be of letters, digits and `._-+`, at most 100 of them"));
            }
        }
        Ok(manifest)
    }
}

impl Bundle {
    /// Opens a bundle that was unpacked with [`install_bundle`](crate::install_bundle).
    ///
    /// # Errors
    ///
    /// When there is no manifest in the folder that can be used.
    pub fn open(folder: &Path) -> Result<Self, DescriptorError> {
        let broken = |message| DescriptorError::Broken { id: folder.display().to_string(), message };
        let text = read_small_text(&folder.join(MANIFEST), MAX_MANIFEST)
            .map_err(|error| broken(format!("cannot read its {MANIFEST}: {error}")))?;
        let manifest = ManifestFile::parse(&text).map_err(broken)?;
        let settings_schema = user_config::schema(&manifest.user_config);
        settings::check_schema(&settings_schema).map_err(broken)?;
        let descriptor = Descriptor {
            id: manifest.name.clone(),
            name: manifest.display_name.clone().unwrap_or_else(|| manifest.name.clone()),
            description: Some(manifest.description.clone()),
            version: Some(manifest.version.clone()),
            icon: manifest.icon.clone(),
            homepage: manifest.homepage.clone(),
            settings_schema,
            installation_instructions: instructions(manifest.server.kind).map(str::to_owned),
            origin: DescriptorOrigin::Bundle,
            asks: Vec::new(),
        };
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        Ok(Self { descriptor, folder, manifest })
    }

    /// What `${names}` in the manifest mean.
    fn values(&self, settings: &Map<String, Value>, here: &Machine) -> Values {
        let mut values = Values::default();
        values.set("__dirname", self.folder.to_string_lossy());
        values.set("HOME", here.home.to_string_lossy());
        for (name, folder) in [("DESKTOP", "Desktop"), ("DOCUMENTS", "Documents"), ("DOWNLOADS", "Downloads")]
        {
            values.set(name, here.home.join(folder).to_string_lossy());
        }
        values.set("pathSeparator", "/");
        values.set("/", "/");
        let mut settings = settings.clone();
        for (name, file) in &self.manifest.user_config {
            // The author's own default may name folders; the user's value is plain text.
            if let Some(value) = settings.get_mut(name)
                && file.default.as_ref() == Some(value)
            {
                user_config::expand(value, &values);
            }
        }
        for name in self.manifest.user_config.keys() {
            values.set_json(format!("user_config.{name}"), settings.get(name));
        }
        values
    }
}

impl DescriptorSource for Bundle {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    fn endpoint(
        &self,
        settings: &Map<String, Value>,
        here: &Machine,
    ) -> Result<ServerEndpoint, DescriptorError> {
        let platform = here.platform.word();
        if let Some(platforms) = &self.manifest.compatibility.platforms
            && !platforms.iter().any(|name| name == platform)
        {
            return Err(DescriptorError::Platform {
                id: self.descriptor.id.clone(),
                platforms: platforms.clone(),
                here: platform,
            });
        }
        let usual = usual_config(&self.manifest.server);
        let config = self.manifest.server.mcp_config.as_ref().unwrap_or(&usual);
        let here_only = config.platform_overrides.get(platform);
        let command = here_only.and_then(|here| here.command.as_ref()).unwrap_or(&config.command);
        let args = here_only.and_then(|here| here.args.as_ref()).unwrap_or(&config.args);
        let env = config.env.iter().chain(here_only.into_iter().flat_map(|here| &here.env));

        let values = self.values(settings, here);
        Ok(ServerEndpoint::Command(Command {
            command: values.one(command).unwrap_or_default(),
            args: values.arguments(args),
            env: env.filter_map(|(name, value)| Some((name.clone(), values.one(value)?))).collect(),
            cwd: None,
        }))
    }
}

/// The default command of a server without one in its manifest.
fn usual_config(server: &ServerFile) -> ConfigFile {
    let entry = format!("${{__dirname}}/{}", server.entry_point);
    let (command, args): (&str, Vec<&str>) = match server.kind {
        Kind::Node => ("node", vec![&entry]),
        Kind::Python => ("python3", vec![&entry]),
        Kind::Binary => (&entry, vec![]),
        Kind::Uv => ("uv", vec!["run", "--directory", "${__dirname}", &server.entry_point]),
    };
    ConfigFile {
        command: command.to_owned(),
        args: args.into_iter().map(str::to_owned).collect(),
        ..ConfigFile::default()
    }
}

fn instructions(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Node => Some("Install Node.js: https://nodejs.org"),
        Kind::Python => Some("Install Python: https://www.python.org"),
        Kind::Uv => Some("Install uv: https://docs.astral.sh/uv"),
        Kind::Binary => None,
    }
}
