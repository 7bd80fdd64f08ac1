//! Limits of the machine, its sandbox, and the `PATH` of the login shell.

use std::{
    env::split_paths,
    ffi::{OsStr, OsString},
    fs,
    path::PathBuf,
};

use tokio_util::task::TaskTracker;
use toolbay_config::{WatchMethod, shell_to_ask, watch_files};
use toolbay_host::Shim;
use toolbay_sandbox::{Helper, Level, Probe, probe};
use toolbay_supervise::login_path;

use super::report::Finding;
use crate::{app::context::Context, configured::files::Configuration};

/// A hub with some dozen servers and clients stays below this.
const FEW_FILES: u64 = 1024;
/// Other programs of the same user, editors above all, watch a lot.
const FEW_WATCHES: u64 = 8192;

pub(super) async fn check(context: &Context, configuration: &Configuration) -> Vec<Finding> {
    let mut findings = vec![open_files(), watching(configuration)];
    findings.extend(shell(context).await);
    findings.extend(sandbox().await);
    findings
}

fn open_files() -> Finding {
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    // The soft limit is raised to the hard one by `toolbay serve`.
    let hard = line.and_then(|line| line.split_whitespace().nth(1));
    match hard.and_then(|hard| hard.parse::<u64>().ok()) {
        Some(hard) if hard < FEW_FILES => {
            let message = format!("the limit of open files is {hard}; each client and server needs some");
            Finding::odd("open files", message)
                .fix("raise the hard limit: `ulimit -Hn`, or LimitNOFILE= of a systemd unit")
        }
        _ => Finding::good("open files", format!("up to {}", hard.unwrap_or("any number"))),
    }
}

/// Whether changes of files are reported.
fn watching(configuration: &Configuration) -> Finding {
    const CHECK: &str = "watching";
    const LIMIT: &str = "/proc/sys/fs/inotify/max_user_watches";
    let tasks = TaskTracker::new();
    let fix = "sudo sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=512";
    if let WatchMethod::Polled { reason } = watch_files(&configuration.paths(), &tasks).method() {
        let message = format!("configuration files are polled every second: {reason}");
        return Finding::odd(CHECK, message).fix(fix);
    }
    let limit = fs::read_to_string(LIMIT).ok().and_then(|text| text.trim().parse::<u64>().ok());
    match limit {
        Some(limit) if limit < FEW_WATCHES => Finding::odd(
            CHECK,
            format!("the limit of watched files is {limit}, which other programs may exhaust"),
        )
        .fix(fix),
        _ => Finding::good(CHECK, "file changes are reported by the kernel"),
    }
}

/// How well the built-in server `shell` confines programs here.
async fn sandbox() -> Option<Finding> {
    const CHECK: &str = "sandbox";
    let Probe { level, reason } = tokio::task::spawn_blocking(|| probe(&Helper::current_exe())).await.ok()?;
    let reason = reason.unwrap_or_else(|| "unknown reason".to_owned());
    Some(match level {
        Level::Full => Finding::good(CHECK, "full: namespaces, Landlock and seccomp"),
        Level::Partial => Finding::odd(
            CHECK,
            format!("partial: programs share /tmp and their limits with others: {reason}"),
        )
        .fix("allow user namespaces, or set `sandbox = \"partial\"` for servers that run programs"),
        Level::None => Finding::odd(CHECK, format!("none: {reason}")).fix(
            "the built-in server `shell` needs `sandbox = \"none\"` here; use it in a virtual machine only",
        ),
    })
}

/// The folders in the `PATH` of the login shell that our own lacks.
async fn shell(context: &Context) -> Option<Finding> {
    const CHECK: &str = "PATH";
    let mut env = context.env.variables.clone();
    env.remove(OsStr::new("TERM")); // else no terminal need be asked
    let shell = shell_to_ask(&env)?;
    let tasks = TaskTracker::new();
    let login = login_path(&shell, context.env.variables.clone(), &Shim::current_exe(), &tasks).await;
    let login = match login {
        Ok(login) => login,
        Err(error) => {
            let fix = "check its startup files; programs that only it finds are not found";
            return Some(Finding::odd(CHECK, error.to_string()).fix(fix));
        }
    };
    let folders = |path: &OsStr| -> Vec<PathBuf> { split_paths(path).collect() };
    let ours = folders(context.env.variables.get(OsStr::new("PATH")).unwrap_or(&OsString::new()));
    let lacking: Vec<String> = folders(&login)
        .iter()
        .filter(|folder| folder.is_absolute() && !ours.contains(folder))
        .map(|folder| folder.display().to_string())
        .collect();
    if lacking.is_empty() {
        return Some(Finding::good(CHECK, "the PATH is that of your login shell"));
    }
    let message =
        format!("directories in the PATH of your login shell are missing here: {}", lacking.join(", "));
    Some(Finding::odd(CHECK, message).fix("start Toolbay from a login shell, or add them to PATH"))
}

/// Processes below us once all servers were stopped.
pub(super) fn survivors() -> Option<Finding> {
    let ours = std::process::id().to_string();
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let left: Vec<String> = processes
        .filter_map(|entry| {
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            let (head, rest) = stat.rsplit_once(')')?;
            let mut fields = rest.split_whitespace();
            let (state, parent) = (fields.next()?, fields.next()?);
            // Zombies are not survivors.
            (parent == ours && state != "Z").then(|| head.replacen(" (", " is ", 1))
        })
        .collect();
    if left.is_empty() {
        return None;
    }
    let message = format!("servers left processes behind: {}", left.join(", "));
    Some(
        Finding::bad("processes", message)
            .fix("end them with `kill`, and report it to the authors of the servers"),
    )
}
