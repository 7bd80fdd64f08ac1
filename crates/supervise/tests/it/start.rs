//! What runs, and what cannot.

use std::{fs, os::unix::fs::PermissionsExt};

use tokio::io::AsyncWriteExt;
use toolbay_supervise::{ExitCause, LogSource, Shim, SpawnError, StderrPolicy};

use crate::support::*;

fn texts(server: &Server) -> Vec<String> {
    server.handle.stderr().tail(10).iter().map(|line| line.text.to_string()).collect()
}

fn both() -> [Shim; 2] {
    [shim(), Shim::none()]
}

#[tokio::test]
async fn an_exit_code_and_the_last_lines_are_known() {
    for shim in both() {
        let server = start("echo one >&2; printf two >&2; exit 7", &shim, grace(1, 1));
        assert_eq!(server.exit().await, "exit code 7");
        assert!(matches!(server.handle.try_exit().unwrap().cause, ExitCause::Itself));
        assert_eq!(texts(&server), ["one", "two"]);
        assert_eq!(server.handle.stderr().last(LogSource::Stderr).unwrap().text.as_ref(), "two");
        server.end().await;
    }
}

#[tokio::test]
async fn a_crash_names_its_signal() {
    for shim in both() {
        let server = start("kill -SEGV $$", &shim, grace(1, 1));
        assert_eq!(server.end().await, "killed by signal 11 (SIGSEGV)");
    }
}

#[tokio::test]
async fn stdin_and_stdout_are_the_servers_own() {
    for shim in both() {
        let mut server = start("echo $$; exec cat", &shim, grace(1, 1));
        let pid = server.pids(1).await[0];
        assert_eq!(server.handle.started().await.unwrap(), pid);
        assert_eq!(server.handle.pid(), Some(pid));
        server.stdin.as_mut().unwrap().write_all(b"hello\n").await.unwrap();
        assert_eq!(server.stdout.next_line().await.unwrap().unwrap(), "hello");
        // The end of stdin reaches the server, and that of stdout reaches us: nobody else holds the pipes.
        server.stdin = None;
        assert_eq!(server.stdout.next_line().await.unwrap(), None);
        assert_eq!(server.end().await, "exit code 0");
    }
}

#[tokio::test]
async fn the_environment_is_that_of_the_launch() {
    for shim in both() {
        let mut launch = shell("env");
        launch.command = "env".into();
        launch.args.clear();
        launch.env.insert("GREETING".into(), "a b".into());
        let mut server = try_start(&launch, &shim, grace(1, 1)).unwrap();
        let mut names = Vec::new();
        while let Some(line) = server.stdout.next_line().await.unwrap() {
            names.push(line.split('=').next().unwrap().to_owned());
        }
        names.sort();
        assert_eq!(names, ["GREETING", "PATH", "SUPERVISED_LAUNCH"]);
        server.end().await;
    }
}

#[tokio::test]
async fn a_missing_command_is_known_at_once() {
    let mut launch = shell("");
    launch.command = "no-such-thing".into();
    let error = try_start(&launch, &shim(), grace(1, 1)).err().unwrap();
    assert_eq!(error.to_string(), "command `no-such-thing` not found; looked in /usr/bin, /bin");
    launch.command = "sh -c true".into();
    let error = try_start(&launch, &shim(), grace(1, 1)).err().unwrap();
    assert!(error.hint().unwrap().contains("`args`"), "{error}");
}

#[tokio::test]
async fn a_missing_permission_is_known_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("script");
    fs::write(&script, "#!/bin/sh\n").unwrap();
    let mut launch = shell("");
    launch.command = script.clone().into();
    let error = try_start(&launch, &shim(), grace(1, 1)).err().unwrap();
    assert!(matches!(error, SpawnError::NotExecutable { .. }), "{error:?}");
    assert_eq!(error.to_string(), format!("no permission to execute `{}`", script.display()));
}

#[tokio::test]
async fn a_missing_directory_is_known_at_once() {
    for (cwd, kind) in
        [("/no/such", std::io::ErrorKind::NotFound), ("/bin/sh", std::io::ErrorKind::NotADirectory)]
    {
        let mut launch = shell("");
        launch.cwd = Some(cwd.into());
        let error = try_start(&launch, &shim(), grace(1, 1)).err().unwrap();
        let SpawnError::WorkingDirectory { source, .. } = &error else { panic!("{error:?}") };
        assert_eq!(source.kind(), kind);
        assert!(error.hint().unwrap().contains(cwd));
    }
}

#[tokio::test]
async fn a_working_directory_is_used_for_the_command_too() {
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("where");
    fs::write(&script, "#!/bin/sh\npwd\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    for shim in both() {
        let mut launch = shell("");
        (launch.command, launch.args) = ("./where".into(), Vec::new());
        launch.cwd = Some(directory.path().to_owned());
        let mut server = try_start(&launch, &shim, grace(1, 1)).unwrap();
        let told = server.stdout.next_line().await.unwrap().unwrap();
        assert_eq!(fs::canonicalize(told).unwrap(), fs::canonicalize(directory.path()).unwrap());
        server.end().await;
    }
}

#[tokio::test]
async fn what_the_system_refuses_to_execute_has_its_reason() {
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("script");
    fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let mut launch = shell("");
    launch.command = script.into();
    let server = try_start(&launch, &shim(), grace(1, 1)).unwrap();
    let exit = server.handle.started().await.unwrap_err();
    let ExitCause::NotStarted(error) = &exit.cause else { panic!("{exit:?}") };
    assert!(error.hint().unwrap().contains("interpreter"), "{error}");
    assert!(server.end().await.starts_with("not started: cannot execute"));
    let error = try_start(&launch, &Shim::none(), grace(1, 1)).err().unwrap();
    assert!(matches!(error, SpawnError::Exec { .. }), "{error:?}");
}

#[tokio::test]
async fn a_shim_that_is_none_is_distinguished_from_a_server_that_fails() {
    let missing = try_start(&shell(""), &Shim::program("/no/such/shim"), grace(1, 1)).err().unwrap();
    assert!(matches!(missing, SpawnError::Shim { .. }), "{missing:?}");
    // Nobody called `run_if_asked` in this test program: it must not be started again.
    let not_offered = try_start(&shell(""), &Shim::current_exe(), grace(1, 1)).err().unwrap();
    assert!(matches!(not_offered, SpawnError::Shim { .. }), "{not_offered:?}");
    let wrong = try_start(&shell(""), &Shim::program("/bin/false"), grace(1, 1)).unwrap();
    let exit = wrong.handle.started().await.unwrap_err();
    let ExitCause::NotStarted(error) = &exit.cause else { panic!("{exit:?}") };
    assert!(matches!(**error, SpawnError::Shim { .. }), "{error:?}");
}

#[tokio::test]
async fn stderr_goes_where_the_policy_sends_it() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("log");
    for policy in [StderrPolicy::File(file.clone()), StderrPolicy::File(file.clone()), StderrPolicy::Null] {
        let mut launch = shell("echo words >&2");
        launch.stderr = policy;
        let server = try_start(&launch, &shim(), grace(1, 1)).unwrap();
        server.exit().await;
        assert!(texts(&server).is_empty());
        server.end().await;
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "words\nwords\n");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}
