//! All sessions.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;
use toolbay_access::Access;

use crate::{
    connected_clients::{ClientTransport, ConnectedClient, name_of},
    security::principal_usage::UsageGuard,
    session::Session,
};

/// When there are too many, this part of them may end at once: looking for them again and again costs too much.
const ROOM: usize = 16;

/// Sessions by their ids, which cannot be guessed.
#[derive(Debug)]
pub(crate) struct Sessions {
    limit: usize,
    idle: Duration,
    by_id: Mutex<HashMap<SessionId, RegisteredSession>>,
}

/// A session, which counts for its principal as long as it is here.
#[derive(Debug)]
struct RegisteredSession {
    session: Arc<Session>,
    _usage: UsageGuard,
}

/// 128 random bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SessionId(u128);

impl SessionId {
    /// A random id; nothing when the system has no randomness.
    pub(crate) fn random() -> Option<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).ok()?;
        Some(Self(u128::from_ne_bytes(bytes)))
    }

    /// Reads an id as we write it, and nothing else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        // In halves: arithmetic on 128 bits is slow.
        let (halves, []) = text.as_bytes().as_chunks::<16>() else { return None };
        let [high, low] = halves else { return None };
        Some(Self(u128::from(half(high)?) << 64 | u128::from(half(low)?)))
    }
}

/// Ends up to `count` of the sessions that were never used and are not in use; returns whether there were any.
fn evict(by_id: &mut HashMap<SessionId, RegisteredSession>, count: usize) -> bool {
    let unused = |(id, RegisteredSession { session, .. }): (&SessionId, &RegisteredSession)| {
        let since = session.unused_since().filter(|_| Arc::strong_count(session) == 1)?;
        Some((since, *id))
    };
    let mut unused: Vec<(Instant, SessionId)> = by_id.iter().filter_map(unused).collect();
    unused.sort_unstable_by_key(|(since, _)| *since);
    unused.truncate(count);
    for (_, id) in &unused {
        if let Some(removed) = by_id.remove(id) {
            removed.session.end();
        }
    }
    !unused.is_empty()
}

/// What 16 digits mean.
fn half(digits: &[u8; 16]) -> Option<u64> {
    digits.iter().try_fold(0, |number, digit| {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(number << 4 | u64::from(value))
    })
}

impl std::fmt::Display for SessionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl Sessions {
    pub(crate) fn new(limit: usize, idle: Duration) -> Self {
        Self { limit, idle, by_id: Mutex::default() }
    }

    /// Adds a session. If there are too many, sessions end that were never used, those that wait longest first; nothing if
    /// there are none.
    pub(crate) fn add(&self, session: Arc<Session>, usage: UsageGuard) -> Option<SessionId> {
        let id = SessionId::random()?;
        let mut by_id = self.by_id.lock();
        if by_id.len() >= self.limit && !evict(&mut by_id, (self.limit / ROOM).max(1)) {
            return None;
        }
        by_id.insert(id, RegisteredSession { session, _usage: usage });
        Some(id)
    }

    /// The session with that id, if it belongs to the principal who asks.
    pub(crate) fn get(&self, id: SessionId, access: &Arc<Access>) -> Option<Arc<Session>> {
        let session = self.by_id.lock().get(&id)?.session.clone();
        session.belongs_to(access).then_some(session)
    }

    /// Ends a session; says whether there was one.
    pub(crate) fn end(&self, id: SessionId) -> bool {
        match self.by_id.lock().remove(&id) {
            Some(removed) => {
                removed.session.end();
                true
            }
            None => false,
        }
    }

    /// The clients that have a session, in the order in which they came.
    pub(crate) fn clients(&self) -> Vec<ConnectedClient> {
        let sessions: Vec<Arc<Session>> =
            self.by_id.lock().values().map(|known| known.session.clone()).collect();
        let client = |session: &Arc<Session>| ConnectedClient {
            name: name_of(session.identity().0.info()),
            transport: ClientTransport::Http,
            principal: session.access().principal.clone(),
            pid: None,
            root: None,
            since: session.since,
        };
        let mut clients: Vec<ConnectedClient> = sessions.iter().map(client).collect();
        clients.sort_by_key(|client| client.since);
        clients
    }

    pub(crate) fn len(&self) -> usize {
        self.by_id.lock().len()
    }

    /// Ends sessions that are idle for too long.
    pub(crate) fn sweep(&self) {
        let idle = self.idle;
        self.by_id.lock().retain(|_, RegisteredSession { session, .. }| {
            // A stream or a request that holds it keeps it in use, however quiet.
            let keep = Arc::strong_count(session) > 1 || session.last_used().elapsed() < idle;
            if !keep {
                session.end();
            }
            keep
        });
    }
}
