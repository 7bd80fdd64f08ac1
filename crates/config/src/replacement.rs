//! Built-in servers in place of published ones.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::{
    ConfigFile, Syntax, Variables, WrittenServer,
    format::fields::EntryFields,
    load::check::check,
    model::built_in,
    syntax::parse,
    template::{Style, Template},
    unpinned::{ProgramName, published_name},
};

/// A built-in server that can take the place of a published one.
#[derive(Debug)]
pub struct Replacement {
    /// The server, with the arguments and variables of the published one as its keys.
    pub server: WrittenServer,
    /// The name of the package or image.
    pub package: String,
    /// What becomes different.
    pub notes: Vec<String>,
}

/// What a published server is replaced by.
struct BuiltInEntry {
    name: &'static str,
    keys: Map<String, Value>,
    notes: Vec<String>,
}

impl WrittenServer {
    /// The built-in server that can take the place of this one, if it is a known package and all its arguments have a meaning
    /// there.
    pub fn as_built_in(&self) -> Option<Replacement> {
        let command = self.command.as_ref()?.native();
        let args: Vec<String> = self.args.iter().map(Template::native).collect();
        let ProgramName { package, args, variables } = published_name(&command, &args)?;
        let mut launch = PublishedLaunch { args, env: self.variables(&variables)?, cwd: self.cwd.as_ref() };
        let BuiltInEntry { name, mut keys, mut notes } = launch.built_in(package)?;
        if let Some((unused, _)) = launch.env.pop_first() {
            let more = launch.env.into_keys().map(|name| format!(", {name}")).collect::<String>();
            notes.push(format!("not used by the built-in server `{name}`: {unused}{more}"));
        }
        keys.insert("builtin".to_owned(), name.into());
        let node = parse(&Value::from(keys).to_string(), Syntax::Json).ok()?;
        let built_in = built_in::read(&mut EntryFields::of(&node).ok()?, Style::Native).ok()??;
        let server = WrittenServer {
            built_in: Some(built_in),
            permission: self.permission,
            tuning: self.tuning.clone(),
            ..WrittenServer::named(&self.name, self.location)
        };
        Some(Replacement { server, package: package.to_owned(), notes })
    }

    /// The variables of the program: those of the entry, for containers only those that are handed on.
    fn variables(
        &self,
        handed_on: &Option<BTreeMap<String, Option<String>>>,
    ) -> Option<BTreeMap<String, String>> {
        // What such a file has is not known.
        if self.env_file.is_some() {
            return None;
        }
        let own = |name: &str| self.env.get(name).map(Template::native);
        Some(match handed_on {
            None => self.env.iter().map(|(name, value)| (name.clone(), value.native())).collect(),
            Some(names) => {
                let value = |(name, value): (&String, &Option<String>)| {
                    let value = value.clone().or_else(|| own(name)).unwrap_or_else(|| format!("${{{name}}}"));
                    (name.clone(), value)
                };
                names.iter().map(value).collect()
            }
        })
    }
}

/// The launch of a published server. What is used of its variables is taken from them.
struct PublishedLaunch<'a> {
    args: Vec<String>,
    env: BTreeMap<String, String>,
    cwd: Option<&'a Template>,
}

