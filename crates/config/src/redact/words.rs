//! What looks like a secret.

pub(crate) use toolbay_protocol::redact::{is_secret_name, is_token};

use super::{REDACTED, marked::mask};

/// What is hidden where one cannot tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hides {
    /// All that may be a secret.
    Everything,
    /// Only what is most likely one.
    Secrets,
}

/// A text without the tokens in it, and its URLs without credentials and parameters.
pub(super) fn word(text: &str, hides: Hides) -> String {
    let ends_url = |c: char| c.is_whitespace() || "\"'`<>|".contains(c);
    let (mut shown, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(scheme) = rest.find("://") {
        let (before, after) = rest.split_at(scheme + 3);
        let (url, behind) = after.split_at(after.find(ends_url).unwrap_or(after.len()));
        shown.push_str(&without_tokens(before));
        shown.push_str(&url_after_scheme(url, hides));
        rest = behind;
    }
    shown + &without_tokens(rest)
}

/// What follows `://`.
fn url_after_scheme(text: &str, hides: Hides) -> String {
    let (authority, rest) = text.split_at(text.find(['/', '?', '#']).unwrap_or(text.len()));
    let mut shown = match authority.rsplit_once('@') {
        None => without_tokens(authority),
        Some((credentials, host)) => {
            let hidden: Vec<String> = credentials.split(':').map(mask).collect();
            format!("{}@{host}", hidden.join(":"))
        }
    };
    let (path, query) = rest.split_at(rest.find('?').unwrap_or(rest.len()));
    let path: Vec<String> = path.split('/').map(segment).collect();
    shown.push_str(&path.join("/"));
    for pair in query.split_inclusive('&') {
        let (pair, end) = pair.strip_suffix('&').map_or((pair, ""), |pair| (pair, "&"));
        let (mark, pair) = pair.strip_prefix('?').map_or(("", pair), |pair| ("?", pair));
        let hidden = match pair.split_once('=') {
            Some((name, value)) if hides == Hides::Everything || is_secret_name(name) || is_token(value) => {
                format!("{name}={}", mask(value))
            }
            None if hides == Hides::Everything || is_token(pair) => mask(pair),
            _ => pair.to_owned(),
        };
        shown.extend([mark, &hidden, end]);
    }
    shown
}

/// The text with `***` for each part that is a token.
fn without_tokens(text: &str) -> String {
    let is_of_token = |c: char| c.is_alphanumeric() || "-_.+~".contains(c);
    let (mut shown, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(start) = rest.find(is_of_token) {
        let (before, after) = rest.split_at(start);
        let (part, behind) = after.split_at(after.find(|c| !is_of_token(c)).unwrap_or(after.len()));
        shown.push_str(before);
        shown.push_str(if is_token(part) { REDACTED } else { part });
        rest = behind;
    }
    shown + rest
}

/// Some services put the secret into the path: a long run of letters and digits is one.
fn segment(segment: &str) -> String {
    let is_random = segment.len() >= 20
        && segment.bytes().any(|b| b.is_ascii_digit())
        && segment.bytes().any(|b| b.is_ascii_alphabetic())
        && segment.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_=.%~".contains(&b));
    if is_random { REDACTED.to_owned() } else { without_tokens(segment) }
}
