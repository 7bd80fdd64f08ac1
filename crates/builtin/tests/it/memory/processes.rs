//! One memory file, several processes: nothing that was acknowledged is lost.

#![expect(clippy::disallowed_methods, reason = "the tests need processes that they can kill")]

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};
use toolbay_builtin::memory::memory;

use super::graph::{client, config, entity};
use crate::client::Client;

/// Set for child processes: what to do, and the directory.
const CHILD: &str = "TOOLBAY_TEST_MEMORY";
/// How often a process is killed; `cargo xtask verify kills` sets more.
const KILLS: &str = "TOOLBAY_KILLS";
const ROOT: u32 = 0;
const NOBODY: u32 = 65_534;

/// This test program again, with a shell before it that runs `before`.
fn child(before: &str, work: &str, directory: &Path) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{before} exec \"$0\" \"$@\"")).arg(std::env::current_exe().unwrap());
    command.args(["--exact", "memory::processes::work", "--ignored", "--nocapture"]);
    command.env(CHILD, format!("{work} {}", directory.display())).stdout(Stdio::piped());
    command
}

/// What the child processes do. Reports on standard output, a line each.
#[test]
#[ignore = "run by other tests, in a process of its own"]
fn work() {
    let work = std::env::var(CHILD).unwrap();
    let (work, directory) = work.split_once(' ').unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let directory = Path::new(directory);
        match work {
            "create" => create_many(directory).await,
            "write" => write_forever(directory).await,
            "fill" => fill(directory).await,
            "read-only" => read_only(directory).await,
            other => panic!("{other}"),
        }
    });
}

fn report(line: &str) {
    std::io::stdout().write_all(format!("\n{line}\n").as_bytes()).unwrap();
}

/// The lines that a child reported with this word.
fn reported<'a>(output: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> {
    output.lines().filter_map(move |line| line.strip_prefix(word)).map(str::trim)
}

