//! `toolbay status --watch`: the same, for as long as somebody looks.

use std::{collections::HashMap, time::Duration};

use serde_json::json;
use toolbay_control::{ServerSnapshot, Snapshot, method};

use super::{lines, problems, view};
use crate::{
    context::Context,
    error::CliError,
    output::Output,
    redraw::Redraw,
    server_view::{key, line},
    session::{self, Session},
    style::clean_line,
};

/// Changes that come together are shown together.
const TOGETHER: Duration = Duration::from_millis(60);
/// How old may be what no event tells of: counts, and when something is tried again.
const OLDEST: Duration = Duration::from_secs(1);

/// Shows the running hub until it ends, or somebody has seen enough.
pub(super) async fn run(context: &Context) -> Result<(), CliError> {
    session::with_running(context, async |session| {
        let out = &context.out;
        let mut table = Redraw::default();
        let mut told = Told::default();
        let mut snapshot = session.client.snapshot().await?;
        loop {
            if out.json || !out.stdout_is_terminal {
                told.tell(out, &snapshot)?;
            } else {
                let problems = problems(&mut snapshot);
                let mut now = lines(&snapshot, view(context));
                let warning = out.paint.yellow("warning:");
                now.extend(problems.iter().map(|problem| format!("{warning} {problem}")));
                if let Some(text) = table.with(now) {
                    out.data(&text)?;
                }
            }
            snapshot = next(session, snapshot.revision).await?;
        }
    })
    .await
}

/// The hub after the next event, or when it was not looked at for too long.
async fn next(session: &Session<'_>, revision: u64) -> Result<Snapshot, CliError> {
    let params = json!({ "after": revision }).to_string();
    let event = session.client.ask::<Snapshot>(method::EVENTS, Some(&params));
    if let Ok(news) = tokio::time::timeout(OLDEST, event).await {
        news?;
        tokio::time::sleep(TOGETHER).await;
    }
    Ok(session.client.snapshot().await?)
}

/// What was told so far.
#[derive(Debug, Default)]
struct Told {
    servers: HashMap<String, String>,
    problem: Option<String>,
}

impl Told {
    /// Tells what is another than before, a line each.
    fn tell(&mut self, out: &Output, snapshot: &Snapshot) -> Result<(), CliError> {
        if self.problem != snapshot.config_problem {
            self.problem.clone_from(&snapshot.config_problem);
            if out.json {
                out.json_object(&json!({ "event": "config", "problem": self.problem }))?;
            } else if self.problem.is_some() {
                for problem in self.problem.as_deref().unwrap_or_default().lines() {
                    out.data(&format!("{} {}\n", out.paint.yellow("warning:"), clean_line(problem)))?;
                }
            } else {
                out.data("the configuration can be used again\n")?;
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

fn has(snapshot: &Snapshot, name: &str) -> bool {
    snapshot.servers.iter().any(|server: &ServerSnapshot| server.name == name)
}
