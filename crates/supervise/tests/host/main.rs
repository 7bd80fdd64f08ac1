//! A host to be killed: `supervise-test-host <grace in ms> <command> <argument>…` runs one server until its stdin ends,
//! copies what the server says, and tells how it ended. `supervise-test-host many` counts its descriptors.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::OsString,
    fs,
    time::Duration,
};

use tokio::io::{self, AsyncReadExt, AsyncWriteExt};
use tokio_util::task::TaskTracker;
use toolbay_supervise::{Launch, Process, Shim, StopGrace, shim, spawn};

fn main() {
    shim::run_if_asked();
    shim::become_subreaper().expect("Linux knows subreapers");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime can be built");
    let mut arguments = env::args_os().skip(1);
    let first = arguments.next().expect("there is an argument");
    if first == "many" {
        return runtime.block_on(many());
    }
    let grace = first.to_str().and_then(|grace| grace.parse().ok());
    let grace = Duration::from_millis(grace.expect("the first argument is a number"));
    let command = arguments.next().expect("the second argument is a command");
    runtime.block_on(one(grace, launch(command, arguments.collect())));
}

fn launch(command: OsString, args: Vec<OsString>) -> Launch {
    Launch {
        name: "test".into(),
        command,
        args,
        env: BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]),
        ..Launch::default()
    }
}

async fn one(grace: Duration, launch: Launch) {
    let grace = StopGrace { after_stdin: grace, after_term: grace };
    let tasks = TaskTracker::new();
    let process = spawn(&launch, &Shim::current_exe(), grace, &tasks).expect("the command exists");
    let Process { stdin, mut stdout, handle, .. } = process;

    let mut output = io::stdout();
    tokio::select! {
        _ = io::copy(&mut stdout, &mut output) => {}
        _ = handle.exited() => {}
    }
    let exit = handle.exited().await;
    say(&format!("{exit}\n")).await;
    // Stay, so that the test can see what we left unreaped.
    let _ = io::stdin().read(&mut [0]).await;
    drop(stdin);
}

async fn many() {
    // The first run opens what the runtime keeps: signal pipe, event queue.
    let mut seen = BTreeSet::new();
    list_descriptors(1, &mut seen).await;
    let before = own_descriptors();
    list_descriptors(50, &mut seen).await;
    for numbers in seen {
        say(&format!("a server sees {numbers:?}\n")).await;
    }
    say(&format!("left: {}\n", own_descriptors() - before)).await;
}

/// Runs `count` servers at once, each of which tells the descriptors it was born with.
async fn list_descriptors(count: usize, seen: &mut BTreeSet<Vec<u32>>) {
    let tasks = TaskTracker::new();
    let launch = launch("ls".into(), vec!["/proc/self/fd".into()]);
    let start = |_| spawn(&launch, &Shim::current_exe(), StopGrace::default(), &tasks).expect("ls exists");
    let processes: Vec<Process> = (0..count).map(start).collect();
    for mut process in processes {
        let mut told = String::new();
        process.stdout.read_to_string(&mut told).await.expect("a pipe can be read");
        assert_eq!(process.handle.exited().await.code, Some(0));
        let numbers = told.split_whitespace().map(|number| number.parse().expect("a number"));
        seen.insert(numbers.collect());
    }
    tasks.close();
    tasks.wait().await;
}

fn own_descriptors() -> usize {
    fs::read_dir("/proc/self/fd").expect("Linux has /proc").count()
}

async fn say(text: &str) {
    let mut output = io::stdout();
    output.write_all(text.as_bytes()).await.expect("the test reads");
    output.flush().await.expect("the test reads");
}
