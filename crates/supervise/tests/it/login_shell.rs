//! Asking login shells for their environment.

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
use toolbay_supervise::{LoginShell, LoginShellError, Shim, login_environment, login_path};

use crate::support::*;

/// Asks a shell that reads its files from `home`.
async fn ask(shell: &Path, home: &Path, shim: &Shim) -> Result<OsString, LoginShellError> {
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
    // A PATH without `env` in it.
    assert_eq!(ask(Path::new("/bin/sh"), home.path(), &shim()).await.unwrap(), "/here");
    let pid = fs::read_to_string(home.path().join("pid")).unwrap();
    assert!(!Path::new("/proc").join(pid.trim()).exists());
}

#[tokio::test]
async fn a_shell_that_waits_is_given_up() {
    let folder = TempDir::new().unwrap();
    let shell = fake(&folder, "sleep 1078");
    let began = Instant::now();
    assert!(matches!(ask(&shell, folder.path(), &shim()).await, Err(LoginShellError::Slow)));
    assert!(began.elapsed() >= Duration::from_secs(3) && began.elapsed() < DEADLINE);
}

#[tokio::test]
async fn a_shell_that_cannot_say_is_no_harm() {
    let folder = TempDir::new().unwrap();
    for script in ["exit 3", "yes", "printf __toolbay_env__", "printf __toolbay_env____toolbay_end__"] {
        let shell = fake(&folder, script);
        assert!(
            matches!(ask(&shell, folder.path(), &shim()).await, Err(LoginShellError::Silent)),
            "{script}"
        );
    }
    let missing = ask(Path::new("/no/such/shell"), folder.path(), &shim()).await;
    assert!(matches!(missing, Err(LoginShellError::Start(_))));
}

#[tokio::test]
async fn all_variables_come_as_they_are_and_those_of_the_shell_itself_do_not() {
    let home = home(
        ".profile",
        "echo noise; export TWO_LINES='one\ntwo=2' EMPTY=; export TOKEN=from-the-file; not_exported=1; alias env=false\n",
    );
    let env = BTreeMap::from([
        ("PATH".into(), "/usr/bin:/bin".into()),
        ("HOME".into(), home.path().into()),
        ("TOKEN".into(), "from-outside".into()),
        // dash exports it then, with the last word of each command.
        ("_".into(), "/usr/bin/env".into()),
    ]);
    let tasks = TaskTracker::new();
    let all = login_environment(Path::new("/bin/sh"), env, &shim(), &tasks).await.unwrap();
    let get = |name: &str| all.get(std::ffi::OsStr::new(name)).and_then(|value| value.to_str());
    assert_eq!(get("TWO_LINES"), Some("one\ntwo=2"));
    assert_eq!((get("EMPTY"), get("TOKEN")), (Some(""), Some("from-the-file")));
    let own = ["_", "SHLVL", "PWD", "OLDPWD", "SUPERVISED_LAUNCH", "not_exported"].map(get);
    assert_eq!(own, [None; 6], "{all:?}");
}

/// A shell that counts how often it is asked, and its home.
struct Counting {
    home: TempDir,
    shell: PathBuf,
}

impl Counting {
    fn new() -> Self {
        let home = home(".profile", "TOKEN=first; export TOKEN\n");
        let shell = fake(&home, "echo x >>~/asked\nexec /bin/sh \"$@\"\n");
        Self { home, shell }
    }

    async fn token(&self) -> (usize, Option<String>) {
        let env = BTreeMap::from([
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("HOME".into(), self.home.path().into()),
        ]);
        let shell = LoginShell::of_user(env, Some(self.cache())).with_program(&self.shell);
        let all = shell.environment(&shim(), &TaskTracker::new()).await;
        let asked = fs::read_to_string(self.home.path().join("asked")).unwrap_or_default().lines().count();
        (asked, all.get(std::ffi::OsStr::new("TOKEN")).map(|token| token.to_str().unwrap().to_owned()))
    }

    fn cache(&self) -> PathBuf {
        self.home.path().join("state/login-environment")
    }
}

#[tokio::test]
async fn an_environment_is_cached_while_nothing_changes_and_for_its_user_alone() {
    let it = Counting::new();
    let first = Some("first".to_owned());
    assert_eq!(it.token().await, (1, first.clone()));
    assert_eq!(it.token().await, (1, first.clone()), "the second one was not asked for");
    assert_eq!(fs::metadata(it.cache()).unwrap().permissions().mode() & 0o777, 0o600);

    fs::write(it.home.path().join(".profile"), "TOKEN=second; export TOKEN\n").unwrap();
    assert_eq!(it.token().await, (2, Some("second".to_owned())), "a start-up file changed");
    let day_old = std::time::SystemTime::now() - Duration::from_secs(25 * 60 * 60);
    fs::File::options().write(true).open(it.cache()).unwrap().set_modified(day_old).unwrap();
    assert_eq!(it.token().await.0, 3, "it is a day old");
    fs::set_permissions(it.cache(), fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(it.token().await.0, 4, "others may have seen, or written, it");
}

#[tokio::test]
async fn without_output_the_last_environment_counts_or_that_of_the_shell() {
    let it = Counting::new();
    fs::write(it.home.path().join(".profile"), "exit 3\n").unwrap();
    assert_eq!(it.token().await, (1, None));
    fs::write(it.home.path().join(".profile"), "TOKEN=good; export TOKEN\n").unwrap();
    assert_eq!(it.token().await, (2, Some("good".to_owned())));
    fs::write(it.home.path().join(".profile"), "TOKEN=bad; export TOKEN; exit 3\n").unwrap();
    assert_eq!(it.token().await, (3, Some("good".to_owned())));
}
