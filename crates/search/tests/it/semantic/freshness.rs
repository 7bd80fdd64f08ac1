//! Files that change while there is an index.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use toolbay_search::{
    semantic::{Index, Query, SemanticError, Text, TextSource},
    tree::{RelPath, Tree, TreeOptions, TreeRoot},
};

use super::trees::{Files, paths, sample};

#[test]
fn a_saved_file_is_searched_as_it_is_now() {
    let files = sample();
    let index = files.indexed();
    files.write(
        "src/config.py",
        "# moved\n# down\n\ndef load_settings(path):\n    \"\"\"Parses the configuration file.\"\"\"\n    return toml.load(path)\n",
    );
    let results = files.search(&index, "parse the configuration file");
    assert_eq!(paths(&results)[0], "src/config.py");
    assert!(results.hits[0].content.contains("toml.load"), "{}", results.hits[0].content);
    assert!(results.hits.iter().all(|hit| !hit.content.contains("json.load")), "the old text is gone");
    assert_eq!((results.pending, results.partial), (1, false));

    let report = files.update(&index);
    assert_eq!((report.done.files, report.done.of), (1, 1), "only what has changed is indexed");
    let again = files.search(&index, "parse the configuration file");
    assert_eq!((again.hits, again.pending), (results.hits, 0));
}

#[test]
fn a_new_file_is_found_before_it_is_indexed() {
    let files = sample();
    let index = files.indexed();
    files
        .write("src/colour.ts", "export function mixPaint(a: Paint, b: Paint) {\n  return blend(a, b);\n}\n");
    assert_eq!(paths(&files.search(&index, "mix paint"))[0], "src/colour.ts");
}

#[test]
fn a_removed_file_is_not_shown() {
    let files = sample();
    let index = files.indexed();
    files.remove("db/pool.go");
    let before = files.search(&index, "open a connection to the database");
    files.update(&index);
    let after = files.search(&index, "open a connection to the database");
    assert!(before.hits.iter().chain(&after.hits).all(|hit| hit.path.as_bytes() != b"db/pool.go"));
    assert!(!before.hits.is_empty());
}

#[test]
fn a_file_that_changes_behind_the_listing_is_not_shown_as_it_was() {
    let files = sample();
    let index = files.indexed();
    let listing = files.entries();
    files.write(
        "src/http/retry.rs",
        "// a line more\n\n/// Stops after too many attempts, so that a server that is down is left alone.\npub fn limit_retries(attempts: \
         u32) -> bool {\n    attempts < 7\n}\n",
    );
    files.write("db/pool.go", "package db\n");
    let query = toolbay_search::semantic::Query::new("limit retries open connection", 50);
    let results = index.search(&query, &listing, &files).unwrap();
    let moved = results
        .hits
        .iter()
        .find(|hit| hit.path.as_bytes() == b"src/http/retry.rs")
        .expect("found again by its name");
    assert!(moved.content.contains("attempts < 7") && moved.end_line == 6, "{moved:?}");
    assert!(results.hits.iter().all(|hit| !hit.content.contains("dial(address)")));
}

#[test]
fn many_updates_leave_few_segments_and_all_files() {
    let files = sample();
    let index = files.indexed();
    for round in 0..40 {
        files.write(
            &format!("gen/part{round}.py"),
            &format!("def colour_number_{round}():\n    return paint({round})\n"),
        );
        files.write("src/config.py", &format!("def load_settings(path):\n    return parse(path, {round})\n"));
        files.update(&index);
    }
    let size = index.size();
    assert!(size.segments <= 7, "{size:?}");
    for round in [0, 17, 39] {
        let results = files.search(&index, &format!("colour_number_{round}"));
        assert_eq!(paths(&results)[0], format!("gen/part{round}.py"));
    }
    let results = files.search(&index, "load_settings");
    assert!(results.hits[0].content.contains("parse(path, 39)"));
    assert_eq!(results.hits.iter().filter(|hit| hit.path.as_bytes() == b"src/config.py").count(), 1);
}

#[test]
fn the_first_search_of_a_large_tree_needs_no_index() {
    let files = sample();
    let filler = "    value = compute(value, other) # nothing that anybody asks for\n".repeat(400);
    for number in 0..150 {
        files.write(
            &format!("src/filler{number}.py"),
            &format!("def filler_{number}(value, other):\n{filler}"),
        );
    }
    let index = Index::in_memory(None);
    let results = files.search(&index, "where are retries limited");
    assert_eq!(paths(&results)[0], "src/http/retry.rs");
    assert!(results.partial && results.pending == files.count(), "{} {}", results.partial, results.pending);
}

#[test]
fn real_files_are_searched_while_they_are_young() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("paint.py"), "def mix_paint(a, b):\n    return blend(a, b)\n").unwrap();
    std::fs::write(folder.path().join("data.bin"), b"mix\0paint").unwrap();
    let tree = Tree::open(TreeRoot::open(folder.path()).unwrap(), TreeOptions::default());
    let index = Index::in_memory(None);
    let report = index.update(&tree.files().unwrap(), &tree, &mut |_| (), &AtomicBool::new(false)).unwrap();
    assert_eq!((report.young, report.done.of), (2, 2), "nothing is kept of what may change unseen");
    let query = toolbay_search::semantic::Query::new("mix paint", 5);
    let results = index.search(&query, &tree.files().unwrap(), &tree).unwrap();
    assert_eq!(paths(&results), ["paint.py"]);
}

/// Files that somebody loses patience with when some of them are read.
struct Slow<'a> {
    files: &'a Files,
    read: AtomicUsize,
    stop: AtomicBool,
}

impl TextSource for Slow<'_> {
    fn text(&self, path: &RelPath) -> Option<Text> {
        if self.read.fetch_add(1, Ordering::Relaxed) == 10 {
            self.stop.store(true, Ordering::Relaxed);
        }
        self.files.text(path)
    }
}

#[test]
fn a_stopped_search_ends_and_keeps_nothing() {
    let files = sample();
    for number in 0..1_000 {
        files.write(&format!("src/part{number}.py"), "def mix_paint():\n    return blend()\n");
    }
    let index = Index::in_memory(None);
    let slow = Slow { files: &files, read: AtomicUsize::new(0), stop: AtomicBool::new(false) };
    let (query, entries) = (Query::new("parse the configuration file", 10), files.entries());
    let stopped = index.search_until(&query, &entries, &slow, &slow.stop);
    assert!(matches!(stopped, Err(SemanticError::Stopped)), "{stopped:?}");
    let read = slow.read.load(Ordering::Relaxed);
    assert!(read < 100, "{read} files were read");
    // The same listing: what was half done is not taken for all.
    let results = index.search(&query, &entries, &files).unwrap();
    assert_eq!((paths(&results)[0].as_str(), results.partial), ("src/config.py", false));
}
