//! A keyring that asks the user to unlock it, on a real bus. GNOME Keyring needs a desktop for that, so this one is ours.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use toolbay_secrets::{KeyringPrompts, SecretsError};
use zbus::{
    Connection, interface,
    object_server::SignalEmitter,
    zvariant::{ObjectPath, OwnedObjectPath, OwnedValue, Value},
};

use crate::{
    keyring::Desktop,
    support::{Place, assert_says},
};

const SERVICE: &str = "/org/freedesktop/secrets";
const COLLECTION: &str = "/org/freedesktop/secrets/collection/login";
const PROMPT: &str = "/org/freedesktop/secrets/prompt/1";

/// What the user does when asked.
#[derive(Clone, Copy)]
enum User {
    Unlocks,
    Dismisses,
    IsAway,
}

struct Service;

#[interface(name = "org.freedesktop.Secret.Service")]
impl Service {
    /// The key is any number, because no secret is sent.
    fn open_session(&self, _algorithm: &str, _input: Value<'_>) -> (OwnedValue, OwnedObjectPath) {
        let key = Value::from(vec![5_u8; 128]).try_into_owned().unwrap();
        (key, path("/org/freedesktop/secrets/session/1"))
    }

    fn read_alias(&self, _name: &str) -> OwnedObjectPath {
        path(COLLECTION)
    }

    fn unlock(&self, _objects: Vec<ObjectPath<'_>>) -> (Vec<OwnedObjectPath>, OwnedObjectPath) {
        (Vec::new(), path(PROMPT))
    }
}

struct Collection(Arc<AtomicBool>);

#[interface(name = "org.freedesktop.Secret.Collection")]
impl Collection {
    fn search_items(&self, _attributes: std::collections::HashMap<&str, &str>) -> Vec<OwnedObjectPath> {
        assert!(!self.0.load(Ordering::Relaxed), "it is locked");
        Vec::new()
    }

    #[zbus(property)]
    fn locked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

struct Prompt(User, Arc<AtomicBool>);

#[interface(name = "org.freedesktop.Secret.Prompt")]
impl Prompt {
    async fn prompt(&self, _window: &str, #[zbus(signal_emitter)] emitter: SignalEmitter<'_>) {
        let dismissed = match self.0 {
            User::Unlocks => false,
            User::Dismisses => true,
            User::IsAway => return,
        };
        self.1.store(dismissed, Ordering::Relaxed);
        Self::completed(&emitter, dismissed, Value::from("")).await.unwrap();
    }

    #[zbus(signal)]
    async fn completed(emitter: &SignalEmitter<'_>, dismissed: bool, result: Value<'_>) -> zbus::Result<()>;
}

fn path(path: &str) -> OwnedObjectPath {
    ObjectPath::try_from(path.to_owned()).unwrap().into()
}

/// A locked keyring on a bus, and a place whose secrets are in it.
async fn locked_keyring(user: User) -> Option<(Desktop, Connection, Place)> {
    let desktop = Desktop::start()?;
    let is_locked = Arc::new(AtomicBool::new(true));
    let connection = zbus::connection::Builder::address(desktop.address().as_str())
        .unwrap()
        .serve_at(SERVICE, Service)
        .unwrap()
        .serve_at(COLLECTION, Collection(Arc::clone(&is_locked)))
        .unwrap()
        .serve_at(PROMPT, Prompt(user, is_locked))
        .unwrap()
        .name("org.freedesktop.secrets")
        .unwrap();
    let connection = connection.build().await.unwrap();
    let mut place = desktop.place();
    place.config.prompts = KeyringPrompts::Within(Duration::from_secs(2));
    Some((desktop, connection, place))
}

#[tokio::test]
async fn the_user_unlocks_the_keyring() {
    let Some((_desktop, _keyring, mut place)) = locked_keyring(User::Unlocks).await else { return };
    place.config.prompts = KeyringPrompts::Never;
    assert_says(place.names().await, &["is locked"]);
    place.config.prompts = KeyringPrompts::Within(Duration::from_secs(2));
    assert_eq!(place.names().await.unwrap(), "");
    // It stays unlocked.
    place.config.prompts = KeyringPrompts::Never;
    assert_eq!(place.names().await.unwrap(), "");
}

#[tokio::test]
async fn a_prompt_that_is_dismissed_or_ignored_is_an_error() {
    let Some((_desktop, _keyring, place)) = locked_keyring(User::Dismisses).await else { return };
    assert_says(place.names().await, &["its prompt was dismissed"]);
    let Some((_desktop, _keyring, place)) = locked_keyring(User::IsAway).await else { return };
    let begun = Instant::now();
    let error = place.names().await.unwrap_err();
    assert!(matches!(error, SecretsError::KeyringTimeout { .. }), "{error}");
    assert!((2..10).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
}
