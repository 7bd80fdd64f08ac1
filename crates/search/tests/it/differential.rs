//! Thousands of queries, each answered by us and by the real `rg`: same files, same lines, no exception.
//!
//! `rg` is installed by `cargo xtask peers` with the other peers.

mod queries;
mod rg;
mod trees;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use toolbay_search::store::Store;
use toolbay_search::text::{Index, Query};
use toolbay_search::tree::{Secrets, Tree, TreeOptions, TreeRoot};

use queries::Generator;
use rg::Rg;

/// Longer than the time that a file must rest before its stamp is trusted.
fn rest() {
    std::thread::sleep(std::time::Duration::from_millis(2_100));
}

struct Bench {
    folder: tempfile::TempDir,
    tree: Tree,
    index: Index,
    plain: Index,
    rg: Rg,
}

impl Bench {
    fn new(fill: impl FnOnce(&Path), watch: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("tree");
        std::fs::create_dir(&root).unwrap();
        fill(&root);
        let store = Store::open(&folder.path().join("cache"), &root).unwrap();
        let tree = Tree::open(TreeRoot::open_with(&root, Secrets::Shown).unwrap(), TreeOptions { watch });
        let (index, plain) = (Index::open(Some(store)), Index::open(None));
        Self { rg: Rg::find(root), folder, tree, index, plain }
    }

    fn root(&self) -> std::path::PathBuf {
        self.folder.path().join("tree")
    }

    fn update(&self) -> toolbay_search::text::UpdateReport {
        self.index.update(&self.tree, &|_| (), &AtomicBool::new(false)).unwrap()
    }

    #[track_caller]
    fn check(&self, query: &Query) {
        self.check_with(&self.index, query, "with the index");
    }

    #[track_caller]
    fn check_with(&self, index: &Index, query: &Query, how: &str) {
        let theirs = self.rg.run(query);
        let ours = index.search(&self.tree, query, &AtomicBool::new(false));
        let (ours, theirs) = match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => (ours, theirs),
            (Err(_), Err(_)) => return,
            (ours, theirs) => panic!("{how}: {query:#?}\nwe say {ours:?}\nrg says {theirs:?}"),
        };
        assert_eq!(ours.total.count() as usize, ours.hits.len());
        let ours: Vec<rg::Found> = ours
            .hits
            .into_iter()
            .map(|hit| rg::Found {
                path: hit.path.to_str_lossy().into_owned(),
                line: hit.line.number,
                text: hit.line.text,
            })
            .collect();
        if ours != theirs {
            let (a, b): (BTreeSet<_>, BTreeSet<_>) = (ours.iter().collect(), theirs.iter().collect());
            let missing: Vec<_> = b.difference(&a).take(5).collect();
            let extra: Vec<_> = a.difference(&b).take(5).collect();
            panic!("{how}: {query:#?}\nmissing {missing:#?}\ntoo many {extra:#?}");
        }
    }
}

#[test]
fn with_and_without_an_index() {
    let bench = Bench::new(trees::mixed, true);
    rest();
    let report = bench.update();
    assert_eq!((report.young, report.indexed > 200), (0, true), "{report:?}");
    let mut generator = Generator::new(bench.root(), 1);
    for round in 0..rounds(1_200) {
        let query = generator.query();
        bench.check(&query);
        if round % 10 == 0 {
            bench.check_with(&bench.plain, &query, "without an index");
        }
    }
}

/// Lines longer than the buffer of `rg`. Not beside files with a late NUL byte: once its buffer has grown, `rg` notices those
/// earlier, so that what it shows of them depends on which thread searched what before.
#[test]
fn long_lines() {
    let bench = Bench::new(trees::long_lines, false);
    rest();
    bench.update();
    let mut generator = Generator::new(bench.root(), 3);
    for _ in 0..rounds(40) {
        let query = generator.query();
        bench.check(&query);
        bench.check_with(&bench.plain, &query, "without an index");
    }
}

#[test]
fn in_the_middle_of_edits() {
    for watch in [false, true] {
        let bench = Bench::new(trees::mixed, watch);
        rest();
        bench.update();
        let mut generator = Generator::new(bench.root(), 2);
        for round in 0..rounds(200) {
            let touched = generator.edit();
            bench.check(&generator.query());
            bench.check(&generator.query_about(&touched));
            if round % 16 == 0 {
                bench.update();
            }
        }
    }
}

/// A run by hand can do more.
fn rounds(few: usize) -> usize {
    let factor = std::env::var("TOOLBAY_TEST_ROUNDS").map_or(1, |text| text.parse().unwrap());
    few * factor
}
