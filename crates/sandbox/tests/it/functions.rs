//! Functions of a program, which get nothing but the files that are open.

use std::{
    io::Write,
    net::TcpListener,
    process::{Output, Stdio},
};

use toolbay_sandbox::{Level, Limits, Policy};

use crate::world::{From, World, sandboxes, text};

/// Runs an attack as a function of the test program.
fn attack(world: &World, from: From, attack: &str) -> Output {
    let limits = Limits { processes: 1, memory: 64 << 20, cpu_seconds: 1, ..Limits::default() };
    let policy = Policy::for_function(from.level, "attack", limits);
    let mut command = world.command(from, &policy, &[]);
    let mut function =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    writeln!(function.stdin.take().unwrap(), "{attack}").unwrap();
    function.wait_with_output().unwrap()
}

#[test]
fn functions_reach_no_file_no_network_no_process_and_no_variable() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    for from in sandboxes() {
        let world = World::new(from.user);
        let outside = World::path(&world, "project/file");
        let mut victim = world.victim();
        for attempt in [
            format!("read {}", outside.display()),
            format!("write {}", outside.display()),
            "read /etc/passwd".to_owned(),
            "read /proc/self/environ".to_owned(),
            "read /dev/null".to_owned(),
            "list /".to_owned(),
            "write /file".to_owned(),
            "write /tmp/file".to_owned(),
            format!("tcp {address}"),
            format!("udp {address}"),
            "abstract x".to_owned(),
            "run /bin/true".to_owned(),
            "fork 1".to_owned(),
            "thread x".to_owned(),
            format!("signal {}", victim.process.id()),
            format!("ptrace {}", victim.process.id()),
            "memory 400".to_owned(),
            "memory-behind-descriptors 10".to_owned(),
            "executable-memory x".to_owned(),
            "second-numbers x".to_owned(),
            "variable VISIBLE".to_owned(),
        ] {
            let output = attack(&world, from, &attempt);
            let said = text(&output);
            assert!(!output.status.success(), "{attempt} succeeds as {from:?}: {said}");
            assert!(!said.contains("cannot build the sandbox"), "{attempt} as {from:?}: {said}");
        }
        assert!(!victim.was_signaled());
        // Without a sandbox each of them succeeds: the tests of programs show it. This one shows that functions run at all.
        let output = attack(&world, from, "memory 20");
        assert!(output.status.success(), "{from:?}: {}", text(&output));
    }
}

#[test]
fn a_function_that_the_program_does_not_have_is_refused() {
    for from in sandboxes().into_iter().filter(|from| from.level == Level::Full) {
        let world = World::new(from.user);
        let policy = Policy::for_function(from.level, "other", Limits::default());
        let output = world.command(from, &policy, &[]).output().unwrap();
        assert!(text(&output).contains("no function `other`"), "{}", text(&output));
    }
}
