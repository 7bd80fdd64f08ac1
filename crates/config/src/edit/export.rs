//! A server in the format of another program.

use serde_json::{Map, Value, json};

use super::locations;
use crate::{
    Format, Permission, Syntax, Transport, WrittenBuiltIn, WrittenServer,
    model::oauth,
    template::{NotExpressible, Style, Template},
};

/// An entry for a file, its keys in the usual order.
pub(crate) struct Exported {
    pub(crate) entry: Pairs,
    /// Settings that the program does not support.
    pub(crate) lost: Vec<String>,
}

/// Keys and values in order.
pub(crate) type Pairs = Vec<(String, Value)>;

/// Returns the entry of a server in a format, or why there can be none.
pub(crate) fn entry(server: &WrittenServer, format: Format) -> Result<Exported, String> {
    if format == Format::Goose {
        return Err("the file of goose is YAML, which is read-only".to_owned());
    }
    let mut writer = EntryWriter { format, style: format.style(), entry: Vec::new(), lost: Vec::new() };
    match (&server.command, &server.url) {
        (Some(command), _) => writer.program(command, server)?,
        (None, Some(url)) => writer.remote(url, server)?,
        (None, None) => match &server.built_in {
            Some(built_in) => writer.built_in(built_in)?,
            None => return Err("it has neither a `command` nor a `url`".to_owned()),
        },
    }
    writer.permission(server.permission)?;
    writer.tuning(&server.tuning);
    writer.extra(server);
    Ok(Exported { entry: writer.entry, lost: writer.lost })
}

struct EntryWriter {
    format: Format,
    style: Style,
    entry: Pairs,
    lost: Vec<String>,
}

