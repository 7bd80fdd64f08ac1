//! `toolbay logs`: the stderr of servers, and their events.

use futures_util::future::try_join_all;
use serde_json::json;
use toolbay_control::{LogEntry, LogPage, method};
use toolbay_host::LogSource;

use crate::{
    app::{
        context::Context,
        error::CliError,
        session::{self, Session},
    },
    args::LogsArgs,
    term::{
        style::{clean, clean_line},
        time::rfc3339,
    },
};

pub(crate) async fn run(context: &Context, args: &LogsArgs) -> Result<(), CliError> {
    session::with_running(context, async |session| {
        let servers = match &args.server {
            Some(server) => vec![server.clone()],
            None => session.client.snapshot().await?.servers.into_iter().map(|server| server.name).collect(),
        };
        let shows_name = args.server.is_none();
        let pages = servers.iter().map(|server| page(session, server, 0, false));
        let pages = try_join_all(pages).await?;
        let mut lines: Vec<(&str, &LogEntry)> = servers
            .iter()
            .zip(&pages)
            .flat_map(|(server, page)| page.lines.iter().map(move |line| (server.as_str(), line)))
            .collect();
        lines.sort_by_key(|(_, line)| line.time_ms);
        for (server, line) in lines {
            show(context, server, line, shows_name)?;
        }
        if args.follow {
            let nexts = servers.iter().zip(&pages);
            try_join_all(nexts.map(|(server, page)| follow(context, session, server, page.next, shows_name)))
                .await?;
        }
        Ok(())
    })
    .await
}

/// Shows lines as they come, for ever.
async fn follow(
    context: &Context,
    session: &Session<'_>,
    server: &str,
    mut since: u64,
    shows_name: bool,
) -> Result<(), CliError> {
    loop {
        let page = page(session, server, since, true).await?;
        for line in &page.lines {
            show(context, server, line, shows_name)?;
        }
        since = page.next;
    }
}

async fn page(session: &Session<'_>, server: &str, since: u64, follow: bool) -> Result<LogPage, CliError> {
    let params = json!({ "server": server, "since": since, "follow": follow }).to_string();
    Ok(session.client.request_as(method::LOGS, Some(&params)).await?)
}

fn show(context: &Context, server: &str, line: &LogEntry, shows_name: bool) -> Result<(), CliError> {
    let out = &context.out;
    let time = rfc3339(line.time());
    if out.json {
        return Ok(out.json_object(&json!({
            "server": server, "seq": line.seq, "time": time, "source": line.source.as_str(), "text": line.text,
        }))?);
    }
    let name = if shows_name { format!("{} ", clean_line(server)) } else { String::new() };
    let text = clean(&line.text).replace('\n', " ");
    let (mark, text) = match line.source {
        LogSource::Event => ("* ", out.paint.dim(&text)),
        LogSource::StdoutNoise => ("stdout: ", text),
        LogSource::Stderr => ("", text),
    };
    Ok(out.data(&format!("{} {}{mark}{text}\n", out.paint.dim(&time), out.paint.bold(&name)))?)
}
