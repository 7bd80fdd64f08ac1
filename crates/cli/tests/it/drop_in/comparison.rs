//! [`Comparison`]: the same calls to an original and to ours.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;

use super::client::{Server, files};
use crate::{interop, program::Home};

/// How long a call may take that the original never answers.
const GIVE_UP: Duration = Duration::from_secs(2);

/// A call of both servers. In arguments, `{root}` is the server's directory.
pub(crate) struct Call {
    tool: &'static str,
    arguments: Value,
    expected: Expected,
    /// The file that it may leave with another content than the original does.
    changes: Option<&'static str>,
}

enum Expected {
    Equal,
    /// Ours differs, for this reason.
    Better(&'static str),
    /// The original does not answer, for this reason.
    Unanswered(&'static str),
}

/// A call that both answer alike.
pub(crate) fn call(tool: &'static str, arguments: Value) -> Call {
    Call { tool, arguments, expected: Expected::Equal, changes: None }
}

impl Call {
    /// Adds arguments, or replaces them.
    pub(crate) fn with(mut self, arguments: &Value) -> Self {
        for (name, value) in arguments.as_object().into_iter().flatten() {
            self.arguments[name] = value.clone();
        }
        self
    }

    /// Says that ours answers differently, and why, in the words of the server's page.
    pub(crate) fn better(self, reason: &'static str) -> Self {
        Self { expected: Expected::Better(reason), ..self }
    }

    /// Says that the original never answers, and why.
    pub(crate) fn unanswered(self, reason: &'static str) -> Self {
        Self { expected: Expected::Unanswered(reason), ..self }
    }

    /// Says that ours leaves this file with another content than the original.
    pub(crate) fn leaving(self, file: &'static str) -> Self {
        Self { changes: Some(file), ..self }
    }
}

/// A published server and ours, and how they are started. In arguments and variables, `{root}` is the server's directory.
pub(crate) struct Servers {
    /// Our server's page: `docs/PAGE.md`.
    pub(crate) page: &'static str,
    /// The program of the original, below the directory of the peers.
    pub(crate) program: &'static str,
    /// The script that this program runs, if any, likewise.
    pub(crate) script: Option<&'static str>,
    /// What follows `toolbay builtin`.
    pub(crate) ours: &'static [&'static str],
    /// Arguments of both.
    pub(crate) arguments: &'static [&'static str],
    /// Variables of both.
    pub(crate) environment: &'static [(&'static str, &'static str)],
    /// Files that only ours leaves.
    pub(crate) own_files: &'static [&'static str],
}

/// Two servers in directories of their own.
pub(crate) struct Comparison {
    page: &'static str,
    own_files: &'static [&'static str],
    original: Server,
    ours: Server,
    /// Hides what differs between two runs of the same server.
    mask: fn(String) -> String,
    _home: Home,
    _directory: TempDir,
}

impl Comparison {
    /// Starts both, after `prepare` has filled their directories.
    pub(crate) fn start(servers: &Servers, prepare: impl Fn(&Path)) -> Self {
        let home = Home::new();
        let directory = tempfile::tempdir().unwrap();
        let peers = interop::peers();
        // The names are of one length, so that what is aligned in answers is aligned alike.
        let [theirs, ours] = ["original", "built-in"].map(|name| {
            let root = directory.path().canonicalize().unwrap().join(name);
            fs::create_dir(&root).unwrap();
            prepare(&root);
            root
        });
        let add = |command: &mut Command, root: &Path| {
            let local = |text: &str| text.replace("{root}", &root.to_string_lossy());
            command.args(servers.arguments.iter().map(|text| local(text)));
            command.envs(servers.environment.iter().map(|(name, value)| (name, local(value))));
            command.current_dir(root).env("TZ", "UTC").env("LANG", "C.UTF-8");
        };
        let mut command = Command::new(peers.join(servers.program));
        command.args(servers.script.map(|script| peers.join(script))).env("HOME", home.path("home"));
        add(&mut command, &theirs);
        let original = Server::start(command, &theirs);
        let mut command = home.command(&["builtin"]);
        command.args(servers.ours);
        add(&mut command, &ours);
        let ours = Server::start(command, &ours);
        Self {
            page: servers.page,
            own_files: servers.own_files,
            original,
            ours,
            mask: |text| text,
            _home: home,
            _directory: directory,
        }
    }

    /// Hides what differs between two runs of the same server, in an answer as JSON text.
    pub(crate) fn masked(self, mask: fn(String) -> String) -> Self {
        Self { mask, ..self }
    }

