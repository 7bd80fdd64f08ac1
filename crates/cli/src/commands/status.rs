//! `toolbay status`: how the hub and its servers are.

mod watch;

use toolbay_control::{Client, Snapshot};

use crate::{
    args::StatusArgs,
    board::server_lines,
    context::Context,
    error::CliError,
    session,
    style::{Paint, clean},
};

pub(crate) async fn run(context: &Context, args: &StatusArgs) -> Result<(), CliError> {
    if args.watch {
        return watch::run(context).await;
    }
    session::with(context, async |session| {
        if matches!(session.client, Client::Local(_)) {
            session.ready(None).await?;
        }
        let snapshot = session.client.snapshot().await?;
        let out = &context.out;
        for problem in problems(&snapshot) {
            out.warn(&problem);
        }
        if out.json {
            return Ok(out.json_object(&snapshot)?);
        }
        for line in lines(&snapshot, matches!(session.client, Client::Remote(_)), out.paint) {
            out.data(&format!("{line}\n"))?;
        }
        Ok(())
    })
    .await
}

/// What is wrong with the configuration, in sentences.
fn problems(snapshot: &Snapshot) -> Vec<String> {
    let lines = snapshot.config_problem.as_deref().unwrap_or_default().lines();
    lines.map(|line| format!("{}; what was there before stays in force", clean(line))).collect()
}

/// The hub, its servers, and what of theirs is not offered.
fn lines(snapshot: &Snapshot, is_elsewhere: bool, paint: Paint) -> Vec<String> {
    let mut head = format!("Toolbay {}", clean(&snapshot.version));
    if is_elsewhere {
        head.push_str(&format!(", process {}", snapshot.pid));
    }
    let config = snapshot.config.as_ref().map(|config| config.display().to_string());
    for part in [snapshot.url.clone(), config] {
        head.push_str(&part.map(|part| format!(", {}", clean(&part))).unwrap_or_default());
    }
    let mut lines = vec![head];
    lines.extend(server_lines(&snapshot.servers, &[], paint));
    for set_aside in &snapshot.quarantined {
        let value: serde_json::Value = serde_json::from_str(set_aside.get()).unwrap_or_default();
        let part = |key: &str| clean(value[key].as_str().unwrap_or("?")).into_owned();
        let (server, kind, name) = (part("server"), part("kind"), part("name"));
        lines.push(format!("{server}: the {kind} `{name}` is not offered: {}", part("reason")));
    }
    lines
}
