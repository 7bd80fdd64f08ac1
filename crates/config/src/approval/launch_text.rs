//! A launch as lines that people read and that a hash binds.

use std::os::unix::ffi::OsStrExt;

use crate::{
    BuiltIn, Codebase, Command, InheritEnv, Reach, Remote, ServerConfig, Stderr,
    hashing::{Fields, hex, sha256},
    powerful_env::decides_what_runs,
    redact,
    visible::visible,
};

/// What somebody approves of: everything by which an entry decides what runs, what it reaches, and what it is given.
pub(super) struct LaunchText {
    hash: Fields,
    /// One line per fact, without secrets and with nothing invisible.
    pub(super) lines: Vec<String>,
}

impl LaunchText {
    pub(super) fn of(server: &ServerConfig) -> Self {
        let mut text = Self { hash: Fields::new("toolbay approval 1"), lines: Vec::new() };
        match &server.reach {
            Reach::Command(command) => text.add_command(command, &server.tuning.inherit_env),
            Reach::Url(remote) => text.add_remote(remote),
            Reach::BuiltIn(BuiltIn::Codebase(codebase)) => text.add_codebase(codebase),
        }
        if let Stderr::File(path) = &server.tuning.stderr {
            text.add("stderr", path.as_os_str().as_bytes(), &path.display().to_string());
        }
        text
    }

    /// The hash, in hexadecimal digits.
    pub(super) fn hash(self) -> String {
        hex(&self.hash.finish())
    }

    fn add(&mut self, label: &str, exact: impl AsRef<[u8]>, shown: &str) {
        self.hash.add(label, exact);
        self.lines.push(format!("{label}: {}", visible(shown)));
    }

    fn add_command(&mut self, command: &Command, inherited: &InheritEnv) {
        self.add("command", &command.command, &command.command);
        for (argument, shown) in command.args.iter().zip(redact::arguments(&command.args)) {
            self.add("argument", argument, &shown);
        }
        for (name, value) in &command.env {
            // Values are often secrets that change by themselves, so names are approved, except where the value is
            // as good as a command.
            match decides_what_runs(name) {
                true => self.add("variable", format!("{name}={value}"), &redact::variable(name, value)),
                false => self.add("variable", name, name),
            }
        }
        if let Some(cwd) = &command.cwd {
            self.add("folder", cwd.as_os_str().as_bytes(), &cwd.display().to_string());
        }
        match inherited {
            InheritEnv::Usual => {}
            InheritEnv::All => self.add("inherits", "all", "all variables"),
            InheritEnv::None => self.add("inherits", "none", "no variables"),
            InheritEnv::Also(patterns) => {
                patterns.iter().for_each(|pattern| self.add("inherits also", pattern, pattern));
            }
        }
    }

    fn add_codebase(&mut self, codebase: &Codebase) {
        self.add("built-in", "codebase", "codebase");
        self.add(
            "shows the folder",
            codebase.root.as_os_str().as_bytes(),
            &codebase.root.display().to_string(),
        );
        if let Some(embeddings) = &codebase.embeddings {
            self.add("sends code to", embeddings.url.to_string(), &redact::url(&embeddings.url));
        }
    }

    fn add_remote(&mut self, remote: &Remote) {
        self.add("url", remote.url.to_string(), &redact::url(&remote.url));
        let transport = remote.transport.name();
        self.add("transport", transport, transport);
        let mut names: Vec<&str> = remote.headers.keys().map(http::HeaderName::as_str).collect();
        names.sort_unstable();
        names.into_iter().for_each(|name| self.add("header", name, name));
        for certificate in &remote.ca {
            let digest = hex(&sha256(certificate));
            self.add("trusts certificate", &digest, &digest);
        }
    }
}
