//! The one file that a command changes.

use std::{io, path::PathBuf};

use toolbay_config::{
    ConfigError, ConfigFile,
    scope::{Scope, ScopedFile, find_project, project_files, user_file},
};

use crate::{
    app::{
        context::Context,
        error::{CliError, similar},
    },
    args::ScopeArg,
    configured::files::Configuration,
};

/// A file to change, whether it is there or not.
#[derive(Debug)]
pub(crate) struct TargetFile {
    pub(crate) path: PathBuf,
    pub(crate) scope: Scope,
}

impl TargetFile {
    /// The file that was named, else that of the scope, else the user's own.
    pub(crate) fn of(context: &Context, scope: Option<ScopeArg>) -> Result<Self, CliError> {
        match (&context.args.global.config, scope) {
            (Some(_), Some(_)) => Err(CliError::usage("--config and --scope cannot be used together")),
            (Some(typed), None) => Self::named(typed),
            (None, Some(ScopeArg::Project)) => {
                let here = std::env::current_dir()?;
                let files = project_files(&find_project(&here, context.env.home.as_deref()));
                let there = files.iter().find(|path| path.is_file());
                Ok(Self { path: there.unwrap_or(&files[0]).clone(), scope: Scope::Project })
            }
            (None, Some(ScopeArg::User) | None) => {
                let folder = context.env.config_dir.as_deref().ok_or_else(|| CliError::Usage {
                    message: "the location of your configuration is not known: HOME is not set".to_owned(),
                    hint: Some("pass the file: --config FILE".to_owned()),
                })?;
                Ok(Self { path: user_file(folder), scope: Scope::User })
            }
        }
    }

    /// The file that has a server.
    pub(crate) fn with(context: &Context, name: &str, scope: Option<ScopeArg>) -> Result<Self, CliError> {
        let configuration = Configuration::find(context)?;
        let is_meant = |file: &&ScopedFile| match scope {
            None => true,
            Some(ScopeArg::User) => file.scope == Scope::User,
            Some(ScopeArg::Project) => file.scope == Scope::Project,
        };
        let (mut found, mut known, mut broken) = (Vec::new(), Vec::new(), None);
        for file in configuration.files.iter().filter(is_meant) {
            match configuration.load(&file.path) {
                Ok(content) => {
                    let names = names(&content);
                    if names.iter().any(|it| it == name) {
                        found.push(file);
                    }
                    known.extend(names);
                }
                Err(ConfigError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
                Err(error) => broken = Some(error),
            }
        }
        match (&found[..], broken) {
            ([file], _) => Ok(Self { path: file.path.clone(), scope: file.scope }),
            ([], Some(broken)) => Err(broken.into()),
            ([], None) => {
                let similar = similar(name, known.iter().map(String::as_str));
                Err(CliError::UnknownServer { name: name.to_owned(), similar, known })
            }
            (several, _) => {
                let files: Vec<String> = several.iter().map(|file| file.path.display().to_string()).collect();
                Err(CliError::Usage {
                    message: format!("`{name}` is defined in several files: {}", files.join(", ")),
                    hint: Some("choose one: --scope user, --scope project or --config FILE".to_owned()),
                })
            }
        }
    }

    /// A file that was named may be new, if its name says what it shall be: what follows `-c` may have been meant for
    /// the server.
    fn named(typed: &std::path::Path) -> Result<Self, CliError> {
        let is_known = typed.extension().is_some_and(|it| it == "toml" || it == "json" || it == "jsonc");
        if !typed.exists() && !is_known {
            return Err(CliError::Usage {
                message: format!("no such file: {}", typed.display()),
                hint: Some(
                    "a new file must end in .toml or .json; arguments of the server go after `--`".to_owned(),
                ),
            });
        }
        Ok(Self { path: std::path::absolute(typed)?, scope: Scope::Local })
    }
}

/// All names in a file, also of entries that cannot be used.
pub(crate) fn names(file: &ConfigFile) -> Vec<String> {
    let broken = file.problems.iter().filter_map(|problem| problem.server.as_ref());
    let names = file.written.iter().map(|written| &written.name).chain(broken);
    names.chain(file.extensions.iter().map(|extension| &extension.name)).cloned().collect()
}
