//! A log file that does not grow for ever.

use std::{fs, io::Write, os::unix::fs::PermissionsExt};

use tempfile::TempDir;
use toolbay_supervise::RotatingFile;

#[test]
fn a_full_file_is_put_aside_and_the_oldest_goes() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("logs/hub.log");
    let read = |ending: &str| fs::read_to_string(format!("{}{ending}", path.display())).unwrap_or_default();
    let mut log = RotatingFile::open(&path, 20, 3).unwrap();
    for number in 0..5 {
        writeln!(log, "line number {number}").unwrap(); // 14 bytes
    }
    assert_eq!((read(""), read(".1")), ("line number 4\n".to_owned(), "line number 3\n".to_owned()));
    assert_eq!((read(".2"), read(".3")), ("line number 2\n".to_owned(), String::new()));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

    // A line that is longer than a file stands alone in one; what is there is continued.
    log.write_all(&[b'x'; 100]).unwrap();
    assert_eq!(read("").len(), 100);
    let mut log = RotatingFile::open(&path, 200, 3).unwrap();
    log.write_all(b"more").unwrap();
    assert_eq!((read("").len(), read(".1").as_str()), (104, "line number 4\n"));
}

#[test]
fn a_file_that_cannot_be_put_aside_goes_on() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("hub.log");
    // A folder with something in it cannot be replaced by a file.
    fs::create_dir_all(folder.path().join("hub.log.1/x")).unwrap();
    let mut log = RotatingFile::open(&path, 10, 2).unwrap();
    for _ in 0..10 {
        log.write_all(b"0123456789").unwrap();
    }
    assert_eq!(fs::read(&path).unwrap().len(), 100);
}

/// As a hub that ends and the one that takes its place.
#[test]
fn two_that_write_to_one_log_put_it_aside_once() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("hub.log");
    let mut one = RotatingFile::open(&path, 20, 3).unwrap();
    let mut other = RotatingFile::open(&path, 20, 3).unwrap();
    one.write_all(b"one: 1\n").unwrap();
    other.write_all(b"other: 1\n").unwrap();
    one.write_all(b"one: 2\n").unwrap();
    other.write_all(b"other: 2\n").unwrap();
    let texts = RotatingFile::files(&path, 3).map(|file| fs::read_to_string(file).unwrap_or_default());
    assert_eq!(texts.collect::<Vec<_>>(), ["one: 2\nother: 2\n", "one: 1\nother: 1\n", ""]);
}
