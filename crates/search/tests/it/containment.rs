//! No path leads out of the tree, and nothing but regular files is opened.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use toolbay_search::text::{Index, Query};
use toolbay_search::tree::{Links, RelPath, Tree, TreeError, TreeOptions, TreeRoot};

/// One thread swaps a folder for a link that leads out, others read through it 100,000 times in all.
#[test]
fn no_race_leads_out() {
    const ACCESSES: usize = 100_000;
    let place = tempfile::tempdir().unwrap();
    let (tree, outside) = (place.path().join("tree"), place.path().join("outside"));
    fs::create_dir_all(tree.join("swapped")).unwrap();
    fs::create_dir_all(&outside).unwrap();
    fs::write(tree.join("swapped/file"), "inside").unwrap();
    fs::write(outside.join("file"), "outside").unwrap();
    symlink(&outside, tree.join("link")).unwrap();
    let root = TreeRoot::open(&tree).unwrap();
    let done = AtomicBool::new(false);
    let (mut inside, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                // Exchanged in one step, so that there always is one of both.
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                let (a, b) = (tree.join("swapped"), tree.join("link"));
                rustix::fs::renameat_with(rustix::fs::CWD, &a, rustix::fs::CWD, &b, flags).unwrap();
            }
        });
        let path = RelPath::parse("swapped/file").unwrap();
        for at in 0..ACCESSES {
            let links = if at % 2 == 0 { Links::Follow } else { Links::Refuse };
            match root.read(&path, links, 100) {
                Ok(content) => {
                    assert_eq!(content.bytes, b"inside");
                    inside += 1;
                }
                Err(TreeError::Outside { .. } | TreeError::Missing { .. }) => refused += 1,
                Err(error) => panic!("{error:?}"),
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(inside > 0 && refused > 0, "{inside} read, {refused} refused: nothing was raced");
}

#[test]
fn links_that_stay_are_followed_and_others_are_not() {
    let place = tempfile::tempdir().unwrap();
    let tree = place.path().join("tree");
    fs::create_dir_all(tree.join("folder")).unwrap();
    fs::write(tree.join("folder/file"), "inside").unwrap();
    fs::write(place.path().join("secret"), "outside").unwrap();
    symlink("folder/file", tree.join("within")).unwrap();
    symlink("../secret", tree.join("relative")).unwrap();
    symlink(place.path().join("secret"), tree.join("absolute")).unwrap();
    symlink("/proc/self/root", tree.join("magic")).unwrap();
    symlink("..", tree.join("up")).unwrap();
    let root = TreeRoot::open(&tree).unwrap();
    let read = |path: &str| root.read(&RelPath::parse(path).unwrap(), Links::Follow, 100);
    assert_eq!(read("within").unwrap().bytes, b"inside");
    for path in ["relative", "absolute", "magic/etc/passwd", "up/secret"] {
        assert!(matches!(read(path), Err(TreeError::Outside { .. })), "{path}: {:?}", read(path));
    }
    assert!(matches!(read("nothing"), Err(TreeError::Missing { .. })));
    assert!(matches!(read("folder"), Err(TreeError::NotAFile { .. })));
    let large = root.read(&RelPath::parse("within").unwrap(), Links::Follow, 5);
    assert!(matches!(large, Err(TreeError::TooLarge { size: 6, limit: 5, .. })));
}

/// A reader of a pipe would wait for ever; a device may do anything.
#[test]
fn pipes_and_devices_are_not_opened() {
    let place = tempfile::tempdir().unwrap();
    let pipe = place.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(place.path().join("socket")).unwrap();
    symlink("/dev/zero", place.path().join("zero")).unwrap();
    fs::write(place.path().join("file"), "needle").unwrap();
    let tree = Tree::open(TreeRoot::open(place.path()).unwrap(), TreeOptions::default());
    for name in ["pipe", "socket"] {
        let read = tree.read(&RelPath::parse(name).unwrap(), 100);
        assert!(matches!(read, Err(TreeError::NotAFile { .. })), "{name}: {read:?}");
    }
    assert!(tree.read(&RelPath::parse("zero").unwrap(), 100).is_err());
    let files: Vec<_> = tree.files().unwrap().iter().map(|it| it.path.to_string()).collect();
    assert_eq!(files, ["file"]);
    let mut query = Query::literal("needle");
    query.path = Some(RelPath::parse("pipe").unwrap());
    let _ = Index::open(None).search(&tree, &query, &AtomicBool::new(false));
}
