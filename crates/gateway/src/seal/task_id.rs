//! Ids of tasks as clients get them.

use std::{fmt, path::PathBuf, sync::OnceLock};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use chacha20poly1305::{
    KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Payload},
};
use sha2::{Digest, Sha256};
use toolbay_protocol::ServerName;

use crate::{
    seal::key,
    tasks::{Task, TaskProtocol},
};

const NONCE: usize = 24;

/// Seals ids of tasks and opens them.
///
/// The same task always has the same id, so that clients can compare them: the nonce is made of what is sealed. That
/// is safe, because one nonce then never stands for two texts.
pub(crate) struct TaskSeal {
    file: Option<PathBuf>,
    /// Made on first use, so that hubs without tasks leave no trace; nothing when the system has no randomness.
    keys: OnceLock<Option<Keys>>,
}

struct Keys {
    cipher: XChaCha20Poly1305,
    nonces: [u8; 32],
}

/// The id was not given out by us, or not to this client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InvalidTaskId;

impl Keys {
    fn of(key: &[u8; 32]) -> Self {
        let derived = |purpose: &[u8]| <[u8; 32]>::from(Sha256::digest([&key[..], purpose].concat()));
        Self {
            cipher: XChaCha20Poly1305::new(&derived(b"toolbay task id").into()),
            nonces: derived(b"toolbay task nonce"),
        }
    }
}

impl TaskSeal {
    /// With the key in a file, so that ids outlive this process; without one, or where it cannot be used, with a key
    /// that ends with it.
    pub(crate) fn new(file: Option<PathBuf>) -> Self {
        Self { file, keys: OnceLock::new() }
    }

    fn keys(&self) -> Option<&Keys> {
        let made = self.keys.get_or_init(|| {
            let kept = self.file.as_ref().and_then(|file| match key::kept_in(file) {
                Ok(key) => Some(key),
                Err(error) => {
                    let file = file.display();
                    tracing::warn!(
                        "cannot use the key in {file} ({error}); task ids are valid until the hub exits"
                    );
                    None
                }
            });
            kept.or_else(|| key::random().ok()).map(|key| Keys::of(&key))
        });
        made.as_ref()
    }

    /// The id that `principal` gets.
    pub(crate) fn close(&self, task: &Task, principal: &str) -> Option<String> {
        let keys = self.keys()?;
        let kind = match task.kind {
            TaskProtocol::Extension => 'x',
            TaskProtocol::Experiment => 'e',
        };
        let content = serde_json::to_vec(&(kind, task.server.as_str(), &task.id)).ok()?;
        let mut digest = Sha256::new_with_prefix(keys.nonces);
        digest.update(Sha256::digest(principal));
        digest.update(&content);
        let nonce = *<[u8; 32]>::from(digest.finalize()).first_chunk::<NONCE>()?;
        let payload = Payload { msg: &content, aad: principal.as_bytes() };
        let sealed = keys.cipher.encrypt(&XNonce::from(nonce), payload).ok()?;
        Some(URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat()))
    }

    /// The task behind an id that `principal` brought.
    pub(crate) fn open(&self, id: &str, principal: &str) -> Result<Task, InvalidTaskId> {
        let bytes = URL_SAFE_NO_PAD.decode(id).map_err(|_| InvalidTaskId)?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE>().ok_or(InvalidTaskId)?;
        let payload = Payload { msg: sealed, aad: principal.as_bytes() };
        let content = self
            .keys()
            .ok_or(InvalidTaskId)?
            .cipher
            .decrypt(&XNonce::from(*nonce), payload)
            .map_err(|_| InvalidTaskId)?;
        let (kind, server, id): (char, String, String) =
            serde_json::from_slice(&content).map_err(|_| InvalidTaskId)?;
        let kind = match kind {
            'x' => TaskProtocol::Extension,
            'e' => TaskProtocol::Experiment,
            _ => return Err(InvalidTaskId),
        };
        Ok(Task { server: ServerName::new(server), kind, id })
    }
}

impl fmt::Debug for TaskSeal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TaskSeal") // never its key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seal(key: u8) -> TaskSeal {
        TaskSeal { file: None, keys: OnceLock::from(Some(Keys::of(&[key; 32]))) }
    }

    fn task(server: &str, id: &str) -> Task {
        Task { server: ServerName::new(server), kind: TaskProtocol::Extension, id: format!("\"{id}\"") }
    }

    #[test]
    fn the_same_task_has_the_same_id_and_any_other_another() {
        let ours = seal(7);
        let id = ours.close(&task("s", "1"), "local").unwrap();
        assert_eq!(ours.close(&task("s", "1"), "local").unwrap(), id);
        assert_eq!(seal(7).open(&id, "local"), Ok(task("s", "1")), "after a restart");
        let experiment = Task { kind: TaskProtocol::Experiment, ..task("s", "1") };
        let others = [task("s", "2"), task("t", "1"), experiment];
        for other in &others {
            let other_id = ours.close(other, "local").unwrap();
            assert_ne!(other_id[..32], id[..32], "the nonces differ");
            assert_eq!(ours.open(&other_id, "local").as_ref(), Ok(other));
        }
        assert_ne!(ours.close(&task("s", "1"), "someone").unwrap()[..32], id[..32]);
    }

    #[test]
    fn what_is_not_ours_does_not_open() {
        let ours = seal(7);
        let id = ours.close(&task("s", "1"), "local").unwrap();
        assert_eq!(ours.open(&id, "someone"), Err(InvalidTaskId), "someone else's");
        assert_eq!(seal(8).open(&id, "local"), Err(InvalidTaskId), "another key");
        assert_eq!(TaskSeal::new(None).open(&id, "local"), Err(InvalidTaskId), "a new key");
        for index in 0..id.len() {
            let mut changed = id.clone().into_bytes();
            changed[index] = if changed[index] == b'A' { b'B' } else { b'A' };
            assert_eq!(
                ours.open(std::str::from_utf8(&changed).unwrap(), "local"),
                Err(InvalidTaskId),
                "{index}"
            );
        }
        for id in ["", "1", &id[1..], &format!("{id}A")] {
            assert_eq!(ours.open(id, "local"), Err(InvalidTaskId), "{id}");
        }
    }
}
