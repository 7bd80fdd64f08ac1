//! Command lines and URLs without the secrets that people put there.
//!
//! What is hidden cannot be told from what is not with certainty, so in doubt it is hidden: a flag, variable or
//! parameter whose name speaks of a secret, everything after `?`, and whatever looks like a known kind of token.
//! References to variables are never hidden: they are what secrets are to be replaced by.

mod marked;
pub(crate) mod show;
mod words;

use crate::{REDACTED, template::Template};
use marked::{Marked, mask};
use words::{Hides, word};

pub(crate) use words::is_secret_name;

/// Whether a value is a secret: its name says so, or it looks like one.
pub(crate) fn is_secret(name: &str, value: &str) -> bool {
    is_secret_name(name) || words::is_token(value)
}

/// Arguments as they may be shown and stored.
pub(crate) fn arguments(args: &[Template]) -> Vec<String> {
    arguments_hiding(args, Hides::Everything)
}

/// Whether a secret seems to stand in arguments, where a variable could stand.
pub(crate) fn are_secret(args: &[Template]) -> bool {
    let shown = args.iter().map(|arg| Marked::of(arg).rendered());
    !arguments_hiding(args, Hides::Secrets).into_iter().eq(shown)
}

/// A text that is no secret itself, such as a program, a folder or a URL, without what may be secret in it.
pub(crate) fn text(text: &Template) -> String {
    let marked = Marked::of(text);
    marked.render(&word(&marked.text, Hides::Everything))
}

/// Whether a secret seems to stand in a URL.
pub(crate) fn is_secret_url(url: &Template) -> bool {
    let marked = Marked::of(url);
    word(&marked.text, Hides::Secrets) != marked.text
}

/// The value of a variable or header: its references, and nothing else of which one cannot tell what it is.
pub(crate) fn value(value: &Template) -> String {
    let marked = Marked::of(value);
    marked.render(&mask(&marked.text))
}

/// The value of a variable that decides what runs: hidden only if its name, or what it looks like, says so.
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
                if is_secret_name(name) && !rest.is_empty() && !rest.starts_with("//") =>
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

/// What an argument says of the next one.
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