impl EntryWriter {
    fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.entry.push((key.to_owned(), value.into()));
    }

    fn text(&self, text: &Template) -> Result<String, String> {
        match self.format {
            Format::Toolbay => Ok(text.native()),
            format => text.in_style(self.style).map_err(|why| match why {
                NotExpressible::Variable(variable) => {
                    format!("it uses the variable {variable}, which {format} does not support there")
                }
                NotExpressible::Literal => {
                    format!("a string in it would be read as a variable by {format}")
                }
            }),
        }
    }

    fn texts(&self, texts: &[Template]) -> Result<Vec<String>, String> {
        texts.iter().map(|text| self.text(text)).collect()
    }

    fn program(&mut self, command: &Template, server: &WrittenServer) -> Result<(), String> {
        let command = self.text(command)?;
        let args = self.texts(&server.args)?;
        match self.format {
            Format::ClaudeCode | Format::ClaudeUser | Format::VsCode | Format::Cline | Format::Factory => {
                self.put("type", "stdio")
            }
            Format::CopilotCli | Format::OpenCode => self.put("type", "local"),
            Format::Rovo => self.put("transport", "stdio"),
            _ => {}
        }
        if self.format == Format::OpenCode {
            self.put("command", [vec![command], args].concat());
        } else {
            self.put("command", command);
            // Some programs want the list even if nothing is in it.
            if !args.is_empty() || locations::syntax(self.format) == Syntax::Json {
                self.put("args", args);
            }
        }
        self.env(server)?;
        self.folder("cwd", server.cwd.as_ref())?;
        self.folder("envFile", server.env_file.as_ref())?;
        if self.format == Format::CopilotCli {
            self.put("tools", json!(["*"]));
        }
        Ok(())
    }

    /// Only our own formats have built-in servers.
    fn built_in(&mut self, built_in: &WrittenBuiltIn) -> Result<(), String> {
        if !matches!(self.format, Format::Toolbay | Format::McpServers) {
            return Err("it is built into Toolbay; export the hub instead".to_owned());
        }
        let entries = built_in.entries(|text| self.text(text))?;
        self.entry.extend(entries);
        Ok(())
    }

    fn env(&mut self, server: &WrittenServer) -> Result<(), String> {
        // Codex has only a list of the names of variables that are passed on.
        let passes = |name: &String, text: &Template| {
            self.format == Format::Codex && text.as_env() == Some(("", name))
        };
        let (passing, written): (Vec<_>, Vec<_>) =
            server.env.iter().partition(|(name, text)| passes(name, text));
        let written: Map<String, Value> = written
            .into_iter()
            .map(|(name, text)| Ok((name.clone(), self.text(text)?.into())))
            .collect::<Result<_, String>>()?;
        if !passing.is_empty() {
            let names: Vec<&String> = passing.into_iter().map(|(name, _)| name).collect();
            self.put("env_vars", json!(names));
        }
        if !written.is_empty() {
            self.put(if self.format == Format::OpenCode { "environment" } else { "env" }, written);
        }
        Ok(())
    }

    /// Writes its directory, or the file with its variables, if the format has a key for that.
    fn folder(&mut self, what: &str, text: Option<&Template>) -> Result<(), String> {
        use Format::{
            Cline, Codex, CopilotCli, Cursor, Gemini, JetBrains, McpServers, OpenCode, Roo, Toolbay, VsCode,
            Warp,
        };
        let Some(text) = text else { return Ok(()) };
        let key = match (what, self.format) {
            (
                "cwd",
                Cursor | VsCode | Codex | Gemini | Cline | Roo | OpenCode | CopilotCli | McpServers | Toolbay,
            ) => "cwd",
            ("cwd", Warp) => "working_directory",
            ("cwd", JetBrains) => "workingDirectory",
            ("envFile", Cursor | VsCode | McpServers) => "envFile",
            ("envFile", Toolbay) => "env_file",
            _ => {
                self.lost.push(format!("`{what}`"));
                return Ok(());
            }
        };
        let text = self.text(text)?;
        self.put(key, text);
        Ok(())
    }

    fn remote(&mut self, url: &Template, server: &WrittenServer) -> Result<(), String> {
        use Format::{
            Antigravity, ClaudeCode, ClaudeDesktop, ClaudeManaged, ClaudePlugin, ClaudeUser, Cline,
            CopilotCli, Devin, Factory, Gemini, McpServers, OpenCode, Roo, Rovo, Toolbay, VsCode, Windsurf,
        };
        let spoken = server.protocol_name();
        let url = self.text(url)?;
        let mut key = "url";
        match self.format {
            ClaudeDesktop => {
                return Err("Claude Desktop runs programs only; export the hub to it instead".to_owned());
            }
            ClaudeCode | ClaudeUser | ClaudePlugin | ClaudeManaged | VsCode | CopilotCli | Factory => {
                self.put("type", spoken)
            }
            Cline => self.put("type", if spoken == "http" { "streamableHttp" } else { spoken }),
            Roo => self.put("type", if spoken == "http" { "streamable-http" } else { spoken }),
            Rovo => self.put("transport", spoken),
            OpenCode => self.put("type", "remote"),
            Toolbay if server.transport != Transport::Auto => self.put("transport", spoken),
            McpServers if server.transport != Transport::Auto => self.put("type", spoken),
            Gemini if spoken == "http" => key = "httpUrl",
            Windsurf | Antigravity | Devin => key = "serverUrl",
            _ => {}
        }
        self.put(key, url);
        self.headers(server)?;
        self.oauth(server)?;
        if self.format == CopilotCli {
            self.put("tools", json!(["*"]));
        }
        Ok(())
    }

    /// The table `oauth`. Other programs have it as their own, which is kept with the keys that we do not know.
    fn oauth(&mut self, server: &WrittenServer) -> Result<(), String> {
        let Some(written) = &server.oauth else { return Ok(()) };
        if !matches!(self.format, Format::Toolbay | Format::McpServers) {
            return Ok(());
        }
        let mut table = Map::new();
        for (key, text) in written {
            table.insert(key.clone(), oauth::value(key, &self.text(text)?));
        }
        self.put("oauth", table);
        Ok(())
    }

    fn headers(&mut self, server: &WrittenServer) -> Result<(), String> {
        let (mut literal, mut named) = (Map::new(), Map::new());
        for (name, text) in &server.headers {
            match text.as_env().filter(|_| self.format == Format::Codex) {
                Some(("Bearer ", variable)) if name.eq_ignore_ascii_case("authorization") => {
                    self.put("bearer_token_env_var", variable);
                }
                Some(("", variable)) => {
                    named.insert(name.clone(), variable.into());
                }
                _ => {
                    literal.insert(name.clone(), self.text(text)?.into());
                }
            }
        }
        let key = if self.format == Format::Codex { "http_headers" } else { "headers" };
        for (key, headers) in [(key, literal), ("env_http_headers", named)] {
            if !headers.is_empty() {
                self.put(key, headers);
            }
        }
        Ok(())
    }

    fn permission(&mut self, permission: Permission) -> Result<(), String> {
        if permission != Permission::Disabled {
            return Ok(());
        }
        let (key, value) = switch(self.format)
            .ok_or_else(|| format!("it is disabled, which {} does not support; leave it out", self.format))?;
        self.put(key, value);
        Ok(())
    }

    fn tuning(&mut self, tuning: &Map<String, Value>) {
        match self.format {
            _ if tuning.is_empty() => {}
            Format::Toolbay => self.entry.extend(tuning.clone()),
            Format::McpServers => self.put("toolbay", tuning.clone()),
            _ => {
                let mut rest = tuning.clone();
                if let Some(Value::Object(mut filter)) = rest.remove("tools") {
                    let (allow, deny) = match self.format {
                        Format::Codex => (Some("enabled_tools"), Some("disabled_tools")),
                        Format::Gemini => (Some("includeTools"), Some("excludeTools")),
                        Format::Amp => (Some("includeTools"), None),
                        Format::Windsurf | Format::Roo | Format::Kiro => (None, Some("disabledTools")),
                        _ => (None, None),
                    };
                    for (ours, theirs) in [("allow", allow), ("deny", deny)] {
                        match (filter.remove(ours), theirs) {
                            (Some(names), Some(key)) => self.put(key, names),
                            (Some(_), None) => self.lost.push(format!("`tools.{ours}`")),
                            (None, _) => {}
                        }
                    }
                }
                self.lost.extend(rest.keys().map(|key| format!("`{key}`")));
            }
        }
    }

    /// Adds the keys that the program had in its entry before.
    fn extra(&mut self, server: &WrittenServer) {
        if self.format == Format::Toolbay {
            if !server.extra.is_empty() {
                self.put("extra", json!(server.extra));
            }
            return;
        }
        for (key, value) in server.extra.get(self.format.name()).into_iter().flatten() {
            if !self.entry.iter().any(|(it, _)| it == key) {
                self.put(key, value.clone());
            }
        }
    }
}

/// The key and value that disable a server in a format.
pub(crate) fn switch(format: Format) -> Option<(&'static str, bool)> {
    match format {
        Format::Toolbay
        | Format::Zed
        | Format::Codex
        | Format::OpenCode
        | Format::JetBrains
        | Format::Goose => Some(("enabled", false)),
        Format::McpServers
        | Format::Windsurf
        | Format::Antigravity
        | Format::Cline
        | Format::Roo
        | Format::Kiro
        | Format::Factory => Some(("disabled", true)),
        _ => None,
    }
}
