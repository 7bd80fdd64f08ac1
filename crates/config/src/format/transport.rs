//! What formats call the ways to reach a server.

use crate::Transport;

/// What the `type` of an entry says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransportKind<'a> {
    /// Nothing.
    Unsaid,
    /// A program.
    Stdio,
    /// Something at a URL.
    Url(Transport),
    /// A part of the program whose file it is.
    BuiltIn(&'a str),
}

pub(crate) fn kind(word: Option<&str>) -> Result<TransportKind<'_>, String> {
    Ok(match word {
        None => TransportKind::Unsaid,
        Some("stdio" | "local") => TransportKind::Stdio,
        Some("auto" | "remote") => TransportKind::Url(Transport::Auto),
        Some("http" | "https" | "streamable-http" | "streamableHttp" | "streamable_http") => {
            TransportKind::Url(Transport::Http)
        }
        Some("sse") => TransportKind::Url(Transport::Sse),
        Some("ws" | "wss" | "websocket") => TransportKind::Url(Transport::WebSocket),
        Some(word @ ("sdk" | "builtin" | "platform" | "frontend" | "inline_python")) => {
            TransportKind::BuiltIn(word)
        }
        Some(other) => {
            return Err(format!(
                "unknown transport `{other}`; use `stdio`, `http`, `sse` or `ws`, or omit `type` to detect it"
            ));
        }
    })
}

impl Transport {
    /// Its name in files and output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Http => "http",
            Self::Sse => "sse",
            Self::WebSocket => "ws",
        }
    }
}
