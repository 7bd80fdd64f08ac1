//! Paths of clients' files, and the place of the servers in them.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use crate::{Format, Syntax};

/// Folders of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    /// The home.
    pub home: PathBuf,
    /// Settings of programs; mostly `.config` in the home.
    pub config: PathBuf,
}

/// Every place where clients may have a file, for a user and a project.
pub fn client_paths(folders: &Folders, project: Option<&Path>) -> Vec<(Format, PathBuf)> {
    let read_only = [Format::Goose, Format::Devin];
    let mut paths: Vec<(Format, PathBuf)> = Vec::new();
    for format in Format::CLIENTS.into_iter().chain(read_only) {
        let of_project = project.map(|project| format.project_files(project)).unwrap_or_default();
        for path in of_project.into_iter().chain(format.user_files(folders)) {
            if !paths.iter().any(|(_, other)| *other == path) {
                paths.push((format, path));
            }
        }
    }
    paths
}

/// Files of clients that there are, for a user and a project: where servers can be imported from.
pub fn client_files(folders: &Folders, project: Option<&Path>) -> Vec<(Format, PathBuf)> {
    client_paths(folders, project).into_iter().filter(|(_, path)| path.is_file()).collect()
}

/// Editors that are VS Code under one name or another, by the folder of their settings.
const VS_CODES: [&str; 4] = ["Code", "Code - Insiders", "VSCodium", "Cursor"];

/// The keys that lead to the servers in a file that has none yet.
pub(crate) fn of(format: Format, path: &Path) -> Vec<&'static str> {
    match format {
        Format::Toolbay => vec!["servers"],
        Format::Codex => vec!["mcp_servers"],
        Format::VsCode if path.file_name() == Some(OsStr::new("settings.json")) => vec!["mcp", "servers"],
        Format::VsCode => vec!["servers"],
        Format::Zed => vec!["context_servers"],
        Format::OpenCode => vec!["mcp"],
        Format::Amp => vec!["amp.mcpServers"],
        _ => vec!["mcpServers"],
    }
}

pub(crate) fn syntax(format: Format) -> Syntax {
    match format {
        Format::Toolbay | Format::Codex => Syntax::Toml,
        Format::Goose => Syntax::Yaml,
        _ => Syntax::Json,
    }
}

/// Whether two formats keep their servers in the same place.
pub(crate) fn are_alike(left: Format, right: Format) -> bool {
    let path = Path::new("");
    of(left, path) == of(right, path) && syntax(left) == syntax(right)
}

/// The format of a new file.
pub(crate) fn by_name(path: &Path) -> Option<Format> {
    match path.extension().and_then(OsStr::to_str) {
        Some("toml") => Some(Format::Toolbay),
        _ => None,
    }
}

impl Format {
    /// Every format whose files others may find and write.
    pub const CLIENTS: [Self; 19] = [
        Self::ClaudeCode,
        Self::ClaudeDesktop,
        Self::Cursor,
        Self::VsCode,
        Self::Zed,
        Self::Codex,
        Self::Gemini,
        Self::Windsurf,
        Self::CopilotCli,
        Self::Antigravity,
        Self::Cline,
        Self::Roo,
        Self::JetBrains,
        Self::Kiro,
        Self::OpenCode,
        Self::Amp,
        Self::Warp,
        Self::Rovo,
        Self::Factory,
    ];

    /// Finds a client by its name as it is typed.
    pub fn client(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        let meant = match name.as_str() {
            "claude" => "claude-code",
            "vs-code" | "code" => "vscode",
            "copilot-cli" => "copilot",
            "gemini-cli" => "gemini",
            "junie" => "jetbrains",
            other => other,
        };
        Self::CLIENTS.into_iter().find(|format| format.name() == meant)
    }

    /// The file of a client that is for all projects of a user: the one that there is, else the usual one, if its place
    /// is known.
    pub fn user_file(self, folders: &Folders) -> Option<PathBuf> {
        let files = self.user_files(folders);
        let there = files.iter().position(|path| path.is_file());
        // The folder of an extension depends on the editor.
        let installed = |path: &Path| path.ancestors().nth(2).is_some_and(Path::is_dir);
        let usual = match self {
            Self::Cline | Self::Roo => files.iter().position(|path| installed(path)),
            _ => Some(0),
        };
        files.into_iter().nth(there.or(usual)?)
    }

