//! The project that a file belongs to.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::{Format, ServerConfig, ServerEndpoint, Stderr, Variables, WrittenServer, template::Template};

/// Folders that programs keep inside the one that their files are about.
const WITHIN: [&str; 20] = [
    ".agents",
    ".ai",
    ".air",
    ".amp",
    ".claude",
    ".codeium",
    ".copilot",
    ".cursor",
    ".devcontainer",
    ".devin",
    ".factory",
    ".gemini",
    ".github",
    ".junie",
    ".kiro",
    ".roo",
    ".rovodev",
    ".vscode",
    ".warp",
    ".zed",
];

/// The folder that a file is about.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProjectRoot {
    /// From here relative folders start, and `${workspaceFolder}` means it: where the file is, or the project that the
    /// file's folder is in.
    pub(crate) folder: PathBuf,
    /// Whether it is a project. Its programs run there by default.
    pub(crate) is_project: bool,
}

impl ProjectRoot {
    pub(crate) fn of(path: &Path, format: Format, home: Option<&Path>) -> Self {
        let folder = path.parent().unwrap_or(Path::new(""));
        let is_within =
            |folder: &&Path| folder.file_name().is_some_and(|name| WITHIN.iter().any(|it| name == *it));
        let above = folder.ancestors().take(2).find(is_within).and_then(Path::parent);
        let is_shared = path.file_name().is_some_and(|name| name == ".mcp.json");
        let (folder, is_project) = match above {
            _ if format == Format::Toolbay => (folder, false),
            Some(above) => (above, true),
            None => (folder, is_shared || format == Format::OpenCode),
        };
        // Files in the home directory are for all projects. A file without a folder belongs to none.
        let is_project = is_project && folder.is_absolute() && home != Some(folder);
        Self { folder: folder.to_owned(), is_project }
    }

    /// The default working directory of a program; `project` is the one that its entry is for.
    pub(crate) fn usual_cwd(&self, project: Option<&str>) -> Option<PathBuf> {
        project.map(PathBuf::from).or_else(|| self.is_project.then(|| self.folder.clone()))
    }
}

/// A server as written, in which nothing depends any more on where the file is.
pub(crate) fn in_full(
    written: &WrittenServer,
    server: &ServerConfig,
    folder: &Path,
    variables: &Variables,
) -> WrittenServer {
    let mut moved = written.clone();
    moved.texts_mut().for_each(|text| *text = text.with_places(variables));
    moved.env_file = moved.env_file.map(|file| file.below(folder));
    // The given one, or where the program of this file would run it.
    moved.cwd = match (&server.endpoint, moved.cwd) {
        (_, Some(cwd)) => Some(cwd.below(folder)),
        (ServerEndpoint::Command(command), None) => command.cwd.as_deref().map(Template::of_path),
        (ServerEndpoint::Url(_) | ServerEndpoint::BuiltIn(_), None) => None,
    };
    if let (Some(moved), ServerEndpoint::BuiltIn(built_in)) = (&mut moved.built_in, &server.endpoint) {
        *moved = moved.in_full(built_in, folder);
    }
    if let Some(Value::String(file)) = moved.tuning.get_mut("ca") {
        *file = folder.join(&*file).display().to_string();
    }
    if let Stderr::File(file) = &server.tuning.stderr {
        moved.tuning.insert("stderr".to_owned(), json!({ "file": file }));
    }
    moved
}
