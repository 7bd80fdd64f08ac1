//! Logins of people with a client, and the tokens that came of them.
//!
//! A login is a *grant*: one refresh token that counts, and the access tokens that it gave. The refresh token is replaced with
//! each use; one that was replaced already is in the wrong hands, or its replacement is, so the grant ends. A grant is a
//! file of its own, and removing the file revokes it. Tokens are kept as hashes.

use std::{
    collections::{HashMap, HashSet},
    fmt, fs, io,
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime},
};

use parking_lot::{Mutex, RwLock};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;
use toolbay_oauth::{Claims, Credential, NoRandomNumbers, Scopes};

use super::{files, system_time, unix_time};
use crate::{
    authenticator::{Access, Refusal},
    principal::Principal,
    public_url::profile_of_endpoint,
    rights::Rights,
};

/// What access tokens and refresh tokens begin with, so that they are recognized where they should not be.
pub(super) const ACCESS_TOKEN: &str = "tbpa_";
const REFRESH_TOKEN: &str = "tbpr_";
/// How many grants there may be, in all and per person. The oldest of a person makes room for a new one.
pub(super) const MAX_GRANTS: usize = 10_000;
pub(super) const MAX_GRANTS_OF_PERSON: usize = 100;
/// How many access tokens of a grant are valid at a time: those that requests under way use, and the new one.
const MAX_ACCESS_TOKENS: usize = 2;
/// The longest claims that are kept, in bytes.
const MAX_CLAIMS: usize = 16 * 1024;
pub(super) const MAX_FILE: u64 = 256 * 1024;

/// The name of a grant. It is part of its refresh tokens, so it is not shown.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct GrantId(String);

impl GrantId {
    pub(super) fn random() -> Result<Self, NoRandomNumbers> {
        let random = Credential::random()?;
        Ok(Self(hex(&Sha256::digest(random.expose())[..16])))
    }
}

impl fmt::Debug for GrantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GrantId(…)")
    }
}

/// The hash of a token.
type TokenHash = [u8; 32];

fn hash(token: &str) -> TokenHash {
    Sha256::digest(token).into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A login of a person with a client, as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Grant {
    pub(super) id: GrantId,
    pub(super) client_id: String,
    pub(super) resource: String,
    pub(super) scopes: Scopes,
    /// What the provider said about the person. Who they are and what they may do is found anew with each start of the hub.
    pub(super) claims: Claims,
    /// When the person logged in.
    pub(super) created_at: u64,
    refresh_token: TokenHash,
    refresh_expires_at: u64,
    /// Hashes of access tokens and when each expires, the newest last.
    access_tokens: Vec<(TokenHash, u64)>,
}

/// What a new grant is made of.
#[derive(Debug)]
pub(super) struct NewGrant {
    pub(super) id: GrantId,
    pub(super) client_id: String,
    pub(super) resource: String,
    pub(super) scopes: Scopes,
    pub(super) claims: Claims,
    pub(super) principal: Principal,
    pub(super) rights: Rights,
}

/// How long things are valid.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lifetimes {
    pub(super) access_token: Duration,
    pub(super) refresh_token: Duration,
    pub(super) login: Duration,
}

/// New tokens of a grant, to be sent once.
#[derive(Debug)]
pub(super) struct IssuedTokens {
    pub(super) access_token: Credential,
    pub(super) refresh_token: Credential,
    pub(super) expires_in: u64,
    pub(super) scopes: Scopes,
}

