//! A whole file, of any format.

pub(crate) mod check;
pub(crate) mod expansion;
mod policy;
mod root;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    io,
    path::{Path, PathBuf},
    ptr,
};

use check::{Checked, check};
use root::{ProjectRoot, in_full};
use toolbay_protocol::{InvalidSecretName, ServerName};

use crate::{
    AuditSection, AuthSection, Extension, Format, HubFile, Location, Permission, PolicySection, Problem,
    ProfileEntry, ReadFiles, SecretCommands, ServerConfig, ServerEndpoint, Syntax, Template, Variables,
    WrittenServer,
    env::decides_what_runs,
    files::{
        ownership::{self, OwnershipError},
        small::SmallFile,
    },
    format::{
        detect::{DetectedEntry, DetectedServers, detect},
        entry::{self, EntryResult},
        native,
    },
    problem::{LineIndex, Remark},
    syntax::{self, Key, Node},
};

/// A larger file is no configuration.
const MAX_FILE: u64 = 4 * 1024 * 1024;

/// More servers are a mistake or an attack.
const MAX_SERVERS: usize = 1024;

/// The same for the file of a project, which is untrusted: 512 bytes for each server.
const MAX_PROJECT_FILE: u64 = 512 * 1024;

/// The most values in the file of a project: 16 for each server. A value of two characters becomes a kilobyte in a parser, so
/// they are counted before anything is parsed.
const MAX_PROJECT_VALUES: usize = 16 * MAX_SERVERS;

/// Some editors begin files with this.
pub(crate) const MARK: char = '\u{feff}';

/// The content of a file.
#[derive(Debug, Default)]
pub struct ConfigFile {
    /// The format.
    pub format: Format,
    /// Where relative paths in it start: its own folder, or the project that it belongs to.
    pub folder: PathBuf,
    /// Whether it belongs to a project.
    pub is_project: bool,
    /// The servers, in the order of the file.
    pub servers: Vec<ServerConfig>,
    /// The same servers as written, in the same order.
    pub written: Vec<WrittenServer>,
    /// The same, for a file in another folder: with absolute paths, and secrets or variables of the environment in place of
    /// [inputs](Input::variable).
    pub portable: Vec<WrittenServer>,
    /// The same, as an approval binds them: portable, and with the defaults of inputs.
    pub launches: Vec<WrittenServer>,
    /// Servers that extensions describe.
    pub extensions: Vec<Extension>,
    /// The inputs of the file.
    pub inputs: Vec<Input>,
    /// Settings of the hub itself, in our own format.
    pub hub: HubFile,
    /// Who may use the hub over HTTP, in our own format.
    pub auth: AuthSection,
    /// What callers see of the hub, in our own format.
    pub profiles: Vec<ProfileEntry>,
    /// Rules for calls, in our own format.
    pub policy: PolicySection,
    /// What is recorded of calls.
    pub audit: AuditSection,
    /// Commands that print secrets, in our own format.
    pub secret_commands: SecretCommands,
    /// What is ignored because the file is a project's.
    pub ignored: Vec<Problem>,
    /// Entries that cannot be used, and why.
    pub problems: Vec<Problem>,
    /// What is odd, and does not keep an entry from being used.
    pub warnings: Vec<Problem>,
    /// Servers that will hardly work, because these variables have no value.
    pub incomplete: BTreeMap<ServerName, Vec<String>>,
}

/// The origin of a file, which decides what may be read for it.
#[derive(Clone, Copy)]
pub enum Origin<'a> {
    /// The user's own, or one that the user named.
    Own,
    /// A project, which is untrusted: only its entries are read. Files that an entry names are read once `is_approved` returns true for
    /// it, and nothing but servers is taken from the file.
    Project { is_approved: &'a dyn Fn(&WrittenServer) -> bool },
}

impl std::fmt::Debug for Origin<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Own => "Own",
            Self::Project { .. } => "Project",
        })
    }
}