async fn names(client: &mut Client) -> BTreeSet<String> {
    let graph: Value = serde_json::from_str(&client.call("read_graph", json!({})).await.unwrap()).unwrap();
    assert_eq!(graph.get("total"), None, "one page");
    graph["entities"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
}

/// 100 calls at once on one connection.
async fn create_many(directory: &Path) {
    let connect = memory(config(directory));
    let process = std::process::id();
    let calls = (0..100).map(|number| {
        let connect = connect.clone();
        async move {
            let entities = json!({ "entities": [entity(&format!("{process}-{number}"), &["about it"])] });
            Client::new(connect).await.call("create_entities", entities).await.unwrap();
        }
    });
    futures_util::future::join_all(calls).await;
}

#[tokio::test]
async fn parallel_creates_of_two_processes_are_all_kept() {
    let directory = tempfile::tempdir().unwrap();
    let spawn = |_| child("", "create", directory.path()).spawn().unwrap();
    let children: Vec<Child> = (0..2).map(spawn).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let kept = names(&mut client(directory.path()).await).await;
    assert_eq!(kept.len(), 200, "the reference keeps 1");
    let mut file = fs::read_to_string(directory.path().join("memory.jsonl")).unwrap();
    file.push_str(&fs::read_to_string(directory.path().join("memory.jsonl.journal")).unwrap());
    assert!(!directory.path().join("memory.jsonl.bad").exists(), "{file}");
}

/// Creates entities, adds and deletes, and reports each change that was acknowledged.
async fn write_forever(directory: &Path) {
    let mut client = client(directory).await;
    let process = std::process::id();
    for number in 0_u64.. {
        let name = format!("{process}-{number}");
        let observation = "x".repeat(100 + number as usize % 4_000);
        let entities = json!({ "entities": [entity(&name, &[&observation])] });
        client.call("create_entities", entities).await.unwrap();
        report(&format!("created {name}"));
        if number % 3 == 2 {
            let gone = format!("{process}-{}", number - 1);
            report(&format!("deleting {gone}"));
            client.call("delete_entities", json!({ "entityNames": [gone] })).await.unwrap();
            report(&format!("deleted {gone}"));
        }
    }
}

#[tokio::test]
async fn a_killed_process_loses_nothing_that_it_acknowledged() {
    let kills = std::env::var(KILLS).map_or(20, |kills| kills.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let (mut created, mut acknowledged) = (BTreeSet::new(), 0);
    for round in 0..kills {
        let mut child = child("", "write", directory.path()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (begun, has_begun) = std::sync::mpsc::channel();
        let reader = std::thread::spawn(move || {
            let lines = output.lines().map_while(Result::ok);
            let seen = |line: &String| {
                if line.contains("created ") {
                    let _ = begun.send(()); // only the first is waited for
                }
            };
            lines.inspect(seen).filter(|line| line.contains(" ")).collect::<Vec<_>>().join("\n")
        });
        // From before its first change to hundreds of them, and merges of the journal. A busy machine starts it late.
        if round % 4 > 0 {
            let _ = has_begun.recv_timeout(Duration::from_secs(60));
        }
        std::thread::sleep(Duration::from_millis(20 + round * 37 % 400));
        child.kill().unwrap();
        child.wait().unwrap();
        let output = reader.join().unwrap();
        let deleted: BTreeSet<&str> = reported(&output, "deleted ").collect();
        let maybe: BTreeSet<&str> =
            reported(&output, "deleting ").filter(|it| !deleted.contains(it)).collect();
        created.extend(reported(&output, "created ").filter(|it| !deleted.contains(it)).map(str::to_owned));
        acknowledged += reported(&output, "created ").count() + deleted.len();
        let kept = all_names(directory.path()).await;
        let lost: Vec<_> =
            created.iter().filter(|it| !kept.contains(*it) && !maybe.contains(it.as_str())).collect();
        assert!(lost.is_empty(), "round {round}: {lost:?} were acknowledged");
        assert!(deleted.iter().all(|it| !kept.contains(*it)), "round {round}: deleted ones are back");
        created.retain(|it| kept.contains(it));
        assert!(!directory.path().join("memory.jsonl.bad").exists(), "round {round}: damaged");
        if created.len() > 2_000 {
            fs::remove_file(directory.path().join("memory.jsonl")).unwrap();
            fs::remove_file(directory.path().join("memory.jsonl.journal")).unwrap();
            created.clear();
        }
    }
    assert!(acknowledged > 5 * kills as usize, "{acknowledged} changes");
    println!("{kills} kills, {acknowledged} acknowledged changes, none lost");
}

/// All names, from as many pages as it takes. Also merges the journal, when the server ends.
async fn all_names(directory: &Path) -> BTreeSet<String> {
    let mut client = client(directory).await;
    let (mut offset, mut names) = (Some(0), BTreeSet::new());
    while let Some(from) = offset {
        let page = client.call("read_graph", json!({ "offset": from })).await.unwrap();
        let page: Value = serde_json::from_str(&page).unwrap();
        let entities = page["entities"].as_array().unwrap();
        names.extend(entities.iter().map(|it| it["name"].as_str().unwrap().to_owned()));
        offset = page["nextOffset"].as_u64();
    }
    names
}

/// Writes until that fails, and reads what was acknowledged with a server that knows nothing of it.
async fn fill(directory: &Path) {
    let mut client = client(directory).await;
    let mut created = BTreeSet::new();
    let error = loop {
        let name = format!("e{}", created.len());
        let entities = json!({ "entities": [entity(&name, &[&"x".repeat(2_000)])] });
        match client.call("create_entities", entities).await {
            Ok(_) => assert!(created.insert(name) && created.len() < 2_000, "the disk is not full"),
            Err(error) => break error,
        }
    };
    report(&format!("error {error}"));
    assert_eq!(all_names(directory).await, created);
    // Reads go on, and so do changes as soon as there is room.
    assert_eq!(all_names(directory).await.len(), created.len());
    drop(client);
    assert_eq!(all_names(directory).await, created, "after the end of the server");
    report(&format!("kept {}", created.len()));
}

#[tokio::test]
async fn a_full_disk_is_reported_and_costs_nothing() {
    // A limit for files works everywhere; where a file system may be mounted, a small one is filled, too.
    let limited = "trap '' XFSZ; ulimit -f 800;";
    let mounted = "mount -t tmpfs -o size=400k none \"$MOUNT\" &&";
    let can_mount = Command::new("unshare").args(["-rm", "true"]).stderr(Stdio::null()).status();
    let can_mount = can_mount.is_ok_and(|status| status.success());
    for (before, is_mount) in [(limited, false), (mounted, true)] {
        if is_mount && !can_mount {
            continue;
        }
        let directory = tempfile::tempdir().unwrap();
        let mut command = child(before, "fill", directory.path());
        if is_mount {
            let inner = command;
            command = Command::new("unshare");
            command.arg("-rm").arg(inner.get_program()).args(inner.get_args()).stdout(Stdio::piped());
            command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
            command.env("MOUNT", directory.path());
        }
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{before}: {text}{}", String::from_utf8_lossy(&output.stderr));
        let error = reported(&text, "error ").next().unwrap();
        assert!(
            error.contains("cannot write the memory file") && error.contains("nothing was changed"),
            "{error}"
        );
        let expected = if is_mount { "No space left on device" } else { "File too large" };
        assert!(error.contains(expected), "{error}");
        let kept: usize = reported(&text, "kept ").next().unwrap().parse().unwrap();
        assert!(kept > 50, "{kept}");
    }
}

/// Reads, and fails to write.
async fn read_only(directory: &Path) {
    let mut client = client(directory).await;
    let names = names(&mut client).await.into_iter().collect::<Vec<_>>().join(",");
    report(&format!("names {names}"));
    let entities = json!({ "entities": [entity("new", &[])] });
    let error = client.call("create_entities", entities).await.unwrap_err();
    report(&format!("error {error}"));
}

#[tokio::test]
async fn a_read_only_memory_can_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let line =
        |name: &str| format!(r#"{{"type":"entity","name":"{name}","entityType":"x","observations":[]}}"#);
    // One line is damaged, which cannot be repaired here, and one change is still in the journal.
    fs::write(directory.path().join("memory.jsonl"), format!("{}\nnonsense\n{}", line("a"), line("b")))
        .unwrap();
    let journal =
        "{\"create_entities\":[{\"name\":\"c\",\"entityType\":\"x\",\"observations\":[]}]}\n{\"torn";
    fs::write(directory.path().join("memory.jsonl.journal"), journal).unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o555)).unwrap();
    for name in ["memory.jsonl", "memory.jsonl.journal"] {
        fs::set_permissions(directory.path().join(name), fs::Permissions::from_mode(0o444)).unwrap();
    }
    let mut command = child("", "read-only", directory.path());
    if rustix::process::geteuid().as_raw() == ROOT {
        command.uid(NOBODY); // permissions do not count for root
    }
    let output = command.output().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(reported(&text, "names ").next(), Some("a,b,c"));
    let error = reported(&text, "error ").next().unwrap();
    assert!(error.contains("nothing was changed") && error.contains("Permission denied"), "{error}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "nothing was created");
}
