//! An encrypted file: keys, passphrases, damage.

use std::{fs, sync::Arc, time::Instant};

use toolbay_secrets::{StoreKey, StoreKind};

use crate::support::{Place, assert_says, message, set_mode};

const KEY: &[u8] = b"0123456789abcdef0123456789abcdef\n";

#[tokio::test]
async fn nothing_of_a_secret_is_in_the_file() {
    for place in [Place::with_key_file(), Place::with_passphrase("correct horse")] {
        assert_eq!(place.open().await.unwrap().kind(), StoreKind::EncryptedFile);
        place.set("HIDDEN_NAME", "hidden-value").await.unwrap();
        place.set("OTHER", "other").await.unwrap();
        assert_eq!(place.get("HIDDEN_NAME").await.unwrap().as_deref(), Some("hidden-value"));
        assert_eq!(place.names().await.unwrap(), "HIDDEN_NAME OTHER");
        assert!(place.remove("OTHER").await.unwrap());
        let text = fs::read_to_string(place.path()).unwrap();
        assert!(text.starts_with("toolbay-secrets 1 encrypted\n{\"key\":"), "{text}");
        for part in ["HIDDEN", "hidden", "0123456789abcdef", "correct horse"] {
            assert!(!text.contains(part), "{part}: {text}");
        }
    }
}

#[tokio::test]
async fn a_wrong_key_is_told_from_damage_and_loses_nothing() {
    let mut place = Place::with_key_file();
    place.set("A", "one").await.unwrap();
    let before = fs::read(place.path()).unwrap();
    let other = place.private_file("other", b"another key that is long enough for us");
    let good = place.config.key.replace(Arc::new(StoreKey::file(other)));
    for result in
        [place.get("A").await.map(drop), place.set("A", "x").await, place.remove("A").await.map(drop)]
    {
        assert_says(result, &["wrong key for", "which is unchanged"]);
    }
    place.use_passphrase("a passphrase");
    assert_says(
        place.set("A", "x").await,
        &["encrypted with a key, but a passphrase was given", "TOOLBAY_SECRET_KEY_FILE"],
    );
    place.config.key = None;
    assert_says(
        place.set("A", "x").await,
        &["are encrypted, and a key was not given", "TOOLBAY_SECRET_KEY_FILE"],
    );
    assert_eq!(fs::read(place.path()).unwrap(), before);
    place.config.key = good;
    assert_eq!(place.get("A").await.unwrap().as_deref(), Some("one"));
}

#[tokio::test]
async fn a_file_that_was_changed_is_damaged_and_stays() {
    let place = Place::with_key_file();
    place.set("A", "one").await.unwrap();
    let before = fs::read_to_string(place.path()).unwrap();
    let mut reasons = std::collections::BTreeSet::new();
    for at in 0..before.len() {
        let mut changed = before.clone().into_bytes();
        changed[at] = if changed[at] == b'x' { b'y' } else { b'x' };
        fs::write(place.path(), &changed).unwrap();
        // The line break at the end is not a part of the content.
        if at + 1 == before.len() {
            continue;
        }
        let message = message(place.set("A", "two").await);
        assert_eq!(fs::read(place.path()).unwrap(), changed, "at {at}: {message}");
        reasons.insert(message.replace(&place.path().display().to_string(), "FILE"));
    }
    for length in [0, 10, 40, before.len() / 2, before.len() - 3] {
        fs::write(place.path(), &before[..length]).unwrap();
        assert_says(place.get("A").await, &["is damaged", "restore it from a backup"]);
    }
    let is_clear = |message: &String| {
        ["is damaged", "newer version", "wrong key"].iter().any(|part| message.contains(part))
    };
    assert!(reasons.iter().all(is_clear), "{reasons:#?}");
    fs::write(place.path(), &before).unwrap();
    assert_eq!(place.get("A").await.unwrap().as_deref(), Some("one"));
}

#[tokio::test]
async fn a_passphrase_is_derived_once_per_process() {
    let mut place = Place::with_passphrase("correct horse");
    place.set("A", "one").await.unwrap();
    let begun = Instant::now();
    place.use_passphrase("correct horse");
    place.get("A").await.unwrap();
    let first = begun.elapsed();
    let begun = Instant::now();
    for _ in 0..5 {
        place.set("A", "two").await.unwrap();
        assert_eq!(place.get("A").await.unwrap().as_deref(), Some("two"));
    }
    println!("first use of a passphrase: {first:?}; ten later ones: {:?}", begun.elapsed());
    place.use_passphrase("wrong horse");
    assert_says(place.get("A").await, &["wrong passphrase for"]);
    place.config.key = None;
    assert_says(place.get("A").await, &["a passphrase was not given"]);
}

#[tokio::test]
async fn a_file_cannot_ask_for_all_memory() {
    let place = Place::with_passphrase("correct horse");
    place.set("A", "one").await.unwrap();
    let text = fs::read_to_string(place.path()).unwrap();
    for (from, to) in [("65536", "4000000000"), ("65536", "1"), ("\"passes\":3", "\"passes\":4000000000")] {
        assert!(text.contains(from), "{text}");
        fs::write(place.path(), text.replace(from, to)).unwrap();
        let begun = Instant::now();
        assert_says(place.get("A").await, &["is damaged", "out of range"]);
        assert!(begun.elapsed().as_secs() < 2);
    }
}

#[tokio::test]
async fn key_files_are_checked_as_files_of_secrets_are() {
    let mut place = Place::with_key_file();
    place.set("A", "one").await.unwrap();
    let key = place.directory.path().join("key");
    set_mode(&key, 0o640);
    assert_says(place.get("A").await, &["key (mode 640)", "chmod 600"]);
    // systemd grants access to a credential with an access control list, which shows as the group's.
    let file = place.config.key.replace(Arc::new(StoreKey::credential(&key)));
    assert_eq!(place.get("A").await.unwrap().as_deref(), Some("one"));
    set_mode(&key, 0o644);
    assert_says(place.get("A").await, &["key (mode 644)"]);
    set_mode(&key, 0o600);
    place.config.key = file;
    // A line break more or less is the same key.
    for content in [KEY, KEY.trim_ascii_end(), b"0123456789abcdef0123456789abcdef\r\n\n"] {
        fs::write(&key, content).unwrap();
        assert_eq!(place.get("A").await.unwrap().as_deref(), Some("one"));
    }
    fs::write(&key, "too short").unwrap();
    assert_says(place.get("A").await, &["fewer than 32 bytes", "/dev/urandom"]);
    fs::remove_file(&key).unwrap();
    assert_says(place.get("A").await, &["cannot read", "key"]);
}