/// Why a whole file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("cannot read the configuration {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// Other users could change it, and so decide what we run.
    #[error("the configuration {0} is world-writable, so that anyone could change what is run; try: chmod o-w {0}", path.display())]
    WritableByAll { path: PathBuf },
    /// Members of a group could change it.
    #[error("the configuration {0} is writable by group {gid}, which could change what is run; try: chmod g-w {0}", path.display())]
    WritableByGroup { path: PathBuf, gid: u32 },
    /// Another user could change it.
    #[error("the configuration {} belongs to another user ({uid}), who could change what is run; take ownership, or use a copy", path.display())]
    ForeignOwner { path: PathBuf, uid: u32 },
    /// It has too many servers.
    #[error("the configuration {} has {count} servers; at most {MAX_SERVERS} are allowed", path.display())]
    TooManyServers { path: PathBuf, count: usize },
    /// It is a project's, and would take much memory to parse.
    #[error(
        "the configuration {} has about {count} values; at most {MAX_PROJECT_VALUES} are allowed in a project file",
        path.display()
    )]
    TooManyValues { path: PathBuf, count: usize },
    /// It is not in the syntax that it seems to be in.
    #[error("{}:{place}: {message}", path.display())]
    Syntax { path: PathBuf, place: Location, message: String },
    /// It has no servers in a place we know.
    #[error("{}: {}", path.display(), what.as_deref().unwrap_or(NO_SERVERS))]
    NoServers { path: PathBuf, what: Option<String> },
}

const NO_SERVERS: &str =
    "it contains no servers; expected an object `mcpServers`, or `[servers.NAME]` in TOML";

/// Reads a file. Variables in it have no values.
pub fn load(path: &Path) -> Result<ConfigFile, ConfigError> {
    load_with(path, &Variables::default())
}

/// Reads a file and fills in variables.
pub fn load_with(path: &Path, variables: &Variables) -> Result<ConfigFile, ConfigError> {
    load_from(path, variables, Origin::Own)
}

/// Reads a file of the user's or of a project's, and fills in variables.
pub fn load_from(path: &Path, variables: &Variables, origin: Origin<'_>) -> Result<ConfigFile, ConfigError> {
    let read = |source| ConfigError::Read { path: path.to_owned(), source };
    let limit = match origin {
        Origin::Own => MAX_FILE,
        Origin::Project { .. } => MAX_PROJECT_FILE,
    };
    let file = SmallFile::open(path, limit).map_err(read)?;
    let path_owned = || path.to_owned();
    match (ownership::judge(file.metadata()), origin) {
        // Servers of a project may not run until exactly that launch was approved.
        (Ok(()), _)
        | (Err(OwnershipError::Owner(_) | OwnershipError::WritableByGroup(_)), Origin::Project { .. }) => {}
        (Err(OwnershipError::WritableByAll), _) => {
            return Err(ConfigError::WritableByAll { path: path_owned() });
        }
        (Err(OwnershipError::WritableByGroup(gid)), Origin::Own) => {
            return Err(ConfigError::WritableByGroup { path: path_owned(), gid });
        }
        (Err(OwnershipError::Owner(uid)), Origin::Own) => {
            return Err(ConfigError::ForeignOwner { path: path_owned(), uid });
        }
    }
    let text = file.read_to_string().map_err(read)?;
    parse_from(&text, path, variables, origin)
}

/// Reads the text of a file. Relative folders in it start where the file is, or at the project that its folder belongs to.
pub fn parse(text: &str, path: &Path) -> Result<ConfigFile, ConfigError> {
    parse_with(text, path, &Variables::default())
}

/// Reads the text of a file and fills in variables.
pub fn parse_with(text: &str, path: &Path, variables: &Variables) -> Result<ConfigFile, ConfigError> {
    parse_from(text, path, variables, Origin::Own)
}