impl PublishedLaunch<'_> {
    fn built_in(&mut self, package: &str) -> Option<BuiltInEntry> {
        match package {
            "@modelcontextprotocol/server-filesystem" | "mcp-server-filesystem" | "mcp/filesystem" => {
                self.filesystem()
            }
            "@modelcontextprotocol/server-memory" | "mcp-server-memory" => self.memory(),
            "@modelcontextprotocol/server-brave-search"
            | "@brave/brave-search-mcp-server"
            | "brave-search-mcp-server"
            | "mcp/brave-search" => self.brave_search(),
            "mcp-server-fetch" | "mcp/fetch" => self.fetch(),
            "mcp-server-time" | "mcp/time" => self.time(),
            "mcp-ripgrep" => self.files("grep", "ripgrep"),
            "mcp-text-editor" => self.files("text-editor", "hashes"),
            "mcp-server-commands" => self.shell("commands"),
            "mcp-shell-server" => self.shell("shell-server"),
            _ => None,
        }
    }

    fn filesystem(&self) -> Option<BuiltInEntry> {
        let is_plain = !self.args.is_empty() && !self.args.iter().any(|arg| arg.starts_with('-'));
        let directories: Vec<String> = self.args.iter().map(|directory| self.below_cwd(directory)).collect();
        is_plain.then(|| entry("filesystem", json!({ "directories": directories }), &[]))
    }

    /// A path as seen from the directory of the program.
    fn below_cwd(&self, path: &str) -> String {
        match self.cwd {
            Some(cwd) if !path.starts_with(['/', '~', '$']) => format!("{}/{path}", cwd.native()),
            _ => path.to_owned(),
        }
    }

    fn memory(&mut self) -> Option<BuiltInEntry> {
        let elsewhere = "what was remembered so far stays in the directory of the package";
        self.args.is_empty().then(|| match self.env.remove("MEMORY_FILE_PATH") {
            Some(file) if file.starts_with(['/', '~', '$']) => {
                entry("memory", json!({ "memory_file": file }), &[])
            }
            Some(_) | None => entry("memory", json!({}), &[elsewhere]),
        })
    }

    fn brave_search(&mut self) -> Option<BuiltInEntry> {
        let mut keys = Map::new();
        let names = |text: &str| -> Vec<String> {
            text.split([',', ' ']).filter(|name| !name.is_empty()).map(str::to_owned).collect()
        };
        let mut put = |key: &str, value: Value| drop(keys.insert(key.to_owned(), value));
        for (variable, key) in [("BRAVE_API_KEY", "api_key"), ("BRAVE_API_KEY_FILE", "api_key_file")] {
            self.env.remove(variable).into_iter().for_each(|value| put(key, value.into()));
        }
        for (variable, key) in
            [("BRAVE_MCP_ENABLED_TOOLS", "enabled_tools"), ("BRAVE_MCP_DISABLED_TOOLS", "disabled_tools")]
        {
            self.env.remove(variable).into_iter().for_each(|value| put(key, names(&value).into()));
        }
        if self.env.remove("BRAVE_MCP_TRANSPORT").is_some_and(|transport| transport != "stdio") {
            return None;
        }
        let mut options = Options::of(&self.args)?;
        options.take("--brave-api-key").into_iter().for_each(|key| put("api_key", key.into()));
        let is_stdio = options.take("--transport").is_none_or(|transport| transport == "stdio");
        (is_stdio && options.is_empty()).then(|| BuiltInEntry {
            name: "brave-search",
            keys,
            notes: Vec::new(),
        })
    }

    fn fetch(&self) -> Option<BuiltInEntry> {
        let mut options = Options::of(&self.args)?;
        let mut keys = Map::new();
        for (option, key) in [("--user-agent", "user_agent"), ("--proxy-url", "proxy_url")] {
            options
                .take(option)
                .into_iter()
                .for_each(|value| drop(keys.insert(key.to_owned(), value.into())));
        }
        if options.take_flag("--ignore-robots-txt") {
            keys.insert("ignore_robots_txt".to_owned(), true.into());
        }
        options.is_empty().then(|| BuiltInEntry { name: "fetch", keys, notes: Vec::new() })
    }

    fn time(&self) -> Option<BuiltInEntry> {
        let mut options = Options::of(&self.args)?;
        let zone = options.take("--local-timezone");
        let keys = zone.map_or(json!({}), |zone| json!({ "local_timezone": zone }));
        options.is_empty().then(|| entry("time", keys, &[]))
    }

    /// A server that could use all files.
    fn files(&self, name: &'static str, toolset: &str) -> Option<BuiltInEntry> {
        let directory = self.cwd.map_or("~".to_owned(), Template::native);
        let limited = format!("it can use files in {directory} only; `directories` names others");
        let keys = json!({ "directories": [directory], "toolset": toolset });
        self.args.is_empty().then(|| entry(name, keys, &[&limited]))
    }

    /// A server that ran programs without limits. It needs a directory that these may change.
    fn shell(&mut self, toolset: &str) -> Option<BuiltInEntry> {
        let root = self.cwd?.native();
        let mut keys = json!({ "root": root, "toolset": toolset });
        let allowed = self.env.remove("ALLOW_COMMANDS").or_else(|| self.env.remove("ALLOWED_COMMANDS"));
        if let Some(allowed) = allowed {
            let names: Vec<&str> =
                allowed.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
            keys["allow_commands"] = json!(names);
        }
        let is_plain = self.args.iter().all(|arg| arg == "--verbose");
        let confined =
            format!("programs run in a sandbox: they change files in {root} only, and have no network");
        is_plain.then(|| entry("shell", keys, &[&confined]))
    }
}

fn entry(name: &'static str, keys: Value, notes: &[&str]) -> BuiltInEntry {
    let keys = if let Value::Object(keys) = keys { keys } else { Map::new() };
    BuiltInEntry { name, keys, notes: notes.iter().map(|note| (*note).to_owned()).collect() }
}

/// Options of a command line, each with its value; nothing else.
struct Options(Vec<(String, Option<String>)>);

impl Options {
    fn of(args: &[String]) -> Option<Self> {
        let mut options: Vec<(String, Option<String>)> = Vec::new();
        for arg in args {
            match (arg.strip_prefix("--"), arg.split_once('='), options.last_mut()) {
                (Some(_), Some((option, value)), _) => {
                    options.push((option.to_owned(), Some(value.to_owned())))
                }
                (Some(_), None, _) => options.push((arg.clone(), None)),
                (None, _, Some((_, value @ None))) => *value = Some(arg.clone()),
                (None, _, _) => return None,
            }
        }
        Some(Self(options))
    }

    fn take(&mut self, option: &str) -> Option<String> {
        let at = self.0.iter().position(|(name, value)| name == option && value.is_some())?;
        self.0.remove(at).1
    }

    fn take_flag(&mut self, option: &str) -> bool {
        let at = self.0.iter().position(|(name, value)| name == option && value.is_none());
        at.map(|at| self.0.remove(at)).is_some()
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl ConfigFile {
    /// Replaces servers by built-in ones where that is possible. Returns what was replaced: the name of the server, and how.
    pub fn prefer_built_in(&mut self, variables: &Variables) -> Vec<(String, Replacement)> {
        let mut replaced = Vec::new();
        let usual_cwd = self.is_project.then(|| self.folder.clone());
        for index in 0..self.servers.len() {
            let Some(replacement) = self.portable[index].as_built_in() else { continue };
            let Some(written) = self.written[index].as_built_in() else { continue };
            let checked = check(&replacement.server, &self.folder, usual_cwd.clone(), variables);
            let Ok(checked) = checked else { continue };
            self.servers[index] = checked.server;
            self.written[index] = written.server;
            self.portable[index] = replacement.server.clone();
            self.launches[index] = replacement.server.clone();
            replaced.push((self.written[index].name.clone(), replacement));
        }
        replaced
    }
}