/// Why there are no tokens.
#[derive(Debug, thiserror::Error)]
pub(super) enum GrantError {
    #[error("the refresh token is not valid")]
    Invalid,
    #[error("the refresh token was used before; the login ends, because the token may have been stolen")]
    Reused,
    #[error("the login has expired")]
    Expired,
    #[error("the scope is more than was granted")]
    Scope,
    #[error("there are too many logins")]
    Full,
    #[error(transparent)]
    Random(#[from] NoRandomNumbers),
}

/// A grant that counts.
#[derive(Debug)]
struct Live {
    grant: Grant,
    principal: Principal,
    rights: Rights,
    /// Cancelled when the grant ends: all that its tokens opened is closed.
    revoked: CancellationToken,
    /// Whether it has a file. One that was made just now has none yet.
    is_saved: bool,
}

#[derive(Debug, Default)]
struct Tables {
    by_id: HashMap<GrantId, Live>,
    /// Every valid access token.
    by_token: HashMap<TokenHash, Arc<Access>>,
}

/// All grants.
#[derive(Debug)]
pub(super) struct Grants {
    directory: PathBuf,
    lifetimes: Lifetimes,
    tables: RwLock<Tables>,
    /// Held while files are written, so that none gets older; the time of the directory when its files were last looked for.
    disk: Mutex<Option<SystemTime>>,
}

impl Grants {
    /// Reads all grants. `who` finds out who a person is now; those who may not use the hub any more lose their grants.
    pub(super) fn open(
        directory: PathBuf,
        lifetimes: Lifetimes,
        who: impl Fn(&Claims, &Scopes) -> Result<(Principal, Rights), Refusal>,
    ) -> io::Result<Self> {
        files::prepare(&directory)?;
        let grants = Self { directory, lifetimes, tables: RwLock::default(), disk: Mutex::default() };
        for entry in fs::read_dir(&grants.directory)? {
            let path = entry?.path();
            let grant = match files::read::<Grant>(&path, MAX_FILE) {
                Ok(Some(grant)) if grants.path(&grant.id) == path => grant,
                Ok(_) => continue,
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "a login cannot be read; its tokens are not accepted");
                    continue;
                }
            };
            match who(&grant.claims, &grant.scopes) {
                Ok(_) if unix_time() >= grants.ends_at(&grant) => files::remove(&path)?,
                Ok((principal, rights)) if grants.tables.read().by_id.len() < MAX_GRANTS => {
                    let revoked = CancellationToken::new();
                    let live = Live { grant, principal, rights, revoked, is_saved: true };
                    grants.tables.write().insert(live);
                }
                Ok(_) => tracing::warn!("there are more than {MAX_GRANTS} logins; the rest is not accepted"),
                Err(refusal) => {
                    tracing::info!(%refusal, "a login is removed");
                    files::remove(&path)?;
                }
            }
        }
        Ok(grants)
    }

    /// The access that a token gives, if it is one of ours and still valid.
    pub(super) fn access(&self, token: &str) -> Option<Arc<Access>> {
        if !token.starts_with(ACCESS_TOKEN) {
            return None;
        }
        let access = self.tables.read().by_token.get(&hash(token)).cloned()?;
        let is_valid = access.expires.is_none_or(|expires| SystemTime::now() < expires);
        is_valid.then_some(access)
    }

    /// Makes a grant and its first tokens, in memory; [`save`](Self::save) must follow before they are sent.
    pub(super) fn create(&self, new: NewGrant) -> Result<(IssuedTokens, Vec<GrantId>), GrantError> {
        let (secret, access_token) = (Credential::random()?, new_access_token()?);
        let refresh_token = refresh_token(&new.id, &secret);
        let NewGrant { id, client_id, resource, scopes, mut claims, principal, rights } = new;
        if serde_json::to_vec(&claims).is_ok_and(|text| text.len() > MAX_CLAIMS) {
            // Pictures and long lists; what is needed to find the person again is kept.
            claims.retain(|name, value| {
                matches!(name.as_str(), "iss" | "sub") || value.to_string().len() <= MAX_CLAIMS / 8
            });
        }
        let mut tables = self.tables.write();
        let mut removed = Vec::new();
        let of_person = tables.by_id.values().filter(|live| live.principal == principal);
        let mut of_person: Vec<_> =
            of_person.map(|live| (live.grant.refresh_expires_at, live.grant.id.clone())).collect();
        if of_person.len() >= MAX_GRANTS_OF_PERSON {
            of_person.sort();
            removed.extend(of_person.into_iter().take(1).map(|(_, id)| id));
        }
        removed.iter().for_each(|id| drop(tables.remove(id)));
        if tables.by_id.len() >= MAX_GRANTS {
            return Err(GrantError::Full);
        }
        let now = unix_time();
        let grant = Grant {
            id,
            client_id,
            resource,
            scopes: scopes.clone(),
            claims,
            created_at: now,
            refresh_token: hash(secret.expose()),
            refresh_expires_at: now + self.lifetimes.refresh_token.as_secs(),
            access_tokens: vec![(hash(access_token.expose()), now + self.lifetimes.access_token.as_secs())],
        };
        let revoked = CancellationToken::new();
        tables.insert(Live { grant, principal, rights, revoked, is_saved: false });
        let expires_in = self.lifetimes.access_token.as_secs();
        Ok((IssuedTokens { access_token, refresh_token, expires_in, scopes }, removed))
    }

    /// Replaces a refresh token, in memory; [`save`](Self::save) must follow before the new one is sent, also after an error.
    pub(super) fn refresh(
        &self,
        token: &str,
        client_id: &str,
        scopes: Option<&Scopes>,
    ) -> (Option<GrantId>, Result<IssuedTokens, GrantError>) {
        let Some((id, secret)) = parse_refresh_token(token) else { return (None, Err(GrantError::Invalid)) };
        let (new_secret, access_token) = match (Credential::random(), new_access_token()) {
            (Ok(secret), Ok(token)) => (secret, token),
            _ => return (None, Err(NoRandomNumbers.into())),
        };
        let mut tables = self.tables.write();
        let Some(live) = tables.by_id.get_mut(&id) else { return (None, Err(GrantError::Invalid)) };
        if live.grant.client_id != client_id {
            return (None, Err(GrantError::Invalid));
        }
        if live.grant.refresh_token != hash(secret) {
            tracing::warn!(principal = %live.principal, client_id, "a refresh token was used twice; the login ends");
            tables.remove(&id);
            return (Some(id), Err(GrantError::Reused));
        }
        let now = unix_time();
        if now >= self.ends_at(&live.grant) {
            tables.remove(&id);
            return (Some(id), Err(GrantError::Expired));
        }
        if scopes.is_some_and(|scopes| !live.grant.scopes.includes(scopes)) {
            return (None, Err(GrantError::Scope));
        }
        let expires_in = self.lifetimes.access_token.as_secs();
        live.grant.refresh_token = hash(new_secret.expose());
        live.grant.refresh_expires_at = now + self.lifetimes.refresh_token.as_secs();
        live.grant.access_tokens.push((hash(access_token.expose()), now + expires_in));
        let surplus = live.grant.access_tokens.len().saturating_sub(MAX_ACCESS_TOKENS);
        let old: Vec<_> = live.grant.access_tokens.drain(..surplus).collect();
        let (granted, access) = (live.grant.scopes.clone(), live.accesses());
        old.iter().for_each(|(hash, _)| drop(tables.by_token.remove(hash)));
        tables.by_token.extend(access);
        let refresh_token = refresh_token(&id, &new_secret);
        (Some(id), Ok(IssuedTokens { access_token, refresh_token, expires_in, scopes: granted }))
    }

    /// Finds the grant of a token of either kind, if it belongs to this client.
    pub(super) fn find(&self, token: &str, client_id: &str) -> Option<GrantId> {
        let tables = self.tables.read();
        let id = match parse_refresh_token(token) {
            Some((id, secret)) => {
                tables.by_id.get(&id).filter(|live| live.grant.refresh_token == hash(secret)).map(|_| id)
            }
            None => {
                let hash = hash(token);
                let has_it = |live: &&Live| live.grant.access_tokens.iter().any(|(one, _)| *one == hash);
                tables.by_id.values().find(has_it).map(|live| live.grant.id.clone())
            }
        };
        id.filter(|id| tables.by_id.get(id).is_some_and(|live| live.grant.client_id == client_id))
    }

    /// Ends a grant: its tokens are refused, and what they opened is closed. [`save`](Self::save) must follow.
    pub(super) fn revoke(&self, id: &GrantId) {
        if let Some(live) = self.tables.write().remove(id) {
            tracing::info!(principal = %live.principal, client_id = live.grant.client_id, "a login ends");
        }
    }

    /// Writes a grant as it is now, or removes its file. If that fails, what is in the file counts again.
    pub(super) async fn save(self: &Arc<Self>, id: &GrantId) -> io::Result<()> {
        let (this, id) = (self.clone(), id.clone());
        files::blocking(move || {
            let _disk = this.disk.lock();
            let grant = this.tables.read().by_id.get(&id).map(|live| live.grant.clone());
            let path = this.path(&id);
            let Some(grant) = grant else { return files::remove(&path) };
            let written = files::write(&path, &grant);
            let before = if written.is_err() {
                files::read::<Grant>(&path, MAX_FILE).unwrap_or_default()
            } else {
                None
            };
            let mut tables = this.tables.write();
            if let Some(live) = tables.by_id.get_mut(&id) {
                live.is_saved = true;
            }
            if written.is_err() {
                tables.restore(&id, before);
            }
            written
        })
        .await
    }

    /// Ends grants whose files are gone, and forgets what has expired.
    pub(super) async fn maintain(self: &Arc<Self>) -> io::Result<()> {
        let this = self.clone();
        files::blocking(move || {
            let mut disk = this.disk.lock();
            let changed_at = fs::metadata(&this.directory)?.modified()?;
            // A change right after the last one may have the same time.
            let is_recent = changed_at.elapsed().is_ok_and(|age| age < Duration::from_secs(2));
            if *disk != Some(changed_at) || is_recent {
                this.end_removed()?;
                *disk = Some(changed_at);
            }
            let now = unix_time();
            let is_over = |live: &&Live| now >= this.ends_at(&live.grant);
            let over: Vec<GrantId> =
                this.tables.read().by_id.values().filter(is_over).map(|live| live.grant.id.clone()).collect();
            for id in over {
                this.revoke(&id);
                files::remove(&this.path(&id))?;
            }
            let clock = SystemTime::now();
            this.tables
                .write()
                .by_token
                .retain(|_, access| access.expires.is_none_or(|expires| clock < expires));
            Ok(())
        })
        .await
    }

    fn end_removed(&self) -> io::Result<()> {
        let files: HashSet<PathBuf> = fs::read_dir(&self.directory)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<io::Result<_>>()?;
        let is_gone = |live: &&Live| live.is_saved && !files.contains(&self.path(&live.grant.id));
        let gone: Vec<GrantId> =
            self.tables.read().by_id.values().filter(is_gone).map(|live| live.grant.id.clone()).collect();
        gone.iter().for_each(|id| self.revoke(id));
        Ok(())
    }

    fn ends_at(&self, grant: &Grant) -> u64 {
        grant.refresh_expires_at.min(grant.created_at + self.lifetimes.login.as_secs())
    }

    fn path(&self, id: &GrantId) -> PathBuf {
        // Its hash: the name is part of tokens, and lists of files are not secret.
        self.directory.join(format!("{}.json", hex(&hash(&id.0)[..16])))
    }
}

