//! The files to import from.

use std::path::PathBuf;

use toolbay_config::{
    ConfigFile, Folders, Format, ReadFiles, Replacement, Variables, client_paths, load_with,
};

use crate::{
    app::{
        context::Context,
        error::{CliError, similar},
    },
    args::ImportArgs,
    configured::files::{Configuration, variables},
};

/// A file with servers, and whose it is.
#[derive(Debug)]
pub(super) struct ImportSource {
    pub(super) path: PathBuf,
    pub(super) file: ConfigFile,
    /// The servers that built-in ones take the place of, by name.
    pub(super) replaced: Vec<(String, Replacement)>,
}

/// The files to import from.
#[derive(Debug, Default)]
pub(super) struct Sources {
    pub(super) found: Vec<ImportSource>,
    /// Every file that was looked for.
    pub(super) looked_at: Vec<PathBuf>,
}

impl Sources {
    /// Replaces servers by built-in ones where that is possible.
    pub(super) fn prefer_built_in(&mut self, context: &Context) {
        let variables = variables(context, ReadFiles::Never);
        for source in &mut self.found {
            source.replaced = source.file.prefer_built_in(&variables);
        }
    }
}

/// The named file, or those of the named client, or of all that are known.
pub(super) fn find(context: &Context, args: &ImportArgs) -> Result<Sources, CliError> {
    let project = std::env::current_dir()?;
    let unplaced = variables(context, ReadFiles::Never);
    // In files with entries of many projects, those of this one count.
    let here = Variables { workspace: Some(project.clone()), ..unplaced.clone() };
    if let Some(path) = &args.file {
        let path = std::path::absolute(path)?;
        let mut file = load_with(&path, &unplaced)?;
        if !file.is_project {
            file = load_with(&path, &here)?;
        }
        let source = ImportSource { path: path.clone(), file, replaced: Vec::new() };
        source.report(context);
        return Ok(Sources { found: vec![source], looked_at: vec![path] });
    }
    let Some(folders) = folders(context) else { return Ok(Sources::default()) };
    let wanted = args.from.as_deref().map(client).transpose()?;
    // Files that are read anyway need not be imported.
    let ours = Configuration::find(context)?.files;
    let is_meant = |(format, path): &(Format, PathBuf)| {
        wanted.is_none_or(|wanted| wanted == *format) && !ours.iter().any(|file| file.path == *path)
    };
    let mut sources = Sources::default();
    for (_, path) in client_paths(&folders, Some(&project)).into_iter().filter(is_meant) {
        sources.looked_at.push(path.clone());
        if !path.is_file() {
            continue;
        }
        match load_with(&path, &here) {
            Ok(file) => {
                let source = ImportSource { path, file, replaced: Vec::new() };
                source.report(context);
                sources.found.push(source);
            }
            // Most files with settings of editors have no servers.
            Err(toolbay_config::ConfigError::NoServers { .. }) => {}
            Err(error) => context.out.warn(&error.to_string()),
        }
    }
    Ok(sources)
}

impl ImportSource {
    /// Tells about entries that cannot be used.
    fn report(&self, context: &Context) {
        for problem in &self.file.problems {
            context.out.warn(&format!("{}:{problem}", self.path.display()));
        }
        for extension in &self.file.extensions {
            let (path, place, name) = (self.path.display(), extension.location, &extension.name);
            context.out.warn(&format!("{path}:{place}: server `{name}` is started by an extension; skipped"));
        }
    }
}

/// The folders of clients' files.
pub(in crate::commands) fn folders(context: &Context) -> Option<Folders> {
    Some(Folders { home: context.env.home.clone()?, config: context.env.config_dir.clone()? })
}

/// The client of that name; also those whose files are only read.
fn client(name: &str) -> Result<Format, CliError> {
    let read_only = [Format::Goose, Format::Devin];
    let found = Format::client(name).or(read_only.into_iter().find(|format| format.name() == name));
    found.ok_or_else(|| unknown_client(name, Format::CLIENTS.into_iter().chain(read_only)))
}

/// The error for an unknown client.
pub(in crate::commands) fn unknown_client(name: &str, known: impl Iterator<Item = Format>) -> CliError {
    let known: Vec<&str> = known.map(Format::name).collect();
    let hint = match similar(name, known.iter().copied()) {
        similar if similar.is_empty() => format!("there are: {}", known.join(", ")),
        similar => format!("did you mean `{}`?", similar.join("`, `")),
    };
    CliError::Usage { message: format!("unknown client `{name}`"), hint: Some(hint) }
}
