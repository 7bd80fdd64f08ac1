//! The table `secret_commands`: programs that print secrets.

use std::collections::BTreeMap;

use toolbay_protocol::SecretName;

use crate::syntax::{Key, Node};

/// Commands that print secrets, by the names of these: a program and its arguments, never a line for a shell.
///
/// Invariant: no command is empty.
pub type SecretCommands = BTreeMap<SecretName, Vec<String>>;

/// Reads the table; `wrong` collects mistakes.
pub(super) fn read(table: &[(Key, Node)], mut wrong: impl FnMut(&Key, String)) -> SecretCommands {
    let mut commands = SecretCommands::new();
    for (key, node) in table {
        let name = key.text.parse::<SecretName>().map_err(|error| format!("`{}` is {error}", key.text));
        match name.and_then(|name| Ok((name, command(node)?))) {
            Ok((name, command)) => drop(commands.insert(name, command)),
            Err(message) => wrong(key, format!("`secret_commands`: {message}")),
        }
    }
    commands
}

fn command(node: &Node) -> Result<Vec<String>, String> {
    let words = node.texts().ok_or_else(|| {
        format!(
            "a command is an array of strings, a program and its arguments, got {}; no shell is involved",
            node.kind()
        )
    })?;
    match words.first() {
        None | Some(&"") => Err("a command must name a program".to_owned()),
        Some(_) if words.iter().any(|word| word.contains('\0')) => {
            Err("a command must not contain NUL".to_owned())
        }
        Some(_) => Ok(words.into_iter().map(str::to_owned).collect()),
    }
}
