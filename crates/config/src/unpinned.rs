//! Packages that are not pinned to a version.

use std::path::Path;

use crate::{ServerConfig, ServerEndpoint};

/// How the command line of a package runner names the package.
struct PackageRunner {
    /// Words before it, such as `run`.
    words: &'static [&'static str],
    /// Options that name the package.
    named_by: &'static [&'static str],
    /// Whether another option is followed by a value.
    takes_value: fn(&str) -> bool,
    /// Whether the name fixes a version.
    is_fixed: fn(&str) -> bool,
}

impl ServerConfig {
    /// The package that this server is fetched from, if it is not pinned to a version: then the user may run another version than
    /// the one that was approved.
    pub fn floating_package(&self) -> Option<&str> {
        let ServerEndpoint::Command(command) = &self.endpoint else { return None };
        let program = Path::new(&command.command).file_name()?.to_str()?;
        let runner = runner(program)?;
        let package = package(&runner, &command.args)?;
        (!(runner.is_fixed)(package)).then_some(package)
    }
}

fn runner(program: &str) -> Option<PackageRunner> {
    let npm = |words| PackageRunner {
        words,
        named_by: &["-p", "--package"],
        takes_value: |option| matches!(option, "-c" | "--call" | "--registry" | "-w" | "--workspace"),
        is_fixed: is_fixed_npm,
    };
    match program {
        "npx" | "bunx" | "pnpx" => Some(npm(&[])),
        "pnpm" | "yarn" => Some(npm(&["dlx"])),
        "npm" => Some(npm(&["exec"])),
        "bun" => Some(npm(&["x"])),
        "uvx" | "pipx" => Some(PackageRunner {
            words: if program == "uvx" { &[] } else { &["run"] },
            named_by: &["--from", "--spec"],
            takes_value: |option| {
                !matches!(
                    option,
                    "-q" | "-v" | "-n" | "--offline" | "--isolated" | "--refresh" | "--no-cache"
                )
            },
            is_fixed: is_fixed_python,
        }),
        "docker" | "podman" => Some(PackageRunner {
            words: &["run"],
            named_by: &[],
            takes_value: |option| {
                !matches!(
                    option,
                    "-i" | "-t"
                        | "-it"
                        | "-ti"
                        | "-d"
                        | "--rm"
                        | "--init"
                        | "--interactive"
                        | "--tty"
                        | "--privileged"
                        | "--read-only"
                        | "--detach"
                        | "-q"
                        | "--quiet"
                )
            },
            is_fixed: is_fixed_image,
        }),
        _ => None,
    }
}

/// The package among the arguments.
fn package<'a>(runner: &PackageRunner, args: &'a [String]) -> Option<&'a str> {
    let mut args = args.iter().map(String::as_str);
    let mut words = runner.words.iter();
    while let Some(argument) = args.next() {
        let (option, value) =
            argument.split_once('=').map_or((argument, None), |(name, value)| (name, Some(value)));
        if argument == "--" {
            return args.next();
        } else if runner.named_by.contains(&option) {
            return value.or_else(|| args.next());
        } else if argument.starts_with('-') {
            if value.is_none() && (runner.takes_value)(option) {
                args.next();
            }
        } else if let Some(word) = words.next() {
            // Another command of the same program.
            if word != &argument {
                return None;
            }
        } else {
            return Some(argument);
        }
    }
    None
}

fn is_fixed_npm(package: &str) -> bool {
    let version = package.get(1..).and_then(|rest| rest.rsplit_once('@')).map(|(_, version)| version);
    is_path(package) || version.is_some_and(is_exact) || package.contains('#')
}

fn is_fixed_python(package: &str) -> bool {
    let version = package.split_once("==").or_else(|| package.rsplit_once('@'));
    is_path(package) || version.is_some_and(|(_, version)| is_exact(version) || package.starts_with("git+"))
}

fn is_fixed_image(image: &str) -> bool {
    let name = image.rsplit('/').next().unwrap_or(image);
    image.contains("@sha256:") || name.split_once(':').is_some_and(|(_, tag)| tag != "latest")
}

fn is_path(package: &str) -> bool {
    package.starts_with(['.', '/', '~'])
}

/// One version, not a range or a name such as `latest`.
fn is_exact(version: &str) -> bool {
    version.starts_with(|c: char| c.is_ascii_digit())
        && version.contains('.')
        && !version.split(['.', '-']).any(|part| matches!(part, "x" | "X" | "*"))
        && !version.contains([' ', '|', ',', '*'])
}
