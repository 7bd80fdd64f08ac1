//! A package, and the program that fetches and runs it.

use serde_json::{Map, Value};
use toolbay_config::{Command, decides_what_runs, visible};

use super::{
    LaunchMethod,
    file::{ArgumentFile, PackageFile},
    inputs::{Filler, Inputs},
};

/// A package that a runner starts.
#[derive(Debug)]
pub(super) struct Package {
    runner: Runner,
    /// Additional arguments of the runner, which the user must confirm.
    runner_arguments: Vec<Argument>,
    /// The package with its version.
    identifier: String,
    arguments: Vec<Argument>,
    variables: Vec<(String, Filler)>,
}

/// The package runners that we know. An entry cannot name another one: it would be any program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runner {
    Npx,
    Bunx,
    Uvx,
    Pipx,
    Docker,
    Podman,
    Dnx,
}

#[derive(Debug)]
struct Argument {
    flag: Option<String>,
    value: Option<Filler>,
    /// The flag alone means true.
    is_switch: bool,
}

type Read = (LaunchMethod, Vec<String>, Option<&'static str>);

/// Reads one package: how to run it, what must be confirmed, and the hint when the runner is missing.
pub(super) fn read(value: &Value, inputs: &mut Inputs) -> Result<Read, String> {
    let file: PackageFile = serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
    check_names(&file)?;
    if file.registry_type == "mcpb" {
        let method = LaunchMethod::Bundle { url: file.identifier, sha256: file.file_sha256 };
        return Ok((method, Vec::new(), None));
    }
    if let Some(transport) = file.transport.as_ref().filter(|transport| transport.kind != "stdio") {
        return Err(format!(
            "it must be run and then reached by `{}`; run it yourself and add its URL",
            visible(&transport.kind)
        ));
    }
    let runner = Runner::of(&file.registry_type, file.runtime_hint.as_deref())?;
    let runner_arguments: Vec<Argument> =
        file.runtime_arguments.iter().map(|argument| Argument::read(argument, inputs)).collect();
    let arguments = file.package_arguments.iter().map(|argument| Argument::read(argument, inputs)).collect();
    let variables: Vec<(String, Filler)> = file
        .environment_variables
        .iter()
        .map(|variable| (variable.name.clone(), inputs.filler(&variable.name, &variable.input, false)))
        .collect();

    let runner_arguments: Vec<Argument> =
        runner_arguments.into_iter().filter(|argument| !runner.says_already(argument)).collect();
    let mut asks: Vec<String> = runner_arguments
        .iter()
        .map(|argument| format!("the argument `{}` of `{}`", visible(&argument.shown()), runner.command()))
        .collect();
    if !runner.is_container() {
        let powerful = variables.iter().filter(|(name, _)| decides_what_runs(name));
        asks.extend(powerful.map(|(name, value)| {
            format!("the variable `{}`", visible(&format!("{name}={}", value.shown())))
        }));
    }
    if let Some(base) = file.registry_base_url.as_deref().filter(|base| !runner.is_home(base)) {
        return Err(format!(
            "it comes from {}, which `{}` is not told to ask here",
            visible(base),
            runner.command()
        ));
    }
    let identifier = runner.identifier(&file.identifier, file.version.as_deref());
    let package = Package { runner, runner_arguments, identifier, arguments, variables };
    Ok((LaunchMethod::Package(package), asks, Some(runner.instructions())))
}

/// A name that begins with a dash would be a flag of the runner.
fn check_names(file: &PackageFile) -> Result<(), String> {
    let is_word = |text: &str| {
        !text.is_empty()
            && !text.starts_with('-')
            && !text.chars().any(|c| c.is_whitespace() || c.is_control())
    };
    match is_word(&file.identifier) && file.version.as_deref().is_none_or(is_word) {
        true => Ok(()),
        false => Err("its identifier or version is no plain word".to_owned()),
    }
}

impl Package {
    /// The command with these settings.
    pub(super) fn command(&self, settings: &Map<String, Value>) -> Command {
        let env =
            self.variables.iter().filter_map(|(name, value)| Some((name.clone(), value.one(settings)?)));
        let env: std::collections::BTreeMap<String, String> = env.collect();
        let mut args: Vec<String> =
            self.runner.first_arguments().iter().map(|&word| word.to_owned()).collect();
        if self.runner.is_container() {
            // The container gets it from the environment of its runner: values in arguments are for all to see.
            args.extend(env.keys().flat_map(|name| ["-e".to_owned(), name.clone()]));
        }
        args.extend(self.runner_arguments.iter().flat_map(|argument| argument.fill(settings)));
        args.push(self.identifier.clone());
        let own: Vec<String> = self.arguments.iter().flat_map(|argument| argument.fill(settings)).collect();
        if self.runner == Runner::Dnx {
            args.push("--yes".to_owned());
            if !own.is_empty() {
                args.push("--".to_owned());
            }
        }
        args.extend(own);
        Command { command: self.runner.command().to_owned(), args, env, cwd: None }
    }
}

impl Argument {
    fn read(file: &ArgumentFile, inputs: &mut Inputs) -> Self {
        let asked_as = match &file.name {
            Some(flag) => flag.trim_start_matches('-'),
            None => file.value_hint.as_deref().unwrap_or("argument"),
        };
        // A flag without a value or an input has no argument.
        let stands_alone = file.name.is_some()
            && file.input.value.is_none()
            && file.input.default.is_none()
            && file.input.description.is_none()
            && !file.input.is_required
            && file.value_hint.is_none();
        let value = (!stands_alone).then(|| inputs.filler(asked_as, &file.input, file.is_repeated));
        let is_switch = file.input.format.as_deref() == Some("boolean");
        Self { flag: file.name.clone(), value, is_switch }
    }

    fn fill(&self, settings: &Map<String, Value>) -> Vec<String> {
        let values = self.value.as_ref().map(|value| value.fill(settings));
        match (&self.flag, values) {
            (None, values) => values.unwrap_or_default(),
            (Some(flag), None) => vec![flag.clone()],
            (Some(flag), Some(values)) if self.is_switch => {
                values.iter().filter(|value| *value == "true").map(|_| flag.clone()).collect()
            }
            (Some(flag), Some(values)) => {
                values.into_iter().flat_map(|value| [flag.clone(), value]).collect()
            }
        }
    }

    fn shown(&self) -> String {
        let parts = [self.flag.clone(), self.value.as_ref().map(Filler::shown)];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

impl Runner {
    fn of(registry: &str, hint: Option<&str>) -> Result<Self, String> {
        match (registry, hint) {
            ("npm", None | Some("npx")) => Ok(Self::Npx),
            ("npm", Some("bunx")) => Ok(Self::Bunx),
            ("pypi", None | Some("uvx")) => Ok(Self::Uvx),
            ("pypi", Some("pipx")) => Ok(Self::Pipx),
            ("oci" | "docker", None | Some("docker")) => Ok(Self::Docker),
            ("oci" | "docker", Some("podman")) => Ok(Self::Podman),
            ("nuget", None | Some("dnx")) => Ok(Self::Dnx),
            ("npm" | "pypi" | "oci" | "docker" | "nuget", Some(hint)) => {
                Err(format!("its runtime hint `{}` is none for packages of {registry}", visible(hint)))
            }
            (other, _) => Err(format!("packages of `{}` cannot be run here", visible(other))),
        }
    }

    fn command(self) -> &'static str {
        match self {
            Self::Npx => "npx",
            Self::Bunx => "bunx",
            Self::Uvx => "uvx",
            Self::Pipx => "pipx",
            Self::Docker => "docker",
            Self::Podman => "podman",
            Self::Dnx => "dnx",
        }
    }

    fn first_arguments(self) -> &'static [&'static str] {
        match self {
            Self::Npx => &["-y"],
            Self::Pipx => &["run"],
            Self::Docker | Self::Podman => &["run", "-i", "--rm"],
            Self::Bunx | Self::Uvx | Self::Dnx => &[],
        }
    }

    /// Arguments that we pass anyway are left out, and need not be confirmed.
    fn says_already(self, argument: &Argument) -> bool {
        let shown = argument.shown();
        self.first_arguments().contains(&shown.as_str())
            || matches!(shown.as_str(), "--yes" | "--interactive")
    }

    fn is_container(self) -> bool {
        matches!(self, Self::Docker | Self::Podman)
    }

    /// Whether this is the default registry of the runner.
    fn is_home(self, base: &str) -> bool {
        let base = base.trim_end_matches('/');
        match self {
            Self::Npx | Self::Bunx => base == "https://registry.npmjs.org",
            Self::Uvx | Self::Pipx => matches!(base, "https://pypi.org" | "https://pypi.org/simple"),
            Self::Docker | Self::Podman => matches!(base, "https://docker.io" | "https://index.docker.io"),
            Self::Dnx => base.starts_with("https://api.nuget.org"),
        }
    }

    fn identifier(self, identifier: &str, version: Option<&str>) -> String {
        let Some(version) = version else { return identifier.to_owned() };
        let is_tagged = identifier.rsplit('/').next().is_some_and(|image| image.contains([':', '@']));
        match self {
            Self::Pipx => format!("{identifier}=={version}"),
            Self::Docker | Self::Podman if is_tagged => identifier.to_owned(),
            Self::Docker | Self::Podman => format!("{identifier}:{version}"),
            Self::Npx | Self::Bunx | Self::Uvx | Self::Dnx => format!("{identifier}@{version}"),
        }
    }

    fn instructions(self) -> &'static str {
        match self {
            Self::Npx => "Install Node.js: https://nodejs.org",
            Self::Bunx => "Install Bun: https://bun.sh",
            Self::Uvx => "Install uv: https://docs.astral.sh/uv",
            Self::Pipx => "Install pipx: https://pipx.pypa.io",
            Self::Docker => "Install Docker: https://docs.docker.com/get-docker",
            Self::Podman => "Install Podman: https://podman.io",
            Self::Dnx => "Install the .NET SDK 10 or later: https://dotnet.microsoft.com",
        }
    }
}
