//! What is known of clients, by the name in `clientInfo`. `docs/context.md` lists the same; `[hub] client_exposure` overrides it.

/// Clients that put tools into the context of their model only when they are needed.
const DEFERRING: [&str; 4] =
    ["claude-code", "codex-mcp-client", "Visual Studio Code", "Visual Studio Code - Insiders"];

/// How many tools clients use at most; what is beyond that is cut off by them.
const LIMITS: [(&str, usize); 2] = [("cursor-vscode", 80), ("windsurf-client", 100)];

pub(super) fn defers_tools(client: &str) -> bool {
    DEFERRING.contains(&client)
}

pub(super) fn tool_limit(client: &str) -> Option<usize> {
    LIMITS.iter().find(|(name, _)| *name == client).map(|(_, limit)| *limit)
}

/// The clients that defer tools by themselves.
pub(super) fn deferring() -> &'static [&'static str] {
    &DEFERRING
}
