//! The real `rg`, asked the same.

use std::path::{Path, PathBuf};
use std::process::Command;

use toolbay_search::text::{Case, Query};

/// A line that was found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Found {
    pub(crate) path: String,
    pub(crate) line: u64,
    pub(crate) text: String,
}

pub(crate) struct Rg {
    program: PathBuf,
    root: PathBuf,
}

impl Rg {
    /// Invariant: without it, the tests fail; a suite that skips itself proves nothing.
    pub(crate) fn find(root: PathBuf) -> Self {
        const HINT: &str = "this test needs `rg`: run `cargo xtask test`, \
            or `cargo xtask peers` and then set TOOLBAY_TEST_PEERS=target/peers";
        let peers = std::env::var_os("TOOLBAY_TEST_PEERS").unwrap_or_else(|| panic!("{HINT}"));
        // A relative path is meant from where `cargo` was called, which is mostly the root.
        let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(peers);
        let program = peers.join("python/bin/rg");
        assert!(program.exists(), "nothing is installed in {}; {HINT}", peers.display());
        Self { program, root }
    }

    /// All matching lines, sorted by path and line; what `rg` says if it refuses.
    #[expect(clippy::disallowed_methods, reason = "the program to compare with; it ends by itself")]
    pub(crate) fn run(&self, query: &Query) -> Result<Vec<Found>, String> {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.root).args([
            "--no-config",
            "--no-messages",
            "--no-heading",
            "--color=never",
        ]);
        command.args(["--line-number", "--with-filename", "--null"]);
        command.arg(match query.case {
            Case::Sensitive => "--case-sensitive",
            Case::Insensitive => "--ignore-case",
            Case::Smart => "--smart-case",
        });
        for (flag, set) in [
            ("--fixed-strings", !query.regex),
            ("--word-regexp", query.word),
            ("--hidden", query.rules.hidden),
            ("--no-ignore", query.rules.ignored),
        ] {
            command.args(set.then_some(flag));
        }
        for glob in &query.rules.globs {
            command.arg("--glob").arg(glob);
        }
        command.arg("--regexp").arg(&query.pattern).arg("--");
        command.arg(query.path.as_ref().map_or(Path::new("./"), |path| path.as_path()));
        let output = command.output().unwrap();
        if output.status.code() == Some(2) && output.stdout.is_empty() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let mut found: Vec<Found> = output.stdout.split(|byte| *byte == b'\n').filter_map(parse).collect();
        found.sort_unstable();
        Ok(found)
    }
}

/// `path NUL line : text`; anything else is a remark about a binary file.
fn parse(line: &[u8]) -> Option<Found> {
    let nul = line.iter().position(|byte| *byte == 0)?;
    let (path, rest) = (&line[..nul], &line[nul + 1..]);
    let colon = rest.iter().position(|byte| *byte == b':')?;
    let text = rest[colon + 1..].strip_suffix(b"\r").unwrap_or(&rest[colon + 1..]);
    Some(Found {
        path: String::from_utf8_lossy(path.strip_prefix(b"./").unwrap_or(path)).into_owned(),
        line: std::str::from_utf8(&rest[..colon]).ok()?.parse().ok()?,
        text: String::from_utf8_lossy(text).into_owned(),
    })
}
