//! Redaction of secrets in command lines and URLs.
//!
//! Secrets cannot be recognized with certainty, so in doubt a value is hidden: that of a flag, variable or
//! parameter whose name speaks of a secret, everything after `?`, and whatever looks like a known kind of token.
//! References to variables are never hidden: they are the recommended replacement of secrets.

use serde_json::{Map, Value, json};
pub(crate) use toolbay_protocol::redact::{is_secret_name, is_token};

use crate::{
    ConfigFile, Permission, Transport, WrittenBuiltIn, WrittenServer,
    template::{Style, Template, TemplatePart, Variable, is_scheme},
};

/// The replacement of a secret.
pub const REDACTED: &str = "***";

/// Whether a value seems to be a secret, by its name or by its form.
pub(crate) fn is_secret(name: &str, value: &str) -> bool {
    is_secret_name(name) || is_token(value)
}

/// Whether the value of a variable or header seems to be a secret in the file itself.
pub(crate) fn is_literal_secret(name: &str, text: &Template) -> bool {
    text.without_secrets().is_none() && is_secret(name, &text.shown())
}

/// Arguments as they may be shown and stored.
pub(crate) fn arguments(args: &[Template]) -> Vec<String> {
    arguments_hiding(args, Hides::Everything)
}

/// Whether arguments seem to contain a secret in place of a variable.
pub(crate) fn are_secret(args: &[Template]) -> bool {
    let shown = args.iter().map(|arg| Marked::of(arg).rendered());
    !arguments_hiding(args, Hides::Secrets).into_iter().eq(shown)
}

/// A text such as a program, a folder or a URL, without the secrets in it.
pub(crate) fn text(text: &Template) -> String {
    let marked = Marked::of(text);
    marked.render(&word(&marked.text, Hides::Everything))
}

/// Whether a URL seems to contain a secret.
pub(crate) fn is_secret_url(url: &Template) -> bool {
    let marked = Marked::of(url);
    word(&marked.text, Hides::Secrets) != marked.text
}

/// Whether a text such as a URL or an argument seems to contain a secret.
pub(crate) fn has_secret(text: &str) -> bool {
    word(text, Hides::Secrets) != text
}

/// The value of a variable or header: only its references are shown.
pub(crate) fn value(value: &Template) -> String {
    let marked = Marked::of(value);
    marked.render(&mask(&marked.text))
}

/// The value of a variable that decides what runs: hidden only if its name or its form indicates a secret.
pub(crate) fn powerful_value(name: &str, powerful: &Template) -> String {
    if is_secret_name(name) { value(powerful) } else { text(powerful) }
}

fn arguments_hiding(args: &[Template], hides: Hides) -> Vec<String> {
    let mut before = Before::Nothing;
    let mut shown = Vec::with_capacity(args.len());
    for argument in args {
        let marked = Marked::of(argument);
        let text = marked.text.as_str();
        let is_flag = text.starts_with('-') && text.len() > 1;
        let redacted = match (before, text.split_once(['=', ':'])) {
            (Before::Secret, _) if !is_flag => mask(text),
            (Before::PasswordOrPort, _) if !is_flag && !is_port(text) => mask(text),
            (Before::User, Some((user, password))) if !is_flag && !is_port(text) => {
                format!("{user}:{}", mask(password))
            }
            (_, Some((name, rest)))
                if is_secret_name(name)
                    && (hides == Hides::Everything || is_word(name))
                    && !rest.is_empty()
                    && !rest.starts_with("//") =>
            {
                format!("{}{}", &text[..=name.len()], mask(rest))
            }
            _ => word(text, hides),
        };
        before = if is_flag { Before::of(text) } else { Before::Nothing };
        shown.push(marked.render(&redacted));
    }
    shown
}

/// Whether a text may be the name of a flag, a variable or a header, and is not part of a script.
fn is_word(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c))
}

