//! The server `grep`: results, pages, and what must not stop a search.

mod parity;

use std::{
    fs,
    io::Write,
    os::unix::fs::symlink,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::task::TaskTracker;
use toolbay_builtin::grep::{GrepConfig, GrepToolset, grep};
use toolbay_transport::Incoming;

use crate::client::Client;

async fn client(directory: &Path, toolset: GrepToolset) -> Client {
    let config = GrepConfig { directories: vec![directory.to_owned()], toolset, ..GrepConfig::default() };
    let (connect, skipped) = grep(config);
    assert!(skipped.is_empty());
    Client::new(connect).await
}

/// Files `file-000` and so on, each with as many matching lines as its number says.
fn tree(files: usize) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for file in 0..files {
        let lines: String = (0..file).map(|line| format!("other\nneedle {file} {line}\n")).collect();
        fs::write(directory.path().join(format!("file-{file:03}")), lines).unwrap();
    }
    directory
}

fn fifo(path: &Path) {
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}

#[tokio::test]
async fn every_mode_tells_how_much_there_is() {
    let directory = tree(4);
    let mut client = client(directory.path(), GrepToolset::Grep).await;
    for (arguments, expected) in [
        (json!({ "pattern": "needle" }), "file-001\nfile-002\nfile-003\n[shown 3 of 3 files with matches]"),
        (
            json!({ "pattern": "NEEDLE", "-i": true, "output_mode": "count" }),
            "file-001:1\nfile-002:2\nfile-003:3\n[shown 3 of 3 files with 6 matches]",
        ),
        (
            json!({ "pattern": "needle", "output_mode": "content", "head_limit": 2 }),
            "file-001:2:needle 1 0\nfile-002:2:needle 2 0\n[shown 2 of 6 matches in 3 files; continue with offset=2]",
        ),
        (
            json!({ "pattern": "needle", "output_mode": "content", "head_limit": 2, "offset": 5 }),
            "file-003:6:needle 3 2\n[shown 1 of 6 matches in 3 files, from offset=5]",
        ),
        (
            json!({ "pattern": "needle 3 1", "output_mode": "content", "-n": false, "-C": 1 }),
            "file-003-other\nfile-003:needle 3 1\nfile-003-other\n[shown 1 of 1 matches in 1 files]",
        ),
        (
            json!({ "pattern": r"other\nneedle 2 1", "output_mode": "content", "multiline": true }),
            "file-002:3:other\nfile-002:4:needle 2 1\n[shown 1 of 1 matches in 1 files]",
        ),
        (
            json!({ "pattern": "needle 1", "path": "file-001", "output_mode": "content" }),
            "file-001:2:needle 1 0\n[shown 1 of 1 matches in 1 files]",
        ),
        (json!({ "pattern": "nothing", "output_mode": "content" }), "[shown 0 of 0 matches in 0 files]"),
        (
            json!({ "pattern": "needle", "head_limit": 1, "offset": 9 }),
            "[shown 0 of 3 files with matches, from offset=9]",
        ),
    ] {
        assert_eq!(client.call("grep", arguments.clone()).await.as_deref(), Ok(expected), "{arguments}");
    }
    let response = client
        .request(
            "tools/call",
            json!({ "name": "grep", "arguments": { "pattern": "needle", "head_limit": 1 } }),
        )
        .await;
    let structured = &response["result"]["structuredContent"];
    assert_eq!(structured["content"], response["result"]["content"][0]["text"]);
    assert_eq!((&structured["next_offset"], &structured["complete"]), (&json!(1), &json!(true)));
}

