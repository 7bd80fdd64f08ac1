//! `toolbay status --watch`: the status, updated until it is ended.

use std::{collections::HashMap, time::Duration};

use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use toolbay_control::{HubStatus, ServerSnapshot, method};
use toolbay_host::ConfigProblem;

use super::{head, other_problems, problems, set_aside, view};
use crate::{
    app::{
        context::Context,
        error::CliError,
        session::{self, Session},
    },
    term::{
        output::{Output, Size},
        screen::Screen,
        status_view::{View, key, line, sort_by_trouble},
        style::{clean_line, cut},
    },
};

/// Changes that come together are shown together.
const TOGETHER: Duration = Duration::from_millis(60);
/// The maximal age of values without an event: counts, and times of retries.
const OLDEST: Duration = Duration::from_secs(1);

/// Shows the running hub until it ends, or the user quits.
pub(super) async fn run(context: &Context) -> Result<(), CliError> {
    session::with_running(context, async |session| {
        let out = &context.out;
        if !out.json && out.stdout_is_terminal {
            return on_screen(context, session).await;
        }
        let mut shown = ShownState::default();
        let mut snapshot = session.client.snapshot().await?;
        loop {
            shown.update(out, &snapshot)?;
            snapshot = next(session, snapshot.revision).await?;
        }
    })
    .await
}

/// A table that fills the terminal and is always current.
async fn on_screen(context: &Context, session: &Session<'_>) -> Result<(), CliError> {
    let mut snapshot = session.client.snapshot().await?;
    let mut problems = problems(&snapshot);
    let mut resized = signal(SignalKind::window_change())?;
    let mut screen = Screen::enter()?;
    let mut is_help = false;
    loop {
        let size = screen.size();
        screen.draw(if is_help { help(size) } else { page(context, &snapshot, &problems, size) })?;
        tokio::select! {
            key = screen.key() => match key {
                b'q' | b'Q' => return Ok(()),
                b'?' | b'h' => is_help = !is_help,
                _ => is_help = false,
            },
            _ = resized.recv() => screen.forget(),
            news = next(session, snapshot.revision) => {
                snapshot = news?;
                problems = super::problems(&snapshot);
            }
        }
    }
}

/// The lines that fit, servers with problems first.
fn page(context: &Context, snapshot: &HubStatus, problems: &[String], size: Size) -> Vec<String> {
    let paint = context.out.paint;
    let view = View { columns: Some(size.columns), ..view(context) };
    let mut lines = head(snapshot, paint, Some(size.columns));
    let warnings = problems.iter().map(|problem| format!("warning: {problem}"));
    lines.extend(warnings.map(|line| paint.yellow(&cut(&line, size.columns))));
    let mut servers: Vec<&ServerSnapshot> = snapshot.servers.iter().collect();
    sort_by_trouble(&mut servers);
    let mut blocks = view.blocks(&servers);
    blocks.extend(set_aside(snapshot).iter().map(|line| vec![cut(line, size.columns)]));
    // The last line shows the keys, the one above how much does not fit.
    let room = size.rows.saturating_sub(lines.len() + 1);
    let shown = fitting(&blocks, room);
    let left = blocks.len() - shown;
    lines.extend(blocks.into_iter().take(shown).flatten());
    if left > 0 {
        lines.push(paint.dim(&cut(&format!("… {left} more"), size.columns)));
    }
    lines.truncate(size.rows.saturating_sub(1));
    lines.push(paint.dim(&cut("q quit   ? help", size.columns)));
    lines
}

/// How many blocks fit into so many lines, with one left for saying how many do not.
fn fitting(blocks: &[Vec<String>], room: usize) -> usize {
    if blocks.iter().map(Vec::len).sum::<usize>() <= room {
        return blocks.len();
    }
    let mut used = 0;
    let fits = |block: &&Vec<String>| {
        used += block.len();
        used < room
    };
    blocks.iter().take_while(fits).count()
}

fn help(size: Size) -> Vec<String> {
    let mut lines: Vec<String> =
        HELP.lines().take(size.rows.saturating_sub(1)).map(|line| cut(line, size.columns)).collect();
    lines.push(cut("any key goes back", size.columns));
    lines
}

const HELP: &str = "\
q, Ctrl-C   quit
?           this help

Servers in trouble come first. What does not fit is counted in the last line: make the window larger.

TOOLS, RESOURCES, PROMPTS   what a server offers
CALLS                       calls sent to it
UPTIME                      time since it became ready

In another terminal: toolbay logs NAME, toolbay restart NAME, toolbay stop NAME.";

/// The hub after the next event, or when it was not looked at for too long.
async fn next(session: &Session<'_>, revision: u64) -> Result<HubStatus, CliError> {
    let params = json!({ "after": revision }).to_string();
    let event = session.client.request_as::<HubStatus>(method::EVENTS, Some(&params));
    if let Ok(news) = tokio::time::timeout(OLDEST, event).await {
        news?;
        tokio::time::sleep(TOGETHER).await;
    }
    Ok(session.client.snapshot().await?)
}

/// The state that was printed last.
#[derive(Debug, Default)]
struct ShownState {
    servers: HashMap<String, String>,
    problems: Vec<ConfigProblem>,
}

impl ShownState {
    /// Prints a line for each change.
    fn update(&mut self, out: &Output, snapshot: &HubStatus) -> Result<(), CliError> {
        if self.problems != snapshot.config_problems {
            self.problems.clone_from(&snapshot.config_problems);
            if out.json {
                out.json_object(&json!({ "event": "config", "problems": self.problems }))?;
            } else if self.problems.is_empty() {
                out.data("the configuration is valid again\n")?;
            }
            for problem in other_problems(snapshot).filter(|_| !out.json) {
                out.data(&format!("{} {}\n", out.paint.yellow("warning:"), clean_line(&problem.message)))?;
            }
        }
        let gone: Vec<String> = self.servers.keys().filter(|name| !has(snapshot, name)).cloned().collect();
        for name in gone {
            self.servers.remove(&name);
            if out.json {
                out.json_object(&json!({ "event": "removed", "server": name }))?;
            } else {
                out.data(&format!("{} removed\n", clean_line(&name)))?;
            }
        }
        for server in &snapshot.servers {
            let key = key(server);
            if self.servers.get(&server.name) == Some(&key) {
                continue;
            }
            self.servers.insert(server.name.clone(), key);
            if out.json {
                out.json_object(&json!({ "event": "server", "server": server }))?;
            } else {
                out.data(&format!("{}\n", line(server, out.paint)))?;
            }
        }
        Ok(())
    }
}

fn has(snapshot: &HubStatus, name: &str) -> bool {
    snapshot.servers.iter().any(|server: &ServerSnapshot| server.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_shown_whole_or_not_at_all() {
        let block = |lines: usize| vec!["x".to_owned(); lines];
        let blocks = [block(1), block(3), block(1)];
        for (room, shown) in [(5, 3), (4, 1), (3, 1), (2, 1), (1, 0), (0, 0), (9, 3)] {
            assert_eq!(fitting(&blocks, room), shown, "{room}");
        }
    }
}