/// What an argument implies for the next one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    /// It is a secret.
    Secret,
    /// `-p` is followed by a password, a port, or ports to publish.
    PasswordOrPort,
    /// `-u` may be followed by a name and a password, or by the numbers of a user and a group.
    User,
}

impl Before {
    fn of(flag: &str) -> Self {
        match flag {
            _ if flag.contains('=') => Self::Nothing,
            "-p" => Self::PasswordOrPort,
            "-u" | "--user" | "--proxy-user" => Self::User,
            _ if is_secret_name(flag) => Self::Secret,
            _ => Self::Nothing,
        }
    }
}

/// `8080`, `8080:80` and `127.0.0.1:8080:80`.
fn is_port(text: &str) -> bool {
    let is_address = |part: &str| part.parse::<std::net::Ipv4Addr>().is_ok();
    text.split(':').all(|part| part.parse::<u16>().is_ok() || is_address(part))
}

/// The first of the private-use characters that represent variables.
const FIRST: u32 = 0xf0000;
/// How many variables of one text are distinguished.
const MOST: usize = 0x7000;

/// A text with a mark for each variable.
struct Marked<'a> {
    text: String,
    variables: Vec<&'a Variable>,
}

impl<'a> Marked<'a> {
    fn of(template: &'a Template) -> Self {
        let mut marked = Self { text: String::new(), variables: Vec::new() };
        for part in template.parts() {
            match part {
                TemplatePart::Literal(text) => text.chars().for_each(|c| match is_mark(c) {
                    true => marked.text.extend(c.escape_unicode()),
                    false => marked.text.push(c),
                }),
                TemplatePart::Variable(variable) if marked.variables.len() < MOST => {
                    marked.text.push(mark(marked.variables.len(), false));
                    marked.variables.push(variable);
                }
                TemplatePart::Variable(_) => marked.text.push_str(REDACTED),
            }
        }
        marked
    }

    /// The whole text, with its variables by name.
    fn rendered(&self) -> String {
        self.render(&self.text)
    }

    /// What became of the text, with its variables by name.
    fn render(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            let index = (c as u32).wrapping_sub(FIRST) as usize;
            match self.variables.get(index / 2).filter(|_| is_mark(c)) {
                None => out.push(c),
                Some(variable) => {
                    let hides = |default: &String| index % 2 == 1 || is_token(default);
                    let default = variable.default.as_ref().filter(|default| !default.is_empty());
                    let shown = default.filter(|default| hides(default)).map(|_| REDACTED.to_owned());
                    let default = shown.or_else(|| variable.default.clone());
                    out.push_str(&Variable { default, ..(*variable).clone() }.native());
                }
            }
        }
        out
    }
}

/// The text with `***` for everything but its variables, whose defaults are hidden too.
fn mask(text: &str) -> String {
    let mut out = String::new();
    let mut literal = String::new();
    let flush = |literal: &mut String, out: &mut String| {
        out.push_str(if is_scheme(literal) { literal } else { REDACTED });
        literal.clear();
    };
    for c in text.chars() {
        match is_mark(c) {
            true => {
                flush(&mut literal, &mut out);
                out.push(char::from_u32(c as u32 | 1).unwrap_or(c));
            }
            false => literal.push(c),
        }
    }
    flush(&mut literal, &mut out);
    out
}

fn is_mark(c: char) -> bool {
    (FIRST..FIRST + 2 * MOST as u32).contains(&(c as u32))
}

/// Invariant: an odd mark is that of a variable whose default is hidden.
fn mark(index: usize, is_masked: bool) -> char {
    let code = FIRST + 2 * index as u32 + u32::from(is_masked);
    char::from_u32(code).expect("all of the plane are characters, but for its last two")
}

/// How much is hidden in doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hides {
    /// All that may be a secret.
    Everything,
    /// Only likely secrets.
    Secrets,
}

