//! Tokens that the hub issues (`toolbay token create`).
//!
//! [`TokenFile`] is the file with their hashes, which commands change. [`HubTokens`] is what a running hub knows of it: it
//! follows the file, so a token that is revoked there is refused within a second, and all that it opened is closed.

mod file;
mod token;

pub use self::{
    file::{HubToken, TokenFile, TokenFileError},
    token::{InvalidTokenName, NewToken, TokenName},
};

use std::{
    collections::HashMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};

use arc_swap::ArcSwap;
use futures_util::future::{BoxFuture, ready};
use parking_lot::Mutex;
use tokio::{task::spawn_blocking, time::sleep};
use tokio_util::sync::CancellationToken;

use self::file::FileStamp;
use crate::{
    authenticator::{Access, Authenticator, Refusal},
    owner_token::TokenDigest,
    principal::Principal,
    seen_tokens::SeenTokens,
};

/// How often the file is looked at. A revocation counts within a second.
const LOOK: Duration = Duration::from_millis(300);

/// The tokens of a running hub.
///
/// They are in use as soon as there is a file of tokens, and from then on, also when all of them were revoked.
#[derive(Debug)]
pub struct HubTokens {
    file: TokenFile,
    is_in_use: AtomicBool,
    /// Cancelled when they come into use.
    put_in_use: CancellationToken,
    /// Invariant: contains no token that is revoked; one that has expired is taken out by the next look.
    known: ArcSwap<KnownTokens>,
    /// The file that was read last.
    stamp: Mutex<Option<FileStamp>>,
}

/// The tokens of one version of the file.
#[derive(Debug, Default)]
struct KnownTokens {
    by_digest: HashMap<TokenDigest, Arc<Access>>,
    /// Those that were used since.
    seen: SeenTokens<Arc<Access>>,
}

impl KnownTokens {
    fn new(by_digest: HashMap<TokenDigest, Arc<Access>>) -> Arc<Self> {
        Arc::new(Self { by_digest, seen: SeenTokens::default() })
    }

    fn get(&self, token: &str) -> Option<Arc<Access>> {
        if let Some(seen) = self.seen.get(token) {
            return Some(seen);
        }
        let access = self.by_digest.get(&TokenDigest::of(token))?.clone();
        self.seen.insert(token, access.clone());
        Some(access)
    }
}

impl HubTokens {
    /// Reads the tokens of a file, which need not exist yet.
    ///
    /// # Errors
    /// If it cannot be read. A hub must not start then: it would refuse everyone, or no one.
    pub fn open(path: &Path) -> Result<Arc<Self>, TokenFileError> {
        let tokens = Self {
            file: TokenFile::at(path),
            is_in_use: AtomicBool::new(false),
            put_in_use: CancellationToken::new(),
            known: ArcSwap::default(),
            stamp: Mutex::default(),
        };
        tokens.look()?;
        Ok(Arc::new(tokens))
    }

    /// Follows the file until `stop`, and ends what expires. Of a file that cannot be read, the last valid version stays in
    /// effect.
    pub async fn follow(self: Arc<Self>, stop: CancellationToken) {
        let mut is_broken = false;
        loop {
            tokio::select! {
                () = sleep(LOOK) => {}
                () = stop.cancelled() => return,
            }
            let tokens = self.clone();
            // A file may be on a disk that does not answer.
            let looked = spawn_blocking(move || tokens.look()).await;
            match looked {
                Ok(Err(error)) if !is_broken => {
                    is_broken = true;
                    let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
                    tracing::warn!(
                        "{error}{}; the tokens that were read before stay valid",
                        cause.unwrap_or_default()
                    );
                }
                Ok(Ok(())) => is_broken = false,
                Ok(Err(_)) | Err(_) => {}
            }
        }
    }

    /// Reads the file if it has changed, and takes out what has expired.
    fn look(&self) -> Result<(), TokenFileError> {
        let stamp = self.file.stamp()?;
        if stamp.is_some() && stamp != *self.stamp.lock() {
            self.replace(&self.file.read()?);
            self.is_in_use.store(true, Ordering::Release);
            self.put_in_use.cancel();
        } else if stamp.is_none() && self.is_in_use.load(Ordering::Acquire) {
            self.replace(&[]); // the file was removed, and all tokens with it
        } else if self.known.load().by_digest.values().any(|access| access.is_over()) {
            self.retain_valid();
        }
        *self.stamp.lock() = stamp;
        Ok(())
    }

    /// Takes over the tokens of a file. Those that are not in it any more, or have other rights now, are revoked.
    fn replace(&self, tokens: &[HubToken]) {
        let before = self.known.load_full();
        let now = SystemTime::now();
        let is_valid = |token: &&HubToken| token.expires.is_none_or(|expires| expires > now);
        let entry = |token: &HubToken| {
            let (principal, rights) = (Principal::hub_token(token.name.as_str()), &token.rights);
            let same = before.by_digest.get(&token.digest).filter(|known| {
                known.principal == principal && known.rights == *rights && known.expires == token.expires
            });
            let access = same.cloned().unwrap_or_else(|| {
                Arc::new(Access {
                    principal,
                    rights: rights.clone(),
                    expires: token.expires,
                    revoked: CancellationToken::new(),
                })
            });
            (token.digest, access)
        };
        let known: HashMap<TokenDigest, Arc<Access>> = tokens.iter().filter(is_valid).map(entry).collect();
        let is_kept = |digest, access| known.get(digest).is_some_and(|kept| Arc::ptr_eq(kept, access));
        let gone: Vec<Arc<Access>> = before
            .by_digest
            .iter()
            .filter(|(digest, access)| !is_kept(digest, access))
            .map(|(_, access)| access.clone())
            .collect();
        // First, so that nothing new is opened with them.
        self.known.store(KnownTokens::new(known));
        gone.iter().for_each(|access| access.revoked.cancel());
    }

    fn retain_valid(&self) {
        let mut known = self.known.load().by_digest.clone();
        let gone: Vec<Arc<Access>> =
            known.extract_if(|_, access| access.is_over()).map(|(_, access)| access).collect();
        self.known.store(KnownTokens::new(known));
        gone.iter().for_each(|access| access.revoked.cancel());
    }
}

impl Authenticator for HubTokens {
    fn is_in_use(&self) -> bool {
        self.is_in_use.load(Ordering::Acquire)
    }

    fn put_in_use(&self) -> Option<CancellationToken> {
        Some(self.put_in_use.clone())
    }

    fn known(&self, token: &str) -> Option<Arc<Access>> {
        if !token.starts_with(NewToken::PREFIX) {
            return None;
        }
        let access = self.known.load().get(token)?;
        (access.expires.is_none() || !access.is_over()).then_some(access)
    }

    fn authenticate<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Option<Result<Arc<Access>, Refusal>>> {
        let found = token.starts_with(NewToken::PREFIX).then(|| {
            self.known(token).ok_or_else(|| {
                let message = match NewToken::is_complete(token) {
                    true => "this token of the hub was revoked, has expired, or belongs to another hub",
                    false => "this token of the hub is incomplete or mistyped",
                };
                Refusal::InvalidToken(message.to_owned())
            })
        });
        Box::pin(ready(found))
    }
}

#[cfg(test)]
mod tests;
