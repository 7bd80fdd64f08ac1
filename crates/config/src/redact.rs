//! Command lines and URLs without the secrets that people put there.
//!
//! What is hidden cannot be told from what is not with certainty, so in doubt it is hidden: a flag, variable or
//! parameter whose name speaks of a secret, everything after `?`, and whatever looks like a known kind of token.

use http::Uri;

use crate::{REDACTED, visible::visible};

/// Parts of names whose values are secret.
const SECRET_WORDS: [&str; 12] = [
    "token",
    "secret",
    "passw",
    "pwd",
    "apikey",
    "api-key",
    "api_key",
    "credential",
    "auth",
    "bearer",
    "cookie",
    "private",
];

/// Names that count tokens instead of holding one.
const COUNTS: [&str; 3] = ["maxtokens", "numtokens", "tokenlimit"];

/// How tokens of well-known services begin.
const TOKEN_HEADS: [&str; 16] = [
    "sk-",
    "sk_",
    "pk_",
    "rk_",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "xox",
    "AKIA",
    "AIza",
    "ya29.",
    "npm_",
    "hf_",
];

/// Whether a variable, flag, header or parameter of this name holds a secret, as far as one can tell.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let letters: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    if COUNTS.iter().any(|count| letters.ends_with(count)) {
        return false;
    }
    SECRET_WORDS.iter().any(|word| name.contains(word))
        || name
            .split(|c: char| !c.is_ascii_alphanumeric())
            .any(|word| matches!(word, "key" | "pat" | "pin" | "pass"))
}

/// Whether a value is a secret: its name says so, or it looks like one.
pub(crate) fn is_secret(name: &str, value: &str) -> bool {
    is_secret_name(name) || is_token(value)
}

/// Arguments as they may be shown and stored.
pub(crate) fn arguments(args: &[String]) -> Vec<String> {
    let mut value_of_secret = false;
    let mut shown = Vec::with_capacity(args.len());
    for argument in args {
        let is_flag = argument.starts_with('-');
        shown.push(match argument.split_once(['=', ':']) {
            _ if value_of_secret && !is_flag => REDACTED.to_owned(),
            Some((name, rest)) if is_secret_name(name) && !rest.is_empty() && !argument.contains("://") => {
                format!("{}{REDACTED}", visible(&argument[..=name.len()]))
            }
            _ => word(argument),
        });
        value_of_secret = is_flag && !argument.contains('=') && is_secret_name(argument);
    }
    shown
}

/// A variable with its value as it may be shown.
pub(crate) fn variable(name: &str, value: &str) -> String {
    match is_secret_name(name) {
        true => format!("{name}={REDACTED}"),
        false => format!("{name}={}", word(value)),
    }
}

/// A URL with its host and path, the names of its parameters, and no more.
pub(crate) fn url(uri: &Uri) -> String {
    let path: Vec<String> = uri.path().split('/').map(segment).collect();
    let mut shown = match (uri.scheme_str(), uri.authority()) {
        (Some(scheme), Some(authority)) => {
            let host = authority.as_str().rsplit('@').next().unwrap_or_default();
            format!("{scheme}://{host}")
        }
        _ => String::new(),
    };
    shown.push_str(&path.join("/"));
    for (index, pair) in uri.query().into_iter().flat_map(|query| query.split('&')).enumerate() {
        shown.push(if index == 0 { '?' } else { '&' });
        match pair.split_once('=') {
            Some((name, _)) => shown.push_str(&format!("{name}={REDACTED}")),
            None => shown.push_str(REDACTED),
        }
    }
    visible(&shown)
}

fn word(word: &str) -> String {
    if is_token(word) {
        return REDACTED.to_owned();
    }
    match word.find("://").and_then(|_| word.parse::<Uri>().ok()) {
        Some(uri) if uri.authority().is_some() => url(&uri),
        _ => visible(word),
    }
}

fn is_token(word: &str) -> bool {
    TOKEN_HEADS.iter().any(|head| word.starts_with(head) && word.len() >= head.len() + 8) || is_jwt(word)
}

fn is_jwt(word: &str) -> bool {
    word.starts_with("eyJ") && word.matches('.').count() == 2
}

/// Some services put the secret into the path: a long run of letters and digits is one.
fn segment(segment: &str) -> String {
    let is_random = segment.len() >= 20
        && segment.bytes().any(|b| b.is_ascii_digit())
        && segment.bytes().any(|b| b.is_ascii_alphabetic())
        && segment.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_=.%~".contains(&b));
    if is_random { REDACTED.to_owned() } else { segment.to_owned() }
}
