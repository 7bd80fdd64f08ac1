//! A tree with everything that can be asked of it, from outside.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use toolbay_search::codebase::{Codebase, EntryKind, Options};
use toolbay_search::{semantic, text, tree::RelPath};

const RETRY: &str =
    "/// Says how often a request is sent again before we give up.\nfn retry_limit() -> u32 {\n    3\n}\n";
const PARSE: &str =
    "/// Turns text into a tree of tokens.\nfn parse(text: &str) -> Tokens {\n    lex(text).collect()\n}\n";

struct Stage {
    folder: tempfile::TempDir,
    cache: tempfile::TempDir,
}

impl Stage {
    fn new() -> Self {
        let stage = Self { folder: tempfile::tempdir().unwrap(), cache: tempfile::tempdir().unwrap() };
        stage.write("src/net/retry.rs", RETRY);
        stage.write("src/parse.rs", PARSE);
        stage.write("README.md", "# A program\n\nIt retries.\n");
        stage.write(".hidden", "x");
        stage.write(".gitignore", "target\n");
        stage.write("target/made.rs", "fn retry_limit() {}");
        fs::create_dir(stage.folder.path().join(".git")).unwrap();
        stage
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn open(&self) -> Arc<Codebase> {
        let cache = Some(self.cache.path().to_owned());
        Codebase::open(self.folder.path(), Options { cache, watch: true, ..Options::default() }).unwrap()
    }
}

fn found_lines(codebase: &Codebase, text: &str) -> Vec<String> {
    let answer = codebase.search_text(&text::Query::literal(text), &AtomicBool::new(false)).unwrap();
    answer.hits.iter().map(|hit| format!("{}:{}", hit.path, hit.line.number)).collect()
}

fn best(codebase: &Codebase, question: &str) -> String {
    let answer =
        codebase.search_semantic(&semantic::Query::new(question, 3), &AtomicBool::new(false)).unwrap();
    let hit = answer.hits.first().expect("something");
    let on_disk = fs::read_to_string(codebase.root().join(hit.path.as_path())).unwrap();
    assert!(on_disk.contains(&hit.content), "only what is there is shown");
    format!("{}:{}-{}", hit.path, hit.start_line, hit.end_line)
}

/// The same answers without an index, with one, with one of an earlier process, and after a change.
#[test]
fn an_index_changes_no_result() {
    let stage = Stage::new();
    let check = |codebase: &Codebase| {
        assert_eq!(found_lines(codebase, "retry_limit"), ["src/net/retry.rs:2"]);
        assert_eq!(best(codebase, "how often is a request sent again"), "src/net/retry.rs:1-4");
        assert_eq!(best(codebase, "turn text into tokens"), "src/parse.rs:1-4");
    };
    let first = stage.open();
    check(&first);
    let summary = first.index(&|_| (), &AtomicBool::new(false)).unwrap();
    assert_eq!((summary.files, summary.busy, summary.stopped), (3, false, false));
    assert!(summary.languages.contains(&("rust", 2)), "{summary:?}");
    check(&first);
    let second = stage.open();
    check(&second);
    stage.write("src/net/retry.rs", &format!("\n\n{RETRY}"));
    for codebase in [&first, &second] {
        assert_eq!(found_lines(codebase, "retry_limit"), ["src/net/retry.rs:4"]);
        assert_eq!(best(codebase, "how often is a request sent again"), "src/net/retry.rs:3-6");
    }
    fs::remove_file(stage.folder.path().join("src/net/retry.rs")).unwrap();
    for codebase in [&first, &second] {
        assert_eq!(found_lines(codebase, "retry_limit"), [""; 0]);
        assert_ne!(best(codebase, "how often is a request sent again"), "src/net/retry.rs:3-6");
    }
    Codebase::clear(stage.folder.path(), stage.cache.path()).unwrap();
    assert_eq!(fs::read_dir(stage.cache.path()).unwrap().count(), 0);
    check_parse(&stage.open());
}

fn check_parse(codebase: &Codebase) {
    assert_eq!(best(codebase, "turn text into tokens"), "src/parse.rs:1-4");
}

#[test]
fn a_tree_is_kept_indexed_by_itself() {
    let stage = Stage::new();
    let codebase = stage.open();
    codebase.keep_indexed();
    let until = Instant::now() + Duration::from_secs(60);
    while codebase.status().unwrap().chunks == 0 {
        assert!(Instant::now() < until, "{:?}", codebase.take_notices());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(codebase.take_notices(), [""; 0]);
}

#[cfg(target_os = "linux")]
#[test]
fn searches_go_before_indexing() {
    fn priority(stat: &str) -> Option<i32> {
        stat.rsplit(')').next()?.split_whitespace().nth(16)?.parse().ok()
    }
    let mine = || priority(&fs::read_to_string("/proc/thread-self/stat").unwrap());
    let before = mine();
    let stage = Stage::new();
    let codebase = stage.open();
    codebase.keep_indexed();
    let is_low = || {
        let threads = fs::read_dir("/proc/self/task").unwrap().flatten();
        let stats = threads.filter_map(|thread| fs::read_to_string(thread.path().join("stat")).ok());
        let mut of_index = stats.filter(|stat| stat.contains("(index)"));
        of_index.any(|stat| priority(&stat).is_some_and(|priority| priority >= 10))
    };
    let until = Instant::now() + Duration::from_secs(60);
    while !is_low() {
        assert!(Instant::now() < until, "indexing is as urgent as anything");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(mine(), before, "it is that of a thread alone");
}

#[test]
fn folders_show_entries_that_no_rule_hides() {
    let stage = Stage::new();
    let codebase = stage.open();
    let names = |folder: &str, all| -> Vec<String> {
        let entries = codebase.list(&RelPath::parse(folder).unwrap(), all).unwrap();
        entries.iter().map(|entry| entry.path.to_str_lossy().into_owned()).collect()
    };
    assert_eq!(names("", false), ["src", "README.md"]);
    assert_eq!(names("src", false), ["src/net", "src/parse.rs"]);
    assert_eq!(names(".", true), [".git", "src", "target", ".gitignore", ".hidden", "README.md"]);
    assert_eq!(codebase.list(&RelPath::root(), false).unwrap()[0].kind, EntryKind::Folder);
    assert!(codebase.list(&RelPath::parse("nowhere").unwrap(), false).is_err());
}

#[test]
fn without_a_cache_all_is_found_all_the_same() {
    let stage = Stage::new();
    let closed = stage.cache.path().join("a file");
    fs::write(&closed, "").unwrap();
    for cache in [None, Some(closed.as_path())] {
        let options = Options { cache: cache.map(Path::to_owned), ..Options::default() };
        let codebase = Codebase::open(stage.folder.path(), options).unwrap();
        assert_eq!(codebase.take_notices().len(), usize::from(cache.is_some()));
        assert_eq!(found_lines(&codebase, "retry_limit"), ["src/net/retry.rs:2"]);
        check_parse(&codebase);
        codebase.index(&|_| (), &AtomicBool::new(false)).unwrap();
        check_parse(&codebase);
    }
}

#[test]
fn files_are_cut_into_their_definitions() {
    let stage = Stage::new();
    let codebase = stage.open();
    let cut = codebase.chunks(&RelPath::parse("src/parse.rs").unwrap()).unwrap();
    assert_eq!((cut.language.name(), cut.chunks.len()), ("rust", 1));
    assert_eq!(cut.chunks[0].names, ["parse"]);
}
