//! Which clients each person approved.

use std::{collections::BTreeMap, io, path::PathBuf, sync::Arc};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use toolbay_oauth::Scopes;

use super::{files, unix_time};

/// How many clients are remembered per person, and how many persons.
const MAX_CLIENTS: usize = 20;
const MAX_PERSONS: usize = 2000;
const MAX_FILE: u64 = 128 * 1024 * 1024;

/// The clients that each person approved, by client id. What one person approved says nothing about another.
#[derive(Debug)]
pub(super) struct Approvals {
    path: PathBuf,
    persons: Mutex<BTreeMap<String, Vec<Approval>>>,
    disk: Mutex<()>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Approval {
    client_id: String,
    redirect_uri: String,
    scopes: Scopes,
    approved_at: u64,
}

impl Approvals {
    pub(super) fn open(path: PathBuf) -> io::Result<Self> {
        let persons = files::read(&path, MAX_FILE)?.unwrap_or_default();
        Ok(Self { path, persons: Mutex::new(persons), disk: Mutex::default() })
    }

    /// Whether a person approved a client, to be answered there and with at least these scopes.
    pub(super) fn contains(
        &self,
        person: &str,
        client_id: &str,
        redirect_uri: &str,
        scopes: &Scopes,
    ) -> bool {
        self.persons.lock().get(person).is_some_and(|approved| {
            approved.iter().any(|one| {
                one.client_id == client_id && one.redirect_uri == redirect_uri && one.scopes.includes(scopes)
            })
        })
    }

    /// Notes that a person approved a client. Nothing is written if it is known.
    pub(super) async fn insert(
        self: &Arc<Self>,
        person: &str,
        client_id: &str,
        redirect_uri: &str,
        scopes: &Scopes,
    ) -> io::Result<()> {
        if self.contains(person, client_id, redirect_uri, scopes) {
            return Ok(());
        }
        {
            let mut persons = self.persons.lock();
            if persons.len() >= MAX_PERSONS && !persons.contains_key(person) {
                let last = |approved: &[Approval]| approved.iter().map(|one| one.approved_at).max();
                let oldest =
                    persons.iter().min_by_key(|(_, approved)| last(approved)).map(|(name, _)| name.clone());
                oldest.and_then(|name| persons.remove(&name));
            }
            let approved = persons.entry(person.to_owned()).or_default();
            let is_same = |one: &Approval| one.client_id == client_id && one.redirect_uri == redirect_uri;
            let before = approved.iter().find(|one| is_same(one)).map(|one| one.scopes.clone());
            approved.retain(|one| !is_same(one));
            if approved.len() >= MAX_CLIENTS {
                approved.remove(0);
            }
            approved.push(Approval {
                client_id: client_id.to_owned(),
                redirect_uri: redirect_uri.to_owned(),
                scopes: before.unwrap_or_default().union(scopes),
                approved_at: unix_time(),
            });
        }
        let this = self.clone();
        files::blocking(move || {
            let _disk = this.disk.lock();
            let persons = this.persons.lock().clone();
            files::write(&this.path, &persons)
        })
        .await
    }
}
