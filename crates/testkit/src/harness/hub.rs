//! A running hub, and what must be true of it when nothing happens.

use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{Client, Process, Programs, Setup, TIMEOUT, fds, process, processes, wait_until};

/// The variable that marks all processes of one hub, however far they went from it.
const MARK: &str = "TOOLBAY_HARNESS";
/// How many files more or fewer than at the start may be open.
const FD_SLACK: usize = 2;
/// Hubs that this process has started.
static STARTED: AtomicU64 = AtomicU64::new(0);

/// A hub; it and all its processes end when it is dropped.
#[derive(Debug)]
pub struct Hub {
    child: Child,
    address: SocketAddr,
    /// `NAME=value`.
    mark: String,
    config: PathBuf,
    programs: Programs,
    folder: PathBuf,
    stderr: Arc<Mutex<String>>,
    /// From its start until it listened.
    pub listening: Duration,
}

/// What is there when nothing happens.
#[derive(Debug, Clone, Copy)]
pub struct Baseline {
    /// Open files of the hub.
    pub fds: usize,
    /// Servers that run, each with its shim.
    pub servers: usize,
    /// Processes that servers have started.
    pub others: usize,
}

impl Hub {
    pub(super) fn start(setup: Setup) -> Result<Self> {
        let id = format!("{}-{}", std::process::id(), STARTED.fetch_add(1, Ordering::Relaxed));
        let config = setup.write(&json!({ MARK: id }))?;
        let Setup { programs, folder, open_files, .. } = setup;
        let mut command = command(&programs, &folder, &config, &["serve", "--listen", "127.0.0.1:0"]);
        if let Some(limit) = open_files {
            command = limited(&command, limit);
        }
        command.env(MARK, &id).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let started = Instant::now();
        let mut child = command.spawn().context("the hub does not start")?;
        let pipe = child.stderr.take().context("it was piped")?;
        let stderr = Arc::new(Mutex::new(String::new()));
        let (sender, urls) = mpsc::sync_channel(1);
        let printed = stderr.clone();
        thread::spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                if let Some((_, url)) = line.split_once("http://") {
                    let _ = sender.try_send(url.split('/').next().unwrap_or_default().to_owned());
                }
                *printed.lock() += &(line + "\n");
            }
        });
        let Ok(address) = urls.recv_timeout(TIMEOUT) else {
            let _ = child.kill();
            let _ = child.wait();
            bail!("the hub does not listen: {}", stderr.lock());
        };
        let listening = started.elapsed();
        let address = address.parse().with_context(|| format!("{address} is no address"))?;
        let mark = format!("{MARK}={id}");
        Ok(Self { child, address, mark, config, programs, folder, stderr, listening })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A client with a session.
    pub fn client(&self) -> Result<Client> {
        Client::open(self.address)
    }

    /// What it wrote to stderr so far.
    pub fn stderr(&self) -> String {
        self.stderr.lock().clone()
    }

    /// What `GET /health` says.
    pub fn health(&self) -> Result<Value> {
        Client::new(self.address).get("/health")
    }

    /// What `GET /health` says of one server.
    pub fn server(&self, name: &str) -> Result<Value> {
        let health = self.health()?;
        let servers = health["servers"].as_array().with_context(|| format!("no servers: {health}"))?;
        let server = servers.iter().find(|server| server["name"] == name);
        server.cloned().with_context(|| format!("no {name}: {health}"))
    }

    /// Waits until a server is in a state (`ready`, `failed`, …), and gives what `GET /health` says of it.
    pub fn wait_for(&self, name: &str, state: &str) -> Result<Value> {
        self.wait_until(name, state, |server| match state {
            "ready" => is_up(server),
            _ => server["state"] == state,
        })
    }

    /// Waits until something is true of a server.
    pub fn wait_until(&self, name: &str, what: &str, is: impl Fn(&Value) -> bool) -> Result<Value> {
        let mut last = Value::Null;
        let seen = wait_until(&format!("{name}: {what}"), || {
            last = self.server(name)?;
            Ok(is(&last).then(|| last.clone()))
        });
        seen.with_context(|| format!("{last}\nthe hub printed:\n{}", self.stderr()))
    }

    /// Stops the hub where it is, until [`Hub::resume`].
    pub fn pause(&self) -> Result<()> {
        signal(self.pid(), Signal::STOP)
    }

    /// Lets it go on.
    pub fn resume(&self) -> Result<()> {
        signal(self.pid(), Signal::CONT)
    }

    /// Runs `toolbay` with the same configuration, and gives what it prints.
    pub fn run(&self, arguments: &[&str]) -> Result<String> {
        let output = command(&self.programs, &self.folder, &self.config, arguments).output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(text)
    }

    /// Processes below it, and those that left it: shims, servers and what they started. No zombies.
    pub fn processes(&self) -> Vec<Process> {
        let mut all = processes();
        all.retain(|one| one.pid != self.pid() && !one.is_zombie && one.has_variable(&self.mark));
        all
    }

    /// The number of zombies among its descendants.
    pub fn zombies(&self) -> usize {
        let family: Vec<u32> = self.processes().iter().map(|one| one.pid).chain([self.pid()]).collect();
        processes().iter().filter(|one| one.is_zombie && family.contains(&one.parent)).count()
    }

    /// Resident memory now, in KiB.
    pub fn rss_kib(&self) -> u64 {
        process::memory_kib(self.pid(), "VmRSS")
    }

    /// The most memory it has had since [`Self::reset_peak`], in KiB.
    pub fn peak_kib(&self) -> u64 {
        process::memory_kib(self.pid(), "VmHWM")
    }

    pub fn reset_peak(&self) {
        process::forget_peak(self.pid());
    }

    /// What is there now, to be compared with later. To be taken when all servers are ready.
    pub fn baseline(&self) -> Result<Baseline> {
        let ready = self.ready()?;
        // Until the connection of the request is closed.
        let mut last = usize::MAX;
        let fds = wait_until("a steady number of open files", || {
            let now = fds(self.pid());
            thread::sleep(Duration::from_millis(20));
            Ok((std::mem::replace(&mut last, now) == now).then_some(now))
        })?;
        let family = self.processes().len();
        Ok(Baseline { fds, servers: ready, others: family.saturating_sub(2 * ready) })
    }

    fn ready(&self) -> Result<usize> {
        let health = self.health()?;
        let servers = health["servers"].as_array().context("no servers")?;
        Ok(servers.iter().filter(|server| is_up(server)).count())
    }

    /// Waits until nothing is left of what happened: no calls, no files, no processes, no zombies.
    pub fn expect_idle(&self, expected: Baseline) -> Result<()> {
        let mut last = String::new();
        let quiet = wait_until("quiescence", || {
            last = self.unrest(expected)?.unwrap_or_default();
            Ok(last.is_empty().then_some(()))
        });
        quiet.with_context(|| format!("{last}\nthe hub printed:\n{}", self.stderr()))
    }

    fn unrest(&self, expected: Baseline) -> Result<Option<String>> {
        let health = self.health()?;
        let busy = |server: &&Value| server["counts"]["in_flight"] != 0 || server["counts"]["waiting"] != 0;
        if let Some(server) = health["servers"].as_array().into_iter().flatten().find(busy) {
            return Ok(Some(format!("calls are left: {server}")));
        }
        let open = fds(self.pid());
        if open.abs_diff(expected.fds) > FD_SLACK {
            return Ok(Some(format!("{open} open files, {} expected", expected.fds)));
        }
        let family = self.processes();
        let shims = family.iter().filter(|one| one.is_shim()).count();
        if shims != expected.servers || family.len() != 2 * expected.servers + expected.others {
            return Ok(Some(format!("processes: {family:?}, expected {expected:?}")));
        }
        let zombies = self.zombies();
        Ok((zombies > 0).then(|| format!("{zombies} zombies")))
    }

    /// Asks it to stop, waits until it and all its processes are gone, and gives how long that took.
    pub fn stop(&mut self) -> Result<Duration> {
        let started = Instant::now();
        signal(self.pid(), Signal::TERM)?;
        let status = self.ended()?;
        let took = started.elapsed();
        ensure!(status.success(), "it stopped with {status}: {}", self.stderr());
        let left = self.processes();
        ensure!(left.is_empty(), "left behind: {left:?}");
        Ok(took)
    }

    /// Kills it, and gives how long it took until nothing of it was left.
    pub fn kill(&mut self) -> Result<Duration> {
        let started = Instant::now();
        signal(self.pid(), Signal::KILL)?;
        self.ended()?;
        wait_until("all processes are gone", || Ok(self.processes().is_empty().then_some(())))?;
        Ok(started.elapsed())
    }

    fn ended(&mut self) -> Result<ExitStatus> {
        wait_until("the hub ends", || Ok(self.child.try_wait()?))
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for left in self.processes() {
            let _ = signal(left.pid, Signal::KILL); // it may just have ended
        }
    }
}

