//! Asking shells for their `PATH`.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use tempfile::TempDir;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use toolbay_supervise::{LoginPathError, Shim, login_path};

use crate::support::*;

/// Asks a shell that reads its files from `home`.
async fn ask(shell: &Path, home: &Path, shim: &Shim) -> Result<OsString, LoginPathError> {
    let env = BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into()), ("HOME".into(), home.into())]);
    let tasks = TaskTracker::new();
    let answer = login_path(shell, env, shim, &tasks).await;
    tasks.close();
    timeout(DEADLINE, tasks.wait()).await.expect("nothing is left running");
    answer
}

fn home(file: &str, script: &str) -> TempDir {
    let home = TempDir::new().unwrap();
    fs::write(home.path().join(file), script).unwrap();
    home
}

/// A shell of our own, which gets the usual arguments.
fn fake(folder: &TempDir, script: &str) -> PathBuf {
    let shell = folder.path().join("shell");
    fs::write(&shell, format!("#!/bin/sh\n{script}")).unwrap();
    fs::set_permissions(&shell, fs::Permissions::from_mode(0o755)).unwrap();
    shell
}

#[tokio::test]
async fn the_files_of_a_real_shell_are_read_whatever_they_print() {
    let noisy = "echo 'Welcome! __toolbay'; echo noise >&2; PATH=/from/the/files:$PWD:$PATH; export PATH\n";
    for (shell, file) in [("/bin/sh", ".profile"), ("/bin/bash", ".bash_profile"), ("/bin/bash", ".bashrc")] {
        // A login shell reads the first; that the second is read too is for the first to see to.
        let home = home(file, noisy);
        if file == ".bashrc" {
            fs::write(home.path().join(".bash_profile"), ". ~/.bashrc").unwrap();
        }
        for shim in [shim(), Shim::none()] {
            let path = ask(Path::new(shell), home.path(), &shim).await.unwrap();
            let path = path.to_str().unwrap();
            // It runs at home, not in whatever folder we were started.
            let first = format!("/from/the/files:{}:/", home.path().display());
            assert!(path.starts_with(&first), "{shell} {file}: {path}");
        }
    }
}

#[tokio::test]
async fn a_shell_that_reads_gets_nothing_and_daemons_do_not_outlive_it() {
    let home =
        home(".profile", "read answer; sleep 1077 & echo $! >~/pid; PATH=/here; export PATH\n/bin/sleep 0\n");
    // PATH without `printenv` in it.
    assert!(matches!(ask(Path::new("/bin/sh"), home.path(), &shim()).await, Err(LoginPathError::Silent)));
    let pid = fs::read_to_string(home.path().join("pid")).unwrap();
    assert!(!Path::new("/proc").join(pid.trim()).exists());
}

#[tokio::test]
async fn a_shell_that_waits_is_given_up() {
    let folder = TempDir::new().unwrap();
    let shell = fake(&folder, "sleep 1078");
    let began = Instant::now();
    assert!(matches!(ask(&shell, folder.path(), &shim()).await, Err(LoginPathError::Slow)));
    assert!(began.elapsed() >= Duration::from_secs(3) && began.elapsed() < DEADLINE);
}

#[tokio::test]
async fn a_shell_that_cannot_say_is_no_harm() {
    let folder = TempDir::new().unwrap();
    for script in ["exit 3", "yes", "printf __toolbay_path__", "printf __toolbay_path____toolbay_path__"] {
        let shell = fake(&folder, script);
        assert!(matches!(ask(&shell, folder.path(), &shim()).await, Err(LoginPathError::Silent)), "{script}");
    }
    let missing = ask(Path::new("/no/such/shell"), folder.path(), &shim()).await;
    assert!(matches!(missing, Err(LoginPathError::Start(_))));
}
