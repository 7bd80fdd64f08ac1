//! The packages that servers are started from, and whether they are pinned to a version.

use std::{collections::BTreeMap, path::Path};

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
        let (package, _) = package(&runner, &command.args)?;
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

/// The package among the arguments, and where the arguments of its program begin.
fn package<'a>(runner: &PackageRunner, args: &'a [String]) -> Option<(&'a str, usize)> {
    let mut named = None;
    let mut words = runner.words.iter();
    let mut index = 0;
    while let Some(argument) = args.get(index) {
        index += 1;
        let (option, value) =
            argument.split_once('=').map_or((argument.as_str(), None), |(name, value)| (name, Some(value)));
        let mut next = || {
            index += 1;
            args.get(index - 1).map(String::as_str)
        };
        if argument == "--" {
            let program = next()?;
            return Some((named.unwrap_or(program), index));
        } else if runner.named_by.contains(&option) {
            named = Some(value.or_else(next)?);
        } else if argument.starts_with('-') {
            if value.is_none() && (runner.takes_value)(option) {
                next();
            }
        } else if let Some(word) = words.next() {
            // Another command of the same program.
            if word != argument {
                return None;
            }
        } else {
            return Some((named.unwrap_or(argument), index));
        }
    }
    named.map(|package| (package, args.len()))
}

/// A published program, however it is started.
pub(crate) struct ProgramName<'a> {
    /// The package or image, without its version.
    pub(crate) package: &'a str,
    /// The arguments of the program itself, with paths as they are outside of a container.
    pub(crate) args: Vec<String>,
    /// The variables that a container gets, each with its value if the command line has it; none for other programs, which get
    /// all.
    pub(crate) variables: Option<BTreeMap<String, Option<String>>>,
}

/// The published program that a command line starts. None if it is not known what it would do.
pub(crate) fn published_name<'a>(command: &'a str, args: &'a [String]) -> Option<ProgramName<'a>> {
    let program = Path::new(command).file_name()?.to_str()?;
    let plain = |package, from: usize| ProgramName { package, args: args[from..].to_vec(), variables: None };
    match (program, args) {
        ("python" | "python3", [option, module, ..]) if option == "-m" => {
            let package = match module.as_str() {
                "mcp_server_fetch" => "mcp-server-fetch",
                "mcp_server_time" => "mcp-server-time",
                _ => return None,
            };
            Some(plain(package, 2))
        }
        ("docker" | "podman", _) => container(args),
        _ => match runner(program) {
            Some(runner) => {
                let (package, from) = package(&runner, args)?;
                Some(plain(without_version(package), from))
            }
            None => Some(plain(program, 0)),
        },
    }
}

/// A container that is started with nothing but variables and directories.
fn container(args: &[String]) -> Option<ProgramName<'_>> {
    let mut words = args.iter().map(String::as_str);
    let (mut variables, mut mounts) = (BTreeMap::new(), Vec::new());
    if words.next() != Some("run") {
        return None;
    }
    let image = loop {
        let word = words.next()?;
        let (option, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        match option {
            "-i" | "--rm" | "--init" | "--interactive" => {}
            "-e" | "--env" => {
                let variable = value.or_else(|| words.next())?;
                let (name, value) =
                    variable.split_once('=').map_or((variable, None), |(name, value)| (name, Some(value)));
                variables.insert(name.to_owned(), value.map(str::to_owned));
            }
            "-v" | "--volume" => mounts.push(volume(value.or_else(|| words.next())?)?),
            // Its value has the form `type=bind,src=…`, so that an `=` is not that of the option.
            "--mount" => mounts.push(mount(words.next()?)?),
            _ if word.starts_with('-') => return None,
            image => break image,
        }
    };
    let args: Option<Vec<Vec<String>>> = words
        .map(|arg| match arg.starts_with('/') {
            true => outside(arg, &mounts),
            false => Some(vec![arg.to_owned()]),
        })
        .collect();
    Some(ProgramName { package: without_version(image), args: args?.concat(), variables: Some(variables) })
}

/// `HOST:CONTAINER` of a directory that may be changed.
fn volume(text: &str) -> Option<(&str, &str)> {
    match text.split(':').collect::<Vec<&str>>()[..] {
        [host, inside] | [host, inside, "rw"] if host.starts_with(['/', '$', '~']) => Some((host, inside)),
        _ => None,
    }
}

/// `type=bind,src=HOST,dst=CONTAINER` of a directory that may be changed.
fn mount(text: &str) -> Option<(&str, &str)> {
    let (mut host, mut inside, mut is_bound) = (None, None, false);
    for part in text.split(',') {
        match part.split_once('=')? {
            ("type", "bind") => is_bound = true,
            ("src" | "source", path) => host = Some(path),
            ("dst" | "destination" | "target", path) => inside = Some(path),
            _ => return None,
        }
    }
    Some((host?, inside?)).filter(|_| is_bound)
}

/// The directories of the machine that are at or below a directory of a container.
fn outside(inside: &str, mounts: &[(&str, &str)]) -> Option<Vec<String>> {
    let below = mounts.iter().filter(|(_, mounted)| Path::new(mounted).starts_with(inside));
    let hosts: Vec<String> = below.map(|(host, _)| (*host).to_owned()).collect();
    (!hosts.is_empty()).then_some(hosts)
}

/// `package` of `package@1.2`, `package==1.2` and `package:latest`.
fn without_version(package: &str) -> &str {
    let scope = usize::from(package.starts_with('@'));
    let end =
        package[scope..].find(['@', ':', '=', '>', '<', '[', '~']).map_or(package.len(), |end| scope + end);
    &package[..end]
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
