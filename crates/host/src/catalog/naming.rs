//! Names under which clients see what servers offer.
//!
//! Models accept only `[A-Za-z0-9_-]` and few characters of it; servers use anything. A name that fits becomes
//! `slug__name`; one that does not gets its head and a hash of the whole. No slug contains `_`, so the first `__` ends
//! it and no server can forge another's names. Nothing depends on the order in which servers come up.

use std::collections::HashMap;

use sha2::{Digest, Sha256};
pub use toolbay_policy::Naming;
use toolbay_protocol::ServerName;

/// The longest name we make: clients put their own prefix before it and stop at 64.
pub(crate) const MAX_NAME: usize = 50;
const MAX_SLUG: usize = 24;
const HASH: usize = 8;

/// A short name for each server, all different, in the same order.
pub fn slugs(servers: &[ServerName]) -> Vec<String> {
    let plain: Vec<String> = servers.iter().map(slug).collect();
    let hashed = |server: &ServerName, slug: &str| with_hash(slug, &[server.as_str()], MAX_SLUG);
    let uses = count(&plain);
    let names = servers.iter().zip(&plain);
    let made: Vec<String> = names
        .map(|(server, slug)| {
            let faithful = uses[slug.as_str()] == 1 && !slug.is_empty();
            if faithful { slug.clone() } else { hashed(server, slug) }
        })
        .collect();
    // A server may be named like the hashed slug of another: then it gets a hash, too.
    let uses = count(&made);
    let names = servers.iter().zip(&plain).zip(&made);
    names
        .map(
            |((server, plain), made)| {
                if uses[made.as_str()] > 1 && plain == made { hashed(server, plain) } else { made.clone() }
            },
        )
        .collect()
}

fn count(texts: &[String]) -> HashMap<&str, usize> {
    let mut uses = HashMap::new();
    for text in texts {
        *uses.entry(text.as_str()).or_default() += 1;
    }
    uses
}

fn slug(server: &ServerName) -> String {
    let mapped: String = server
        .as_str()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .take(MAX_SLUG)
        .collect();
    mapped.trim_matches('-').to_owned()
}

/// The name under which clients see `name` of the server with `slug`.
pub(crate) fn exposed(slug: &str, name: &str) -> String {
    let fits =
        |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    let plain = format!("{slug}__{name}");
    if fits(name) && !name.is_empty() && plain.len() <= MAX_NAME {
        return plain;
    }
    let head: String = name.chars().map(|c| if fits(c.encode_utf8(&mut [0; 4])) { c } else { '-' }).collect();
    with_hash(&format!("{slug}__{head}"), &[slug, name], MAX_NAME)
}

/// A name for clients that accept no longer ones; the same where it is short enough.
pub(crate) fn shortened(name: &str) -> String {
    if name.len() <= MAX_NAME {
        return name.to_owned();
    }
    let head: String = name.chars().map(|char| if char.is_ascii() { char } else { '-' }).collect();
    with_hash(&head, &[name], MAX_NAME)
}

fn with_hash(head: &str, whole: &[&str], limit: usize) -> String {
    let mut hash = Sha256::new();
    for part in whole {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let digest = hash.finalize();
    let hex: String = digest.iter().take(HASH / 2).map(|byte| format!("{byte:02x}")).collect();
    let head = &head[..head.len().min(limit - HASH - 1)];
    let head = head.trim_end_matches('-');
    if head.is_empty() { format!("s-{hex}") } else { format!("{head}-{hex}") }
}

const QUALIFIED: &str = "toolbay://";

/// The form of a URI that names its server too. Always accepted; shown only where two servers use the same URI.
pub fn qualified_uri(slug: &str, uri: &str) -> String {
    format!("{QUALIFIED}{slug}/{uri}")
}

/// The slug in a name, if it has one.
pub(crate) fn slug_of(name: &str) -> Option<&str> {
    name.split_once("__").map(|(slug, _)| slug)
}

/// Slug and URI of a qualified URI.
pub(crate) fn split_qualified(uri: &str) -> Option<(&str, &str)> {
    uri.strip_prefix(QUALIFIED)?.split_once('/')
}

/// Scheme and authority of a URI or URI template.
pub(super) fn origin(uri: &str) -> &str {
    let Some(scheme) = uri.find(':') else { return uri };
    let Some(rest) = uri[scheme + 1..].strip_prefix("//") else { return &uri[..=scheme] };
    let end = rest.find(['/', '?', '#', '{']).unwrap_or(rest.len());
    &uri[..scheme + 3 + end]
}

/// Names that contain or are contained in `name`, or share its ending.
pub(super) fn similar<'a>(name: &str, known: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    let last = name.rsplit("__").next().unwrap_or(name);
    let mut found: Vec<&str> =
        known.map(String::as_str).filter(|other| !last.is_empty() && other.contains(last)).collect();
    found.sort_unstable();
    found.truncate(5);
    found
}
