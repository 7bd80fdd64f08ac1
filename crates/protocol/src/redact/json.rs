//! JSON without the secrets in it.

use super::{REDACTED, is_secret_name, line};
use crate::{decode_string, encode_string};

/// Names that look like those of secrets and are not: they correlate messages.
const HARMLESS: [&str; 1] = ["progressToken"];

/// Returns a JSON text in which the values of fields with names of secrets, and whatever looks like a secret in other
/// strings, are replaced. Everything else stays as it was written. A text that ends too early is shown as far as it goes.
pub fn json(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut open: Vec<Token> = Vec::new();
    let mut next = Token::default();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => string_length(rest),
            '{' | '[' | '}' | ']' | ',' | ':' => 1,
            _ if first.is_whitespace() => first.len_utf8(),
            _ => rest.find(|c: char| c.is_whitespace() || "{}[],:\"".contains(c)).unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(length);
        rest = after;
        match first {
            '{' | '[' => {
                open.push(Token { is_object: first == '{', ..next });
                next = open.last().copied().unwrap_or_default().child(first == '{');
                shown.push(first);
            }
            '}' | ']' => {
                open.pop();
                shown.push(first);
            }
            ',' => {
                let around = open.last().copied().unwrap_or_default();
                next = around.child(around.is_object);
                shown.push(first);
            }
            ':' => {
                next.is_name = false;
                shown.push(first);
            }
            '"' if next.is_name => {
                let name = decode_string(token.as_bytes()).unwrap_or_default();
                let is_secret = is_secret_name(&name) && !HARMLESS.contains(&&*name);
                let declares = open.last().is_some_and(|around| around.is_properties);
                // What stands under a name in `properties` describes a parameter, and is no value of it.
                let describes =
                    declares && rest.trim_start().trim_start_matches(':').trim_start().starts_with('{');
                next.is_secret |= is_secret && !describes;
                next.is_properties = name == "properties";
                shown.push_str(token);
            }
            '"' if next.is_secret => {
                shown.push('"');
                shown.push_str(if token == "\"\"" { "" } else { REDACTED });
                shown.push('"');
            }
            '"' => push_string(&mut shown, token),
            _ if first.is_whitespace() => shown.push(first),
            _ if next.is_secret && !matches!(token, "null" | "true" | "false") => {
                shown.push_str("\"***\"");
            }
            _ => shown.push_str(token),
        }
    }
    shown
}

/// A value, or the name before it.
#[derive(Debug, Clone, Copy, Default)]
struct Token {
    is_object: bool,
    is_name: bool,
    /// Whether everything in it is secret.
    is_secret: bool,
    /// Whether it is the `properties` of a JSON Schema.
    is_properties: bool,
}

impl Token {
    /// What comes next inside of this one.
    fn child(self, is_name: bool) -> Self {
        Self { is_object: false, is_name, is_secret: self.is_secret, is_properties: false }
    }
}

/// The length of the string with which a text begins, quotes included.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text[1..].find(|c| {
        let ends = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 2)
}

fn push_string(shown: &mut String, token: &str) {
    // One that ends too early is hidden: it may be the beginning of a secret.
    let Some(text) = decode_string(token.as_bytes()) else {
        return shown.push_str("\"…");
    };
    let mut is_changed = false;
    let lines: Vec<_> = text.split('\n').map(line).collect();
    for hidden in &lines {
        is_changed |= matches!(hidden, std::borrow::Cow::Owned(_));
    }
    if is_changed {
        let text = lines.join("\n");
        shown.push_str(&encode_string(&text));
    } else {
        shown.push_str(token);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_secret_names_are_hidden() {
        for (text, shown) in [
            (r#"{"a":1,"password":"x"}"#, r#"{"a":1,"password":"***"}"#),
            (r#"{ "pin" : 1234, "b":[1,"c"] }"#, r#"{ "pin" : "***", "b":[1,"c"] }"#),
            (
                r#"{"auth":{"user":"u","deep":["v",7,null]},"x":"y"}"#,
                r#"{"auth":{"user":"***","deep":["***","***",null]},"x":"y"}"#,
            ),
            (r#"{"pass\u0077ord":"x"}"#, r#"{"pass\u0077ord":"***"}"#),
            (r#"{"text":"GITHUB_TOKEN=abc\nnext \"q\""}"#, r#"{"text":"GITHUB_TOKEN=***\nnext \"q\""}"#),
            (r#"["ghp_0123456789abcdef"]"#, r#"["***"]"#),
            (r#"{"note":"{\"api_key\":\"abc\"}"}"#, r#"{"note":"{\"api_key\":\"***\"}"}"#),
        ] {
            assert_eq!(json(text), shown);
        }
    }

    #[test]
    fn everything_else_stays() {
        for text in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":7},"name":"x"}}"#,
            r#"{"properties":{"token":{"type":"string","description":"who \u00e4 asks"}}, "n": -1.50e3 }"#,
            r#"{"a":"é\n","b":[],"c":{},"token":null,"password":""}"#,
            "",
        ] {
            assert_eq!(json(text), text);
        }
    }

    #[test]
    fn a_text_that_ends_too_early_tells_nothing_more() {
        assert_eq!(json(r#"{"a":"b","password":"hunt"#), r#"{"a":"b","password":"***""#);
        assert_eq!(json(r#"{"a":"my password=hunt"#), r#"{"a":"…"#);
        assert_eq!(json(r#"{"properties":{"token":"x"}}"#), r#"{"properties":{"token":"***"}}"#);
    }

    #[test]
    fn long_texts_take_no_longer_than_they_are() {
        let text = format!("{{\"a\":\"{}\"}}", "pin:".repeat(1 << 18));
        let begin = std::time::Instant::now();
        json(&text);
        assert!(begin.elapsed() < std::time::Duration::from_secs(20), "{:?}", begin.elapsed());
    }
}
