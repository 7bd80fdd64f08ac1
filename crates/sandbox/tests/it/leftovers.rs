//! Processes that outlive their program, their helper or its caller.

use std::{
    ffi::OsStr,
    fs,
    io::{BufRead, BufReader},
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use toolbay_sandbox::Level;

use crate::world::{From, World, report, sandboxes};

/// A daemon that has a session of its own, no parent and no environment, and beats.
const DAEMON: &str =
    "(setsid env -i sh -c 'while echo >> beats; do sleep 0.02; done' >/dev/null 2>&1 &) ; sleep 0.2";

fn beats(world: &World) -> u64 {
    fs::metadata(world.path("project/beats")).map_or(0, |found| found.len())
}

/// Waits until the daemon beats no more. Returns how long that took.
fn until_silent(world: &World) -> Duration {
    let begun = Instant::now();
    let mut last = beats(world);
    assert!(last > 0, "it has begun");
    let mut silent_since = Instant::now();
    while silent_since.elapsed() < Duration::from_millis(300) {
        assert!(begun.elapsed() < Duration::from_secs(5), "it goes on");
        thread::sleep(Duration::from_millis(10));
        if beats(world) != last {
            last = beats(world);
            silent_since = Instant::now();
        }
    }
    silent_since - begun
}

#[test]
fn daemons_end_with_their_program() {
    for from in sandboxes() {
        let world = World::new(from.user);
        let without = From { level: Level::None, ..from };
        world.run(without, world.policy(Level::None), ["sh", "-c", &format!("echo $$ > leader; {DAEMON}")]);
        let before = beats(&world);
        thread::sleep(Duration::from_millis(200));
        assert!(beats(&world) > before, "control run: the daemon goes on");
        fs::remove_dir_all(world.path("project")).unwrap();

        let world = World::new(from.user);
        world.run(from, world.policy(from.level), ["sh", "-c", DAEMON]);
        report(&format!("a daemon as {from:?} ended after {:?}", until_silent(&world)));
    }
}

#[test]
fn all_end_when_the_helper_is_killed() {
    for from in sandboxes().into_iter().filter(|from| from.level == Level::Full) {
        let world = World::new(from.user);
        let script = format!("{DAEMON}; echo ready; exec sleep 100");
        let arguments = ["sh", "-c", &script].map(OsStr::new);
        let mut command = world.command(from, &world.policy(from.level), &arguments);
        let mut helper = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(helper.stdout.take().unwrap());
        output.read_line(&mut String::new()).unwrap();
        helper.kill().unwrap();
        helper.wait().unwrap();
        report(&format!("all as {from:?} ended after {:?}", until_silent(&world)));
        assert_eq!(output.read_line(&mut String::new()).unwrap(), 0, "its output is closed");
    }
}
