//! A whole file, of any format.

mod check;
pub(crate) mod detect;
mod dotenv;
mod input;
mod policy;
mod portable;
mod root;
mod slug;

use std::{
    collections::{BTreeMap, HashMap},
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use toolbay_protocol::ServerName;

use crate::{
    Extension, Format, HubFile, Place, Problem, ServerConfig, Standing, Syntax, Variables, Written,
    entry::{self, Reading},
    native,
    place::Remark,
    tree::{self, Node},
};
use check::check;
use detect::{Entry, Found, detect};
pub use input::Input;
use portable::portable;
use root::Root;

/// A larger file is no configuration.
const MAX_FILE: u64 = 4 * 1024 * 1024;

/// Some editors begin files with this.
pub(crate) const MARK: char = '\u{feff}';

/// What a file says.
#[derive(Debug, Default)]
pub struct ConfigFile {
    /// Whose file it is.
    pub format: Format,
    /// Where relative paths in it start: its own folder, or the project that it belongs to.
    pub folder: PathBuf,
    /// Whether it belongs to a project.
    pub is_project: bool,
    /// The servers, in the order of the file.
    pub servers: Vec<ServerConfig>,
    /// The same servers as written, in the same order.
    pub written: Vec<Written>,
    /// The same, fit for a file in another folder: what depends on the place of this one is said in full, and variables of
    /// the environment stand for [inputs](Input::variable).
    pub portable: Vec<Written>,
    /// Servers that extensions describe.
    pub extensions: Vec<Extension>,
    /// What people are asked for.
    pub inputs: Vec<Input>,
    /// Settings of the hub itself, in our own format.
    pub hub: HubFile,
    /// Where these settings are, if there are any.
    pub hub_place: Option<Place>,
    /// Entries that cannot be used, and why.
    pub problems: Vec<Problem>,
    /// What is odd, and does not keep an entry from being used.
    pub warnings: Vec<Problem>,
    /// Servers that will hardly work, because these variables have no value.
    pub incomplete: BTreeMap<ServerName, Vec<String>>,
}

/// Why a whole file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("cannot read the configuration {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// Anyone could change it, and with it what we run.
    #[error("anyone may write to the configuration {0}, and so choose what is run; try: chmod o-w {0}", path.display())]
    WritableByAll { path: PathBuf },
    /// It is too large.
    #[error("the configuration {} is larger than {} MiB", path.display(), MAX_FILE >> 20)]
    TooLarge { path: PathBuf },
    /// It is not in the syntax that it seems to be in.
    #[error("{}:{place}: {message}", path.display())]
    Syntax { path: PathBuf, place: Place, message: String },
    /// It has no servers in a place we know.
    #[error("{}: {}", path.display(), what.as_deref().unwrap_or(NO_SERVERS))]
    NoServers { path: PathBuf, what: Option<String> },
}

const NO_SERVERS: &str =
    "there are no servers in it; the usual place is an object `mcpServers`, or `[servers.NAME]` in TOML";

/// Reads a file. Variables in it have no values.
pub fn load(path: &Path) -> Result<ConfigFile, ConfigError> {
    load_with(path, &Variables::default())
}

/// Reads a file and fills in variables.
pub fn load_with(path: &Path, variables: &Variables) -> Result<ConfigFile, ConfigError> {
    let read = |source| ConfigError::Read { path: path.to_owned(), source };
    let metadata = fs::metadata(path).map_err(read)?;
    if metadata.is_file() && metadata.permissions().mode() & 0o002 != 0 {
        return Err(ConfigError::WritableByAll { path: path.to_owned() });
    }
    if metadata.len() > MAX_FILE {
        return Err(ConfigError::TooLarge { path: path.to_owned() });
    }
    let text = fs::read_to_string(path).map_err(read)?;
    parse_with(&text, path, variables)
}

/// Reads the text of a file. Relative folders in it start where the file is, or at the project that its folder belongs to.
pub fn parse(text: &str, path: &Path) -> Result<ConfigFile, ConfigError> {
    parse_with(text, path, &Variables::default())
}

/// Reads the text of a file and fills in variables.
pub fn parse_with(text: &str, path: &Path, variables: &Variables) -> Result<ConfigFile, ConfigError> {
    let text = text.trim_start_matches(MARK);
    let syntax = Syntax::of(text, path);
    let wrong = |(place, message)| ConfigError::Syntax { path: path.to_owned(), place, message };
    let root = tree::parse(text, syntax).map_err(wrong)?;
    if root.entries().is_none() {
        return Err(wrong((
            Place::START,
            "a configuration is a table of keys, such as a JSON object".to_owned(),
        )));
    }
    let found =
        detect(&root, syntax, path).map_err(|what| ConfigError::NoServers { path: path.to_owned(), what })?;
    let inputs = found.inputs.map(input::read).unwrap_or_default();
    let ground = Root::of(path, found.format, variables.home.as_deref());
    let defaults = input::defaults(&inputs);
    let mut reader = Reader {
        text,
        root: &root,
        variables: variables.for_file(path, &ground.folder, &defaults),
        ground: &ground,
        file: ConfigFile {
            format: found.format,
            folder: ground.folder.clone(),
            is_project: ground.is_project,
            inputs,
            ..ConfigFile::default()
        },
        slugs: HashMap::new(),
    };
    if found.format == Format::Toolbay {
        let section = native::hub(&root, text, &ground.folder, &reader.variables);
        reader.file.hub = section.hub;
        reader.file.hub_place = section.place;
        reader.file.problems.extend(section.problems);
    }
    for entry in chosen(found, variables.workspace.as_deref()) {
        reader.take(&entry);
    }
    Ok(reader.file)
}

