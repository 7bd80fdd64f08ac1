//! Secrets in the desktop's keyring, over the Secret Service of freedesktop.org: GNOME Keyring, KWallet, KeePassXC and others.
//!
//! Secrets are items of the default collection, with the attributes `application` and `name`, so that
//! `secret-tool lookup application toolbay name NAME` finds them. They are encrypted on the bus too.
//!
//! Each call has a connection of its own. It takes milliseconds, no connection goes stale when the user logs out, and a prompt
//! that takes too long goes away with the connection that it belongs to.

mod bus;

use std::{collections::HashMap, path::PathBuf, time::Duration};

use secret_service::{Collection, EncryptionType, Error, Item, SecretService};
use tokio::time::timeout;
use toolbay_protocol::SecretName;
use zeroize::Zeroizing;

use crate::{
    disk::{self, Audience, LockedFile},
    error::SecretsError,
    file_format::{MAX_FILE, MAX_SECRETS, SecretsFile, keyring_record},
    file_store::blocking,
    secret::Secret,
    store::{SecretStore, StoreFuture, StoreKind},
};

pub use bus::BusAddress;

/// How long the keyring may take to do what needs no user.
const TIMEOUT: Duration = Duration::from_secs(5);
const APPLICATION: (&str, &str) = ("application", "toolbay");
const NAME: &str = "name";

/// Whether the keyring may ask the user to unlock it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyringPrompts {
    /// A locked keyring is an error, for what runs in the background.
    Never,
    /// The keyring shows its prompt, for at most this time.
    Within(Duration),
}

/// The keyring of the desktop.
#[derive(Debug, Clone)]
pub(crate) struct KeyringStore {
    /// Buses to try, in this order.
    pub(crate) buses: Vec<BusAddress>,
    pub(crate) prompts: KeyringPrompts,
    /// The file that records where secrets are.
    pub(crate) record: PathBuf,
}

impl KeyringStore {
    /// Whether there is a keyring with a default collection, which may be locked.
    ///
    /// # Errors
    /// With [`SecretsError::NoKeyring`] if there is none; with another error if that is not certain.
    pub(crate) async fn probe(&self) -> Result<(), SecretsError> {
        let service = self.connect().await?;
        bounded(service.get_default_collection()).await.map(drop).map_err(|error| match error {
            SecretsError::Keyring(error) if matches!(*error, Error::NoResult) => {
                SecretsError::NoKeyring { reason: "it has no default collection".to_owned() }
            }
            error => error,
        })
    }

    async fn connect(&self) -> Result<SecretService<'static>, SecretsError> {
        let mut unreachable =
            SecretsError::NoKeyring { reason: "the address of the session bus is not known".to_owned() };
        for bus in &self.buses {
            match bounded(connect_to(bus)).await {
                Ok(service) => return Ok(service),
                Err(error @ SecretsError::NoKeyring { .. }) => unreachable = error,
                Err(error) => return Err(error),
            }
        }
        Err(unreachable)
    }

    /// The default collection, unlocked; none if there is none.
    async fn unlocked<'a>(
        &self,
        service: &'a SecretService<'_>,
    ) -> Result<Option<Collection<'a>>, SecretsError> {
        let collection = match bounded(service.get_default_collection()).await {
            Ok(collection) => collection,
            Err(SecretsError::Keyring(error)) if matches!(*error, Error::NoResult) => return Ok(None),
            Err(error) => return Err(error),
        };
        if bounded(collection.is_locked()).await? {
            self.prompt(collection.unlock()).await?;
        }
        Ok(Some(collection))
    }

    /// Waits for what may ask the user.
    async fn prompt<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, SecretsError> {
        match self.prompts {
            KeyringPrompts::Never => Err(SecretsError::Locked),
            KeyringPrompts::Within(limit) => within(limit, work).await,
        }
    }

    async fn get_secret(&self, name: &SecretName) -> Result<Option<Secret>, SecretsError> {
        let service = self.connect().await?;
        let Some(collection) = self.unlocked(&service).await? else { return Ok(None) };
        let Some(item) = newest(bounded(collection.search_items(attributes(name))).await?).await? else {
            return Ok(None);
        };
        let bytes = Zeroizing::new(bounded(item.get_secret()).await?);
        let unusable = |source| SecretsError::Unusable { name: name.clone(), source };
        Secret::from_bytes(bytes).map(Some).map_err(unusable)
    }

    /// Sets a secret without looking at the record of which store is used.
    pub(crate) async fn set_secret(&self, name: &SecretName, secret: &Secret) -> Result<(), SecretsError> {
        let service = self.connect().await?;
        let collection = match self.unlocked(&service).await? {
            Some(collection) => collection,
            None => self.prompt(service.create_collection("Default", "default")).await?,
        };
        let bytes = secret.expose().as_bytes();
        // Also one that another program created, with more attributes, which a new item would stand beside.
        match newest(bounded(collection.search_items(attributes(name))).await?).await? {
            Some(item) => bounded(item.set_secret(bytes, "text/plain")).await?,
            None => {
                let label = format!("toolbay: {name}");
                bounded(collection.create_item(&label, attributes(name), bytes, true, "text/plain")).await?;
            }
        }
        Ok(())
    }

    async fn remove_secret(&self, name: &SecretName) -> Result<bool, SecretsError> {
        let service = self.connect().await?;
        let Some(collection) = self.unlocked(&service).await? else { return Ok(false) };
        let items = bounded(collection.search_items(attributes(name))).await?;
        for item in &items {
            // A keyring may ask before it deletes.
            within(self.prompt_limit(), item.delete()).await?;
        }
        Ok(!items.is_empty())
    }

    fn prompt_limit(&self) -> Duration {
        match self.prompts {
            KeyringPrompts::Never => TIMEOUT,
            KeyringPrompts::Within(limit) => limit.max(TIMEOUT),
        }
    }

    async fn all_names(&self) -> Result<Vec<SecretName>, SecretsError> {
        let service = self.connect().await?;
        let Some(collection) = self.unlocked(&service).await? else { return Ok(Vec::new()) };
        let items = bounded(collection.search_items(HashMap::from([APPLICATION]))).await?;
        let mut names = Vec::new();
        for item in items.iter().take(MAX_SECRETS) {
            let attributes = bounded(item.get_attributes()).await?;
            // An item without a valid name cannot be meant by `${secret:NAME}`.
            names.extend(attributes.get(NAME).and_then(|name| name.parse().ok()));
        }
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// Records that secrets are in the keyring. After the first of them is there, so that a failure records nothing.
    async fn record(&self) -> Result<(), SecretsError> {
        let path = self.record.clone();
        blocking(&self.record, move || {
            let file = LockedFile::lock(&path)?;
            match file.read(MAX_FILE)? {
                None => file.replace(&keyring_record()),
                Some(content) => is_keyring(&SecretsFile::parse(&path, &content)?),
            }
        })
        .await
    }

    /// Refuses to set a secret that would not be found, because secrets are elsewhere.
    async fn check_record(&self) -> Result<(), SecretsError> {
        let path = self.record.clone();
        blocking(&self.record, move || match disk::read(&path, Audience::User, MAX_FILE)? {
            None => Ok(()),
            Some(content) => is_keyring(&SecretsFile::parse(&path, &content)?),
        })
        .await
    }
}

