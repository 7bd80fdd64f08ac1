//! Descriptions of servers: one line, or a line for each field.

use serde_json::Value;

use toolbay_config::{built_in_keys, visible};

/// The command with its arguments, the URL, or which of our own it is, of a server in normal form.
pub(crate) fn target(normalized: &Value) -> String {
    let text = |key: &str| normalized[key].as_str();
    match (text("command"), text("url")) {
        (Some(command), _) => {
            let args = normalized["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
            command_line(std::iter::once(command).chain(args))
        }
        (None, Some(url)) => visible(url),
        (None, None) => text("builtin").map(|name| built_in(name, normalized)).unwrap_or_default(),
    }
}

/// A built-in server and what it is for.
fn built_in(name: &str, normalized: &Value) -> String {
    let of = match (&normalized["root"], &normalized["directories"], &normalized["memory_file"]) {
        (Value::String(path), _, _) | (_, _, Value::String(path)) => format!(" of {path}"),
        (_, Value::Array(paths), _) => {
            let paths: Vec<&str> = paths.iter().filter_map(Value::as_str).collect();
            format!(" of {}", paths.join(", "))
        }
        _ => String::new(),
    };
    visible(&format!("built-in {name}{of}"))
}

/// The other keys of a built-in server in normal form, as `key=value`.
pub(crate) fn built_in_settings(normalized: &Value) -> Vec<String> {
    let keys = normalized["builtin"].as_str().and_then(built_in_keys).unwrap_or_default();
    let is_shown =
        |key: &&&str| !["root", "directories", "memory_file"].contains(*key) && !normalized[**key].is_null();
    let value = |key: &str| match &normalized[key] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    keys.iter().filter(is_shown).map(|key| visible(&format!("{key}={}", value(key)))).collect()
}

/// Words as one would type them in a shell, so that one sees where each begins and ends.
pub(crate) fn command_line<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.map(quoted).collect();
    words.join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=@%+,*${}~…".contains(c);
    // Invisible characters are escaped.
    let shown = visible(word);
    match !word.is_empty() && word.chars().all(is_plain) && shown == word {
        true => shown,
        false => format!("'{}'", shown.replace('\'', "'\\''")),
    }
}

/// `NAME=value` of all variables or headers of a server in normal form.
pub(crate) fn pairs(normalized: &Value, key: &str) -> Vec<String> {
    let map = normalized[key].as_object().into_iter().flatten();
    map.map(|(name, value)| visible(&format!("{name}={}", value.as_str().unwrap_or_default()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_with_spaces_are_quoted() {
        for (words, line) in [
            (&["npx", "-y", "@a/b@1.2.3", "${HOME}/x"][..], "npx -y @a/b@1.2.3 ${HOME}/x"),
            (&["sh", "-c", "echo 'a b'", ""], r"sh -c 'echo '\''a b'\''' ''"),
            (&["a\nb\u{202e}"], r"'a\nb\u{202e}'"),
            (&["/usr/bin/true\u{3164}", "a\u{2800}", "b "], r"'/usr/bin/true\u{3164}' 'a\u{2800}' 'b '"),
        ] {
            assert_eq!(command_line(words.iter().copied()), line);
        }
    }
}