fn parse_from(
    text: &str,
    path: &Path,
    variables: &Variables,
    origin: Origin<'_>,
) -> Result<ConfigFile, ConfigError> {
    let text = text.trim_start_matches(MARK);
    let syntax = Syntax::of(text, path);
    let wrong = |(place, message)| ConfigError::Syntax { path: path.to_owned(), place, message };
    if let Origin::Project { .. } = origin {
        let count = syntax::estimate_values(text, syntax);
        if count > MAX_PROJECT_VALUES {
            return Err(ConfigError::TooManyValues { path: path.to_owned(), count });
        }
    }
    let root = syntax::parse(text, syntax).map_err(wrong)?;
    if root.entries().is_none() {
        return Err(wrong((
            Location::START,
            "a configuration must be a table, such as a JSON object".to_owned(),
        )));
    }
    let found =
        detect(&root, syntax, path).map_err(|what| ConfigError::NoServers { path: path.to_owned(), what })?;
    // A mistake in an entry is that entry's alone.
    let entries: HashSet<*const Node> = found.entries.iter().map(|entry| ptr::from_ref(entry.node)).collect();
    if let Some(key) = root.repeated_key(&|node| entries.contains(&ptr::from_ref(node))) {
        return Err(wrong((key.at.place(text), key.repeated())));
    }
    let inputs = found.inputs.map(read_inputs).unwrap_or_default();
    let ground = ProjectRoot::of(path, found.format, variables.home.as_deref());
    let defaults = input_defaults(&inputs);
    let variables_of_file = variables.for_file(path, &ground.folder, &defaults);
    let mut reader = FileReader {
        places: LineIndex::of(text),
        root: &root,
        unread: Variables { files: ReadFiles::Never, ..variables_of_file.clone() },
        variables: variables_of_file,
        origin,
        defaults,
        ground: &ground,
        file: ConfigFile {
            format: found.format,
            folder: ground.folder.clone(),
            is_project: ground.is_project,
            inputs,
            ..ConfigFile::default()
        },
        names: HashSet::new(),
        slugs: HashMap::new(),
    };
    if let Origin::Project { .. } = origin {
        reader.ignore_sections();
    } else if found.format == Format::Toolbay {
        let section = native::hub(&root, text, &ground.folder, &reader.variables);
        reader.file.hub = section.hub;
        reader.file.auth = section.auth;
        reader.file.profiles = section.profiles;
        reader.file.policy = section.policy;
        reader.file.audit = section.audit;
        reader.file.secret_commands = section.secret_commands;
        reader.file.problems.extend(section.problems);
    }
    let entries = chosen(found, variables.workspace.as_deref());
    if entries.len() > MAX_SERVERS {
        return Err(ConfigError::TooManyServers { path: path.to_owned(), count: entries.len() });
    }
    entries.iter().for_each(|entry| reader.take(entry));
    Ok(reader.file)
}

/// Where a file holds entries of several projects: those of the user and of our project, whose own come first. If no
/// project is ours, all of them.
fn chosen<'a>(found: DetectedServers<'a>, workspace: Option<&Path>) -> Vec<DetectedEntry<'a>> {
    let ours = |entry: &DetectedEntry<'_>| {
        entry.project.zip(workspace).is_some_and(|(project, workspace)| workspace.starts_with(project))
    };
    if !found.entries.iter().any(ours) {
        return found.entries;
    }
    let (own, others): (Vec<_>, Vec<_>) = found.entries.into_iter().partition(ours);
    own.into_iter().chain(others.into_iter().filter(|entry| entry.project.is_none())).collect()
}

struct FileReader<'a> {
    places: LineIndex<'a>,
    root: &'a Node,
    ground: &'a ProjectRoot,
    origin: Origin<'a>,
    variables: Variables,
    /// The same, for entries whose files are not read.
    unread: Variables,
    /// Defaults of inputs.
    defaults: BTreeMap<String, String>,
    file: ConfigFile,
    /// Names of entries that were read.
    names: HashSet<String>,
    /// Names of servers, by their prefix.
    slugs: HashMap<String, String>,
}

