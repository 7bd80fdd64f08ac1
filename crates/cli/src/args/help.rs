//! The page that `toolbay --help` shows: commands grouped by purpose.

use clap::{Command, CommandFactory};

use super::LowArgs;
use crate::term::{
    output::size,
    style::{head, width},
};

/// The groups of commands; the others come last.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "Servers",
        &[
            "serve", "stdio", "connect", "builtin", "hub", "status", "logs", "inspect", "start", "stop",
            "restart", "doctor",
        ],
    ),
    ("Use", &["tools", "call", "pending", "resources", "read", "prompts", "prompt"]),
    (
        "Configuration",
        &[
            "list", "get", "add", "add-json", "remove", "enable", "disable", "approve", "import", "export",
            "config", "secret", "token", "policy",
        ],
    ),
    ("Code", &["search", "index", "codebase"]),
];
const REST: &str = "Other";
/// The widest that a page gets.
const WIDEST: usize = 110;
const HEADING: &str = "\x1b[1m\x1b[4m";
const LITERAL: &str = "\x1b[1m";
const PLAIN: &str = "\x1b[0m";

/// The command line, with a page of help that is grouped.
pub(crate) fn command() -> Command {
    let command = LowArgs::command();
    let columns = size(std::io::stdout()).map_or(WIDEST, |size| size.columns.min(WIDEST));
    let groups = groups(&command, columns);
    command.help_template(format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{groups}{HEADING}Options:{PLAIN}\n{{options}}{{after-help}}"
    ))
}

fn groups(command: &Command, columns: usize) -> String {
    let visible: Vec<&Command> = command.get_subcommands().filter(|it| !it.is_hide_set()).collect();
    let is_named = |it: &&Command| GROUPS.iter().any(|(_, names)| names.contains(&it.get_name()));
    let named = GROUPS.iter().map(|(title, names)| {
        let found = names.iter().filter_map(|name| visible.iter().find(|it| it.get_name() == *name));
        (*title, found.copied().collect::<Vec<_>>())
    });
    let rest: Vec<&Command> = visible.iter().copied().filter(|it| !is_named(it)).collect();
    let column = visible.iter().map(|it| it.get_name().len()).max().unwrap_or(0).max("help".len()) + 4;
    let mut page = String::new();
    for (title, commands) in named.chain([(REST, rest)]) {
        page.push_str(&format!("{HEADING}{title}:{PLAIN}\n"));
        for it in commands {
            let about = it.get_about().map(ToString::to_string).unwrap_or_default();
            page.push_str(&entry(it.get_name(), &about, column, columns));
        }
        if title == REST {
            page.push_str(&entry(
                "help",
                "Print this message or the help of the given command",
                column,
                columns,
            ));
        }
        page.push('\n');
    }
    page
}

/// A name and its description, which is wrapped where it is long.
fn entry(name: &str, about: &str, column: usize, columns: usize) -> String {
    let room = columns.saturating_sub(column).max(20);
    let padding = " ".repeat(column.saturating_sub(name.len() + 2));
    let lines = wrapped(about, room).join(&format!("\n{}", " ".repeat(column)));
    format!("  {LITERAL}{name}{PLAIN}{padding}{lines}\n")
}

/// Wraps a text at word boundaries.
fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is always a line");
        if !last.is_empty() && width(last) + 1 + width(word) > room {
            lines.push(head(word, room).to_owned());
            continue;
        }
        if !last.is_empty() {
            last.push(' ');
        }
        last.push_str(word);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_visible_command_is_there_once() {
        let command = LowArgs::command();
        let page = groups(&command, 80);
        let plain = page.replace([HEADING, LITERAL, PLAIN].map(|code| code.to_owned()).concat().as_str(), "");
        for it in command.get_subcommands() {
            let lines = plain
                .lines()
                .filter(|line| line.strip_prefix(&format!("  {LITERAL}{}{PLAIN}", it.get_name())).is_some());
            assert_eq!(lines.count(), usize::from(!it.is_hide_set()), "{}", it.get_name());
        }
        let visible = |line: &str| line.replace(HEADING, "").replace(LITERAL, "").replace(PLAIN, "");
        assert!(page.lines().all(|line| width(&visible(line)) <= 80), "{page}");
        // A name that no command has is a leftover.
        for name in
            GROUPS.iter().flat_map(|(_, names)| *names).filter(|name| !["hub", "inspect"].contains(name))
        {
            assert!(command.find_subcommand(name).is_some(), "{name}");
        }
    }
}