/// A text without the tokens in it, and its URLs without credentials and parameters.
fn word(text: &str, hides: Hides) -> String {
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

impl ConfigFile {
    /// All servers in normal form.
    pub fn normalized(&self) -> Vec<Value> {
        self.written.iter().map(WrittenServer::normalized).collect()
    }
}

impl WrittenServer {
    /// The server as `name`, `transport`, `command`, `args`, `env`, `url`, `headers` and `enabled`, whatever its format.
    ///
    /// Variables are shown by name, never by value. Values in `env` and `headers` are shown if they are nothing but
    /// variables, and as `***` otherwise.
    pub fn normalized(&self) -> Value {
        let map = |texts: &std::collections::BTreeMap<String, Template>| -> Map<String, Value> {
            let shown = |text: &Template| text.without_secrets().unwrap_or_else(|| REDACTED.to_owned());
            texts.iter().map(|(name, text)| (name.clone(), shown(text).into())).collect()
        };
        let mut shown = json!({
            "name": self.name,
            "transport": self.protocol_name(),
            "command": self.command.as_ref().map(Template::shown),
            "args": arguments(&self.args),
            "env": map(&self.env),
            "url": self.url.as_ref().map(text),
            "headers": map(&self.headers),
            "enabled": self.permission == Permission::Enabled,
        });
        if let Some(built_in) = &self.built_in {
            for (key, value) in built_in.redacted().entries(|template| Ok(text(template))).unwrap_or_default()
            {
                shown[key] = value;
            }
        }
        shown
    }

    /// The same server with `***` for all values that [`normalized`](Self::normalized) does not show, for files that are shown.
    pub fn redacted(&self) -> Self {
        let native = |text: &str| Template::parse(text, Style::Native);
        let value = |text: &Template| match text.without_secrets() {
            Some(_) => text.clone(),
            None => native(REDACTED),
        };
        let map = |texts: &std::collections::BTreeMap<String, Template>| {
            texts.iter().map(|(name, text)| (name.clone(), value(text))).collect()
        };
        let kept = |(text, shown): (&Template, String)| match text.shown() == shown {
            true => text.clone(),
            false => native(&shown),
        };
        Self {
            args: self.args.iter().zip(arguments(&self.args)).map(kept).collect(),
            env: map(&self.env),
            headers: map(&self.headers),
            oauth: self.oauth.as_ref().map(|oauth| {
                let shown = |(key, text): (&String, &Template)| {
                    (key.clone(), if key.ends_with("secret") { value(text) } else { text.clone() })
                };
                oauth.iter().map(shown).collect()
            }),
            url: self.url.as_ref().map(|url| kept((url, text(url)))),
            built_in: self.built_in.as_ref().map(WrittenBuiltIn::redacted),
            extra: std::collections::BTreeMap::new(),
            ..self.clone()
        }
    }

    /// Likely secrets in the file itself, in place of variables: the names of variables and headers, and `args` or `url`.
    pub fn literal_secrets(&self) -> Vec<String> {
        let is_literal = |(name, text): &(&String, &Template)| is_literal_secret(name, text);
        let oauth = self.oauth.iter().flatten();
        let of_maps = self
            .env
            .iter()
            .chain(&self.headers)
            .chain(oauth)
            .filter(is_literal)
            .map(|(name, _)| name.clone());
        let in_args = are_secret(&self.args);
        let in_url = self.url.as_ref().is_some_and(is_secret_url);
        let elsewhere = [(in_args, "args"), (in_url, "url")].into_iter().filter(|(is, _)| *is);
        let in_keys = self.built_in.iter().flat_map(WrittenBuiltIn::literal_secrets);
        of_maps.chain(elsewhere.map(|(_, key)| key.to_owned())).chain(in_keys).collect()
    }

    /// What is spoken with it, or tried first where that is to be found out.
    pub(crate) fn protocol_name(&self) -> &'static str {
        if self.built_in.is_some() {
            return "builtin";
        }
        let Some(url) = &self.url else { return "stdio" };
        let url = url.shown();
        let path = url.split(['?', '#']).next().unwrap_or_default();
        match self.transport {
            Transport::Auto if url.starts_with("ws:") || url.starts_with("wss:") => "ws",
            Transport::Auto if path.trim_end_matches('/').ends_with("/sse") => "sse",
            Transport::Auto => "http",
            transport => transport.name(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::Style;

    fn template(text: &str) -> Template {
        Template::parse(text, Style::Native)
    }

    #[test]
    fn no_secret_in_arguments_is_shown() {
        for (args, shown) in [
            (&["--api-key", "S1", "--token=S2", "-p", "S3"][..], "--api-key *** --token=*** -p ***"),
            (&["postgres://u:S4@h/db", "AKIAS5XXXXXXXXX"], "postgres://***:***@h/db ***"),
            (&["--db=postgres://u:S4@h/db"], "--db=postgres://***:***@h/db"),
            (&["redis://:S4@h", "https://S5@h/x"], "redis://:***@h https://***@h/x"),
            (&["--x=ghp_SENTINEL123", "x:sk-SENTINEL123,b"], "--x=*** x:***,b"),
            (&["-e", "DB_PASSWORD=S6", "Authorization: Bearer S7"], "-e DB_PASSWORD=*** Authorization:***"),
            (&["-p", "8080:80", "-p", "127.0.0.1:80:80"], "-p 8080:80 -p 127.0.0.1:80:80"),
            (&["-u", "me:S8", "-u", "me", "-u", "1000:1000"], "-u me:*** -u me -u 1000:1000"),
            (
                &["https://h/a?x=S9&y", "https://h/aaaaaaaaaaaaaaaaaaaaaa1"],
                "https://h/a?x=***&*** https://h/***",
            ),
            (&["npm:weather@1.2.3", "@a/b@1.0", "--author"], "npm:weather@1.2.3 @a/b@1.0 --author"),
            // References stay.
            (
                &["--api-key", "${KEY}", "--token=${T}", "-p", "a${P}"],
                "--api-key ${KEY} --token=${T} -p ***${P}",
            ),
            (&["Authorization: Bearer ${T}"], "Authorization: Bearer ${T}"),
            (&["http://${U}:${P}@h/${X}?q=${Q}"], "http://${U}:${P}@h/${X}?q=${Q}"),
            (
                &["${PORT:-3000}", "--key=${K:-S10}", "${T:-ghp_SENTINEL123}"],
                "${PORT:-3000} --key=${K:-***} ${T:-***}",
            ),
            // What looks like a mark of ours is none.
            (&["\u{f0000}${A}"], "\\u{f0000}${A}"),
        ] {
            let args: Vec<Template> = args.iter().map(|arg| template(arg)).collect();
            assert_eq!(arguments(&args).join(" "), shown);
        }
    }

    #[test]
    fn scripts_that_speak_of_keys_are_no_secrets() {
        for (arg, expected) in [
            ("print('no key', file=sys.stderr)", false),
            ("--api-key=abc", true),
            ("DB_PASSWORD=abc", true),
            ("Authorization: Bearer abc", true),
        ] {
            assert_eq!(are_secret(&[template(arg)]), expected, "{arg}");
        }
    }

    #[test]
    fn values_show_references_and_nothing_else() {
        for (text, shown) in [
            ("hunter2", "***"),
            ("", ""),
            ("${A}", "${A}"),
            ("Bearer ${A}", "Bearer ${A}"),
            ("x${A}y${B:-z}", "***${A}***${B:-***}"),
        ] {
            assert_eq!(value(&template(text)), shown);
        }
        assert_eq!(powerful_value("NODE_OPTIONS", &template("--require ./x.js")), "--require ./x.js");
        assert_eq!(powerful_value("NPM_CONFIG_//r/:_authToken", &template("abc")), REDACTED);
    }
}
