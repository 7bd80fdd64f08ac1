//! Where programs keep their files, and where in them their servers are.

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

/// Files of clients that there are, for a user and a project: where servers can be imported from.
pub fn client_files(folders: &Folders, project: Option<&Path>) -> Vec<(Format, PathBuf)> {
    let read_only = [Format::Goose, Format::Devin];
    let mut files: Vec<(Format, PathBuf)> = Vec::new();
    for format in Format::CLIENTS.into_iter().chain(read_only) {
        let of_project = project.and_then(|project| format.project_file(project));
        for path in of_project.into_iter().chain(format.user_file(folders)) {
            if path.is_file() && !files.iter().any(|(_, other)| *other == path) {
                files.push((format, path));
            }
        }
    }
    files
}

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

    /// The client of that name, as people type it.
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

    /// The file of a client that is for all projects of a user, where there is a usual one.
    pub fn user_file(self, folders: &Folders) -> Option<PathBuf> {
        let Folders { home, config } = folders;
        let mac = cfg!(target_os = "macos").then(|| home.join("Library/Application Support"));
        Some(match self {
            Self::ClaudeCode | Self::ClaudeUser => home.join(".claude.json"),
            Self::ClaudeDesktop => mac.unwrap_or(config.clone()).join("Claude/claude_desktop_config.json"),
            Self::Cursor => home.join(".cursor/mcp.json"),
            Self::VsCode => mac.unwrap_or(config.clone()).join("Code/User/mcp.json"),
            Self::Zed => config.join("zed/settings.json"),
            Self::Codex => home.join(".codex/config.toml"),
            Self::Gemini => home.join(".gemini/settings.json"),
            Self::Windsurf => home.join(".codeium/windsurf/mcp_config.json"),
            Self::CopilotCli => home.join(".copilot/mcp-config.json"),
            Self::JetBrains => home.join(".junie/mcp/mcp.json"),
            Self::Kiro => home.join(".kiro/settings/mcp.json"),
            Self::Goose => config.join("goose/config.yaml"),
            Self::OpenCode => config.join("opencode/opencode.json"),
            Self::Amp => config.join("amp/settings.json"),
            Self::Rovo => home.join(".rovodev/mcp.json"),
            Self::Factory => home.join(".factory/mcp.json"),
            Self::Toolbay => config.join("toolbay/toolbay.toml"),
            _ => return None,
        })
    }

    /// The file of a client that is for one project, where there is such.
    pub fn project_file(self, project: &Path) -> Option<PathBuf> {
        Some(project.join(match self {
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
            Self::OpenCode => "opencode.json",
            Self::Amp => ".amp/settings.json",
            Self::Warp => ".warp/.mcp.json",
            Self::Rovo => ".rovodev/mcp.json",
            Self::Devin => ".devin/mcp_config.json",
            Self::Factory => ".factory/mcp.json",
            Self::Toolbay => "toolbay.toml",
            _ => return None,
        }))
    }
}