#[tokio::test]
async fn pages_hold_every_match_exactly_once() {
    let directory = tree(40);
    let mut client = client(directory.path(), GrepToolset::Grep).await;
    let mut offset = json!(0);
    let mut lines = Vec::new();
    while !offset.is_null() {
        let arguments = json!({ "pattern": "needle", "output_mode": "content", "head_limit": 37, "offset": offset, "-B": 1 });
        let response = client.request("tools/call", json!({ "name": "grep", "arguments": arguments })).await;
        let structured = &response["result"]["structuredContent"];
        assert_eq!((&structured["matches"], &structured["files"]), (&json!(780), &json!(39)));
        let text = structured["content"].as_str().unwrap();
        lines.extend(text.lines().filter(|line| line.contains(":needle")).map(str::to_owned));
        offset = structured["next_offset"].clone();
    }
    let expected: Vec<String> = (0..40)
        .flat_map(|file| {
            (0..file).map(move |line| format!("file-{file:03}:{}:needle {file} {line}", 2 * line + 2))
        })
        .collect();
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn invalid_arguments_name_the_argument() {
    let directory = tree(2);
    let mut client = client(directory.path(), GrepToolset::Grep).await;
    for (arguments, expected) in [
        (json!({}), "/pattern is missing"),
        (json!({ "pattern": "(" }), "/pattern is not a valid regular expression"),
        (json!({ "pattern": "x", "glob": "[" }), "/glob is not valid"),
        (json!({ "pattern": "x", "type": "cobolt" }), "/type is not known: unrecognized file type: cobolt"),
        (json!({ "pattern": "x", "path": "/etc" }), "Access denied - path outside allowed directories"),
        (json!({ "pattern": "x", "path": "none" }), "no such file or directory"),
        (json!({ "pattern": "x", "output_mode": "lines" }), "/output_mode"),
    ] {
        let error = client.call("grep", arguments.clone()).await.unwrap_err();
        assert!(error.contains(expected), "{arguments}: {error}");
    }
}

#[tokio::test]
async fn a_long_line_is_shown_around_its_match() {
    let directory = tempfile::tempdir().unwrap();
    let line = format!("{}needle{}", "a".repeat(3_000_000), "b".repeat(1_000));
    fs::write(directory.path().join("long"), format!("{line}\nshort needle\n")).unwrap();
    let mut client = client(directory.path(), GrepToolset::Grep).await;
    let text = client.call("grep", json!({ "pattern": "needle", "output_mode": "content" })).await.unwrap();
    assert!(text.starts_with("long:1:…aaa") && text.contains("aneedleb"), "{text}");
    assert!(text.contains("bbb… [line of 3001006 bytes]\nlong:2:short needle\n"), "{text}");
    assert!(text.len() < 800, "{}", text.len());
}

#[tokio::test]
async fn nothing_outside_and_no_secret_is_searched() {
    let (directory, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = directory.path();
    fs::write(outside.path().join("file"), "needle").unwrap();
    symlink(outside.path(), path.join("folder-link")).unwrap();
    symlink(outside.path().join("file"), path.join("link")).unwrap();
    fs::write(path.join("plain"), "needle").unwrap();
    fs::write(path.join(".env"), "needle").unwrap();
    fs::create_dir(path.join(".ssh")).unwrap();
    fs::write(path.join(".ssh/config"), "needle").unwrap();
    fs::write(path.join("key.pem"), "needle").unwrap();
    let everything = json!({ "pattern": "needle", "hidden": true, "no_ignore": true });
    let mut server = client(path, GrepToolset::Grep).await;
    let text = server.call("grep", everything).await.unwrap();
    assert_eq!(text, "plain\n[shown 1 of 1 files with matches]");
    for hidden in [".env", ".ssh/config", "link", "folder-link"] {
        let refused = server.call("grep", json!({ "pattern": "needle", "path": hidden })).await.unwrap_err();
        assert!(refused.contains("Access denied"), "{hidden}: {refused}");
    }
    // Links that are followed do not lead out either.
    let mut server = client(path, GrepToolset::Ripgrep).await;
    let arguments =
        json!({ "pattern": "needle", "path": path, "followSymlinks": true, "showFilenamesOnly": true });
    let text = server.call("advanced-search", arguments).await.unwrap();
    assert!(text.starts_with(&format!("{}/plain\n", path.display())), "{text}");
    assert!(!text.lines().any(|line| line.ends_with("/file")), "{text}");
}

#[tokio::test]
async fn directories_that_are_swapped_for_links_lead_nowhere() {
    let (directory, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = directory.path().to_owned();
    for folder in [path.join("real"), outside.path().to_owned()] {
        fs::create_dir_all(&folder).unwrap();
        for file in 0..20 {
            let text = if folder.starts_with(&path) { "inside" } else { "outside" };
            fs::write(folder.join(format!("{file}")), text).unwrap();
        }
    }
    symlink(outside.path(), path.join("link")).unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let swapping = {
        let (path, is_over) = (path.clone(), is_over.clone());
        std::thread::spawn(move || {
            // `real` is a directory and a link in turns.
            let mut swaps = 0;
            while !is_over.load(Ordering::Relaxed) {
                let exchange = rustix::fs::RenameFlags::EXCHANGE;
                let (one, other) = (path.join("real"), path.join("link"));
                rustix::fs::renameat_with(rustix::fs::CWD, &one, rustix::fs::CWD, &other, exchange).unwrap();
                swaps += 1;
            }
            swaps
        })
    };
    let mut client = client(&path, GrepToolset::Grep).await;
    let (begun, mut searches, mut found) = (Instant::now(), 0, 0);
    while begun.elapsed() < Duration::from_secs(2) {
        let arguments = json!({ "pattern": "side", "output_mode": "content", "head_limit": 0 });
        let text = client.call("grep", arguments).await.unwrap();
        assert!(!text.contains(":outside"), "{text}");
        found += text.matches(":inside").count();
        searches += 1;
    }
    is_over.store(true, Ordering::Relaxed);
    let swaps = swapping.join().unwrap();
    println!("{searches} searches, {swaps} swaps, {found} lines from inside");
    assert!(found > 0 && swaps > 100);
}

#[tokio::test]
async fn roots_of_a_client_narrow_the_directories() {
    let directory = tempfile::tempdir().unwrap();
    for folder in ["one", "two"] {
        fs::create_dir(directory.path().join(folder)).unwrap();
        fs::write(directory.path().join(folder).join("file"), "needle").unwrap();
    }
    let config = GrepConfig { directories: vec![directory.path().to_owned()], ..GrepConfig::default() };
    let mut connection = grep(config).0(&TaskTracker::new());
    let root = format!("file://{}/two", directory.path().display());
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": { "roots": {} } });
    for message in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "grep", "arguments": { "pattern": "needle" } } }),
    ] {
        connection.outgoing.send(message.to_string().into()).await.unwrap();
    }
    loop {
        let Incoming::Message(message) = connection.incoming.recv().await.unwrap() else { panic!() };
        let message: Value = serde_json::from_slice(message.text()).unwrap();
        if message["method"] == "roots/list" {
            let answer =
                json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "roots": [{ "uri": root }] } });
            connection.outgoing.send(answer.to_string().into()).await.unwrap();
        } else if message["id"] == 2 {
            let text = &message["result"]["content"][0]["text"];
            assert_eq!(text, "file\n[shown 1 of 1 files with matches]", "only in the folder two");
            return;
        }
    }
}

