//! Clients that registered themselves (RFC 7591).
//!
//! Anyone can register any number of clients, so there is room for a certain number: those that no person has used to log in
//! make room, the oldest first, and are forgotten after a day.

use std::{collections::HashMap, io, path::PathBuf, sync::Arc, time::Duration};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolbay_oauth::{Credential, Scopes};

use super::{ClientMetadata, InvalidClient, ProxyClient};
use crate::proxy::{files, rate::RateLimit, unix_time};

/// How many clients there may be.
pub(in crate::proxy) const MAX_CLIENTS: usize = 1000;
/// After how many seconds a client is forgotten that no one has used, and one that was used but is not any more.
const UNUSED: u64 = 24 * 3600;
const ABANDONED: u64 = 120 * 24 * 3600;
/// The largest file: as many clients as there may be, with all that they may say.
const MAX_FILE: u64 = 64 * 1024 * 1024;
/// How much one client may say, in bytes.
const MAX_STORED: usize = 8 * 1024;

/// The clients that registered themselves.
#[derive(Debug)]
pub(in crate::proxy) struct Registrations {
    path: PathBuf,
    clients: Mutex<HashMap<String, Registered>>,
    /// Held while the file is written, so that it never gets older.
    disk: Mutex<()>,
    rate: RateLimit,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Registered {
    #[serde(flatten)]
    client: Arc<ProxyClient>,
    registered_at: u64,
    /// When a person last logged in with it.
    used_at: Option<u64>,
}

/// A request to register a client.
#[derive(Debug)]
pub(in crate::proxy) struct RegistrationRequest<'a> {
    pub(in crate::proxy) body: &'a [u8],
    /// The schemes of redirect URIs that the owner of the hub allows.
    pub(in crate::proxy) schemes: &'a [String],
    pub(in crate::proxy) scopes: &'a Scopes,
}

/// Why a client was not registered.
#[derive(Debug, thiserror::Error)]
pub(in crate::proxy) enum RegistrationError {
    #[error(transparent)]
    Invalid(#[from] InvalidClient),
    #[error("too many registrations; try again in a minute")]
    TooMany,
    #[error("cannot save the registration")]
    Storage(#[source] io::Error),
}

impl Registrations {
    pub(in crate::proxy) fn open(path: PathBuf) -> io::Result<Self> {
        let all: Vec<Registered> = files::read(&path, MAX_FILE)?.unwrap_or_default();
        let clients = all.into_iter().map(|one| (one.client.client_id.clone(), one)).collect();
        let rate = RateLimit::new(30, Duration::from_secs(2));
        Ok(Self { path, clients: Mutex::new(clients), disk: Mutex::default(), rate })
    }

    pub(in crate::proxy) fn find(&self, client_id: &str) -> Option<Arc<ProxyClient>> {
        self.clients.lock().get(client_id).map(|found| found.client.clone())
    }

    /// Registers a client and returns the response of RFC 7591.
    pub(in crate::proxy) async fn register(
        self: &Arc<Self>,
        request: RegistrationRequest<'_>,
    ) -> Result<Value, RegistrationError> {
        if !self.rate.allows() {
            return Err(RegistrationError::TooMany);
        }
        let invalid = |text: &str| InvalidClient::Metadata(text.to_owned());
        let metadata: ClientMetadata = serde_json::from_slice(request.body)
            .map_err(|_| invalid("the body must be a JSON object with the metadata of a client"))?;
        metadata.check()?;
        let id = Credential::random().map_err(|error| RegistrationError::Storage(io::Error::other(error)))?;
        let client_id = id.expose()[..32].to_owned(); // no secret, but never the same twice
        let ClientMetadata { client_name, redirect_uris, application_type, scope, .. } = metadata;
        let client = ProxyClient::new(client_id, client_name.as_deref(), redirect_uris, request.schemes)?;
        if serde_json::to_vec(&client).is_ok_and(|text| text.len() > MAX_STORED) {
            return Err(invalid("the metadata is too long").into());
        }
        let client = Arc::new(client);
        let registered_at = unix_time();
        self.insert(Registered { client: client.clone(), registered_at, used_at: None })?;
        self.save().await.map_err(RegistrationError::Storage)?;
        tracing::info!(client_id = client.client_id, name = client.name, "a client registered");
        let scope = scope.unwrap_or_else(|| request.scopes.clone()).to_string();
        let mut response = json!({
            "client_id": client.client_id,
            "client_id_issued_at": registered_at,
            "client_name": client.name,
            "redirect_uris": client.redirect_uris,
            // Clients that are not told that they may refresh tokens never do.
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "application_type": application_type.unwrap_or_else(|| "native".to_owned()),
        });
        if !scope.is_empty() {
            response["scope"] = scope.into();
        }
        Ok(response)
    }

    /// Notes that a person logged in with a client.
    pub(in crate::proxy) async fn mark_used(self: &Arc<Self>, client_id: &str) -> io::Result<()> {
        match self.clients.lock().get_mut(client_id) {
            Some(found) => found.used_at = Some(unix_time()),
            None => return Ok(()),
        }
        self.save().await
    }

    fn insert(&self, new: Registered) -> Result<(), RegistrationError> {
        let mut clients = self.clients.lock();
        let now = unix_time();
        clients.retain(|_, client| match client.used_at {
            Some(used_at) => now < used_at + ABANDONED,
            None => now < client.registered_at + UNUSED,
        });
        while clients.len() >= MAX_CLIENTS {
            let unused = clients.values().filter(|client| client.used_at.is_none());
            let oldest = unused
                .min_by_key(|client| client.registered_at)
                .map(|client| client.client.client_id.clone());
            match oldest {
                Some(client_id) => drop(clients.remove(&client_id)),
                None => return Err(RegistrationError::TooMany),
            }
        }
        clients.insert(new.client.client_id.clone(), new);
        Ok(())
    }

    async fn save(self: &Arc<Self>) -> io::Result<()> {
        let this = self.clone();
        files::blocking(move || {
            let _disk = this.disk.lock();
            let all: Vec<Registered> = this.clients.lock().values().cloned().collect();
            files::write(&this.path, &all)
        })
        .await
    }
}