impl FileReader<'_> {
    fn take(&mut self, entry: &DetectedEntry<'_>) {
        let place = self.places.place(entry.at);
        let problem = |message| Problem { server: Some(entry.name.clone()), message, location: place };
        if self.names.contains(&entry.name) {
            let message = "duplicate name; the first entry is used".to_owned();
            return self.file.problems.push(problem(message));
        }
        if let Some(first) = self.slugs.get(&slug(&entry.name)) {
            if self.file.format == Format::Toolbay {
                let message = format!(
                    "its tools would be named like those of `{first}`; names must differ in more than case and punctuation"
                );
                return self.file.problems.push(problem(message));
            }
            let message = format!("its tools get a longer prefix, because its name is like `{first}`");
            self.file.warnings.push(problem(message));
        }
        if let Some(key) = entry.node.repeated_key(&|_| false) {
            let (server, place) = (Some(entry.name.clone()), self.places.place(key.at));
            return self.file.problems.push(Problem { server, message: key.repeated(), location: place });
        }
        let (mut notes, mut remarks) = (Vec::new(), Vec::new());
        let reading = if self.file.format == Format::Toolbay {
            match native::read(&entry.name, place, entry.node, &self.places, &mut remarks) {
                Ok(written) => Ok(EntryResult::Server(Box::new(written))),
                Err(mut problems) => return self.file.problems.append(&mut problems),
            }
        } else {
            entry::read(&entry.name, place, entry.node, self.file.format, &mut remarks)
        };
        match reading {
            Ok(EntryResult::Server(written)) => self.server(*written, entry.project, &mut notes),
            Ok(EntryResult::Extension(extension)) => self.file.extensions.push(extension),
            Ok(EntryResult::Elsewhere(why)) => notes.push(why),
            Err(remark) => remarks_to(&mut self.file.problems, &self.places, vec![remark], problem),
        }
        remarks_to(&mut self.file.warnings, &self.places, remarks, problem);
        self.file.warnings.extend(notes.into_iter().map(problem));
    }

    fn server(&mut self, mut written: WrittenServer, project: Option<&str>, notes: &mut Vec<String>) {
        self.slugs.entry(slug(&written.name)).or_insert_with(|| written.name.clone());
        notes.extend(policy::apply(self.root, self.file.format, project, &mut written));
        match self.check(&written, project) {
            Ok((checked, portable, launch)) => {
                // A server that is switched off needs no values.
                let runs = written.permission != Permission::Disabled;
                for missing in checked.missing.iter().filter(|_| runs) {
                    let note = |fate| format!("`{}` is not set, so {fate}; {}", missing.name, missing.hint);
                    notes.extend(missing.fate().map(note));
                }
                notes.extend(secret_notes(&written));
                let lacking = checked.missing.into_iter().filter(|missing| runs && missing.matters());
                let lacking: Vec<String> = lacking.map(|missing| missing.name).collect();
                if !lacking.is_empty() {
                    self.file.incomplete.insert(checked.server.name.clone(), lacking);
                }
                self.file.portable.push(portable);
                self.file.launches.push(launch);
                self.file.servers.push(checked.server);
                self.names.insert(written.name.clone());
                self.file.written.push(written);
            }
            Err(message) => {
                let (server, place) = (Some(written.name), written.location);
                self.file.problems.push(Problem { server, message, location: place });
            }
        }
    }

    /// Checks a server; files that it names are read if they may be. Gives it as it is written for other folders, and for
    /// approvals, too.
    fn check(
        &self,
        written: &WrittenServer,
        project: Option<&str>,
    ) -> Result<(Checked, WrittenServer, WrittenServer), String> {
        let folder = &self.ground.folder;
        let check = |variables| check(written, folder, self.ground.usual_cwd(project), variables);
        let is_own = matches!(self.origin, Origin::Own);
        let checked = check(if is_own { &self.variables } else { &self.unread })?;
        let mut portable = in_full(written, &checked.server, folder, &self.variables);
        let mut launch = portable.clone();
        launch.texts_mut().for_each(|text| *text = text.with_input_defaults(&self.defaults));
        portable.replace_inputs(&self.defaults);
        match self.origin {
            Origin::Project { is_approved } if is_approved(&launch) => {
                let checked = check(&self.variables)?;
                check_env_file(written, &checked.server)?;
                Ok((checked, portable, launch))
            }
            Origin::Own | Origin::Project { .. } => Ok((checked, portable, launch)),
        }
    }

    /// A cloned repository must not configure the hub: sections of its file other than servers are reported, and ignored.
    fn ignore_sections(&mut self) {
        let is_ours = self.file.format == Format::Toolbay;
        let keys = self.root.entries().unwrap_or_default().iter().map(|(key, _)| key);
        // Other sections in files of other clients are none of ours.
        let is_ignored =
            |key: &&Key| key.text != "servers" && (is_ours || native::TOP.contains(&key.text.as_str()));
        let ignored = keys.filter(is_ignored).take(native::MOST_PROBLEMS).map(|key| {
            let message = match key.text.as_str() {
                "hub" | "auth" | "audit" | "profiles" | "policy" => {
                    let name = &key.text;
                    format!("`[{name}]` is ignored in a project file; it belongs in your own toolbay.toml")
                }
                "secret_commands" => {
                    "`secret_commands` is ignored in a project file; it belongs in your own toolbay.toml"
                        .to_owned()
                }
                other => {
                    format!("`{other}` is ignored in a project file, which can only define servers")
                }
            };
            Problem { server: None, message, location: self.places.place(key.at) }
        });
        self.file.ignored = ignored.collect();
    }
}

