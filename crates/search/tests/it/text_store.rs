//! An index that is killed while it is made, damaged, shared, on a full disk or in a read-only cache: never a wrong answer.
#![expect(clippy::disallowed_methods, reason = "the child is this very test program, ended by the test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use toolbay_search::store::Store;
use toolbay_search::text::{Index, Query, UpdateError, UpdateReport};
use toolbay_search::tree::{Tree, TreeOptions, TreeRoot};

const CHILD: &str = "TOOLBAY_TEST_INDEX";
const FILES: usize = 320;

/// A tree of files in each of which there is one word of its own, rested.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(place.root()).unwrap();
        fs::create_dir(place.cache()).unwrap();
        for file in 0..FILES {
            let text: String =
                (0..200).map(|line| format!("word{file}q line {}\n", file * 977 + line)).collect();
            fs::write(place.root().join(file.to_string()), text).unwrap();
        }
        std::thread::sleep(Duration::from_millis(2_100));
        place
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("tree")
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    fn open(&self) -> (Tree, Index, Store) {
        open(self.folder.path())
    }

    /// This test program again, only to index this tree. Through a shell, so that limits can be set.
    fn child(&self, before: &str) -> Command {
        let mut command = Command::new("sh");
        let program = std::env::current_exe().unwrap();
        command.arg("-c").arg(format!("{before} exec \"$0\" \"$@\"")).arg(program);
        command.args(["--exact", "text_store::child", "--ignored", "--nocapture"]);
        command.env(CHILD, self.folder.path()).stdout(Stdio::piped()).stderr(Stdio::null());
        command
    }

    #[track_caller]
    fn check(&self, tree: &Tree, index: &Index) {
        for file in [0, 7, 300, FILES - 1] {
            let answer =
                index.search(tree, &Query::literal(format!("word{file}q")), &AtomicBool::new(false)).unwrap();
            assert_eq!(answer.total.count(), 200, "{answer:?}");
            assert!(answer.hits.iter().all(|hit| hit.path.to_string() == file.to_string()));
        }
    }
}

fn open(folder: &Path) -> (Tree, Index, Store) {
    let root = folder.join("tree");
    let store = Store::open(&folder.join("cache"), &root).unwrap();
    let tree = Tree::open(TreeRoot::open(&root).unwrap(), TreeOptions::default());
    (tree, Index::open(Some(store.clone())), store)
}

fn update(tree: &Tree, index: &Index) -> Result<UpdateReport, UpdateError> {
    index.update(tree, &|_| (), &AtomicBool::new(false))
}

/// What the child processes do.
#[test]
#[ignore = "run by other tests, in a process of its own"]
fn child() {
    let folder = std::env::var_os(CHILD).unwrap();
    let (tree, index, _) = open(Path::new(&folder));
    println!("updated: {:?}", update(&tree, &index));
}

#[test]
fn killed_while_indexing() {
    let place = Place::new();
    for delay in [0, 5, 20, 40, 60, 80, 120, 200] {
        let mut child = place.child("").spawn().unwrap();
        std::thread::sleep(Duration::from_millis(delay));
        child.kill().unwrap();
        child.wait().unwrap();
        let (tree, index, _) = place.open();
        place.check(&tree, &index);
        assert_eq!(index.take_notice(), None, "killed after {delay} ms");
    }
    let (tree, index, store) = place.open();
    assert!(!update(&tree, &index).unwrap().busy, "the lock of a dead process holds no one");
    assert!(!store.names().unwrap().iter().any(|name| name.starts_with(".new-")));
    place.check(&tree, &index);
}

#[test]
fn two_processes_and_many_threads_index_one_tree() {
    let place = Place::new();
    let children: Vec<_> = (0..2).map(|_| place.child("").spawn().unwrap()).collect();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let (tree, index, _) = place.open();
                for _ in 0..3 {
                    update(&tree, &index).unwrap();
                    place.check(&tree, &index);
                }
            });
        }
    });
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    let (tree, index, _) = place.open();
    assert_eq!(update(&tree, &index).unwrap().indexed, 0, "all is indexed, once");
    place.check(&tree, &index);
}

#[test]
fn a_full_disk() {
    let place = Place::new();
    // A limit of 8 KB for files, and no signal when it is met: the write fails as on a full disk.
    let output = place.child("trap '' XFSZ; ulimit -f 16;").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("updated: Err(Store(Io"), "{said}");
    let (tree, index, store) = place.open();
    assert!(index.is_empty());
    assert!(!store.names().unwrap().iter().any(|name| name.starts_with("text")), "{:?}", store.names());
    place.check(&tree, &index);
}

#[test]
fn a_cache_that_cannot_be_written() {
    let place = Place::new();
    let (tree, index, store) = place.open();
    // Not by permissions, which do not hold for root: a file where the lock should be a file, too, is a folder.
    fs::create_dir(store.folder().join("lock")).unwrap();
    assert!(matches!(update(&tree, &index), Err(UpdateError::Store(_))));
    place.check(&tree, &index);
    fs::remove_dir_all(place.cache()).unwrap();
    fs::write(place.cache(), "in the way").unwrap();
    assert!(Store::open(&place.cache(), &place.root()).is_err());
    place.check(&tree, &index);
    place.check(&tree, &Index::open(None));
}

/// Changed bytes anywhere in the store: the same answers, and a notice if it matters.
#[test]
fn a_damaged_store() {
    let place = Place::new();
    let (tree, index, store) = place.open();
    update(&tree, &index).unwrap();
    let names: Vec<String> = store.names().unwrap().into_iter().filter(|it| it.starts_with("text")).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    let whole: Vec<_> = names.iter().map(|name| fs::read(store.folder().join(name)).unwrap()).collect();
    let mut random: u64 = 7;
    let mut noticed = 0;
    for round in 0..40 {
        for (name, bytes) in names.iter().zip(&whole) {
            fs::write(store.folder().join(name), bytes).unwrap();
        }
        let which = round % names.len();
        let mut bytes = whole[which].clone();
        for _ in 0..=round % 4 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = (random >> 33) as usize % bytes.len();
            match round % 5 {
                0 => bytes.truncate(at.max(1)),
                _ => bytes[at] ^= 1 << (round % 8),
            }
        }
        fs::write(store.folder().join(&names[which]), bytes).unwrap();
        let (tree, index, _) = place.open();
        place.check(&tree, &index);
        update(&tree, &index).unwrap();
        place.check(&tree, &index);
        noticed += usize::from(index.take_notice().is_some_and(|notice| notice.contains("rebuilding")));
    }
    assert!(noticed > 12, "noticed {noticed} times");
}

#[test]
fn a_tree_that_is_deleted() {
    let place = Place::new();
    let (tree, index, _) = place.open();
    update(&tree, &index).unwrap();
    fs::remove_dir_all(place.root()).unwrap();
    assert!(index.search(&tree, &Query::literal("word7q"), &AtomicBool::new(false)).is_err());
    assert!(update(&tree, &index).is_err());
}