#[tokio::test]
async fn fifos_and_binary_files_stop_no_search() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fifo(&path.join("fifo"));
    fs::create_dir(path.join("endless")).unwrap();
    fifo(&path.join("endless/.gitignore"));
    fs::write(path.join("endless/file"), "needle").unwrap();
    fs::write(path.join("binary"), b"\0\x01needle\n").unwrap();
    fs::write(path.join("late"), [b"needle\n", "x\n".repeat(100_000).as_bytes(), b"\0needle\n"].concat())
        .unwrap();
    fs::write(path.join("plain"), "needle\n").unwrap();
    let mut client = client(path, GrepToolset::Grep).await;
    let text = client.call("grep", json!({ "pattern": "needle", "output_mode": "content" })).await.unwrap();
    let warning =
        "late: WARNING: stopped searching binary file after match (found \"\\0\" byte around offset 200007)";
    assert_eq!(text, format!("late:1:needle\n{warning}\nplain:1:needle\n[shown 2 of 2 matches in 2 files]"));
    let named = json!({ "pattern": "needle", "path": "binary", "output_mode": "content" });
    let text = client.call("grep", named).await.unwrap();
    assert_eq!(
        text,
        "binary: binary file matches (found \"\\0\" byte around offset 0)\n[shown 1 of 1 matches in 1 files]"
    );
    let refused = client.call("grep", json!({ "pattern": "x", "path": "fifo" })).await.unwrap_err();
    assert!(refused.contains("not a regular file"), "{refused}");
    let refused = client.call("grep", json!({ "pattern": "x", "path": "endless" })).await.unwrap_err();
    assert!(refused.contains("ignore file"), "{refused}");
}

#[tokio::test]
async fn huge_files_are_searched_in_little_memory() {
    const LINES: usize = 4_000_000;
    let directory = tempfile::tempdir().unwrap();
    let lines = "some words of a log that goes on and on and on, and a number\n".repeat(10_000);
    let mut log = fs::File::create(directory.path().join("log")).unwrap();
    for _ in 0..LINES / 10_000 {
        log.write_all(lines.as_bytes()).unwrap();
    }
    log.write_all(b"needle\n").unwrap();
    // One line that is longer than the searcher's buffer may grow.
    let mut endless = fs::File::create(directory.path().join("endless")).unwrap();
    for _ in 0..40 {
        endless.write_all(&[b'x'; 1 << 20]).unwrap();
    }
    let mut client = client(directory.path(), GrepToolset::Grep).await;
    let before = peak_memory();
    let text =
        client.call("grep", json!({ "pattern": "needle|xyz", "output_mode": "content" })).await.unwrap();
    let expected =
        "log:4000001:needle\n[shown 1 of 1 matches in 1 files; 1 could not be searched, first: endless:";
    assert!(text.starts_with(expected), "{text}");
    // All of them match: the page stays small.
    let all = json!({ "pattern": "words", "output_mode": "content", "head_limit": 0 });
    let text = client.call("grep", all).await.unwrap();
    assert!(text.len() < 60_000, "{}", text.len());
    assert!(text.contains(" of 4000000 matches in 1 files; continue with offset="));
    // The file has 244 MB; other tests run meanwhile.
    let grown = peak_memory().saturating_sub(before);
    println!("244 MB searched twice: {} MB more memory at most", grown >> 20);
    assert!(grown < 160 << 20, "{} MB", grown >> 20);
}

