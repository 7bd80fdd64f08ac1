//! The table in the documentation.

use std::fmt::Write as _;

use anyhow::{Context, Result, ensure};
use toolbay_protocol::Revision;
use toolbay_testkit::features::{FEATURES, Support};

use super::{BACKS, Cell, FRONTS, repository};

const FILE: &str = "docs/compatibility.md";

const INTRODUCTION: &str = "\
# Every revision in front of every other

Clients of each revision of MCP, through the hub, at servers of each revision. Written by the test
`crates/cli/tests/it/matrix.rs`, which tries every cell with clients and with servers over HTTP and on stdio, and fails
when one does not work; `TOOLBAY_UPDATE=1 cargo test -p toolbay --test it matrix` writes this file anew.

| | |
|---|---|
| ✓ | works |
| – s | the server's revision has no such thing |
| – c | the client's revision has no such thing |

Where a server asks what its client cannot answer, it is told so, and its client hears what the server makes of that: the
cells without a ✓ try this.
";

/// Compares what was seen with the table, or writes the table anew.
pub(super) fn check(seen: &[(Cell, Support)]) -> Result<()> {
    let path = repository().join(FILE);
    let table = write(seen)?;
    #[expect(clippy::disallowed_methods, reason = "how whoever runs the test says what they want")]
    let update = std::env::var("TOOLBAY_UPDATE").is_ok();
    if update {
        return std::fs::write(&path, table).with_context(|| FILE);
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    ensure!(
        committed == table,
        "{FILE} is not what was seen; TOOLBAY_UPDATE=1 writes it anew. Seen:\n{table}"
    );
    Ok(())
}

fn write(seen: &[(Cell, Support)]) -> Result<String> {
    let mut text = INTRODUCTION.to_owned();
    for client in Revision::ALL {
        write!(text, "\n## Clients of {client}\n\n| server |")?;
        for server in Revision::ALL {
            write!(text, " {server} |")?;
        }
        text.push_str("\n|---|---|---|---|---|---|\n");
        for feature in FEATURES {
            write!(text, "| {} |", feature.name)?;
            for server in Revision::ALL {
                write!(text, " {} |", cell(seen, client, server, feature.name)?)?;
            }
            text.push('\n');
        }
    }
    Ok(text)
}

/// What was seen with all ways to and from the hub; they differ in nothing that a revision can do.
fn cell(seen: &[(Cell, Support)], client: Revision, server: Revision, feature: &str) -> Result<&'static str> {
    let is_it = |cell: &Cell| (cell.client, cell.server, cell.feature) == (client, server, feature);
    let marks: Vec<&str> = seen.iter().filter(|(cell, _)| is_it(cell)).map(|(_, seen)| mark(*seen)).collect();
    let all = FRONTS.len() * BACKS.len();
    ensure!(marks.len() == all, "{feature} of {client} at {server}: {} of {all} were tried", marks.len());
    ensure!(marks.iter().all(|mark| *mark == marks[0]), "{feature} of {client} at {server}: {marks:?}");
    Ok(marks[0])
}

fn mark(seen: Support) -> &'static str {
    match seen {
        Support::Works => "✓",
        Support::ServerLacksIt => "– s",
        Support::ClientLacksIt => "– c",
    }
}
