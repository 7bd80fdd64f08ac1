//! What a text search gives beside the lines themselves.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use toolbay_search::store::Store;
use toolbay_search::text::{Index, Query, Results, Total};
use toolbay_search::tree::{RelPath, Rules, Tree, TreeOptions, TreeRoot};

struct Place {
    folder: tempfile::TempDir,
    tree: Tree,
    index: Index,
}

impl Place {
    fn new(fill: impl FnOnce(&Path)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("tree");
        fs::create_dir(&root).unwrap();
        fill(&root);
        let tree = Tree::open(TreeRoot::open(&root).unwrap(), TreeOptions { watch: true });
        let index = Index::open(Some(Store::open(&folder.path().join("cache"), &root).unwrap()));
        Self { folder, tree, index }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join("tree").join(name)
    }

    fn indexed(self) -> Self {
        std::thread::sleep(Duration::from_millis(2_100));
        let report = self.index.update(&self.tree, &|_| (), &AtomicBool::new(false)).unwrap();
        assert_eq!(report.young, 0);
        self
    }

    fn search(&self, query: &Query) -> Results {
        self.index.search(&self.tree, query, &AtomicBool::new(false)).unwrap()
    }
}

#[test]
fn pages_and_totals() {
    let place = Place::new(|root| {
        for file in 0..40 {
            fs::write(root.join(format!("{file:02}")), "a needle\nhay\n".repeat(5)).unwrap();
        }
    });
    let mut query = Query::literal("needle");
    query.limit = 7;
    let all: Vec<_> =
        (0..40).flat_map(|file| (0..5).map(move |hit| (format!("{file:02}"), hit * 2 + 1))).collect();
    for offset in [0, 3, 5, 193, 199, 200, 1_000] {
        query.offset = offset;
        let answer = place.search(&query);
        assert_eq!(answer.total, Total::Exactly(200));
        let page: Vec<_> = answer.hits.iter().map(|it| (it.path.to_string(), it.line.number)).collect();
        assert_eq!(page, all.iter().skip(offset).take(7).cloned().collect::<Vec<_>>());
    }
    query.offset = 0;
    query.count_to = 50;
    let answer = place.search(&query);
    assert_eq!(answer.hits.len(), 7);
    assert!(matches!(answer.total, Total::AtLeast(50..200)), "{:?}", answer.total);
}

#[test]
fn context_and_long_lines() {
    let place = Place::new(|root| {
        fs::write(root.join("a"), "one\ntwo needle\nthree\nfour needle\nfive\nsix\n").unwrap();
        fs::write(root.join("b"), format!("{}needle{}\n", "ö".repeat(5_000), "x".repeat(5_000))).unwrap();
    });
    let mut query = Query::literal("needle");
    query.context = 2;
    query.line_limit = 100;
    let hits = place.search(&query).hits;
    let numbers = |lines: &[toolbay_search::text::Line]| lines.iter().map(|it| it.number).collect::<Vec<_>>();
    assert_eq!((numbers(&hits[0].before), numbers(&hits[0].after)), (vec![1], vec![3, 4]));
    assert_eq!((numbers(&hits[1].before), numbers(&hits[1].after)), (vec![2, 3], vec![5, 6]));
    assert_eq!(&hits[0].line.text[hits[0].matches[0].clone()], "needle");
    let long = &hits[2];
    assert!(long.line.cut && long.line.text.len() <= 110, "{long:?}");
    assert_eq!(&long.line.text[long.matches[0].clone()], "needle");
}

#[test]
fn the_index_narrows_and_a_change_is_found_at_once() {
    let place = Place::new(|root| {
        for file in 0..200 {
            fs::write(root.join(format!("{file}")), format!("word{file}x common\n")).unwrap();
        }
    })
    .indexed();
    let answer = place.search(&Query::literal("word77x"));
    assert_eq!((answer.total, answer.candidates), (Total::Exactly(1), 1));
    fs::write(place.path("5"), "word77x\n").unwrap();
    fs::write(place.path("new"), "word77x\n").unwrap();
    fs::remove_file(place.path("77")).unwrap();
    let answer = place.search(&Query::literal("word77x"));
    let found: Vec<_> = answer.hits.iter().map(|hit| hit.path.to_string()).collect();
    assert_eq!(found, ["5", "new"]);
    assert!(answer.candidates <= 3, "{answer:?}");
    // A young file is not taken into the index.
    let report = place.index.update(&place.tree, &|_| (), &AtomicBool::new(false)).unwrap();
    assert_eq!((report.indexed, report.young), (0, 2));
}

