//! Indexes on disk: shared, stopped, damaged, read-only.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use toolbay_search::{
    semantic::{Index, UpdateProgress},
    store::Store,
};

use super::trees::{Files, paths, sample};

fn open(folder: &Path) -> Index {
    Index::open(Store::open(folder, Path::new("/some/tree")).unwrap(), None)
}

#[test]
fn an_index_survives_its_process() {
    let cache = tempfile::tempdir().unwrap();
    let files = sample();
    files.update(&open(cache.path()));
    let index = open(cache.path());
    assert_eq!(files.update(&index).done.of, 0, "nothing is indexed twice");
    let results = files.search(&index, "where are retries limited");
    assert_eq!((paths(&results)[0].as_str(), results.pending), ("src/http/retry.rs", 0));
}

#[test]
fn readers_see_the_index_of_another_process() {
    let cache = tempfile::tempdir().unwrap();
    let files = sample();
    let reader = open(cache.path());
    assert_eq!(files.search(&reader, "retries").pending, files.count());
    let writer = open(cache.path());
    files.update(&writer);
    assert_eq!(files.search(&reader, "retries").pending, 0);
    for round in 0..10 {
        files.write("new.py", &format!("def paint_{round}():\n    pass\n"));
        files.update(&writer);
        let results = files.search(&reader, &format!("paint_{round}"));
        assert_eq!((paths(&results)[0].as_str(), results.pending), ("new.py", 0));
    }
}

#[test]
fn a_second_writer_reports_that_it_is_busy() {
    let cache = tempfile::tempdir().unwrap();
    let files = sample();
    let (first, second) = (open(cache.path()), open(cache.path()));
    let mut busy = None;
    let mut progress = |_: UpdateProgress| {
        busy.get_or_insert_with(|| files.update(&second).busy);
    };
    first.update(&files.entries(), &files, &mut progress, &AtomicBool::new(false)).unwrap();
    assert_eq!(busy, Some(true));
}

#[test]
fn a_stopped_update_keeps_finished_files() {
    let cache = tempfile::tempdir().unwrap();
    let files = sample();
    let stop = AtomicBool::new(false);
    let index = open(cache.path());
    let mut progress = |progress: UpdateProgress| stop.store(progress.files == 2, Ordering::Relaxed);
    let report = index.update(&files.entries(), &files, &mut progress, &stop).unwrap();
    assert!(report.stopped && report.done.files == 2);
    let results = files.search(&index, "where are retries limited");
    assert_eq!((paths(&results)[0].as_str(), results.pending), ("src/http/retry.rs", files.count() - 2));
    assert_eq!(files.update(&open(cache.path())).done.of, files.count() - 2);
}

/// The files of the store that hold segments or their list.
fn stored(cache: &Path) -> Vec<std::path::PathBuf> {
    let tree = fs::read_dir(cache).unwrap().next().unwrap().unwrap().path();
    let files = fs::read_dir(tree).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("meaning")).collect()
}

#[test]
fn damaged_bytes_are_noticed_and_made_anew() {
    let files = sample();
    let expected = paths(&files.search(&files.indexed(), "where are retries limited"));
    let cache = tempfile::tempdir().unwrap();
    files.update(&open(cache.path()));
    let sound: Vec<(std::path::PathBuf, Vec<u8>)> =
        stored(cache.path()).into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    assert_eq!(sound.len(), 2);
    for (path, bytes) in &sound {
        let step = (bytes.len() / 16).max(1);
        for at in (0..bytes.len()).step_by(step) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x55;
            fs::write(path, if at % 3 == 0 { &damaged[..at] } else { &damaged }).unwrap();
            let index = open(cache.path());
            let results = files.search(&index, "where are retries limited");
            assert_eq!(paths(&results), expected, "byte {at} of {}", path.display());
            files.update(&index);
            let results = files.search(&open(cache.path()), "where are retries limited");
            assert_eq!(paths(&results), expected, "made anew after byte {at}");
            for (path, bytes) in &sound {
                fs::write(path, bytes).unwrap();
            }
        }
    }
}

#[test]
fn searches_work_with_a_cache_that_cannot_be_written() {
    let cache = tempfile::tempdir().unwrap();
    let files = sample();
    files.update(&open(cache.path()));
    files.write("new.py", "def mix_paint():\n    pass\n");
    let index = open(cache.path());
    let folder = fs::read_dir(cache.path()).unwrap().next().unwrap().unwrap().path();
    // Root may write anything: a folder in the place of the lock stops everybody.
    fs::remove_file(folder.join("lock")).unwrap();
    fs::create_dir(folder.join("lock")).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).unwrap();
    assert!(index.update(&files.entries(), &files, &mut |_| (), &AtomicBool::new(false)).is_err());
    assert_eq!(paths(&files.search(&index, "mix paint"))[0], "new.py");
    assert_eq!(paths(&files.search(&index, "where are retries limited"))[0], "src/http/retry.rs");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_store_that_is_removed_is_no_trouble() {
    let cache = tempfile::tempdir().unwrap();
    let files = sample();
    let index = open(cache.path());
    files.update(&index);
    fs::remove_dir_all(cache.path()).unwrap();
    let results = files.search(&index, "where are retries limited");
    assert_eq!(paths(&results)[0], "src/http/retry.rs");
}

#[test]
fn odd_texts_are_no_trouble() {
    let files = Files::default();
    files.write("empty.rs", "");
    files.write("blank.py", "\n\n\n   \n");
    files.write("one_line.min.js", &"var a=function(){return retry(limit)};".repeat(3_000));
    files.write("crlf.go", "package a\r\n\r\nfunc limitRetries() bool {\r\n\treturn false\r\n}\r\n");
    files.write("broken.rs", "fn limit_retries( {{{ \u{feff}\u{202e} \"'");
    files.write("größe/ümlaut.md", "# Größe\n\nlimit retries — naïve 漢字\n");
    let index = files.indexed();
    let results = files.search(&index, "limit retries");
    assert!(results.hits.len() >= 4, "{:?}", paths(&results));
}
