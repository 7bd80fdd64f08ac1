//! Which store is used without a keyring, and moving secrets between files. The keyring's part is in `keyring.rs`.

use std::fs;

use toolbay_secrets::{BusAddress, StoreKind, move_secrets};

use crate::support::{Place, assert_says};

#[tokio::test]
async fn the_store_in_use_stays_in_use() {
    let mut place = Place::new();
    place.set("A", "one").await.unwrap();
    // A key that is configured later does not hide what is there.
    place.config.key = Place::with_key_file().config.key;
    assert_eq!(place.open().await.unwrap().kind(), StoreKind::PlainFile);
    assert_eq!(place.get("A").await.unwrap().as_deref(), Some("one"));
    place.config.kind = Some(StoreKind::EncryptedFile);
    let message = "the secrets are in the plain file, not in the encrypted file; move them with `toolbay secret move encrypted-file`";
    assert_says(place.set("A", "two").await, &[message]);
}

#[tokio::test]
async fn without_a_bus_a_file_is_chosen_and_a_wanted_keyring_is_an_error() {
    let mut place = Place::new();
    place.config.buses = vec![
        BusAddress::from_variable("unix:path=/nonexistent/bus").unwrap(),
        BusAddress::from_variable("unix:path=/dev/null").unwrap(),
    ];
    assert_eq!(place.open().await.unwrap().kind(), StoreKind::PlainFile);
    place.config.kind = Some(StoreKind::Keyring);
    assert_says(place.set("A", "x").await, &["the desktop's keyring cannot be reached: no session bus"]);
    place.config.buses.clear();
    assert_says(place.get("A").await, &["the address of the session bus is not known"]);
    place.config.kind = Some(StoreKind::EncryptedFile);
    assert_says(place.set("A", "x").await, &["an encrypted file needs a key", "TOOLBAY_SECRET_KEY_FILE"]);
    assert!(!place.path().exists());
}

#[tokio::test]
async fn secrets_move_between_files_in_one_step() {
    let place = Place::with_key_file();
    place.set("A", "one").await.unwrap();
    place.set("B", "two").await.unwrap();
    assert_eq!(move_secrets(&place.config, StoreKind::EncryptedFile).await.unwrap(), 0);
    for (target, line) in [(StoreKind::PlainFile, "plain"), (StoreKind::EncryptedFile, "encrypted")] {
        let old = place.open().await.unwrap();
        assert_eq!(move_secrets(&place.config, target).await.unwrap(), 2);
        assert_eq!(place.open().await.unwrap().kind(), target);
        assert_eq!(place.get("B").await.unwrap().as_deref(), Some("two"));
        let text = fs::read_to_string(place.path()).unwrap();
        assert!(text.starts_with(&format!("toolbay-secrets 1 {line}\n")), "{text}");
        // A process that still uses the old store is told, and changes nothing.
        let result = old.set(&crate::support::name("A"), &crate::support::secret("x")).await;
        assert_says(result, &["the secrets are in the"]);
        assert_eq!(fs::read_to_string(place.path()).unwrap(), text);
    }
    let mut without_key = place.config.clone();
    without_key.key = None;
    assert_says(move_secrets(&without_key, StoreKind::PlainFile).await, &["a key was not given"]);
    assert_says(move_secrets(&place.config, StoreKind::Keyring).await, &["cannot be reached"]);
    assert_eq!(place.get("A").await.unwrap().as_deref(), Some("one"));
}