    /// Compares names, required parameters and hints of the tools. Ours may have more optional parameters.
    pub(crate) fn tools(&mut self) {
        let theirs = by_name(self.original.tools());
        let ours = by_name(self.ours.tools());
        assert_eq!(theirs.keys().collect::<Vec<_>>(), ours.keys().collect::<Vec<_>>());
        for (name, theirs) in theirs {
            let ours = &ours[&name];
            assert_eq!(required(&theirs), required(ours), "required parameters of `{name}`");
            let parameters = |tool: &Value| -> Vec<String> {
                let properties = tool["inputSchema"]["properties"].as_object();
                properties.into_iter().flat_map(|all| all.keys().cloned()).collect()
            };
            let known = parameters(ours);
            let missing: Vec<_> =
                parameters(&theirs).into_iter().filter(|name| !known.contains(name)).collect();
            assert!(missing.is_empty(), "`{name}` has no parameters {missing:?}");
            for (hint, value) in theirs["annotations"].as_object().into_iter().flatten() {
                // A title has a place of its own by now.
                let ours = if hint == "title" { &ours["title"] } else { &ours["annotations"][hint] };
                assert_eq!(ours, value, "{hint} of `{name}`");
            }
        }
    }

    /// Makes the calls, one after the other, and compares the answers, and the files once both servers have ended.
    pub(crate) fn calls(mut self, calls: impl IntoIterator<Item = Call>) {
        let page = documentation(self.page);
        let mut wrong = Vec::new();
        let mut changed: Vec<PathBuf> = self.own_files.iter().map(PathBuf::from).collect();
        let (mut equal, mut better) = (0, 0);
        for call in calls {
            let Call { tool, arguments, expected, changes } = call;
            changed.extend(changes.map(PathBuf::from));
            let limit = matches!(expected, Expected::Unanswered(_)).then_some(GIVE_UP);
            let theirs = self.original.call(tool, &arguments, limit);
            let mut ours = self.ours.call(tool, &arguments, None);
            leave_out_additions(theirs.as_ref(), ours.as_mut());
            let mask = |answer: Option<Value>| answer.map(|answer| (self.mask)(answer.to_string()));
            let (theirs, ours) = (mask(theirs), mask(ours));
            let shown =
                || format!("{tool} {arguments}\n  original: {}\n  ours:     {}", show(&theirs), show(&ours));
            match expected {
                Expected::Equal if theirs == ours => equal += 1,
                Expected::Equal => wrong.push(format!("differs: {}", shown())),
                Expected::Better(reason) | Expected::Unanswered(reason) => {
                    better += 1;
                    if theirs == ours && changes.is_none() {
                        wrong.push(format!("no longer differs, though «{reason}»: {}", shown()));
                    }
                    if !page.contains(reason) {
                        wrong.push(format!("docs/{}.md does not say: {reason}", self.page));
                    }
                }
            }
        }
        self.ours.end();
        wrong.extend(self.changed_files(&changed));
        eprintln!("{}: {equal} equal answers, {better} better ones", self.page);
        assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), self.page, wrong.join("\n"));
        assert!(equal > 0, "nothing was compared");
    }

    /// Files that differ although no call says so, and those that should and do not.
    fn changed_files(&self, expected: &[PathBuf]) -> Vec<String> {
        let theirs: BTreeMap<_, _> = files(&self.original.root).into_iter().collect();
        let ours: BTreeMap<_, _> = files(&self.ours.root).into_iter().collect();
        let mut paths: Vec<_> = theirs.keys().chain(ours.keys()).collect();
        paths.sort();
        paths.dedup();
        let text = |bytes: Option<&Vec<u8>>| {
            bytes.map_or("(none)".to_owned(), |bytes| bytes.escape_ascii().to_string())
        };
        let differ = |path: &&&PathBuf| (theirs.get(**path) == ours.get(**path)) == expected.contains(path);
        let lines = paths.iter().filter(differ).map(|path| {
            let (theirs, ours) = (text(theirs.get(*path)), text(ours.get(*path)));
            format!("file {}:\n  original: {theirs}\n  ours:     {ours}", path.display())
        });
        lines.collect()
    }
}

/// Ours may have structured content and metadata where the original has none: clients that do not know them see the same.
fn leave_out_additions(theirs: Option<&Value>, ours: Option<&mut Value>) {
    let (Some(theirs), Some(ours)) = (theirs, ours) else { return };
    let Some(result) = ours["result"].as_object_mut() else { return };
    for name in ["structuredContent", "_meta"] {
        if theirs["result"][name].is_null() {
            result.remove(name);
        }
    }
}

fn show(answer: &Option<String>) -> &str {
    answer.as_deref().unwrap_or("(no answer)")
}

fn by_name(tools: Vec<Value>) -> BTreeMap<String, Value> {
    tools.into_iter().map(|tool| (tool["name"].as_str().unwrap_or_default().to_owned(), tool)).collect()
}

fn required(tool: &Value) -> Vec<String> {
    let names = tool["inputSchema"]["required"].as_array().into_iter().flatten();
    let mut names: Vec<_> = names.filter_map(|name| name.as_str().map(str::to_owned)).collect();
    names.sort();
    names
}

/// The text of a page, without its line breaks.
fn documentation(page: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page).with_extension("md");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
