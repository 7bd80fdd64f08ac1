//! The server `filesystem` while links on the way are swapped.

use std::{
    fs,
    os::unix::fs::symlink,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;
use toolbay_builtin::filesystem::{FilesystemConfig, filesystem};

use crate::client::Client;

/// How many calls: `cargo xtask verify races` does a hundred thousand.
#[expect(clippy::disallowed_methods, reason = "a longer run is asked for by a variable")]
fn calls() -> usize {
    std::env::var("TOOLBAY_RACES").ok().and_then(|count| count.parse().ok()).unwrap_or(2_000)
}

/// `deep` is a directory, then a link that leads out, then a directory again, all the time.
#[tokio::test]
async fn swapped_links_lead_no_tool_out() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    for path in ["project/deep", "outside/deep"] {
        fs::create_dir_all(root.join(path)).unwrap();
    }
    fs::write(root.join("project/deep/file"), "inside").unwrap();
    fs::write(root.join("outside/deep/file"), "outside").unwrap();
    fs::write(root.join("outside/deep/secret"), "outside").unwrap();
    symlink(root.join("outside/deep"), root.join("project/link")).unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let swapper = thread::spawn({
        let (done, root) = (done.clone(), root.clone());
        move || {
            let mut swaps = 0_u64;
            while !done.load(Ordering::Relaxed) {
                let (one, other) = (root.join("project/deep"), root.join("project/link"));
                renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
                swaps += 1;
            }
            swaps
        }
    });
    let config = FilesystemConfig { directories: vec![root.join("project")], ..FilesystemConfig::default() };
    let mut client = Client::new(filesystem(config).0).await;
    let (mut answered, mut refused) = (0, 0);
    for number in 0..calls() {
        let (tool, arguments) = match number % 8 {
            0 => ("read_text_file", json!({ "path": "deep/file" })),
            1 => ("write_file", json!({ "path": "deep/file", "content": "inside again" })),
            2 => ("list_directory", json!({ "path": "deep" })),
            3 => ("read_text_file", json!({ "path": "deep/secret" })),
            4 => (
                "edit_file",
                json!({ "path": "deep/file", "edits": [{ "oldText": "inside", "newText": "inside" }] }),
            ),
            5 => ("write_file", json!({ "path": "deep/created", "content": "x" })),
            6 => ("directory_tree", json!({ "path": "." })),
            _ => ("create_directory", json!({ "path": format!("deep/new/{}", number % 100) })),
        };
        match client.call(tool, arguments).await {
            Ok(text) => {
                let escaped =
                    text.contains("outside") || text.contains("secret\n") || text.ends_with("secret");
                assert!(!escaped, "{tool} shows what is outside: {text}");
                answered += 1;
            }
            Err(_) => refused += 1,
        }
    }
    done.store(true, Ordering::Relaxed);
    let swaps = swapper.join().unwrap();
    assert_eq!(fs::read_to_string(root.join("outside/deep/file")).unwrap(), "outside");
    let there = fs::read_dir(root.join("outside/deep")).unwrap().count();
    assert_eq!(there, 2, "nothing was created outside");
    eprintln!("{} calls, {answered} answered, {refused} refused, {swaps} swaps, 0 escapes", calls());
    assert!(answered > 0 && refused > 0 && swaps > 100, "the race was not run");
}
