//! Logins at the proxy as commands see them: in its files, whether or not a hub runs.

use std::{
    fs, io,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use toolbay_oauth::Claims;

use super::{
    LOGINS, files,
    grants::{Grant, MAX_FILE},
};

/// The claims that name a person to others, the most telling first.
const NAMES: [&str; 4] = ["email", "preferred_username", "name", "sub"];

/// A login of a person with a client at the proxy. Holds no token, nor what a token could be made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredLogin {
    /// Its name for commands.
    pub id: String,
    /// Who logged in.
    pub user: String,
    /// The client that they logged in with.
    pub client_id: String,
    /// The scopes that the client got.
    pub scopes: String,
    /// When they logged in.
    pub since: SystemTime,
}

impl StoredLogin {
    /// Returns the logins in the directory of a proxy, the oldest first. A file that cannot be read is not a login: the hub
    /// does not accept it either.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn list(directory: &Path) -> io::Result<Vec<Self>> {
        let entries = match fs::read_dir(directory.join(LOGINS)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut logins = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let id = path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned);
            let is_login = path.extension().is_some_and(|extension| extension == "json");
            if let Some(id) = id.filter(|_| is_login)
                && let Ok(Some(grant)) = files::read::<Grant>(&path, MAX_FILE)
            {
                logins.push(Self {
                    id,
                    user: name_of(&grant.claims),
                    client_id: grant.client_id,
                    scopes: grant.scopes.to_string(),
                    since: UNIX_EPOCH + Duration::from_secs(grant.created_at),
                });
            }
        }
        logins.sort_by(|one, other| (one.since, &one.id).cmp(&(other.since, &other.id)));
        Ok(logins)
    }

    /// Ends the login: a running hub refuses its tokens within a second, and closes what they opened.
    ///
    /// # Errors
    /// If its file cannot be removed.
    pub fn end(&self, directory: &Path) -> io::Result<()> {
        files::remove(&directory.join(LOGINS).join(format!("{}.json", self.id)))
    }
}

fn name_of(claims: &Claims) -> String {
    let text = |name: &&str| claims.get(*name).and_then(|value| value.as_str()).map(str::to_owned);
    NAMES.iter().find_map(text).unwrap_or_default()
}
