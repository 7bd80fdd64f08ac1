//! State that clients carry for us.
//!
//! It is encrypted and bound to the request it was made for, so that a client can neither read nor change it, nor
//! hand it in with another request. The key is valid as long as the process, and so is everything it seals.

pub(crate) mod key;
pub(crate) mod task_id;

use std::{collections::BTreeMap, fmt, time::Duration};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use chacha20poly1305::{
    KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Payload},
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use tokio::time::Instant;
use toolbay_protocol::{MethodCall, decode_string, encode_string};

const NONCE: usize = 24;

/// Seals and opens.
pub(crate) struct StateSeal {
    cipher: XChaCha20Poly1305,
    started: Instant,
}

/// What a client carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SealedContent {
    /// A suspended call, and which of its exchanges.
    Suspended { id: u64, exchange: u32 },
    /// What a rule wants a person to allow, by its number.
    Approval { id: u64 },
    /// The state of a server, as JSON text.
    Upstream { server: String, state: String },
}

#[derive(Serialize, Deserialize)]
struct Content {
    /// When it ends, in milliseconds since the seal was made.
    until: u64,
    carried: SealedContent,
}

/// The text was not sealed by us, has expired, or belongs to another request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InvalidSeal;

/// The request that something is sealed for: who asks, what, with which arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Binding([u8; 32]);

impl Binding {
    /// Of a request of `principal`. A retry adds to its parameters, so only those that say what is wanted count.
    pub(crate) fn of(principal: &str, call: &MethodCall) -> Self {
        let mut text = String::new();
        for part in [principal, call.method()] {
            text.push_str(&encode_string(part));
        }
        for name in ["name", "uri", "arguments"] {
            text.push('\n');
            if let Some(span) = call.param(name) {
                canonical(call.raw(span), &mut text);
            }
        }
        Self(Sha256::digest(text).into())
    }
}

impl StateSeal {
    /// A seal with a new key; nothing when the system has no randomness.
    pub(crate) fn new() -> Result<Self, getrandom::Error> {
        let mut key = [0; 32];
        getrandom::fill(&mut key)?;
        Ok(Self { cipher: XChaCha20Poly1305::new(&key.into()), started: Instant::now() })
    }

    /// Text for a client to carry until `lasts` is over.
    pub(crate) fn close(&self, carried: SealedContent, lasts: Duration, binding: &Binding) -> Option<String> {
        let until = millis(self.started.elapsed() + lasts);
        let content = serde_json::to_vec(&Content { until, carried }).ok()?;
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).ok()?;
        let payload = Payload { msg: &content, aad: &binding.0 };
        let sealed = self.cipher.encrypt(&XNonce::from(nonce), payload).ok()?;
        Some(URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat()))
    }

    /// What a client brought back.
    pub(crate) fn open(&self, text: &str, binding: &Binding) -> Result<SealedContent, InvalidSeal> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| InvalidSeal)?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE>().ok_or(InvalidSeal)?;
        let payload = Payload { msg: sealed, aad: &binding.0 };
        let content = self.cipher.decrypt(&XNonce::from(*nonce), payload).map_err(|_| InvalidSeal)?;
        let content: Content = serde_json::from_slice(&content).map_err(|_| InvalidSeal)?;
        if content.until < millis(self.started.elapsed()) {
            return Err(InvalidSeal);
        }
        Ok(content.carried)
    }
}

impl fmt::Debug for StateSeal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal") // never its key
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The same text for the same value: sorted keys, no blanks, one form of escapes. Numbers stay as they are.
pub(crate) fn canonical(json: &str, out: &mut String) {
    let json = json.trim();
    if let Ok(fields) = serde_json::from_str::<BTreeMap<String, &RawValue>>(json) {
        out.push('{');
        for (index, (key, value)) in fields.into_iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            out.push_str(&encode_string(&key));
            out.push(':');
            canonical(value.get(), out);
        }
        out.push('}');
    } else if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(json) {
        out.push('[');
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            canonical(item.get(), out);
        }
        out.push(']');
    } else {
        match decode_string(json.as_bytes()) {
            Some(text) => out.push_str(&encode_string(&text)),
            None => out.push_str(json),
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use toolbay_protocol::{Message, Request};

    use super::*;

    fn call(params: &str) -> Box<Request> {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        match Message::parse(Bytes::from(text)).unwrap() {
            Message::Request(request) => request,
            other => panic!("{other:?}"),
        }
    }

    fn binding(params: &str) -> Binding {
        Binding::of("local", &call(params).call)
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_sealed_opens_only_with_its_own_request_and_in_time() {
        let seal = StateSeal::new().unwrap();
        let carried = SealedContent::Suspended { id: 7, exchange: 2 };
        let first = binding(r#"{"name":"a","arguments":{"x":1,"y":[{"b":2,"a":"\u0041"}]}}"#);
        let text = seal.close(carried.clone(), Duration::from_secs(60), &first).unwrap();
        // A retry writes the same value in another form, and adds to it.
        let again =
            binding(r#"{"requestState":"x", "arguments": {"y":[ {"a":"A","b":2} ],"x":1}, "name":"\u0061"}"#);
        assert_eq!(seal.open(&text, &again), Ok(carried));
        for other in [
            r#"{"name":"b","arguments":{"x":1,"y":[{"b":2,"a":"A"}]}}"#,
            r#"{"name":"a","arguments":{"x":1.0,"y":[{"b":2,"a":"A"}]}}"#,
            r#"{"name":"a","arguments":{}}"#,
        ] {
            assert_eq!(seal.open(&text, &binding(other)), Err(InvalidSeal), "{other}");
        }
        assert_eq!(
            seal.open(&text, &Binding::of("someone", &call(r#"{"name":"a"}"#).call)),
            Err(InvalidSeal)
        );
        assert_eq!(StateSeal::new().unwrap().open(&text, &first), Err(InvalidSeal), "another process");
        tokio::time::advance(Duration::from_secs(61)).await;
        assert_eq!(seal.open(&text, &first), Err(InvalidSeal), "too late");
    }

    #[test]
    fn a_changed_text_does_not_open() {
        let seal = StateSeal::new().unwrap();
        let binding = binding(r#"{"name":"a"}"#);
        let carried = SealedContent::Upstream { server: "s".into(), state: "\"x\"".into() };
        let text = seal.close(carried, Duration::from_secs(60), &binding).unwrap();
        for index in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[index] = if changed[index] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(seal.open(&changed, &binding), Err(InvalidSeal), "byte {index}");
        }
        assert_eq!(seal.open("", &binding), Err(InvalidSeal));
        assert_eq!(seal.open(&format!("{text}A"), &binding), Err(InvalidSeal));
    }
}