fn is_keyring(file: &SecretsFile<'_>) -> Result<(), SecretsError> {
    match file.kind {
        StoreKind::Keyring => Ok(()),
        recorded => Err(SecretsError::OtherStore { recorded, wanted: StoreKind::Keyring }),
    }
}

impl SecretStore for KeyringStore {
    fn kind(&self) -> StoreKind {
        StoreKind::Keyring
    }

    fn get<'a>(&'a self, name: &'a SecretName) -> StoreFuture<'a, Option<Secret>> {
        Box::pin(self.get_secret(name))
    }

    fn set<'a>(&'a self, name: &'a SecretName, secret: &'a Secret) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.check_record().await?;
            self.set_secret(name, secret).await?;
            self.record().await
        })
    }

    fn remove<'a>(&'a self, name: &'a SecretName) -> StoreFuture<'a, bool> {
        Box::pin(self.remove_secret(name))
    }

    fn names(&self) -> StoreFuture<'_, Vec<SecretName>> {
        Box::pin(self.all_names())
    }
}

async fn connect_to(bus: &BusAddress) -> Result<SecretService<'static>, Error> {
    let connection = zbus::connection::Builder::address(bus.as_str())?.build().await?;
    SecretService::connect_with_existing(EncryptionType::Dh, connection).await
}

fn attributes(name: &SecretName) -> HashMap<&'static str, &str> {
    HashMap::from([APPLICATION, (NAME, name.as_str())])
}

/// The item that was changed last: other programs may have created several of one name.
async fn newest<'a>(items: Vec<Item<'a>>) -> Result<Option<Item<'a>>, SecretsError> {
    let mut newest = None;
    for item in items {
        let modified = bounded(item.get_modified()).await?;
        if newest.as_ref().is_none_or(|(latest, _)| modified > *latest) {
            newest = Some((modified, item));
        }
    }
    Ok(newest.map(|(_, item)| item))
}

async fn bounded<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, SecretsError> {
    within(TIMEOUT, work).await
}

async fn within<T>(limit: Duration, work: impl Future<Output = Result<T, Error>>) -> Result<T, SecretsError> {
    match timeout(limit, work).await {
        Ok(done) => done.map_err(meaning),
        Err(_) => Err(SecretsError::KeyringTimeout { waited: limit }),
    }
}

/// What an error of the bus means to the user.
fn meaning(error: Error) -> SecretsError {
    /// There is no such service, or it cannot be started.
    const ABSENT: [&str; 3] = [
        "org.freedesktop.DBus.Error.ServiceUnknown",
        "org.freedesktop.DBus.Error.NameHasNoOwner",
        "org.freedesktop.DBus.Error.Spawn.",
    ];
    let no_keyring = |reason: String| SecretsError::NoKeyring { reason };
    match error {
        Error::Unavailable => no_keyring("there is no session bus".to_owned()),
        Error::Zbus(zbus::Error::Connection(error, address)) => {
            no_keyring(format!("no session bus at {address} ({error})"))
        }
        Error::Zbus(zbus::Error::InputOutput(error)) => no_keyring(format!("no session bus ({error})")),
        Error::Zbus(zbus::Error::Address(error)) => no_keyring(format!("no session bus ({error})")),
        Error::Zbus(zbus::Error::Handshake(error)) => {
            no_keyring(format!("the session bus refused the connection ({error})"))
        }
        Error::Zbus(zbus::Error::MethodError(name, ..))
            if ABSENT.iter().any(|absent| name.starts_with(absent)) =>
        {
            no_keyring("no program on the session bus offers the Secret Service".to_owned())
        }
        Error::Zbus(zbus::Error::MethodError(name, ..))
            if name.as_str() == "org.freedesktop.Secret.Error.IsLocked" =>
        {
            SecretsError::Locked
        }
        Error::Locked => SecretsError::Locked,
        Error::Prompt | Error::PromptDisconnected => SecretsError::Dismissed,
        error => SecretsError::Keyring(Box::new(error)),
    }
}
