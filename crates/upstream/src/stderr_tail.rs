//! What a server wrote to stderr before it ended, and which line of it says why.

use std::{fmt, sync::Arc};

/// The last lines that one connection of a server wrote to stderr.
#[derive(Debug, Clone, Default)]
pub struct StderrTail(pub Arc<[Arc<str>]>);

/// Lines with one of these name what is missing: they say more than any other.
const ABSENT_PACKAGE: [&str; 6] = [
    "is not in this registry",
    "404 not found",
    "no matching version found",
    "no matching distribution found",
    "not found in the package registry",
    "pull access denied",
];
/// Lines with one of these say that something went wrong.
const TROUBLE: [&str; 10] = [
    "error",
    "exception",
    "404",
    "enoent",
    "eacces",
    "eaddrinuse",
    "not found",
    "cannot",
    "failed",
    "panicked",
];
/// Lines with one of these say nothing about the cause, whatever else is in them.
const NOISE: [&str; 8] = [
    "a complete log of this run",
    "[notice]",
    "node:internal",
    "npm notice",
    "npm warn",
    "traceback (most recent call last)",
    "above exception",
    "require stack:",
];

impl StderrTail {
    /// The line that most likely says why the server ended: the last one that names a missing package, else the last that
    /// speaks of an error, else the last that is no stack frame. Notes of package managers are passed over.
    pub fn cause(&self) -> Option<&str> {
        let weighed = self.0.iter().map(|line| (weight(line), line));
        let (weight, line) = weighed.max_by_key(|(weight, _)| *weight)?;
        (weight > LineWeight::Noise).then(|| line.trim())
    }

    /// The package that a package manager could not find.
    pub(crate) fn missing_package(&self) -> Option<String> {
        let cause = self.cause()?;
        if weight(cause) != LineWeight::AbsentPackage {
            return None;
        }
        let between = |before: &str, after: &str| {
            let rest = &cause[cause.find(before)? + before.len()..];
            rest.find(after).map(|end| &rest[..end])
        };
        let named = between("'", "'")
            .or_else(|| between("Because ", " was not found"))
            .or_else(|| between("access denied for ", ","))
            .or_else(|| cause.split_once(" found for ").map(|(_, name)| name))?;
        let name = named.trim().trim_end_matches(['.', '@', '*']);
        (!name.is_empty() && !name.contains(' ')).then(|| name.to_owned())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LineWeight {
    Noise,
    /// It belongs to what stands above it.
    Indented,
    Plain,
    Trouble,
    AbsentPackage,
}

fn weight(line: &str) -> LineWeight {
    let text = line.trim();
    let lower = text.to_ascii_lowercase();
    let is_frame = text.starts_with("at ") || text.starts_with("File \"") || text.starts_with("Node.js v");
    // npm repeats its prefix and a code on lines that say nothing else.
    let is_bare = ["npm error", "npm err!"].iter().any(|prefix| {
        lower.strip_prefix(prefix).is_some_and(|rest| {
            let mut words = rest.split_whitespace();
            matches!(
                (words.next(), words.next(), words.next()),
                (None | Some(_), None, _) | (Some("code"), _, None)
            )
        })
    });
    let has_words = text.chars().any(char::is_alphabetic);
    if !has_words || is_frame || is_bare || NOISE.iter().any(|noise| lower.contains(noise)) {
        return LineWeight::Noise;
    }
    if ABSENT_PACKAGE.iter().any(|sign| lower.contains(sign)) {
        LineWeight::AbsentPackage
    } else if line.starts_with([' ', '\t']) {
        LineWeight::Indented
    } else if TROUBLE.iter().any(|sign| lower.contains(sign)) {
        LineWeight::Trouble
    } else {
        LineWeight::Plain
    }
}

impl fmt::Display for StderrTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        f.write_str("; last stderr output:")?;
        self.0.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(text: &str) -> StderrTail {
        StderrTail(text.lines().map(Arc::from).collect())
    }

    #[test]
    fn npx_of_a_package_that_does_not_exist() {
        let stderr = tail(
            "npm error code E404\n\
             npm error 404 Not Found - GET https://registry.npmjs.org/@nobody%2ftypo - Not found\n\
             npm error 404\n\
             npm error 404  '@nobody/typo@*' is not in this registry.\n\
             npm error 404\n\
             npm error 404 Note that you can also install from a\n\
             npm error 404 tarball, folder, http url, or git folder.\n\
             npm error A complete log of this run can be found in: /home/me/.npm/_logs/2026-debug-0.log",
        );
        assert_eq!(stderr.cause(), Some("npm error 404  '@nobody/typo@*' is not in this registry."));
        assert_eq!(stderr.missing_package().as_deref(), Some("@nobody/typo"));
    }

    #[test]
    fn npx_of_a_version_that_does_not_exist() {
        let stderr = tail(
            "npm error code ETARGET\n\
             npm error notarget No matching version found for left-pad@99.0.0.\n\
             npm error notarget In most cases you or one of your dependencies are requesting\n\
             npm error notarget a package version that doesn't exist.\n\
             npm error A complete log of this run can be found in: /home/me/.npm/_logs/x.log",
        );
        assert_eq!(stderr.missing_package().as_deref(), Some("left-pad@99.0.0"));
    }

    #[test]
    fn uvx_and_pip_without_such_a_package() {
        let uv = tail(
            "  × No solution found when resolving tool dependencies:\n\
             \x20 ╰─▶ Because nobody-typo was not found in the package registry and you require\n\
             \x20     nobody-typo, we can conclude that your requirements are unsatisfiable.",
        );
        assert_eq!(uv.missing_package().as_deref(), Some("nobody-typo"));
        let pip = tail(
            "ERROR: Could not find a version that satisfies the requirement typo (from versions: none)\n\
             ERROR: No matching distribution found for typo\n\
             [notice] A new release of pip is available: 24.0 -> 25.1",
        );
        assert_eq!(pip.cause(), Some("ERROR: No matching distribution found for typo"));
        assert_eq!(pip.missing_package().as_deref(), Some("typo"));
    }

    #[test]
    fn exceptions_of_node_and_python() {
        let node = tail(
            "node:internal/modules/cjs/loader:1372\n  throw err;\n  ^\n\
             Error: Cannot find module '/x/server.js'\n\
             \x20   at Function._resolveFilename (node:internal/modules/cjs/loader:1369:15)\n\
             \x20 code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}\n\nNode.js v22.22.2",
        );
        assert_eq!(node.cause(), Some("Error: Cannot find module '/x/server.js'"));
        assert_eq!(node.missing_package(), None);
        let python = tail(
            "starting\nTraceback (most recent call last):\n  File \"s.py\", line 3, in <module>\n    main()\n    ~~~~^^\n\
             KeyError: 'a'\n\nDuring handling of the above exception, another exception occurred:\n\n\
             Traceback (most recent call last):\n  File \"s.py\", line 5, in <module>\n    raise ValueError(\"no token\")\n\
             ValueError: no token",
        );
        assert_eq!(python.cause(), Some("ValueError: no token"));
    }

    #[test]
    fn what_explains_nothing_is_no_cause() {
        assert_eq!(tail("").cause(), None);
        assert_eq!(tail("    ^^^^\n").cause(), None);
        assert_eq!(tail("hello\nbye").cause(), Some("bye"));
    }
}