    /// The file of a client that is for one project: the one that there is, else the usual one.
    pub fn project_file(self, project: &Path) -> Option<PathBuf> {
        let files = self.project_files(project);
        let there = files.iter().position(|path| path.is_file());
        files.into_iter().nth(there.unwrap_or_default())
    }

    /// The possible paths of a client's file for all projects of a user, the usual one first.
    fn user_files(self, folders: &Folders) -> Vec<PathBuf> {
        let Folders { home, config } = folders;
        let mac = cfg!(target_os = "macos").then(|| home.join("Library/Application Support"));
        let settings = mac.unwrap_or_else(|| config.clone());
        let of_extension = |file: &str| -> Vec<PathBuf> {
            VS_CODES.iter().map(|code| settings.join(code).join("User/globalStorage").join(file)).collect()
        };
        let file = match self {
            Self::ClaudeCode | Self::ClaudeUser => home.join(".claude.json"),
            Self::ClaudeDesktop => settings.join("Claude/claude_desktop_config.json"),
            Self::Cursor => home.join(".cursor/mcp.json"),
            Self::VsCode => {
                // Cursor has a file of its own.
                let codes = VS_CODES.iter().filter(|code| **code != "Cursor");
                return codes.map(|code| settings.join(code).join("User/mcp.json")).collect();
            }
            Self::Zed => config.join("zed/settings.json"),
            Self::Codex => home.join(".codex/config.toml"),
            Self::Gemini => home.join(".gemini/settings.json"),
            Self::Windsurf => home.join(".codeium/windsurf/mcp_config.json"),
            Self::CopilotCli => home.join(".copilot/mcp-config.json"),
            Self::Cline => return of_extension("saoudrizwan.claude-dev/settings/cline_mcp_settings.json"),
            Self::Roo => return of_extension("rooveterinaryinc.roo-cline/settings/mcp_settings.json"),
            Self::JetBrains => home.join(".junie/mcp/mcp.json"),
            Self::Kiro => home.join(".kiro/settings/mcp.json"),
            Self::Goose => config.join("goose/config.yaml"),
            Self::OpenCode => {
                return ["json", "jsonc"].map(|ext| config.join(format!("opencode/opencode.{ext}"))).to_vec();
            }
            Self::Amp => config.join("amp/settings.json"),
            Self::Rovo => home.join(".rovodev/mcp.json"),
            Self::Factory => home.join(".factory/mcp.json"),
            Self::Toolbay => config.join("toolbay/toolbay.toml"),
            _ => return Vec::new(),
        };
        vec![file]
    }

    /// The possible paths of a client's file for one project, the usual one first.
    fn project_files(self, project: &Path) -> Vec<PathBuf> {
        let file = match self {
            Self::ClaudeCode => ".mcp.json",
            Self::Cursor => ".cursor/mcp.json",
            Self::VsCode => ".vscode/mcp.json",
            Self::Zed => ".zed/settings.json",
            Self::Codex => ".codex/config.toml",
            Self::Gemini => ".gemini/settings.json",
            Self::Antigravity => ".agents/mcp_config.json",
            Self::CopilotCli => ".github/mcp.json",
            Self::Roo => ".roo/mcp.json",
            Self::JetBrains => ".junie/mcp/mcp.json",
            Self::Kiro => ".kiro/settings/mcp.json",
            Self::OpenCode => {
                return ["opencode.json", "opencode.jsonc"].map(|file| project.join(file)).to_vec();
            }
            Self::Amp => ".amp/settings.json",
            Self::Warp => ".warp/.mcp.json",
            Self::Rovo => ".rovodev/mcp.json",
            Self::Devin => ".devin/mcp_config.json",
            Self::Factory => ".factory/mcp.json",
            Self::Toolbay => "toolbay.toml",
            _ => return Vec::new(),
        };
        vec![project.join(file)]
    }
}
