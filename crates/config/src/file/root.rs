//! The folder that a file is about.

use std::path::{Path, PathBuf};

use crate::Format;

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

/// The folder from which relative ones start, and that `${workspaceFolder}` means: where the file is, or the project
/// that such a folder stands in.
pub(crate) fn of(path: &Path, format: Format) -> PathBuf {
    let folder = path.parent().unwrap_or(Path::new(""));
    let is_within =
        |folder: &&Path| folder.file_name().is_some_and(|name| WITHIN.iter().any(|it| name == *it));
    let above = folder.ancestors().take(2).find(is_within).and_then(Path::parent);
    match above {
        Some(above) if format != Format::Toolbay => above.to_owned(),
        _ => folder.to_owned(),
    }
}
