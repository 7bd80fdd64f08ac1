//! A plain file: what it contains, and what is refused.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    time::{Duration, Instant},
};

use rustix::fs::{CWD, FileType, FlockOperation, Mode, mknodat};
use toolbay_secrets::StoreKind;

use crate::support::{Place, assert_says, secret, set_mode};

#[tokio::test]
async fn secrets_are_set_replaced_listed_and_removed() {
    let place = Place::new();
    assert_eq!(place.open().await.unwrap().kind(), StoreKind::PlainFile);
    assert_eq!(place.get("A").await.unwrap(), None);
    assert_eq!(place.names().await.unwrap(), "");
    assert!(!place.path().exists(), "reading creates nothing");
    place.set("B", "one\ntwo \"ü\"\n").await.unwrap();
    place.set("A", "old").await.unwrap();
    place.set("A", "new").await.unwrap();
    assert_eq!(place.get("A").await.unwrap().as_deref(), Some("new"));
    assert_eq!(place.get("B").await.unwrap().as_deref(), Some("one\ntwo \"ü\"\n"));
    assert_eq!(place.names().await.unwrap(), "A B");
    let text = fs::read_to_string(place.path()).unwrap();
    assert!(text.starts_with("toolbay-secrets 1 plain\n{\n  \"A\": \"new\",\n"), "{text}");
    assert!(place.remove("A").await.unwrap());
    assert!(!place.remove("A").await.unwrap());
    assert_eq!(place.names().await.unwrap(), "B");
    assert_eq!(place.files(), ["secrets", "secrets.lock"]);
    for file in place.files() {
        let path = place.path().with_file_name(file);
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let directory = place.path().parent().unwrap();
    assert_eq!(fs::metadata(directory).unwrap().permissions().mode() & 0o777, 0o700);
}

#[tokio::test]
async fn a_file_that_others_may_access_is_refused_with_the_fix() {
    let place = Place::new();
    place.set("A", "hidden").await.unwrap();
    for mode in [0o644, 0o640, 0o604, 0o620, 0o602, 0o611] {
        set_mode(place.path(), mode);
        let fix = format!("run `chmod 600 {}`", place.path().display());
        assert_says(place.get("A").await, &["other users may access", &format!("mode {mode:03o}"), &fix]);
        assert_says(place.set("A", "x").await, &[&fix]);
    }
    set_mode(place.path(), 0o600);
    assert_eq!(place.get("A").await.unwrap().as_deref(), Some("hidden"));
    let directory = place.path().parent().unwrap();
    set_mode(directory, 0o777);
    assert_says(place.set("A", "x").await, &[&format!("run `chmod o-w {}`", directory.display())]);
    set_mode(directory, 0o1777);
    place.set("A", "x").await.unwrap();
}

#[tokio::test]
async fn what_is_not_a_regular_file_is_neither_followed_nor_waited_for() {
    let place = Place::new();
    place.set("A", "hidden").await.unwrap();
    let elsewhere = place.directory.path().join("elsewhere");
    fs::rename(place.path(), &elsewhere).unwrap();
    let before = fs::read(&elsewhere).unwrap();
    for what in ["symbolic link", "FIFO", "directory"] {
        let path = place.path();
        match what {
            "symbolic link" => symlink(&elsewhere, path).unwrap(),
            "FIFO" => mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap(),
            _ => fs::create_dir(path).unwrap(),
        }
        let begun = Instant::now();
        assert_says(place.get("A").await, &[&format!("is a {what}, not a regular file")]);
        assert_says(place.set("A", "x").await, &[&format!("is a {what}, not a regular file")]);
        assert!(begun.elapsed() < Duration::from_secs(5));
        fs::remove_file(path).or_else(|_| fs::remove_dir(path)).unwrap();
    }
    // A link in the place of the lock or of the draft leads nowhere, either.
    fs::remove_file(place.path().with_file_name("secrets.lock")).unwrap();
    symlink(&elsewhere, place.path().with_file_name("secrets.lock")).unwrap();
    assert_says(place.set("A", "x").await, &["secrets.lock is a symbolic link"]);
    fs::remove_file(place.path().with_file_name("secrets.lock")).unwrap();
    symlink(&elsewhere, place.path().with_file_name("secrets.new")).unwrap();
    place.set("A", "x").await.unwrap();
    assert_eq!(fs::read(&elsewhere).unwrap(), before);
}

#[tokio::test]
async fn a_damaged_file_stays_as_it_is() {
    let place = Place::new();
    place.set("A", "hidden-1").await.unwrap();
    let cases = [
        ("", "does not begin with `toolbay-secrets`"),
        ("\u{7f}ELF", "does not begin with `toolbay-secrets`"),
        ("toolbay-secrets 1 other\n{}", "names no kind of store"),
        ("toolbay-secrets 1 plain\n", "line 2"),
        ("toolbay-secrets 1 plain\n{\"A\": \"hidden-2", "line 2"),
        ("toolbay-secrets 1 plain\n{\n\"A\": {\"hidden-3\": 1}}", "line 3"),
        ("toolbay-secrets 1 plain\n{\"A\": 31337}", "line 2"),
        ("toolbay-secrets 1 plain\n{\"not a name\": \"hidden-4\"}", "a name is not valid"),
        ("toolbay-secrets 1 plain\n{\"A\": \"\"}", "secret `A`: it is empty"),
        ("toolbay-secrets 2 plain\n{}", "update toolbay"),
    ];
    for (content, reason) in cases {
        fs::write(place.path(), content).unwrap();
        for result in
            [place.get("A").await.map(drop), place.set("A", "x").await, place.remove("A").await.map(drop)]
        {
            let message = crate::support::message(result);
            assert!(message.contains(reason), "{content:?}: {message}");
            assert!(!message.contains("hidden") && !message.contains("31337"), "{message}");
        }
        assert_eq!(fs::read_to_string(place.path()).unwrap(), content);
    }
}

#[tokio::test]
async fn number_and_size_are_bounded() {
    let place = Place::new();
    place.set("A", "x").await.unwrap();
    let write = |count: usize, value: &str| {
        let secrets: Vec<String> = (0..count).map(|number| format!("\"N{number}\":\"{value}\"")).collect();
        fs::write(place.path(), format!("toolbay-secrets 1 plain\n{{{}}}", secrets.join(","))).unwrap();
    };
    let large = "x".repeat(64 * 1024);
    write(15, &large);
    assert_says(place.set("N15", &large).await, &["is full", "1048576 bytes", "toolbay secret remove"]);
    place.set("SMALL", "x").await.unwrap();
    write(1_000, "x");
    assert_says(place.set("ONE_MORE", "x").await, &["at most 1000 secrets"]);
    place.set("N5", "x").await.unwrap();
    // The file of all that fits is within the limit for files: control characters take six bytes each.
    write(15, &"\\u0001".repeat(64 * 1024));
    place.set("SMALL", "x").await.unwrap();
    assert_eq!(place.get("N14").await.unwrap().unwrap().len(), 64 * 1024);
    fs::File::options().write(true).open(place.path()).unwrap().set_len(100_000_000).unwrap();
    assert_says(place.get("N5").await, &["has more than"]);
}

#[tokio::test]
async fn a_lock_that_is_never_released_is_an_error() {
    let place = Place::new();
    place.set("A", "one").await.unwrap();
    let lock = fs::File::open(place.path().with_file_name("secrets.lock")).unwrap();
    rustix::fs::flock(&lock, FlockOperation::LockExclusive).unwrap();
    // Reading needs no lock.
    assert_eq!(place.get("A").await.unwrap().as_deref(), Some("one"));
    let store = place.open().await.unwrap();
    let name = crate::support::name("A");
    let error = store.set(&name, &secret("two")).await.unwrap_err();
    assert!(error.is_temporary());
    assert_says::<()>(Err(error), &["another process has locked", "for 10 s", "fuser"]);
    drop(lock);
    place.set("A", "two").await.unwrap();
}
