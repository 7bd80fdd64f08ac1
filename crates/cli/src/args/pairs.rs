//! Headers and variables as they are typed: `NAME: VALUE` and `KEY=VALUE`, or `@FILE` with a line for each.
//!
//! Other processes can see what is on our command line, but not what is in a file of ours.

use std::path::Path;

use serde_json::{Map, Value};

use crate::app::{error::CliError, secrets};

/// Headers, from arguments such as `NAME: VALUE` and `@FILE`.
pub(crate) fn headers(typed: &[String]) -> Result<Map<String, Value>, CliError> {
    pairs(typed, ':', "--header \"NAME: VALUE\" or --header @FILE")
}

/// Variables of an environment, from arguments such as `KEY=VALUE` and `@FILE`.
pub(crate) fn variables(typed: &[String]) -> Result<Map<String, Value>, CliError> {
    pairs(typed, '=', "--env KEY=VALUE or --env @FILE")
}

fn pairs(typed: &[String], separator: char, form: &str) -> Result<Map<String, Value>, CliError> {
    let mut all = Map::new();
    for text in typed {
        match text.strip_prefix('@') {
            Some(file) => {
                let text = secrets::text(Path::new(file))?;
                let lines =
                    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
                for line in lines {
                    let (name, value) = pair(line, separator).ok_or_else(|| {
                        CliError::usage(format!("a line of {file} is not `{}`", shape(separator)))
                    })?;
                    all.insert(name, value);
                }
            }
            None => {
                // The text may be a secret, so it is not repeated.
                let (name, value) = pair(text, separator)
                    .ok_or_else(|| CliError::usage(format!("a value is missing; write {form}")))?;
                all.insert(name, value);
            }
        }
    }
    Ok(all)
}

fn shape(separator: char) -> &'static str {
    if separator == ':' { "NAME: VALUE" } else { "KEY=VALUE" }
}

fn pair(text: &str, separator: char) -> Option<(String, Value)> {
    let (name, value) = text.split_once(separator).filter(|(name, _)| !name.trim().is_empty())?;
    let value = if separator == ':' { value.trim() } else { value };
    Some((name.trim().to_owned(), value.into()))
}
