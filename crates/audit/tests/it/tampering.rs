use std::fs;

use toolbay_audit::{CallOutcome, FileSet, file_sets, verify};

use crate::writing::{log, record, write};

/// A set with so many records, in files of about `max_size` bytes.
fn set(folder: &std::path::Path, records: u64, max_size: u64, keep: usize) -> FileSet {
    let log = log(folder, max_size, keep);
    for call in 0..records {
        write(&log, &record(call, CallOutcome::Success));
    }
    drop(log);
    file_sets(folder).unwrap().remove(0)
}

fn problems(set: &FileSet) -> Vec<String> {
    verify(set).unwrap().problems
}

#[test]
fn what_is_untouched_is_right_across_rotation() {
    let folder = tempfile::tempdir().unwrap();
    let set = set(folder.path(), 200, 4096, 100);
    assert!(set.files().unwrap().len() > 5);
    let found = verify(&set).unwrap();
    assert_eq!((found.records, found.range, found.problems), (200, Some((1, 200)), Vec::new()));
    // The oldest files go, and that is no removal.
    let folder = tempfile::tempdir().unwrap();
    let set = self::set(folder.path(), 200, 4096, 2);
    assert_eq!(set.files().unwrap().len(), 3);
    let found = verify(&set).unwrap();
    assert!(found.problems.is_empty() && found.records < 100 && found.range.unwrap().1 == 200, "{found:?}");
}

#[test]
fn every_change_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let set = set(folder.path(), 60, 4096, 100);
    let files = set.files().unwrap();
    let originals: Vec<Vec<u8>> = files.iter().map(|path| fs::read(path).unwrap()).collect();
    let head = fs::read(set.head_path()).unwrap();
    let restore = || {
        files.iter().zip(&originals).for_each(|(path, text)| fs::write(path, text).unwrap());
        fs::write(set.head_path(), &head).unwrap();
    };
    let lines =
        |text: &[u8]| -> Vec<Vec<u8>> { text.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect() };
    for (path, original) in files.iter().zip(&originals) {
        let all = lines(original);
        for index in 0..all.len() {
            let mut changed = all.clone();
            let text = String::from_utf8(changed[index].clone()).unwrap();
            changed[index] = text.replace("\"bytes_in\":10", "\"bytes_in\":11").into_bytes();
            fs::write(path, changed.concat()).unwrap();
            assert!(!problems(&set).is_empty(), "{path:?} {index} changed");
            let mut removed = all.clone();
            removed.remove(index);
            fs::write(path, removed.concat()).unwrap();
            assert!(!problems(&set).is_empty(), "{path:?} {index} removed");
            let mut twice = all.clone();
            twice.insert(index, all[index].clone());
            fs::write(path, twice.concat()).unwrap();
            assert!(!problems(&set).is_empty(), "{path:?} {index} repeated");
            if index + 1 < all.len() {
                let mut moved = all.clone();
                moved.swap(index, index + 1);
                fs::write(path, moved.concat()).unwrap();
                assert!(!problems(&set).is_empty(), "{path:?} {index} moved");
            }
            fs::write(path, all[..index].concat()).unwrap();
            assert!(!problems(&set).is_empty(), "{path:?} cut at {index}");
            restore();
        }
        fs::write(path, &original[..original.len() - 10]).unwrap();
        assert!(!problems(&set).is_empty(), "{path:?} cut within a line");
        fs::remove_file(path).unwrap();
        assert!(!problems(&set).is_empty(), "{path:?} is gone");
        restore();
    }
    fs::remove_file(set.head_path()).unwrap();
    assert!(problems(&set)[0].contains("head is missing"));
    fs::write(set.head_path(), "{}").unwrap();
    assert!(problems(&set)[0].contains("head is damaged"));
    restore();
    assert_eq!(problems(&set), Vec::<String>::new());
}

#[test]
fn a_chain_that_was_cut_stays_so_when_it_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let set = set(folder.path(), 10, u64::MAX, 1);
    let text = fs::read_to_string(set.current()).unwrap();
    let kept: String = text.split_inclusive('\n').take(7).collect();
    fs::write(set.current(), kept).unwrap();
    let log = log(folder.path(), u64::MAX, 1);
    write(&log, &record(11, CallOutcome::Success));
    drop(log);
    assert!(problems(&set)[0].contains("records 8 to 10 are missing"), "{:?}", problems(&set));
}
