//! Entries of the registry: `server.json`, of schema 2025-12-11 and the older ones that are still about.
//!
//! One entry may have several packages and remote addresses of the same server. Each is a descriptor of its
//! own; the first that can be used has the plain name as its id, the others name their kind: `io.example/x#oci`.

mod file;
mod inputs;
mod package;

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Value};
use toolbay_config::{ServerEndpoint, check_remote};

use crate::{Described, Descriptor, DescriptorError, DescriptorOrigin, DescriptorSource, Machine, settings};
use file::{RemoteFile, ServerFile};
use inputs::{Filler, Inputs};
use package::Package;

/// One method to a server of the registry.
#[derive(Debug)]
struct RegistryServer {
    descriptor: Descriptor,
    method: LaunchMethod,
}

#[derive(Debug)]
enum LaunchMethod {
    Package(Package),
    /// Something to be fetched and installed first.
    Bundle {
        url: String,
        sha256: Option<String>,
    },
    Remote {
        url: Filler,
        kind: String,
        headers: Vec<(String, Filler)>,
    },
}

/// Reads the packages and remote addresses of a server, and reports those that cannot be used.
///
/// # Errors
///
/// When the text is no `server.json`.
pub fn read_server_json(text: &str) -> Result<Described, DescriptorError> {
    let file = ServerFile::parse(text)
        .map_err(|message| DescriptorError::Broken { id: "server.json".to_owned(), message })?;
    let mut described = Described::default();
    let packages = file.packages.iter().map(|package| {
        let kind =
            package["registryType"].as_str().or(package["registry_type"].as_str()).unwrap_or("package");
        (kind, Listed::Package(package))
    });
    let remotes = file.remotes.iter().map(|remote| ("remote", Listed::Remote(remote)));
    for (kind, listed) in packages.chain(remotes) {
        let id = free_id(&file.name, kind, &described.sources);
        match read_method(&id, &file, listed) {
            Ok(server) => described.sources.push(Arc::new(server)),
            Err(message) => {
                let id = format!("{}#{kind}", file.name);
                described.problems.push(DescriptorError::Broken { id, message });
            }
        }
    }
    match described.sources.is_empty() && described.problems.is_empty() {
        true => Err(DescriptorError::Broken {
            id: file.name,
            message: "it names neither a package nor a URL".to_owned(),
        }),
        false => Ok(described),
    }
}

/// A method as it is written.
enum Listed<'a> {
    Package(&'a Value),
    Remote(&'a Value),
}

fn free_id(name: &str, kind: &str, taken: &[Arc<dyn DescriptorSource>]) -> String {
    let is_free = |id: &String| taken.iter().all(|server| server.descriptor().id != *id);
    let numbered = (2..).map(|number| format!("{name}#{kind}-{number}"));
    let mut ids = [name.to_owned(), format!("{name}#{kind}")].into_iter().chain(numbered);
    ids.find(is_free).expect("there are more numbers than methods")
}

fn read_method(id: &str, file: &ServerFile, listed: Listed<'_>) -> Result<RegistryServer, String> {
    let mut inputs = Inputs::default();
    let (method, asks, instructions) = match listed {
        Listed::Remote(remote) => (read_remote(remote, &mut inputs)?, Vec::new(), None),
        Listed::Package(package) => package::read(package, &mut inputs)?,
    };
    let settings_schema = inputs.schema();
    settings::check_schema(&settings_schema)?;
    let descriptor = Descriptor {
        id: id.to_owned(),
        name: file.title.clone().unwrap_or_else(|| file.name.clone()),
        description: file.description.clone(),
        version: file.version.clone(),
        icon: file.icons.first().map(|icon| icon.src.clone()),
        homepage: file.website_url.clone().or_else(|| file.repository.as_ref()?.url.clone()),
        settings_schema,
        installation_instructions: instructions.map(str::to_owned),
        origin: DescriptorOrigin::Registry,
        asks,
    };
    Ok(RegistryServer { descriptor, method })
}

fn read_remote(remote: &Value, inputs: &mut Inputs) -> Result<LaunchMethod, String> {
    let remote: RemoteFile = serde_json::from_value(remote.clone()).map_err(|error| error.to_string())?;
    let url = inputs.url(&remote.url, &remote.variables);
    let headers = remote
        .headers
        .iter()
        .map(|header| (header.name.clone(), inputs.filler(&header.name, &header.input, false)));
    Ok(LaunchMethod::Remote { url, kind: remote.kind, headers: headers.collect() })
}

impl DescriptorSource for RegistryServer {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    fn endpoint(
        &self,
        settings: &Map<String, Value>,
        _: &Machine,
    ) -> Result<ServerEndpoint, DescriptorError> {
        let id = || self.descriptor.id.clone();
        match &self.method {
            LaunchMethod::Package(package) => Ok(ServerEndpoint::Command(package.command(settings))),
            LaunchMethod::Bundle { url, sha256 } => {
                Err(DescriptorError::NeedsBundle { id: id(), url: url.clone(), sha256: sha256.clone() })
            }
            LaunchMethod::Remote { url, kind, headers } => {
                let url = url.one(settings).unwrap_or_default();
                let filled = |(name, value): &(String, Filler)| Some((name.clone(), value.one(settings)?));
                let headers: BTreeMap<String, String> = headers.iter().filter_map(filled).collect();
                check_remote(&url, Some(kind), &headers)
                    .map(ServerEndpoint::Url)
                    .map_err(|message| DescriptorError::Broken { id: id(), message })
            }
        }
    }
}