/// Where a file holds entries of several projects: those of the user and of our project, whose own come first. If no
/// project is ours, all of them.
fn chosen<'a>(found: Found<'a>, workspace: Option<&Path>) -> Vec<Entry<'a>> {
    let ours = |entry: &Entry<'_>| {
        entry.project.zip(workspace).is_some_and(|(project, workspace)| workspace.starts_with(project))
    };
    if !found.entries.iter().any(ours) {
        return found.entries;
    }
    let (own, others): (Vec<_>, Vec<_>) = found.entries.into_iter().partition(ours);
    own.into_iter().chain(others.into_iter().filter(|entry| entry.project.is_none())).collect()
}

struct Reader<'a> {
    text: &'a str,
    root: &'a Node,
    ground: &'a Root,
    variables: Variables,
    file: ConfigFile,
    /// Names of servers, by what clients will see of them.
    slugs: HashMap<String, String>,
}

impl Reader<'_> {
    fn take(&mut self, entry: &Entry<'_>) {
        let place = entry.at.place(self.text);
        let problem = |message| Problem { server: Some(entry.name.clone()), message, place };
        let text = self.text;
        let at_its_key = |Remark { message, at }: Remark| Problem {
            place: at.map_or(place, |at| at.place(text)),
            ..problem(message)
        };
        if self.file.written.iter().any(|written| written.name == entry.name) {
            let message = "the name stands twice; the first entry counts".to_owned();
            return self.file.problems.push(problem(message));
        }
        if let Some(first) = self.slugs.get(&slug::slug(&entry.name)) {
            if self.file.format == Format::Toolbay {
                let message = format!(
                    "its tools would be named like those of `{first}`; names must differ in more than case and punctuation"
                );
                return self.file.problems.push(problem(message));
            }
            let message = format!("its tools get a longer prefix, because its name is like `{first}`");
            self.file.warnings.push(problem(message));
        }
        let (mut notes, mut remarks) = (Vec::new(), Vec::new());
        let reading = if self.file.format == Format::Toolbay {
            match native::read(&entry.name, place, entry.node, self.text) {
                Ok(written) => Ok(Reading::Server(Box::new(written))),
                Err(mut problems) => return self.file.problems.append(&mut problems),
            }
        } else {
            entry::read(&entry.name, place, entry.node, self.file.format, &mut remarks)
        };
        match reading {
            Ok(Reading::Server(written)) => self.server(*written, entry.project, &mut notes),
            Ok(Reading::Extension(extension)) => self.file.extensions.push(extension),
            Ok(Reading::Elsewhere(why)) => notes.push(why),
            Err(remark) => self.file.problems.push(at_its_key(remark)),
        }
        self.file.warnings.extend(remarks.into_iter().map(at_its_key));
        self.file.warnings.extend(notes.into_iter().map(problem));
    }

    fn server(&mut self, mut written: Written, project: Option<&str>, notes: &mut Vec<String>) {
        self.slugs.entry(slug::slug(&written.name)).or_insert_with(|| written.name.clone());
        notes.extend(policy::apply(self.root, self.file.format, project, &mut written));
        let usual_cwd = self.ground.usual_cwd(project);
        match check(&written, &self.ground.folder, usual_cwd, &self.variables) {
            Ok(checked) => {
                // Whoever switched it off has no use for the rest.
                let runs = written.standing != Standing::Disabled;
                for missing in checked.missing.iter().filter(|_| runs) {
                    let note = |fate| format!("`{}` has no value, so {fate}; {}", missing.name, missing.hint);
                    notes.extend(missing.fate().map(note));
                }
                let lacking = checked.missing.into_iter().filter(|missing| runs && missing.matters());
                let lacking: Vec<String> = lacking.map(|missing| missing.name).collect();
                if !lacking.is_empty() {
                    self.file.incomplete.insert(checked.server.name.clone(), lacking);
                }
                self.file.portable.push(portable(
                    &written,
                    &checked.server,
                    &self.ground.folder,
                    &self.variables,
                    &input::defaults(&self.file.inputs),
                ));
                self.file.servers.push(checked.server);
                self.file.written.push(written);
            }
            Err(message) => {
                let (server, place) = (Some(written.name), written.place);
                self.file.problems.push(Problem { server, message, place });
            }
        }
    }
}
