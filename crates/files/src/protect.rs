//! Files that configure programs, which a model must not change unasked: what they say is run.

use std::path::Path;

/// Directories in which everything is protected.
const DIRECTORIES: [&str; 19] = [
    ".git",
    ".hg",
    ".svn",
    ".jj",
    ".claude",
    ".codex",
    ".continue",
    ".cursor",
    ".devcontainer",
    ".direnv",
    ".gemini",
    ".husky",
    ".idea",
    ".kiro",
    ".roo",
    ".vscode",
    ".windsurf",
    ".zed",
    ".toolbay",
];

/// Files that are protected wherever they are.
const FILES: [&str; 18] = [
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".envrc",
    ".gitconfig",
    ".gitmodules",
    ".mcp.json",
    ".npmrc",
    ".profile",
    ".ripgreprc",
    ".zlogin",
    ".zprofile",
    ".zshenv",
    ".zshrc",
    "claude_desktop_config.json",
    "toolbay.local.toml",
    "toolbay.toml",
];

/// Files that are protected in a directory of this name.
const FILES_IN: [(&str, &str); 2] = [(".cargo", "config"), (".cargo", "config.toml")];

/// Whether a path, relative to an allowed directory, is one that configures programs. Case does not matter: on some disks it
/// does not.
pub fn is_protected(path: &Path) -> bool {
    let parts: Vec<&[u8]> = path.iter().map(std::os::unix::ffi::OsStrExt::as_bytes).collect();
    let is = |part: &[u8], name: &str| part.eq_ignore_ascii_case(name.as_bytes());
    let Some((file, directories)) = parts.split_last() else { return false };
    parts.iter().any(|part| DIRECTORIES.iter().any(|name| is(part, name)))
        || FILES.iter().any(|name| is(file, name))
        || FILES_IN.iter().any(|(directory, name)| {
            is(file, name) && directories.last().is_some_and(|last| is(last, directory))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_configures_programs_is_protected() {
        for path in [
            ".git/hooks/pre-commit",
            "sub/.git/config",
            ".GIT/config",
            ".git",
            ".vscode/tasks.json",
            "a/.mcp.json",
            "toolbay.toml",
            ".cargo/config.toml",
            ".bashrc",
            ".claude/settings.json",
        ] {
            assert!(is_protected(Path::new(path)), "{path}");
        }
        for path in [
            "",
            "src/main.rs",
            ".gitignore",
            ".github/workflows/ci.yml",
            "git/config",
            "config.toml",
            "mcp.json",
        ] {
            assert!(!is_protected(Path::new(path)), "{path}");
        }
    }
}
