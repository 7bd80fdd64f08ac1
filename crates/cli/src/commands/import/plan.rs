//! The plan of an import, server by server.

use std::path::Path;

use toolbay_config::{
    ConfigFile, Edit, Input, Problem, ReadFiles, ServerConfig, WrittenBuiltIn, WrittenServer, load_with,
    parse_with, preview, scope::Scope,
};

use super::sources::ImportSource;
use crate::{
    app::{context::Context, cycle::OwnHub, error::CliError},
    configured::{
        files::variables,
        report,
        target::{TargetFile, names},
    },
};

/// A server that was found.
#[derive(Debug)]
pub(super) struct Candidate<'a> {
    pub(super) client: &'static str,
    pub(super) path: &'a Path,
    pub(super) written: &'a WrittenServer,
    pub(super) status: ImportStatus,
    /// Whether it is to be written.
    pub(super) is_taken: bool,
    /// Notes for the user.
    pub(super) notes: Vec<String>,
    /// The warning that its package is not pinned to a version.
    pub(super) unpinned: Option<String>,
}

/// How a found server compares with ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ImportStatus {
    New,
    /// The same server exists already.
    Same,
    /// Another server of that name exists.
    Changed,
    /// Another file has one of that name that starts something else, and comes first.
    Conflict,
    /// It is this hub.
    Hub,
    /// Our file cannot hold it.
    Unusable,
}

impl ImportStatus {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Same => "same",
            Self::Changed => "changed",
            Self::Conflict => "conflict",
            Self::Hub => "this hub",
            Self::Unusable => "unusable",
        }
    }
}

/// Compares everything that was found with the file and with one another.
pub(super) fn plan<'a>(
    context: &Context,
    file: &TargetFile,
    sources: &'a [ImportSource],
    own: &OwnHub,
    replaces: bool,
) -> Result<Vec<Candidate<'a>>, CliError> {
    let before = load_with(&file.path, &variables(context, ReadFiles::Never)).ok();
    let mut candidates: Vec<Candidate<'a>> = Vec::new();
    let mut firsts: Vec<&WrittenServer> = Vec::new();
    let mut edits: Vec<Edit<'a>> = Vec::new();
    for source in sources {
        for (index, server) in source.file.servers.iter().enumerate() {
            let written = source.moved(index, file);
            let first = firsts.iter().find(|first| first.name == written.name);
            let status = match first {
                _ if is_hub(written) || own.is(server) => ImportStatus::Hub,
                Some(first) if first.is_same_server(written) => ImportStatus::Same,
                Some(_) => ImportStatus::Conflict,
                None => compare(before.as_ref(), written),
            };
            let mut candidate = Candidate {
                client: source.file.format.name(),
                path: &source.path,
                written,
                status,
                is_taken: status == ImportStatus::New || status == ImportStatus::Changed && replaces,
                notes: Vec::new(),
                unpinned: None,
            };
            if candidate.is_taken {
                edits.push(Edit::Put(written));
                match after(context, file, &edits, &written.name)? {
                    Ok(after) => candidate.look(source, server, &after),
                    Err(why) => {
                        edits.pop();
                        (candidate.status, candidate.is_taken) = (ImportStatus::Unusable, false);
                        candidate.notes.push(why);
                    }
                }
            } else if status == ImportStatus::Changed {
                candidate.notes.push("kept as it is; --replace replaces it".to_owned());
            }
            if !matches!(status, ImportStatus::Hub | ImportStatus::Conflict) && first.is_none() {
                firsts.push(written);
            }
            candidates.push(candidate);
        }
    }
    Ok(candidates)
}

