//! Logins that were begun, and codes that wait to be exchanged.

use std::{collections::HashMap, fmt, time::Duration};

use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::time::Instant;
use toolbay_oauth::{Credential, PendingIdentity};

use super::{
    authorize::AuthorizationRequest,
    grants::{GrantId, NewGrant},
};

/// How long a person may take to log in at the provider.
pub(super) const LOGIN_TIME: Duration = Duration::from_secs(600);
/// How long a client may take to exchange a code.
pub(super) const CODE_TIME: Duration = Duration::from_secs(60);
/// For how long it is remembered that a code was exchanged.
const USED_CODE_TIME: Duration = Duration::from_secs(600);
/// How many of each there may be.
const MAX_ENTRIES: usize = 2000;

/// A login that was begun at the provider, after the person had consented.
#[derive(Debug)]
pub(super) struct PendingLogin {
    pub(super) request: AuthorizationRequest,
    pub(super) identity: PendingIdentity,
    /// The person whose earlier consent was relied on, if the page was not shown.
    pub(super) approved_by: Option<String>,
}

/// A code that was sent to a client.
#[derive(Debug)]
pub(super) struct Code {
    pub(super) request: AuthorizationRequest,
    pub(super) grant: NewGrant,
}

/// What became of a code.
#[derive(Debug)]
pub(super) enum CodeEntry {
    /// It waits to be exchanged.
    Waiting(Box<Code>),
    /// It was exchanged for this grant.
    Exchanged(GrantId),
}

/// Entries that are found by something that cannot be guessed, each for a while.
pub(super) struct Waiting<T> {
    time: Duration,
    entries: Mutex<HashMap<[u8; 32], (Instant, T)>>,
}

impl<T> fmt::Debug for Waiting<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Waiting({})", self.entries.lock().len())
    }
}

/// There are too many.
#[derive(Debug)]
pub(super) struct Full;

impl<T> Waiting<T> {
    pub(super) fn new(time: Duration) -> Self {
        Self { time, entries: Mutex::default() }
    }

    /// Keeps an entry.
    pub(super) fn insert(&self, key: &Credential, entry: T) -> Result<(), Full> {
        let now = Instant::now();
        let mut entries = self.entries.lock();
        if entries.len() >= MAX_ENTRIES {
            entries.retain(|_, (until, _)| now < *until);
        }
        if entries.len() >= MAX_ENTRIES {
            return Err(Full);
        }
        entries.insert(hash(key.expose()), (now + self.time, entry));
        Ok(())
    }

    /// Takes an entry out: it is found once.
    pub(super) fn take(&self, key: &str) -> Option<T> {
        let (until, entry) = self.entries.lock().remove(&hash(key))?;
        (Instant::now() < until).then_some(entry)
    }
}

impl Waiting<CodeEntry> {
    /// Exchanges a code with `exchange`, which gets what is known about it. Two exchanges never run together, so that a code that
    /// is sent twice is always seen.
    pub(super) fn exchange<R>(
        &self,
        code: &str,
        exchange: impl FnOnce(Code) -> R,
    ) -> Result<R, Option<GrantId>> {
        let now = Instant::now();
        let key = hash(code);
        let mut entries = self.entries.lock();
        match entries.remove(&key) {
            Some((until, CodeEntry::Waiting(code))) if now < until => {
                let exchanged = CodeEntry::Exchanged(code.grant.id.clone());
                entries.insert(key, (now + USED_CODE_TIME, exchanged));
                Ok(exchange(*code))
            }
            Some((until, CodeEntry::Exchanged(grant))) => {
                entries.insert(key, (until, CodeEntry::Exchanged(grant.clone())));
                Err(Some(grant))
            }
            _ => Err(None),
        }
    }
}

fn hash(key: &str) -> [u8; 32] {
    Sha256::digest(key).into()
}
