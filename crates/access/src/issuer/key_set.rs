//! The keys of an issuer, read from it and kept.

use std::{
    collections::HashMap,
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::{
    FutureExt as _,
    future::{BoxFuture, Shared},
};
use http::{HeaderValue, Request, StatusCode, header::ACCEPT};
use parking_lot::Mutex;
use tokio_util::task::TaskTracker;
use toolbay_oauth::{AuthorizationServer, Fetch};

use super::{
    IssuerStatus,
    jwk::{Algorithm, VerificationKey, parse_key_set},
};
use crate::authenticator::Refusal;

/// Keys are read again when they are older, while those that are known stay in use.
const REFRESH_AFTER: Duration = Duration::from_secs(10 * 60);
/// Keys that could not be read again for so long are not used any more: the issuer may have withdrawn them.
const MAX_AGE: Duration = Duration::from_secs(24 * 3600);
/// How long to wait after the first failure; it doubles with each.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(60);
/// How often keys may be read again at once because tokens name unknown ones.
const REFETCHES: u32 = 4;
/// How long until one of these is allowed again.
const REFETCH_AFTER: Duration = Duration::from_secs(15);
/// How long a key stays unknown without asking the issuer.
const UNKNOWN_FOR: Duration = Duration::from_secs(5 * 60);
/// How many unknown keys are remembered.
const MAX_UNKNOWN: usize = 256;

/// The keys of an issuer.
///
/// One task at a time reads them; all who need it wait for the same. Invariant: however many tokens arrive and whatever keys they
/// name, the issuer is asked at most [`REFETCHES`] times at once and once per [`REFETCH_AFTER`] after that.
pub(super) struct KeySet {
    issuer: String,
    /// Where the keys are, if the configuration says so.
    url: Option<String>,
    fetch: Arc<dyn Fetch>,
    tasks: TaskTracker,
    state: Mutex<KeyState>,
}

struct KeyState {
    keys: Option<(Vec<Arc<VerificationKey>>, Instant)>,
    /// Where the metadata says that the keys are.
    found_url: Option<String>,
    failures: u32,
    error: Option<String>,
    retry_at: Instant,
    refetches: Refetches,
    unknown: HashMap<String, Instant>,
    reading: Option<KeyReading>,
}

/// The end of the task that reads keys.
type KeyReading = Shared<BoxFuture<'static, ()>>;

enum Lookup {
    Found(Vec<Arc<VerificationKey>>),
    Wait(KeyReading),
    Unknown,
    Unavailable,
}

impl KeySet {
    pub(super) fn new(issuer: &str, url: Option<String>, fetch: Arc<dyn Fetch>, tasks: TaskTracker) -> Self {
        let now = Instant::now();
        let state = KeyState {
            keys: None,
            found_url: None,
            failures: 0,
            error: None,
            retry_at: now,
            refetches: Refetches { left: REFETCHES, since: now },
            unknown: HashMap::new(),
            reading: None,
        };
        Self { issuer: issuer.to_owned(), url, fetch, tasks, state: Mutex::new(state) }
    }

    /// Begins to read the keys.
    pub(super) fn prepare(self: &Arc<Self>) {
        drop(self.start(&mut self.state.lock()));
    }

    pub(super) fn status(&self) -> IssuerStatus {
        let state = self.state.lock();
        let keys = state.keys.as_ref().map_or(0, |(keys, _)| keys.len());
        IssuerStatus { keys: Some(keys), failures: state.failures, error: state.error.clone() }
    }

    /// The keys that a token may have been signed with: the one that it names, else all of its kind.
    pub(super) async fn find(
        self: &Arc<Self>,
        id: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<Vec<Arc<VerificationKey>>, Refusal> {
        let mut lookup = self.look_up(id, algorithm, Attempt::First);
        if let Lookup::Wait(reading) = lookup {
            reading.await;
            lookup = self.look_up(id, algorithm, Attempt::AfterReading);
        }
        match lookup {
            Lookup::Found(keys) => Ok(keys),
            Lookup::Unknown => {
                Err(Refusal::InvalidToken("the token is signed with an unknown key".to_owned()))
            }
            Lookup::Wait(_) | Lookup::Unavailable => Err(Refusal::Unavailable(format!(
                "the keys of the issuer {} cannot be read now; try again later",
                self.issuer
            ))),
        }
    }

    fn look_up(self: &Arc<Self>, id: Option<&str>, algorithm: Algorithm, attempt: Attempt) -> Lookup {
        let mut state = self.state.lock();
        let now = Instant::now();
        let known = state.keys.as_ref().filter(|(_, read)| now.duration_since(*read) < MAX_AGE);
        let Some((keys, read)) = known else {
            return match attempt {
                Attempt::First if now >= state.retry_at => Lookup::Wait(self.start(&mut state)),
                Attempt::First => state.running().map_or(Lookup::Unavailable, Lookup::Wait),
                Attempt::AfterReading => Lookup::Unavailable,
            };
        };
        let found: Vec<_> = keys.iter().filter(|key| key.matches(id, algorithm)).cloned().collect();
        if !found.is_empty() {
            if now.duration_since(*read) >= REFRESH_AFTER && now >= state.retry_at {
                drop(self.start(&mut state));
            }
            return Lookup::Found(found);
        }
        let named = id.unwrap_or_default();
        if state.unknown.get(named).is_some_and(|until| *until > now) {
            return Lookup::Unknown;
        }
        match attempt {
            Attempt::AfterReading if state.failures > 0 => Lookup::Unavailable,
            Attempt::AfterReading => {
                state.remember_unknown(named, now);
                Lookup::Unknown
            }
            Attempt::First => match state.running() {
                Some(reading) => Lookup::Wait(reading),
                None if state.failures > 0 && now < state.retry_at => Lookup::Unavailable,
                None if state.refetches.take(now) => Lookup::Wait(self.start(&mut state)),
                None => Lookup::Unknown,
            },
        }
    }

    /// Reads the keys in a task of its own, so that the end of a request does not end it.
    fn start(self: &Arc<Self>, state: &mut KeyState) -> KeyReading {
        if let Some(reading) = state.running() {
            return reading;
        }
        let keys = self.clone();
        let task = self.tasks.spawn(async move { keys.read().await });
        let reading = task.map(|_| ()).boxed().shared();
        state.reading = Some(reading.clone());
        reading
    }

    async fn read(&self) {
        let known_url = self.url.clone().or_else(|| self.state.lock().found_url.clone());
        let found = match known_url {
            Some(url) => self.read_from(url).await,
            None => match self.discover().await {
                Ok(url) => self.read_from(url).await,
                Err(error) => Err(error),
            },
        };
        let now = Instant::now();
        let mut state = self.state.lock();
        state.reading = None;
        match found {
            Ok((url, keys)) => {
                if state.failures > 0 {
                    tracing::info!(issuer = self.issuer, "the keys of the issuer can be read again");
                }
                (state.failures, state.error, state.found_url) = (0, None, Some(url));
                state.retry_at = now;
                state.keys = Some((keys.into_iter().map(Arc::new).collect(), now));
            }
            Err(error) => {
                let pause = FIRST_RETRY.saturating_mul(1 << state.failures.min(6)).min(LONGEST_RETRY);
                state.failures = state.failures.saturating_add(1);
                state.retry_at = now + pause;
                // It may have moved.
                state.found_url = None;
                if state.failures == 1 {
                    let kept = state.keys.as_ref().map_or(0, |(keys, _)| keys.len());
                    tracing::warn!(
                        issuer = self.issuer,
                        "cannot read the keys of the issuer: {error}; {kept} keys that are known stay in use"
                    );
                }
                state.error = Some(error);
            }
        }
    }

    async fn discover(&self) -> Result<String, String> {
        let metadata = AuthorizationServer::of_issuer(self.fetch.as_ref(), &self.issuer).await;
        let metadata = metadata.map_err(|error| error.to_string())?;
        metadata.jwks_uri.ok_or_else(|| {
            "its metadata names no keys (`jwks_uri`); set `jwks_url` or `introspection` in `[auth]`"
                .to_owned()
        })
    }

    async fn read_from(&self, url: String) -> Result<(String, Vec<VerificationKey>), String> {
        let mut request = Request::new(Bytes::new());
        *request.uri_mut() = url.parse().map_err(|_| format!("{url} is not a valid URL"))?;
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
        let response = self.fetch.fetch(request).await.map_err(|error| error.to_string())?;
        if response.status() != StatusCode::OK {
            return Err(format!("{url} returned status {}", response.status()));
        }
        let keys = parse_key_set(response.body()).map_err(|error| format!("{url} has {error}"))?;
        Ok((url, keys))
    }
}

#[derive(Debug, Clone, Copy)]
enum Attempt {
    First,
    AfterReading,
}

impl KeyState {
    fn running(&self) -> Option<KeyReading> {
        self.reading.clone().filter(|reading| reading.peek().is_none())
    }

    fn remember_unknown(&mut self, id: &str, now: Instant) {
        if self.unknown.len() >= MAX_UNKNOWN {
            self.unknown.retain(|_, until| *until > now);
        }
        if self.unknown.len() < MAX_UNKNOWN {
            self.unknown.insert(id.to_owned(), now + UNKNOWN_FOR);
        }
    }
}

/// How often keys may still be read again for unknown ones.
#[derive(Debug)]
struct Refetches {
    left: u32,
    /// When the last of them was given back, or the first was taken.
    since: Instant,
}

impl Refetches {
    fn take(&mut self, now: Instant) -> bool {
        let back = now.duration_since(self.since).as_secs() / REFETCH_AFTER.as_secs();
        if back > 0 {
            self.left = REFETCHES.min(self.left.saturating_add(u32::try_from(back).unwrap_or(u32::MAX)));
            self.since = now;
        }
        let is_allowed = self.left > 0;
        self.left = self.left.saturating_sub(1);
        is_allowed
    }
}

impl fmt::Debug for KeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeySet").field("issuer", &self.issuer).field("url", &self.url).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refetches_are_given_back_slowly() {
        let mut now = Instant::now();
        let mut refetches = Refetches { left: REFETCHES, since: now };
        let taken = |refetches: &mut Refetches, now| (0..100).filter(|_| refetches.take(now)).count();
        assert_eq!(taken(&mut refetches, now), REFETCHES as usize);
        now += REFETCH_AFTER;
        assert_eq!(taken(&mut refetches, now), 1);
        now += REFETCH_AFTER * 1000;
        assert_eq!(taken(&mut refetches, now), REFETCHES as usize);
    }
}