impl Tables {
    fn insert(&mut self, live: Live) {
        self.by_token.extend(live.accesses());
        self.by_id.insert(live.grant.id.clone(), live);
    }

    fn remove(&mut self, id: &GrantId) -> Option<Live> {
        let live = self.by_id.remove(id)?;
        live.grant.access_tokens.iter().for_each(|(hash, _)| drop(self.by_token.remove(hash)));
        live.revoked.cancel();
        Some(live)
    }

    /// Makes a grant what it was before; without that, there was none.
    fn restore(&mut self, id: &GrantId, before: Option<Grant>) {
        let Some(before) = before else { return drop(self.remove(id)) };
        let Some(live) = self.by_id.get_mut(id) else { return };
        let failed = std::mem::replace(&mut live.grant, before);
        let accesses = live.accesses();
        failed.access_tokens.iter().for_each(|(hash, _)| drop(self.by_token.remove(hash)));
        self.by_token.extend(accesses);
    }
}

impl Live {
    /// What its principal may do at the resource that it is for: the endpoint of a profile gives that profile.
    fn rights_at_resource(&self) -> Rights {
        let of_resource = profile_of_endpoint(&self.grant.resource).map(Into::into);
        Rights { profile: self.rights.profile.clone().or(of_resource), ..self.rights.clone() }
    }

    /// What each of its access tokens gives.
    fn accesses(&self) -> Vec<(TokenHash, Arc<Access>)> {
        let access = |expires_at: u64| Access {
            principal: self.principal.clone(),
            rights: self.rights_at_resource(),
            expires: Some(system_time(expires_at)),
            revoked: self.revoked.clone(),
        };
        self.grant
            .access_tokens
            .iter()
            .map(|(hash, expires_at)| (*hash, Arc::new(access(*expires_at))))
            .collect()
    }
}

fn new_access_token() -> Result<Credential, NoRandomNumbers> {
    Ok(Credential::new(format!("{ACCESS_TOKEN}{}", Credential::random()?.expose())))
}

fn refresh_token(id: &GrantId, secret: &Credential) -> Credential {
    Credential::new(format!("{REFRESH_TOKEN}{}.{}", id.0, secret.expose()))
}

fn parse_refresh_token(token: &str) -> Option<(GrantId, &str)> {
    let (id, secret) = token.strip_prefix(REFRESH_TOKEN)?.split_once('.')?;
    Some((GrantId(id.to_owned()), secret))
}
