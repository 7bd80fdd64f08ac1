//! The user at a terminal, and the browser.

use std::{ffi::OsStr, ffi::OsString};

use serde_json::json;
use toolbay_oauth::{BoxFuture, OAuthError, UserAgent};
use toolbay_supervise::{find_command, start_detached};

use crate::{app::context::Context, term::confirm::read_line};

/// Shows the login page to the user of a terminal.
pub(super) struct TerminalUser<'a> {
    pub(super) context: &'a Context,
    pub(super) server: &'a str,
    /// Whether a browser is opened; otherwise the user copies the URL, perhaps to another machine.
    pub(super) opens_browser: bool,
}

impl UserAgent for TerminalUser<'_> {
    fn open<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Option<String>, OAuthError>> {
        Box::pin(async move {
            let out = &self.context.out;
            let show = |opens_browser: bool| match out.json {
                true => out.json_object(&json!({
                    "event": "login_page", "server": self.server, "url": url, "opens_browser": opens_browser,
                })),
                false if opens_browser => {
                    out.note(&format!("opening a browser; if it shows nothing, open this URL:\n{url}"));
                    Ok(())
                }
                // It is the result, so it is printed even with `--quiet`.
                false => out.data(&format!("{url}\n")),
            };
            let failed = |error: std::io::Error| OAuthError::UserAgent(error.to_string());
            if self.opens_browser {
                show(true).map_err(failed)?;
                match open_browser(self.context, url).await {
                    Ok(()) => return Ok(None),
                    Err(why) => out.warn(&format!("no browser was opened: {why}")),
                }
            }
            out.note("open this URL in a browser:");
            show(false).map_err(failed)?;
            let question =
                "If the browser is on another machine, paste the URL that it was sent to in the end: ";
            let question = if out.json || out.is_quiet() { "" } else { question };
            match read_line(self.context, question).await {
                Ok(Some(line)) if !line.trim().is_empty() => Ok(Some(line)),
                // The browser is on this machine, then.
                Ok(_) => Ok(None),
                Err(error) => Err(OAuthError::UserAgent(error.to_string())),
            }
        })
    }
}

/// Opens a URL in the browser of the desktop. The URL is an argument; no shell sees it.
async fn open_browser(context: &Context, url: &str) -> Result<(), String> {
    let variables = &context.env.variables;
    let is_set = |name: &str| variables.get(OsStr::new(name)).is_some_and(|value| !value.is_empty());
    if !cfg!(target_os = "macos") && !["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"].into_iter().any(is_set) {
        return Err("there is no desktop".to_owned());
    }
    let opener = OsStr::new(if cfg!(target_os = "macos") { "open" } else { "xdg-open" });
    let path = variables.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    let program = find_command(opener, &path, None).map_err(|missing| missing.headline())?;
    let opened = start_detached(&program, &[OsString::from(url)], variables).await;
    opened.map_err(|error| format!("{} failed: {error}", opener.to_string_lossy()))
}
