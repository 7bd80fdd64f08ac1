//! The others: `rg`, `rgx` and `codesearch`, installed by this command, and the source of Linux.
#![expect(clippy::disallowed_methods, reason = "programs to compare with; they are waited for")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use toolbay_search::text::Case;

use super::Question;

/// A program that answers questions about the tree.
pub(crate) struct Peer {
    kind: Kind,
    program: PathBuf,
    tree: PathBuf,
    /// Its index.
    place: PathBuf,
}

/// Targets that run at the same time. The server of `rgx` gets an event for each file that is opened, and is busy for as long as
/// another one reads the tree; so only ours is measured while it runs.
pub(super) const COMPANIES: [&[Kind]; 2] = [&[Kind::Rg, Kind::Codesearch], &[Kind::Rgx]];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Rg,
    Rgx,
    Codesearch,
}

/// Those that can be had; the others are named.
pub(crate) fn all(kinds: &[Kind], folder: &Path, tree: &Path) -> Vec<Peer> {
    let mut peers = Vec::new();
    for &kind in kinds {
        match Peer::new(kind, folder, tree) {
            Ok(peer) => peers.push(peer),
            Err(error) => println!("{}: left out, {error:#}", kind.name()),
        }
    }
    peers
}

/// Debian's package with the source of Linux, unpacked.
pub(crate) fn linux(folder: &Path) -> Result<PathBuf> {
    let tree = folder.join("linux-source-6.1");
    if !tree.join("COPYING").exists() {
        let package = debian(folder, "linux-source-6.1")?;
        run(Command::new("tar")
            // Its rules leave out all but what Debian adds, if this folder is in a repository.
            .args(["--exclude=.gitignore", "-xf"])
            .arg(package.join("usr/src/linux-source-6.1.tar.xz"))
            .current_dir(folder))?;
    }
    tree.canonicalize().context("the package has no source")
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Rg => "rg",
            Self::Rgx => "rgx",
            Self::Codesearch => "codesearch",
        }
    }
}

impl Peer {
    fn new(kind: Kind, folder: &Path, tree: &Path) -> Result<Self> {
        let program = match kind {
            Kind::Rg => crates_io(folder, "ripgrep", "15.2.0")?.join("bin/rg"),
            Kind::Rgx => crates_io(folder, "ripgrepx", "0.4.0")?.join("bin/rgx"),
            Kind::Codesearch => debian(folder, "codesearch")?.join("usr/bin/csearch"),
        };
        let peer = Self {
            kind,
            program,
            tree: tree.to_owned(),
            place: folder.join(format!("{}-index", kind.name())),
        };
        peer.index()?;
        Ok(peer)
    }

    pub(super) fn name(&self) -> &'static str {
        self.kind.name()
    }

    /// Whether it finds what ripgrep finds.
    pub(super) fn is_exact(&self) -> bool {
        self.kind != Kind::Codesearch
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .current_dir(&self.tree)
            .env("RGX_CACHE_DIR", &self.place)
            .env("CSEARCHINDEX", self.place.join("index"));
        command.stdin(Stdio::null());
        command
    }

    fn index(&self) -> Result<()> {
        if self.kind == Kind::Rg {
            return Ok(());
        }
        let _ = fs::remove_dir_all(&self.place);
        fs::create_dir_all(&self.place)?;
        let start = Instant::now();
        if self.kind == Kind::Codesearch {
            let cindex = self.program.with_file_name("cindex");
            run(Command::new(cindex).arg(&self.tree).env("CSEARCHINDEX", self.place.join("index")))?;
        } else {
            run(self.command().args(["--server", "start"]))?;
            // It says when it is ready; a minute is several times what it needs.
            let ready = || {
                let said = self.command().args(["--server", "status"]).output();
                said.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).to_lowercase().contains("ready"))
            };
            while !ready() && start.elapsed() < Duration::from_secs(120) {
                std::thread::sleep(Duration::from_millis(200));
            }
        }
        println!("{}: indexed in {:.1} s", self.name(), start.elapsed().as_secs_f64());
        Ok(())
    }

    /// How long it takes, and how many lines it finds.
    pub(super) fn ask(&self, question: &Question) -> Option<(Duration, u64)> {
        let mut command = self.command();
        match self.kind {
            Kind::Codesearch => {
                command.args(["-n"]).args((question.case == Case::Insensitive).then_some("-i"));
                if let Some(glob) = question.glob {
                    command.arg("-f").arg(glob.replace('.', "\\.").replace('*', "") + "$");
                }
                let quoted = question.pattern.replace(['(', ')', '.'], ".");
                command.arg(if question.regex { question.pattern.to_owned() } else { quoted });
            }
            // It knows no globs.
            Kind::Rgx if question.glob.is_some() => return None,
            Kind::Rg | Kind::Rgx => {
                command.args(question.glob.map(|glob| format!("--glob={glob}")));
                command.args(["-n", if question.case == Case::Insensitive { "-i" } else { "-s" }]);
                command.args((!question.regex).then_some("-F"));
                command.args(["--", question.pattern, "./"]);
            }
        }
        let start = Instant::now();
        let output = command.stderr(Stdio::null()).output().ok()?;
        let took = start.elapsed();
        Some((took, output.stdout.iter().filter(|byte| **byte == b'\n').count() as u64))
    }

    /// What it has running.
    pub(super) fn processes(&self) -> Vec<u32> {
        let is_it = |process: &u32| {
            let program = fs::read_link(format!("/proc/{process}/exe"));
            program.is_ok_and(|program| self.program.canonicalize().is_ok_and(|it| it == program))
        };
        let listed = fs::read_dir("/proc").into_iter().flatten().flatten();
        listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_it).collect()
    }

    /// Ends what it left running.
    pub(super) fn stop(&self) {
        if self.kind == Kind::Rgx {
            let _ = self.command().args(["--server", "stop"]).output();
        }
    }
}

/// Installs a program from crates.io, once.
fn crates_io(folder: &Path, name: &str, version: &str) -> Result<PathBuf> {
    let root = folder.join(format!("{name}-{version}"));
    if !root.join("bin").exists() {
        run(Command::new("cargo")
            .args(["install", name, "--version", version, "--locked", "--root"])
            .arg(&root))?;
    }
    Ok(root)
}

/// Unpacks a package of Debian, once; needs no root.
fn debian(folder: &Path, name: &str) -> Result<PathBuf> {
    let root = folder.join(format!("{name}-package"));
    if !root.exists() {
        run(Command::new("apt-get").args(["download", name]).current_dir(folder))?;
        let begins = format!("{name}_");
        let is_it =
            |path: &PathBuf| path.file_name().is_some_and(|it| it.to_string_lossy().starts_with(&begins));
        let found = fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path())).find(is_it);
        let package = found.with_context(|| format!("apt-get brought no {name}"))?;
        run(Command::new("dpkg-deb").arg("-x").arg(package).arg(&root))?;
    }
    Ok(root)
}

fn run(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} failed: {}", said.lines().last().unwrap_or_default());
    Ok(())
}
