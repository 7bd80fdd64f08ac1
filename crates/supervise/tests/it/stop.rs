//! Stop, kill and drop, with everything below.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use toolbay_supervise::Shim;

use crate::support::*;

#[tokio::test]
async fn a_server_that_heeds_its_stdin_is_sent_no_signal() {
    for shim in [shim(), Shim::none()] {
        let mut server = start("trap 'exit 9' TERM; echo $$; read x; exit 3", &shim, grace(60_000, 60_000));
        server.pids(1).await;
        server.stdin = None;
        server.handle.stop();
        assert_eq!(server.exit().await, "exit code 3");
        assert!(server.handle.try_exit().unwrap().was_asked());
        server.end().await;
    }
}

#[tokio::test]
async fn a_server_that_heeds_sigterm_is_not_killed() {
    for shim in [shim(), Shim::none()] {
        let script = "trap 'exit 9' TERM; echo $$; while :; do sleep 0.01; done";
        let mut server = start(script, &shim, grace(50, 60_000));
        server.pids(1).await;
        server.handle.stop();
        assert_eq!(server.end().await, "exit code 9");
    }
}

#[tokio::test]
async fn a_server_that_heeds_nothing_is_killed_when_its_time_is_over() {
    for shim in [shim(), Shim::none()] {
        let mut server = start("trap '' TERM; echo $$; while :; do sleep 0.05; done", &shim, grace(200, 300));
        server.pids(1).await;
        let start = Instant::now();
        server.handle.stop();
        server.handle.stop();
        assert_eq!(server.end().await, "killed by signal 9 (SIGKILL)");
        assert!(start.elapsed() >= Duration::from_millis(500), "{:?}", start.elapsed());
    }
}

#[tokio::test]
async fn a_stopped_server_is_ended_too() {
    let mut server =
        start("trap 'exit 9' TERM; echo $$; while :; do sleep 0.01; done", &shim(), grace(1, 60_000));
    let pid = server.pids(1).await[0];
    send(Signal::STOP, pid);
    server.handle.stop();
    assert_eq!(server.end().await, "exit code 9");
}

#[tokio::test]
async fn nothing_of_the_family_is_left_after_a_stop() {
    for shim in [shim(), Shim::none()] {
        // The others ignore SIGTERM as well: that is inherited.
        let mut server = start(&format!("trap '' TERM; {FAMILY} exec cat"), &shim, grace(50, 50));
        let pids = server.pids(FAMILY_SIZE).await;
        assert_eq!(alive(&pids).len(), FAMILY_SIZE);
        server.handle.stop();
        server.end().await;
        assert!(alive(&pids).is_empty());
    }
}

#[tokio::test]
async fn nothing_of_the_family_is_left_when_the_server_ends_by_itself() {
    for shim in [shim(), Shim::none()] {
        let mut server = start(&format!("trap '' TERM; {FAMILY} exit 5"), &shim, grace(60_000, 60_000));
        let pids = server.pids(FAMILY_SIZE).await;
        assert_eq!(server.end().await, "exit code 5");
        assert!(alive(&pids).is_empty());
    }
}

#[tokio::test]
async fn nothing_of_the_family_is_left_after_a_kill() {
    for shim in [shim(), Shim::none()] {
        let mut server = start(&format!("{FAMILY} exec cat"), &shim, grace(60_000, 60_000));
        let pids = server.pids(FAMILY_SIZE).await;
        server.handle.kill();
        assert_eq!(server.end().await, "killed by signal 9 (SIGKILL)");
        assert!(alive(&pids).is_empty());
    }
}

#[tokio::test]
async fn dropping_all_handles_kills_the_family() {
    for shim in [shim(), Shim::none()] {
        let mut server = start(&format!("{FAMILY} exec cat"), &shim, grace(60_000, 60_000));
        let pids = server.pids(FAMILY_SIZE).await;
        let Server { stdin, handle, tasks, .. } = server;
        let second = handle.clone();
        drop(handle);
        assert_eq!(alive(&pids).len(), FAMILY_SIZE);
        drop(second);
        until_gone(&pids).await;
        tasks.close();
        tasks.wait().await;
        drop(stdin);
    }
}

#[test]
fn dropping_the_runtime_kills_the_family() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (pids, server) = runtime.block_on(async {
        let mut server = start(&format!("{FAMILY} exec cat"), &shim(), grace(60_000, 60_000));
        (server.pids(FAMILY_SIZE).await, server)
    });
    drop(runtime);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(until_gone(&pids));
    assert_eq!(runtime.block_on(server.exit()), "lost: its shim was killed");
}

#[tokio::test]
async fn one_that_forks_without_end_does_not_get_away() {
    // Each child does the same and its parent ends, so no scan sees the one that will be there next.
    let script = "f='echo x; sh -c \"$f\" & exit'; export f; sh -c \"$f\" & echo $$; exec cat";
    let mut server = start(script, &shim(), grace(1, 1));
    server.stdout.next_line().await.unwrap();
    server.handle.kill();
    server.exit().await;
    // All hold stdout, so its end is theirs.
    let end = async { while server.stdout.next_line().await.unwrap().is_some() {} };
    tokio::time::timeout(DEADLINE, end).await.unwrap();
    server.end().await;
}
