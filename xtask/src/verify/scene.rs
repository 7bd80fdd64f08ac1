//! A home directory of its own, a release build, and a hub in it.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;
use toolbay_testkit::harness::{Process, kill, processes};

use crate::workspace::{cargo, must, target};

/// The address space of a hub, in KiB.
const MOST_KIB: &str = "4194304";

/// A scratch home directory in which the release build runs.
pub(super) struct Scene {
    folder: TempDir,
    toolbay: PathBuf,
}

/// What a program printed, and how it ended.
pub(super) struct Ran {
    pub(super) text: String,
    pub(super) took: Duration,
    /// Whether it ended by itself.
    pub(super) in_time: bool,
    /// Whether it ended with success.
    pub(super) succeeded: bool,
}

impl Ran {
    /// The last lines.
    pub(super) fn tail(&self) -> String {
        let lines: Vec<&str> = self.text.lines().collect();
        lines[lines.len().saturating_sub(15)..].join("\n")
    }
}

/// A program that ends with this value.
pub(super) struct Running(Child);

impl Scene {
    /// Makes an empty home directory for `binary`, or for a release build that is made now.
    pub(super) fn new(binary: Option<&Path>) -> Result<Self> {
        let toolbay = program(binary)?;
        let folder = TempDir::with_prefix("toolbay-verify-").context("cannot make a scratch folder")?;
        for part in ["home", "work", "run"] {
            fs::create_dir(folder.path().join(part))?;
        }
        Ok(Self { folder, toolbay })
    }

    /// The program that is tried.
    pub(super) fn toolbay(&self) -> &Path {
        &self.toolbay
    }

    pub(super) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// The folder in which programs run.
    pub(super) fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// Writes a file below the home directory.
    pub(super) fn write(&self, path: &str, text: &str) -> Result<()> {
        write(&self.home().join(path), text)
    }

    /// A command that knows no other home directory than this one.
    pub(super) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.work()).stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("XDG_") || name.starts_with("CARGO") || name.starts_with("TOOLBAY") {
                command.env_remove(name);
            }
        }
        command
            .env("VERIFY_SECRET", super::SECRET)
            .env("HOME", self.home())
            .env("TMPDIR", self.folder.path().join("run"));
        command
    }

    /// What runs with this home directory.
    pub(super) fn processes(&self) -> Vec<Process> {
        let home = format!("HOME={}", self.home().display());
        processes().into_iter().filter(|process| process.has_variable(&home)).collect()
    }

    /// Kills what runs with this home directory.
    pub(super) fn end_processes(&self) {
        for process in self.processes() {
            let _ = kill(process.pid); // it may just have ended
        }
    }

    /// Starts `toolbay serve` and gives its URL once it listens.
    pub(super) fn serve(&self) -> Result<(Running, String)> {
        // A hub that an attack makes read for ever ends before the machine's memory does.
        let mut command = self.command("sh");
        command.args(["-c", r#"ulimit -v "$0" && exec "$@""#, MOST_KIB]).arg(&self.toolbay);
        self.serve_by(command)
    }

    /// As [`Scene::serve`], with a configuration file, and without a limit of memory: some servers reserve more than that.
    pub(super) fn serve_config(&self, config: &Path) -> Result<(Running, String)> {
        let mut command = self.command(&self.toolbay);
        command.arg("--config").arg(config);
        self.serve_by(command)
    }

    fn serve_by(&self, mut command: Command) -> Result<(Running, String)> {
        command.args(["serve", "--listen", "127.0.0.1:0", "--json"]);
        let log = fs::File::create(self.folder.path().join("serve.log"))?;
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().context("cannot start toolbay")?;
        let stdout = child.stdout.take().context("stdout is piped")?;
        let running = Running(child);
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).context("cannot read what `serve` prints")?;
        let said: Value = serde_json::from_str(&line).with_context(|| format!("`serve` printed {line:?}"))?;
        let url = said["url"].as_str().with_context(|| format!("`serve` printed {line:?}"))?.to_owned();
        Ok((running, url))
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.end_processes();
    }
}

/// The program at that path, or a release build that is made now.
pub(super) fn program(binary: Option<&Path>) -> Result<PathBuf> {
    match binary {
        Some(binary) => fs::canonicalize(binary).with_context(|| format!("cannot find {}", binary.display())),
        None => {
            must(&mut cargo(&["build", "--release", "--quiet", "--package", "toolbay"]))?;
            Ok(target()?.join("release/toolbay"))
        }
    }
}

/// Writes a file, and the folders above it.
pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().context("a file lies in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Runs to the end, at most `limit`, and gives everything that was printed.
pub(super) fn run_for(mut command: Command, limit: Duration) -> Result<Ran> {
    let start = Instant::now();
    let output = tempfile::tempfile()?;
    command.stdout(output.try_clone()?).stderr(output.try_clone()?);
    let shown = format!("{command:?}");
    let mut running = Running(command.spawn().with_context(|| format!("cannot run {shown}"))?);
    let status = loop {
        let status = running.0.try_wait()?;
        if status.is_some() || start.elapsed() > limit {
            break status;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    drop(running);
    let text = read_back(output)?;
    let succeeded = status.is_some_and(|status| status.success());
    Ok(Ran { text, took: start.elapsed(), in_time: status.is_some(), succeeded })
}

fn read_back(mut output: fs::File) -> Result<String> {
    use std::io::{Read, Seek};
    output.rewind()?;
    let mut bytes = Vec::new();
    output.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Starts a program and waits for the first line that it prints.
pub(super) fn first_line(mut command: Command) -> Result<(Running, String)> {
    let mut child =
        command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot run {command:?}"))?;
    let line = line_of(child.stdout.take().context("stdout is piped")?);
    Ok((Running(child), line?))
}

/// Starts a program and waits for the first line that it writes to stderr.
pub(super) fn first_error_line(mut command: Command) -> Result<(Running, String)> {
    let mut child =
        command.stderr(Stdio::piped()).spawn().with_context(|| format!("cannot run {command:?}"))?;
    let line = line_of(child.stderr.take().context("stderr is piped")?);
    Ok((Running(child), line?))
}

fn line_of(stream: impl std::io::Read) -> Result<String> {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    ensure!(!line.is_empty(), "a program printed nothing");
    Ok(line.trim().to_owned())
}

impl Running {
    pub(super) fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