/// The most memory that this process had, in bytes.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

#[tokio::test]
async fn a_search_that_takes_too_long_returns_what_it_found() {
    let directory = tree(3);
    let file = fs::File::create(directory.path().join("sparse")).unwrap();
    file.set_len(1 << 33).unwrap();
    let config = GrepConfig {
        directories: vec![directory.path().to_owned()],
        time_limit: Some(Duration::from_millis(300)),
        ..GrepConfig::default()
    };
    let mut client = Client::new(grep(config).0).await;
    let begun = Instant::now();
    // A named file is searched although it is binary, all 8 GiB of it.
    let late = client.call("grep", json!({ "pattern": "needle", "path": "sparse" })).await.unwrap();
    assert!(late.contains("time was up"), "{late}");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_canceled_search_ends() {
    let directory = tree(3);
    fs::File::create(directory.path().join("sparse")).unwrap().set_len(1 << 33).unwrap();
    let config = GrepConfig { directories: vec![directory.path().to_owned()], ..GrepConfig::default() };
    let mut connection = grep(config).0(&TaskTracker::new());
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
    let search = |id: u64, path: &str| {
        let arguments = json!({ "pattern": "needle", "path": path });
        let params = json!({ "name": "grep", "arguments": arguments, "_meta": meta });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
    };
    // More than there are threads for.
    for id in 0..64 {
        connection.outgoing.send(search(id, "sparse").to_string().into()).await.unwrap();
    }
    for id in 0..64 {
        let params = json!({ "requestId": id, "_meta": meta });
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        connection.outgoing.send(cancel.to_string().into()).await.unwrap();
    }
    connection.outgoing.send(search(64, "file-002").to_string().into()).await.unwrap();
    let answered = async {
        loop {
            let Incoming::Message(message) = connection.incoming.recv().await.unwrap() else { panic!() };
            let message: Value = serde_json::from_slice(message.text()).unwrap();
            if message["id"] == 64 {
                return message;
            }
        }
    };
    let message = tokio::time::timeout(Duration::from_secs(20), answered).await.unwrap();
    assert!(message.to_string().contains("shown 1 of 1 files"), "{message}");
}

#[tokio::test]
async fn globs_types_and_ignore_files_select_files() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    for file in ["a.rs", "b.ts", "c.tsx", "src/d.rs", "src/deep/e.rs", "dist/f.js", ".github/g.yml"] {
        fs::create_dir_all(path.join(file).parent().unwrap()).unwrap();
        fs::write(path.join(file), "needle\n").unwrap();
    }
    fs::write(path.join(".ignore"), "dist/\n").unwrap();
    let mut client = client(path, GrepToolset::Grep).await;
    for (arguments, expected) in [
        (json!({}), "a.rs b.ts c.tsx src/d.rs src/deep/e.rs"),
        (json!({ "glob": "*.{ts,tsx}" }), "b.ts c.tsx"),
        (json!({ "glob": "*.ts,*.tsx" }), "b.ts c.tsx"),
        (json!({ "glob": "!*.rs" }), "b.ts c.tsx"),
        (json!({ "glob": "src/*.rs" }), "src/d.rs"),
        (json!({ "path": "src", "glob": "src/*.rs" }), "src/d.rs"),
        (json!({ "path": "src", "glob": "deep/*.rs" }), "src/deep/e.rs"),
        (json!({ "type": "rust" }), "a.rs src/d.rs src/deep/e.rs"),
        (json!({ "hidden": true, "type": "yaml" }), ".github/g.yml"),
        (json!({ "no_ignore": true, "type": "js" }), "dist/f.js"),
    ] {
        let mut call: Value = arguments.clone();
        call["pattern"] = json!("needle");
        let text = client.call("grep", call).await.unwrap();
        let files: Vec<&str> = text.lines().filter(|line| !line.starts_with('[')).collect();
        assert_eq!(files.join(" "), expected, "{arguments}");
    }
}