/// Kills a process, and none of those below it.
pub fn kill(pid: u32) -> Result<()> {
    signal(pid, Signal::KILL)
}

pub(super) fn signal(pid: u32, which: Signal) -> Result<()> {
    let pid = Pid::from_raw(pid.try_into()?).context("no process id")?;
    Ok(kill_process(pid, which)?)
}

/// Whether a server answers, even where something about it is not right.
fn is_up(server: &Value) -> bool {
    server["state"] == "ready" || server["state"] == "degraded"
}

/// The same command with so few files.
fn limited(command: &Command, open_files: u64) -> Command {
    #[expect(clippy::disallowed_methods, reason = "it becomes the program under test")]
    let mut limited = Command::new("prlimit");
    limited.arg(format!("--nofile={open_files}:{open_files}")).arg(command.get_program());
    limited.args(command.get_args()).env_clear();
    limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = command.get_current_dir() {
        limited.current_dir(folder);
    }
    limited
}

/// `toolbay` in an environment of its own.
pub(super) fn command(programs: &Programs, folder: &Path, config: &Path, arguments: &[&str]) -> Command {
    #[expect(clippy::disallowed_methods, reason = "the program under test; its tree is killed on drop")]
    let mut command = Command::new(programs.path("toolbay"));
    command.args(arguments).arg("--config").arg(config).current_dir(folder);
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", folder);
    command.env("TOOLBAY_RUNTIME_DIR", folder).env("TMPDIR", folder);
    command
}