#[test]
fn a_large_file_is_known_piece_by_piece() {
    let place = Place::new(|root| {
        for file in 0..5 {
            let lines: String = (0..60_000).map(|number| format!("line {number} of it\n")).collect();
            let text = format!("alpha1 begins\n{lines}omega2 ends {file}\n");
            fs::write(root.join(format!("large{file}")), text).unwrap();
        }
    })
    .indexed();
    for number in [0u64, 1, 12_345, 59_999] {
        let hits = place.search(&Query::literal(format!("line {number} of"))).hits;
        let found: Vec<_> = hits.iter().map(|hit| (hit.path.to_string(), hit.line.number)).collect();
        let wanted: Vec<_> = (0..5).map(|file| (format!("large{file}"), number + 2)).collect();
        assert_eq!(found, wanted);
    }
    let answer = place.search(&Query::literal("omega2 ends 3"));
    assert_eq!((answer.total, answer.candidates), (Total::Exactly(1), 1));
    // Each has both, but no piece of any does.
    let answer = place.search(&Query::regex("alpha1.*omega2"));
    assert!(answer.candidates <= 2, "{answer:?}");
    // One file that changed takes all its pieces with it, and leaves those of the others.
    fs::write(place.path("large3"), "small now\n").unwrap();
    assert_eq!(place.search(&Query::literal("line 12345 of")).total, Total::Exactly(4));
    let report = place.index.update(&place.tree, &|_| (), &AtomicBool::new(false)).unwrap();
    assert_eq!((report.files, report.indexed, report.young), (5, 0, 1));
}

#[test]
fn two_letters_are_narrowed_too() {
    let place = Place::new(|root| {
        for file in 0..50 {
            fs::write(root.join(format!("{file}")), "common words\n").unwrap();
        }
        fs::write(root.join("at-the-end"), "a zq").unwrap();
        fs::write(root.join("alone"), "zq\ncommon\n").unwrap();
        fs::write(root.join("within"), "aZQa\n").unwrap();
        fs::write(root.join("not-in-a-line"), "az\nqa\n").unwrap();
    })
    .indexed();
    let answer = place.search(&Query::literal("zq"));
    let found: Vec<_> = answer.hits.iter().map(|hit| hit.path.to_string()).collect();
    assert_eq!(found, ["alone", "at-the-end", "within"]);
    assert_eq!(answer.candidates, 3);
    assert_eq!(place.search(&Query::regex("[a-z]q|dn")).total, Total::Exactly(3));
}

#[test]
fn a_listing_by_globs_is_kept_until_something_changes() {
    let place = Place::new(|root| {
        fs::create_dir_all(root.join("build")).unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        fs::write(root.join(".gitignore"), "build\nignored.h\n").unwrap();
        for name in ["a.h", "b.c", "ignored.h", "build/made.h"] {
            fs::write(root.join(name), "x\n").unwrap();
        }
    });
    let list = |globs: &[&str]| {
        let globs = globs.iter().map(|&glob| glob.to_owned()).collect();
        place.tree.files_by(&RelPath::root(), &Rules { globs, ..Rules::default() }).unwrap()
    };
    let names = |globs: &[&str]| list(globs).iter().map(|it| it.path.to_string()).collect::<Vec<_>>();
    let first = list(&["*.h"]);
    assert!(Arc::ptr_eq(&first, &list(&["*.h"])));
    assert_eq!(names(&["*.h"]), ["a.h", "ignored.h"]);
    assert_eq!(names(&["*.c"]), ["b.c"]);
    assert!(Arc::ptr_eq(&first, &list(&["*.h"])));
    // A change to a file that only the glob shows.
    fs::write(place.path("ignored.h"), "longer\n").unwrap();
    assert_eq!(list(&["*.h"])[1].stamp.size, 7);
    fs::write(place.path("new.h"), "x\n").unwrap();
    assert_eq!(names(&["*.h"]), ["a.h", "ignored.h", "new.h"]);
    // Nobody watches an ignored folder, so what is found there is not kept.
    assert_eq!(names(&["build", "build/*"]), ["build/made.h"]);
    fs::write(place.path("build/more.h"), "x\n").unwrap();
    assert_eq!(names(&["build", "build/*"]), ["build/made.h", "build/more.h"]);
}

#[test]
fn a_folder_with_100_000_files_and_a_large_file() {
    let place = Place::new(|root| {
        for file in 0..100_000 {
            fs::write(root.join(format!("{file}")), if file == 4_321 { "needle" } else { "" }).unwrap();
        }
        // Larger than the index takes; the most of it is a hole.
        let large = fs::File::create(root.join("large")).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&large, b"needle\n", 0).unwrap();
        large.set_len(300 << 20).unwrap();
    });
    let answer = place.search(&Query::literal("needle"));
    assert_eq!(answer.listed, 100_001);
    assert_eq!(answer.hits.len(), 1, "{answer:?}");
    fs::write(place.path("77"), "needle").unwrap();
    assert_eq!(place.search(&Query::literal("needle")).hits.len(), 2);
}

#[test]
fn a_path_that_is_not_there_and_a_pattern_that_is_none() {
    let place = Place::new(|_| ());
    let mut query = Query::literal("x");
    query.path = Some(RelPath::parse("nowhere").unwrap());
    let error = place.index.search(&place.tree, &query, &AtomicBool::new(false)).unwrap_err();
    assert_eq!(error.to_string(), "`nowhere` does not exist");
    let error = place.index.search(&place.tree, &Query::regex("(x"), &AtomicBool::new(false)).unwrap_err();
    assert!(error.to_string().contains("unclosed group"), "{error}");
}