impl Candidate<'_> {
    /// Collects notes for the user before it is written.
    fn look(&mut self, source: &ImportSource, server: &ServerConfig, after: &ConfigFile) {
        let secrets = self.written.literal_secrets();
        if !secrets.is_empty() {
            self.notes.push(format!(
                "{} looks like a secret; --secrets move moves it to the store, where it can be",
                secrets.join(", ")
            ));
        }
        self.unpinned = report::warning(server);
        let name = &self.written.name;
        for (_, replacement) in source.replaced.iter().filter(|(replaced, _)| replaced == name) {
            let built_in = replacement.server.built_in.as_ref().map_or("", WrittenBuiltIn::name);
            self.notes
                .push(format!("`{}` is replaced by the built-in server `{built_in}`", replacement.package));
            self.notes.extend(replacement.notes.iter().cloned());
        }
        for written in source.file.written.iter().filter(|written| written.name == *name) {
            for id in written.inputs() {
                let variable = Input::variable(id);
                let is_secret = self.written.secret_names().iter().any(|name| name.as_str() == variable);
                self.notes.push(match is_secret {
                    true => format!(
                        "`${{input:{id}}}` becomes `${{secret:{variable}}}`: toolbay secret set {variable}"
                    ),
                    false => format!(
                        "`${{input:{id}}}` becomes `${{{variable}}}`: set {variable} in the environment"
                    ),
                });
            }
            if written.names_workspace() && !source.file.is_project {
                let folder = std::env::current_dir().unwrap_or_default();
                self.notes.push(format!("`${{workspaceFolder}}` is resolved to {}", folder.display()));
            }
        }
        // Warnings that only the other format has are about settings that are lost.
        let unset = after.incomplete.get(&server.name).map(Vec::as_slice).unwrap_or_default();
        let is_unset = |message: &str| unset.iter().any(|name| message.starts_with(&format!("`{name}` ")));
        let warns = |file: &ConfigFile, message: &str| {
            let mut warnings = file.warnings.iter();
            warnings.any(|it| it.server.as_deref() == Some(name) && it.message == message)
        };
        for warning in source.file.warnings.iter().filter(|it| it.server.as_deref() == Some(name)) {
            let is_about_input = warning.message.starts_with("`input:");
            if !is_about_input && !is_unset(&warning.message) && !warns(after, &warning.message) {
                self.notes.push(warning.message.clone());
            }
        }
        let ours = after.servers.iter().find(|ours| ours.name == server.name);
        let is_complete = |file: &ConfigFile| !file.incomplete.contains_key(&server.name);
        let both = is_complete(&source.file) && is_complete(after);
        if both && ours.is_some_and(|ours| ours.launch_hash() != server.launch_hash()) {
            self.notes.push("relative paths in it were relative to that file; check them".to_owned());
        }
    }
}

impl ImportSource {
    /// A server as it will be written to a file: unchanged in the project that it is from, elsewhere with absolute paths.
    fn moved(&self, index: usize, to: &TargetFile) -> &WrittenServer {
        let stays = to.scope == Scope::Project && to.path.parent() == Some(&self.file.folder);
        let (as_written, portable) = (&self.file.written[index], &self.file.portable[index]);
        // Inputs are not asked for here.
        if stays && as_written.inputs().is_empty() { as_written } else { portable }
    }
}

/// The file as it would be, or why a server cannot be in it.
fn after(
    context: &Context,
    file: &TargetFile,
    edits: &[Edit<'_>],
    name: &str,
) -> Result<Result<ConfigFile, String>, CliError> {
    use toolbay_config::EditError;
    let next = match preview(&file.path, None, edits) {
        Ok(next) => next,
        Err(EditError::Unsupported { message, .. }) => return Ok(Err(message)),
        Err(error) => return Err(error.into()),
    };
    let parsed = parse_with(&next.text, &file.path, &variables(context, ReadFiles::Never))?;
    let of_it = |problem: &&Problem| problem.server.as_deref() == Some(name);
    let problem = parsed.problems.iter().find(of_it).map(|problem| problem.message.clone());
    Ok(match problem {
        Some(message) => Err(message),
        None => Ok(parsed),
    })
}

fn compare(before: Option<&ConfigFile>, written: &WrittenServer) -> ImportStatus {
    let Some(before) = before else { return ImportStatus::New };
    match before.written.iter().find(|ours| ours.name == written.name) {
        Some(ours) if ours.is_same_server(written) => ImportStatus::Same,
        Some(_) => ImportStatus::Changed,
        None if names(before).contains(&written.name) => ImportStatus::Changed,
        None => ImportStatus::New,
    }
}

/// Whether an entry starts a hub such as this one, which must not serve itself.
fn is_hub(written: &WrittenServer) -> bool {
    let Some(command) = &written.command else { return false };
    let is_ours = Path::new(&command.shown()).file_name().is_some_and(|name| name == env!("CARGO_PKG_NAME"));
    let mut args = written.args.iter().map(toolbay_config::Template::shown);
    is_ours && (written.args.is_empty() || args.any(|arg| arg == "stdio"))
}
