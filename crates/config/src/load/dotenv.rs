//! Files with variables, one `NAME=value` a line.

use std::{collections::BTreeMap, path::Path};

use crate::files::small::read_small_text;

/// A larger file is none of these.
const MAX_FILE: u64 = 1024 * 1024;

/// Reads such a file; the error never shows a value.
pub(crate) fn read(path: &Path) -> Result<BTreeMap<String, String>, String> {
    let failed = |why: &dyn std::fmt::Display| format!("cannot read the env file {}: {why}", path.display());
    let text = read_small_text(path, MAX_FILE).map_err(|error| failed(&error))?;
    let mut variables = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) =
            line.split_once('=').ok_or_else(|| failed(&format!("line {} has no `=`", number + 1)))?;
        variables.insert(name.trim().to_owned(), value_of(value.trim()));
    }
    Ok(variables)
}

/// A value without its quotes, or without the comment behind it.
fn value_of(text: &str) -> String {
    for quote in ['"', '\''] {
        let inner = text.strip_prefix(quote).and_then(|rest| rest.split_once(quote));
        if let Some((inner, _)) = inner {
            return if quote == '"' { inner.replace("\\n", "\n") } else { inner.to_owned() };
        }
    }
    text.split_once(" #").map_or(text, |(value, _)| value.trim_end()).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_taken_from_quotes_and_before_comments() {
        for (written, value) in [
            ("a", "a"),
            ("a b # c", "a b"),
            ("\"a # b\" # c", "a # b"),
            ("'a\\nb'", "a\\nb"),
            ("\"a\\nb\"", "a\nb"),
            ("", ""),
        ] {
            assert_eq!(value_of(written), value, "{written}");
        }
    }
}
