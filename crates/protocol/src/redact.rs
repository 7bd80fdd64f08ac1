//! Text without the secrets that people and programs put there.
//!
//! What is a secret cannot be known with certainty, so in doubt it is hidden: the value of a name that suggests a
//! secret, credentials in URLs and headers, and whatever looks like a known kind of token.

mod json;
mod known;

use std::{borrow::Cow, ops::Range};

pub use json::json;
pub use known::KnownSecrets;

/// What stands for a secret.
pub const REDACTED: &str = "***";

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
const TOKEN_HEADS: [&str; 20] = [
    "sk-",
    "sk_",
    "pk_",
    "rk_",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xox",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "npm_",
    "hf_",
    "pypi-",
    "dop_v1_",
];

/// Headers that hold credentials and nothing else.
const HEADERS: [&str; 7] =
    ["authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "api-key", "x-auth-token"];

/// What comes before the credentials in a header, and anywhere else.
const SCHEMES: [&str; 4] = ["bearer", "basic", "digest", "token"];

/// Whether a variable, flag, header or parameter of this name holds a secret, as far as one can tell.
pub fn is_secret_name(name: &str) -> bool {
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

/// Whether a word looks like a token of a known kind.
pub fn is_token(word: &str) -> bool {
    TOKEN_HEADS.iter().any(|head| word.starts_with(head) && word.len() >= head.len() + 8) || is_jwt(word)
}

fn is_jwt(word: &str) -> bool {
    word.starts_with("eyJ") && word.matches('.').count() == 2
}

/// Returns a line of a log without secrets: values of names that suggest secrets, headers with credentials, credentials
/// in URLs, and tokens.
pub fn line(text: &str) -> Cow<'_, str> {
    let mut secrets: Vec<Range<usize>> = Vec::new();
    let mut ends = Boundaries { last_blank: text.trim_end().rfind(char::is_whitespace), of_value: 0..0 };
    for (at, anchor) in text.match_indices(['=', ':']) {
        secrets.extend(value_after(text, &mut ends, at, anchor == "="));
    }
    secrets.extend(text.match_indices("://").filter_map(|(at, mark)| credentials(text, at + mark.len())));
    secrets.extend(
        words(text).zip(words(text).skip(1)).filter_map(|(word, next)| named_before(text, word, next)),
    );
    secrets.extend(parts(text, is_of_token).filter(|part| is_token(&text[part.clone()])));
    without(text, secrets)
}

/// What is known of a text, so that no part of it is looked through for every sign in it.
struct Boundaries {
    /// The last blank before its end.
    last_blank: Option<usize>,
    /// From where a value was last looked through, and where it ended.
    of_value: Range<usize>,
}

impl Boundaries {
    /// Where a value that begins at `begin` ends. The beginnings must ascend.
    fn of_value(&mut self, text: &str, begin: usize) -> usize {
        let is_known =
            !self.of_value.is_empty() && (self.of_value.start..=self.of_value.end).contains(&begin);
        if !is_known {
            self.of_value = begin..text[begin..].find(ends_value).map_or(text.len(), |end| begin + end);
        }
        self.of_value.end
    }
}

/// What `name=value`, `Header: value` or `"name": "value"` hides, with the sign at `at`.
fn value_after(text: &str, ends: &mut Boundaries, at: usize, is_assignment: bool) -> Option<Range<usize>> {
    let (before, after) = (&text[..at], &text[at + 1..]);
    let unquoted = before.trim_end_matches(['"', '\'']);
    let start = unquoted.rfind(|c: char| !is_of_name(c)).map_or(0, |end| end + char_length(unquoted, end));
    let name = &unquoted[start..];
    let is_header = !is_assignment && HEADERS.iter().any(|header| name.eq_ignore_ascii_case(header));
    let value = if is_assignment { after } else { after.trim_start() };
    let begin = text.len() - value.len();
    let is_quoted = value.starts_with(['"', '\'']);
    let is_alone = text.trim_start().starts_with(name) && ends.last_blank.is_none_or(|blank| blank < begin);
    let is_secret = is_header
        || (is_assignment || is_quoted || unquoted.len() < before.len() || is_alone) && is_secret_name(name);
    if !is_secret || value.is_empty() || value.starts_with("//") {
        return None;
    }
    let length = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => return Some(begin + 1..end_of_quoted(text, begin + 1, quote)),
        _ if name.to_ascii_lowercase().ends_with("cookie") && is_header => value.len(),
        _ => {
            let first = ends.of_value(text, begin) - begin;
            let rest = value[first..].trim_start();
            match SCHEMES.iter().any(|scheme| value[..first].eq_ignore_ascii_case(scheme)) {
                // The scheme is no secret, but alone it says nothing.
                true => value.len() - rest.len() + rest.find(ends_value).unwrap_or(rest.len()),
                false => first,
            }
        }
    };
    Some(begin..begin + length)
}

