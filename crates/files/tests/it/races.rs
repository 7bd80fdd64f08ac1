//! Links that are swapped while paths are used.

use std::{
    fs,
    io::Read,
    os::unix::fs::symlink,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use toolbay_files::{AllowedDirectories, WriteMode};

/// How many accesses: `cargo xtask verify races` does a hundred thousand.
#[expect(clippy::disallowed_methods, reason = "the number is set by a variable")]
fn accesses() -> usize {
    std::env::var("TOOLBAY_RACES").ok().and_then(|count| count.parse().ok()).unwrap_or(5_000)
}

/// A directory on the way is a directory, then a link that leads out, then a directory again, all the time.
#[test]
fn swapped_links_lead_nowhere() {
    let directory = tempfile::tempdir().unwrap();
    let at = |path: &str| directory.path().join(path);
    for path in ["project/deep", "outside/deep"] {
        fs::create_dir_all(at(path)).unwrap();
    }
    fs::write(at("project/deep/file"), "inside").unwrap();
    fs::write(at("outside/deep/file"), "outside").unwrap();
    symlink(at("outside/deep"), at("project/link")).unwrap();
    let (allowed, _) = AllowedDirectories::open([at("project")]);
    let done = AtomicBool::new(false);
    let (mut reads, mut cached, mut writes) = (0, 0, 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            let exchange = rustix::fs::RenameFlags::EXCHANGE;
            while !done.load(Ordering::Relaxed) {
                let cwd = rustix::fs::CWD;
                rustix::fs::renameat_with(cwd, at("project/deep"), cwd, at("project/link"), exchange)
                    .unwrap();
            }
        });
        for number in 0..accesses() {
            if let Ok(found) = allowed.find("deep/file") {
                let mut content = String::new();
                found.open_file().unwrap().read_to_string(&mut content).unwrap();
                assert!(content.starts_with("inside"), "{content}");
                reads += 1;
            }
            if let Some(content) = allowed.read_cached("deep/file", 100) {
                assert!(content.starts_with(b"inside"), "{content:?}");
                cached += 1;
            }
            if let Ok(place) = allowed.place("deep/file") {
                let content = format!("inside {number}");
                // The directory stays the one that was found, whatever its name leads to now.
                if place.write(content.as_bytes(), WriteMode::Atomic, |_| Ok(())).is_ok() {
                    writes += 1;
                }
            }
            if number % 16 == 0 {
                drop(allowed.create_directories(&format!("deep/new/{number}")));
                drop(
                    allowed
                        .place("deep/created")
                        .and_then(|place| place.write(b"x", WriteMode::Atomic, |_| Ok(()))),
                );
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(fs::read_to_string(at("outside/deep/file")).unwrap(), "outside");
    let there: Vec<_> =
        fs::read_dir(at("outside/deep")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(there, ["file"], "nothing was created outside");
    eprintln!("{} accesses, {reads} reads, {cached} cached, {writes} writes, 0 escapes", accesses());
    let all = format!("{reads} reads, {cached} cached, {writes} writes");
    assert!(reads > 0 && cached > 0 && writes > 0, "{all}: the race was not run");
}
