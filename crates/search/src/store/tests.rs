use std::fs;
use std::path::Path;

use super::*;

const KIND: ContainerKind = ContainerKind { name: *b"test", version: 3 };

fn stored() -> (tempfile::TempDir, Store) {
    let cache = tempfile::tempdir().unwrap();
    let store = Store::open(cache.path(), Path::new("/some/tree")).unwrap();
    let lock = store.lock().unwrap().unwrap();
    let mut writer = store.write(&lock, "file", KIND).unwrap();
    writer.section("small").unwrap();
    writer.put(b"hello").unwrap();
    writer.section("empty").unwrap();
    writer.section("large").unwrap();
    let large: Vec<u8> = (0..100_000u32).map(|i| (i % 251) as u8).collect();
    writer.put(&large).unwrap();
    writer.finish().unwrap();
    (cache, store)
}

#[test]
fn what_was_written_is_read() {
    let (_cache, store) = stored();
    let container = store.read("file", KIND).unwrap();
    assert_eq!(container.read("small").unwrap(), b"hello");
    assert_eq!(container.read("empty").unwrap(), b"");
    let large = container.section("large").unwrap();
    let part = large.read(40_000..60_001).unwrap();
    assert_eq!(part.len(), 20_001);
    assert!(part.iter().enumerate().all(|(i, byte)| usize::from(*byte) == (40_000 + i) % 251));
    assert!(large.read(99_999..100_001).is_err());
}

#[test]
fn another_version_is_not_read() {
    let (_cache, store) = stored();
    let other = ContainerKind { version: 4, ..KIND };
    assert!(matches!(store.read("file", other), Err(StoreError::Foreign { .. })));
}

/// A block is checked when it is first read; whether it has changed since, only a check says.
#[test]
fn a_check_looks_at_every_block_again() {
    let (_cache, store) = stored();
    let large = store.read("file", KIND).unwrap().section("large").unwrap();
    let part = large.read(50_000..50_010).unwrap();
    assert_eq!(large.read(50_000..50_010).unwrap(), part, "the second time without its block");
    large.check().unwrap();
    let path = store.folder().join("file");
    let mut bytes = fs::read(&path).unwrap();
    bytes[60_000] ^= 0x10;
    fs::write(&path, &bytes).unwrap();
    large.check().unwrap_err();
}

/// Every byte of the file, changed or cut off: an error, or the very bytes that were written.
#[test]
fn no_changed_byte_goes_unnoticed() {
    let (_cache, store) = stored();
    let path = store.folder().join("file");
    let whole = fs::read(&path).unwrap();
    let sections = ["small", "empty", "large"];
    let read_all = || {
        let container = store.read("file", KIND)?;
        sections.iter().map(|name| container.read(name)).collect::<Result<Vec<_>, _>>()
    };
    let right = read_all().unwrap();
    let near_the_ends = (0..64).chain(whole.len() - 256..whole.len());
    for at in near_the_ends.chain((64..whole.len() - 256).step_by(997)) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        fs::write(&path, &bytes).unwrap();
        assert!(read_all().map_or(true, |read| read == right), "byte {at} changed");
        fs::write(&path, &whole[..at]).unwrap();
        assert!(read_all().is_err(), "cut at {at}");
    }
}

#[test]
fn one_writer_at_a_time_and_nothing_unfinished_stays() {
    let (_cache, store) = stored();
    let lock = store.lock().unwrap().unwrap();
    assert!(store.lock().unwrap().is_none());
    let mut writer = store.write(&lock, "file", KIND).unwrap();
    writer.section("small").unwrap();
    writer.put(b"other").unwrap();
    // As a process that is killed: no destructor runs.
    std::mem::forget(writer);
    drop(lock);
    assert!(store.names().unwrap().iter().any(|name| name.starts_with(".new-")));
    let _lock = store.lock().unwrap().unwrap();
    assert!(!store.names().unwrap().iter().any(|name| name.starts_with(".new-")));
    assert_eq!(store.read("file", KIND).unwrap().read("small").unwrap(), b"hello");
}