/// Adds remarks about an entry, each at the place of its key if it has one.
fn remarks_to(
    problems: &mut Vec<Problem>,
    places: &LineIndex<'_>,
    remarks: Vec<Remark>,
    about_entry: impl Fn(String) -> Problem,
) {
    problems.extend(remarks.into_iter().map(|Remark { message, at }| {
        let problem = about_entry(message);
        Problem { location: at.map_or(problem.location, |at| places.place(at)), ..problem }
    }));
}

/// Warnings about how an entry refers to secrets.
fn secret_notes(written: &WrittenServer) -> Vec<String> {
    let mut notes = Vec::new();
    if written.args.iter().any(|arg| arg.secrets().next().is_some()) {
        notes.push("its arguments contain secrets, which other users of this machine can see".to_owned());
    }
    if written.texts().any(Template::has_invalid_secret) {
        notes.push(format!("`${{secret:…}}` stays as written: it contains {InvalidSecretName}"));
    }
    notes
}

/// A project's file of variables is read after the approval, so its content was not shown: it must not decide what runs.
fn check_env_file(written: &WrittenServer, server: &ServerConfig) -> Result<(), String> {
    let ServerEndpoint::Command(command) = &server.endpoint else { return Ok(()) };
    let unseen = |name: &&String| decides_what_runs(name) && !written.env.contains_key(*name);
    match command.env.keys().find(unseen) {
        None => Ok(()),
        Some(name) => Err(format!(
            "the env file sets `{name}`, which can change what runs; move it to `env`, where it is approved"
        )),
    }
}

impl ConfigFile {
    /// Adds servers that the file only names, and others describe.
    pub fn add_described(&mut self, servers: Vec<ServerConfig>) {
        self.launches.extend(servers.iter().map(ServerConfig::as_written));
        self.servers.extend(servers);
    }
}

/// A value that VS Code asks its user for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Its name in `${input:…}`.
    pub id: String,
    /// The text of the prompt.
    pub description: Option<String>,
    /// The default value.
    pub default: Option<String>,
    /// Whether the value is a secret.
    pub password: bool,
    /// The values to choose from; none if any will do.
    pub options: Vec<String>,
}

impl Input {
    /// The variable of the environment with the value of an input: `GH_TOKEN` for `gh-token`.
    pub fn variable(id: &str) -> String {
        let allowed = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        let name: String = id.chars().map(allowed).collect();
        if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name }
    }
}

pub(crate) fn read_inputs(inputs: &Node) -> Vec<Input> {
    let inputs = inputs.list().unwrap_or_default().iter();
    inputs.filter_map(read_input).collect()
}

pub(crate) fn input_defaults(inputs: &[Input]) -> BTreeMap<String, String> {
    inputs.iter().filter_map(|input| Some((input.id.clone(), input.default.clone()?))).collect()
}

fn read_input(node: &Node) -> Option<Input> {
    let text = |key: &str| node.get(key).and_then(Node::text).map(str::to_owned);
    // An option may be a text, or an object with a label and a value.
    let option = |node: &Node| node.text().or_else(|| node.get("value")?.text()).map(str::to_owned);
    let options = node.get("options").and_then(Node::list).unwrap_or_default();
    Some(Input {
        id: text("id")?,
        description: text("description"),
        default: text("default"),
        password: node.get("password").and_then(Node::flag).unwrap_or_default(),
        options: options.iter().filter_map(option).collect(),
    })
}

/// The longest prefix of names of tools.
const MAX_SLUG: usize = 24;

/// The prefix of a server's tools, before equal prefixes are made unique.
pub(crate) fn slug(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let mapped: String = name.chars().map(plain).take(MAX_SLUG).collect();
    mapped.trim_matches('-').to_owned()
}