fn end_of_quoted(text: &str, begin: usize, quote: char) -> usize {
    let mut is_escaped = false;
    let end = text[begin..].find(|c| {
        let ends = c == quote && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |end| begin + end)
}

/// The credentials in what follows `://`.
fn credentials(text: &str, begin: usize) -> Option<Range<usize>> {
    let rest = &text[begin..];
    let end = rest.find(|c: char| c.is_whitespace() || "/?#\"'`<>|".contains(c)).unwrap_or(rest.len());
    rest[..end].rfind('@').map(|at| begin..begin + at)
}

/// `--token VALUE` and `Bearer VALUE`: what the second word hides.
fn named_before(text: &str, word: Range<usize>, next: Range<usize>) -> Option<Range<usize>> {
    let (name, value) = (&text[word], &text[next.clone()]);
    let is_flag = name.starts_with("--") && !name.contains('=') && is_secret_name(name);
    let is_scheme = SCHEMES[..2].iter().any(|scheme| name.eq_ignore_ascii_case(scheme));
    let is_hidden = is_flag && !value.starts_with('-') || is_scheme && value.len() >= 8;
    is_hidden.then_some(next)
}

/// Words between blanks, without the quotes and commas around them.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    parts(text, |c| !c.is_whitespace() && !"\"'`,;()[]{}".contains(c))
}

/// The longest pieces of which every character `belongs`.
fn parts(text: &str, belongs: impl Fn(char) -> bool + Copy) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].find(belongs)?;
        at = text[start..].find(|c| !belongs(c)).map_or(text.len(), |end| start + end);
        Some(start..at)
    })
}

fn is_of_token(c: char) -> bool {
    c.is_alphanumeric() || "-_.+~".contains(c)
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || "-_.".contains(c)
}

fn ends_value(c: char) -> bool {
    c.is_whitespace() || ",;&\"'`<>|)]}".contains(c)
}

fn char_length(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(0, char::len_utf8)
}

/// The text with something else in place of what is secret.
fn without(text: &str, mut secrets: Vec<Range<usize>>) -> Cow<'_, str> {
    secrets.retain(|secret| !secret.is_empty());
    if secrets.is_empty() {
        return Cow::Borrowed(text);
    }
    secrets.sort_by_key(|secret| secret.start);
    let (mut shown, mut at) = (String::with_capacity(text.len()), 0);
    for secret in secrets {
        if secret.start >= at {
            shown.push_str(&text[at..secret.start]);
            shown.push_str(REDACTED);
        }
        at = at.max(secret.end);
    }
    shown.push_str(&text[at..]);
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_in_lines_are_hidden() {
        for (text, shown) in [
            ("Authorization: Bearer abc", "Authorization: ***"),
            ("> authorization: Basic dTpw, host: x", "> authorization: ***, host: x"),
            ("sent {\"Authorization\":\"Bearer abc\",\"a\":1}", "sent {\"Authorization\":\"***\",\"a\":1}"),
            ("{'x-api-key': 'a b c', 'n': 1}", "{'x-api-key': '***', 'n': 1}"),
            ("Cookie: a=1; b=2", "Cookie: ***"),
            ("using bearer abcdefgh12 now", "using bearer *** now"),
            ("GITHUB_TOKEN=abc FOO=bar", "GITHUB_TOKEN=*** FOO=bar"),
            ("API_KEY=\"a b\" next", "API_KEY=\"***\" next"),
            ("https://h/x?api_key=abc&page=2", "https://h/x?api_key=***&page=2"),
            ("password: hunter2", "password: ***"),
            ("\"db_password\": \"hunter\\\"2\", 1", "\"db_password\": \"***\", 1"),
            ("postgres://me:pw@host/db", "postgres://***@host/db"),
            ("run --api-key abc --port 80", "run --api-key *** --port 80"),
            ("run --token=abc", "run --token=***"),
            ("key ghp_0123456789abcdef is bad", "key *** is bad"),
            ("(sk-0123456789abcdef)", "(***)"),
            ("eyJhbGciOi.eyJzdWIi.c2ln!", "***!"),
            ("ä secret=ü€ ö", "ä secret=*** ö"),
        ] {
            assert_eq!(line(text), shown);
        }
    }

    #[test]
    fn everything_else_stays() {
        for text in [
            "",
            "listening on http://127.0.0.1:3000/mcp",
            "Error: invalid token: unexpected end of input",
            "authentication failed: no such user",
            "the bearer of news",
            "max_tokens=4096",
            "at Object.<anonymous> (/app/token.js:10:5)",
            "2026-01-01T10:00:00 INFO key=",
            "a = b, c: d, e@f.example",
            "=::=",
        ] {
            assert_eq!(line(text), text);
            assert!(matches!(line(text), Cow::Borrowed(_)));
        }
    }
}
