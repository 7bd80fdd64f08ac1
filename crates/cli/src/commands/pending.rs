//! `toolbay pending`: calls that wait for the owner of the hub.

use std::time::{Duration, SystemTime};

use serde_json::json;
use toolbay_control::{PendingEntry, PendingPage, method, millis};

use crate::{
    app::{context::Context, error::CliError, session},
    args::PendingSubcommand,
    term::{style::clean_line, time::short},
};

pub(crate) async fn run(context: &Context, command: &PendingSubcommand) -> Result<(), CliError> {
    match command {
        PendingSubcommand::List => list(context).await,
        PendingSubcommand::Allow(args) => decide(context, args.id, true).await,
        PendingSubcommand::Deny(args) => decide(context, args.id, false).await,
    }
}

async fn list(context: &Context) -> Result<(), CliError> {
    session::with_running(context, async |session| {
        let page: PendingPage = session.client.request_as(method::PENDING, None).await?;
        if context.out.json {
            return Ok(context.out.json_object(&page)?);
        }
        if page.pending.is_empty() {
            context.out.note("no call waits for you");
        }
        for entry in &page.pending {
            context.out.data(&described(entry))?;
        }
        Ok(())
    })
    .await
}

fn described(entry: &PendingEntry) -> String {
    let age = Duration::from_millis(millis(SystemTime::now()).saturating_sub(entry.since_ms));
    let client = entry.client.as_ref().map(|client| format!(" with {}", clean_line(client)));
    format!(
        "{}  {} of server {}, {} ago, by {}{}, rule `{}`\n   {}\n",
        entry.id,
        clean_line(&entry.tool),
        clean_line(&entry.server),
        short(age),
        clean_line(&entry.principal),
        client.unwrap_or_default(),
        clean_line(&entry.rule),
        clean_line(&entry.arguments),
    )
}

async fn decide(context: &Context, id: u64, is_allowed: bool) -> Result<(), CliError> {
    session::with_running(context, async |session| {
        let params = json!({ "id": id, "allow": is_allowed }).to_string();
        session.client.request(method::DECIDE, Some(&params)).await?;
        let done = if is_allowed { "allowed" } else { "denied" };
        if context.out.json {
            context.out.json_object(&json!({ done: id }))?;
        }
        context.out.note(&format!("{done} call {id}"));
        Ok(())
    })
    .await
}
