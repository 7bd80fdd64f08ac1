//! The formats of configuration files, and their differences.

pub(crate) mod detect;
pub(crate) mod entry;
pub(crate) mod fields;
pub(crate) mod native;
pub(crate) mod remote;

use std::{fmt, path::Path};

use crate::{Transport, load::MARK, template::Style};

/// The syntax of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// JSON, with comments and trailing commas.
    Json,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

impl Syntax {
    /// The syntax of a text. What it begins with counts more than the name of its file.
    pub fn of(text: &str, path: &Path) -> Self {
        let body = text.trim_start_matches(MARK).trim_start();
        if body.starts_with('{') || body.starts_with("//") || body.starts_with("/*") {
            return Self::Json;
        }
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("toml") => Self::Toml,
            Some("yaml" | "yml") => Self::Yaml,
            Some("json" | "jsonc" | "json5") => Self::Json,
            _ => Self::guess(body),
        }
    }

    /// Guesses the syntax of a file without a known name by the first line that is not a comment.
    fn guess(body: &str) -> Self {
        let lines = body.lines().map(str::trim);
        let line = lines.into_iter().find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or("{");
        let key_ends = line.find([':', '=']).and_then(|end| line[end..].chars().next());
        match (line.starts_with('['), key_ends) {
            (true, _) | (_, Some('=')) => Self::Toml,
            (_, Some(':')) => Self::Yaml,
            _ => Self::Json,
        }
    }
}

/// The format of a file: the program that it belongs to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// Our own `toolbay.toml`.
    Toolbay,
    /// `mcpServers` of no particular client.
    #[default]
    McpServers,
    /// `claude_desktop_config.json`.
    ClaudeDesktop,
    /// `.mcp.json` of a project.
    ClaudeCode,
    /// `~/.claude.json`, with servers of the user and of single projects.
    ClaudeUser,
    /// A plugin's `.mcp.json`, or `plugin.json`.
    ClaudePlugin,
    /// `managed-mcp.json`.
    ClaudeManaged,
    /// Cursor.
    Cursor,
    /// VS Code: `mcp.json`, `settings.json`, `devcontainer.json`.
    VsCode,
    /// GitHub Copilot on the command line.
    CopilotCli,
    /// Zed.
    Zed,
    /// Codex, and clients that use its file.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Antigravity.
    Antigravity,
    /// Windsurf.
    Windsurf,
    /// Cline.
    Cline,
    /// Roo Code.
    Roo,
    /// AI Assistant, Junie and Air of JetBrains.
    JetBrains,
    /// Kiro.
    Kiro,
    /// goose.
    Goose,
    /// opencode and Kilo.
    OpenCode,
    /// Amp.
    Amp,
    /// Warp.
    Warp,
    /// Rovo Dev.
    Rovo,
    /// Devin.
    Devin,
    /// Factory.
    Factory,
}

/// The unit of a bare `timeout`, and what it limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timeout {
    /// Milliseconds of a call. Values below 1,000 are most likely seconds, and are ignored.
    Milliseconds,
    /// Milliseconds until the tools are known.
    StartMilliseconds,
    /// Seconds of a call.
    Seconds,
    /// Seconds of a call, of which an hour is the most.
    SecondsOfAnHour,
}

impl Format {
    /// Its name in output and options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Toolbay => "toolbay",
            Self::McpServers => "mcp-servers",
            Self::ClaudeDesktop => "claude-desktop",
            Self::ClaudeCode => "claude-code",
            Self::ClaudeUser => "claude-user",
            Self::ClaudePlugin => "claude-plugin",
            Self::ClaudeManaged => "claude-managed",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
            Self::CopilotCli => "copilot",
            Self::Zed => "zed",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Antigravity => "antigravity",
            Self::Windsurf => "windsurf",
            Self::Cline => "cline",
            Self::Roo => "roo",
            Self::JetBrains => "jetbrains",
            Self::Kiro => "kiro",
            Self::Goose => "goose",
            Self::OpenCode => "opencode",
            Self::Amp => "amp",
            Self::Warp => "warp",
            Self::Rovo => "rovo",
            Self::Devin => "devin",
            Self::Factory => "factory",
        }
    }

    /// The transport of a URL without a type.
    pub(crate) fn bare_url(self) -> Transport {
        match self {
            Self::Cline => Transport::Sse,
            Self::Zed | Self::Codex | Self::CopilotCli | Self::Kiro => Transport::Http,
            _ => Transport::Auto,
        }
    }

    pub(crate) fn timeout(self) -> Timeout {
        match self {
            Self::Cline | Self::Roo => Timeout::SecondsOfAnHour,
            Self::Zed | Self::Codex | Self::Goose => Timeout::Seconds,
            Self::OpenCode => Timeout::StartMilliseconds,
            _ => Timeout::Milliseconds,
        }
    }

    /// How variables are written in it.
    pub(crate) fn style(self) -> Style {
        match self {
            Self::Toolbay => Style::Native,
            Self::Cursor | Self::VsCode | Self::Roo | Self::Windsurf | Self::Cline | Self::Devin => {
                Style::Editor
            }
            Self::Gemini | Self::Goose => Style::Dollar,
            Self::OpenCode => Style::OpenCode,
            Self::Zed | Self::Codex => Style::Plain,
            _ => Style::Claude,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
