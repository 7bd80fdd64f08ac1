//! `toolbay token`: creates, lists and revokes tokens for clients of a shared hub.

use std::{collections::BTreeSet, sync::Arc, time::SystemTime};

use serde_json::{Value, json};
use toolbay_access::{HubToken, Rights, TokenFile, TokenName};

use crate::{
    app::{context::Context, error::CliError, hub::HubPlan},
    args::{CreateTokenArgs, TokenSubcommand},
    term::table::{Cell, Look, render},
};

pub(crate) fn run(context: &Context, command: &TokenSubcommand) -> Result<(), CliError> {
    let path = context.env.hub_tokens().ok_or_else(|| CliError::usage("set HOME or XDG_STATE_HOME"))?;
    let file = TokenFile::at(&path);
    match command {
        TokenSubcommand::Create(args) => create(context, &file, args),
        TokenSubcommand::List => list(context, &file),
        TokenSubcommand::Revoke(args) => revoke(context, &file, &args.name),
    }
}

fn create(context: &Context, file: &TokenFile, args: &CreateTokenArgs) -> Result<(), CliError> {
    let profile = context.args.global.profile.as_ref();
    if let Some(profile) = profile {
        HubPlan::read(context)?.check_profile(profile)?;
    }
    let servers: BTreeSet<String> = args.servers.iter().map(|name| name.trim().to_owned()).collect();
    if servers.contains("") {
        return Err(CliError::usage("--servers has an empty name"));
    }
    let is_first = file.read()?.is_empty();
    let rights = Rights {
        tier: args.tier,
        servers: (!servers.is_empty()).then(|| Arc::new(servers)),
        profile: profile.map(|profile| profile.as_str().into()),
    };
    let expires = args.expires.map(|lifespan| SystemTime::now() + lifespan.0);
    let secret = file.create(args.name.clone(), rights.clone(), expires)?;
    let created = file.read()?.into_iter().find(|token| token.name == args.name);
    if context.out.json {
        let mut about = created.as_ref().map_or_else(|| json!({}), described);
        about["token"] = secret.reveal().into();
        context.out.json_object(&about)?;
    } else {
        context.out.data(&format!("{}\n", secret.reveal()))?;
    }
    warn_of_unknown(context, &rights);
    context.out.note(&format!(
        "created token `{}`, which is shown only now; clients send it as `Authorization: Bearer …`",
        args.name
    ));
    if is_first {
        context.out.note("clients on HTTP need a token from now on; those on stdio and Unix sockets do not");
    }
    Ok(())
}

fn list(context: &Context, file: &TokenFile) -> Result<(), CliError> {
    let tokens = file.read()?;
    if context.out.json {
        let tokens: Vec<Value> = tokens.iter().map(described).collect();
        return Ok(context.out.json_object(&json!({ "tokens": tokens }))?);
    }
    if tokens.is_empty() {
        context.out.note("there are no tokens; create one with `toolbay token create NAME`");
        return Ok(());
    }
    let head = ["TOKEN", "TIER", "SERVERS", "PROFILE", "CREATED", "EXPIRES"];
    let head = head.map(|title| Cell::new(title, Look::Dim)).to_vec();
    let rows: Vec<Vec<Cell>> = std::iter::once(head).chain(tokens.iter().map(row)).collect();
    for line in render(&rows, context.out.paint) {
        context.out.data(&format!("{line}\n"))?;
    }
    Ok(())
}

fn revoke(context: &Context, file: &TokenFile, name: &TokenName) -> Result<(), CliError> {
    file.revoke(name)?;
    if context.out.json {
        context.out.json_object(&json!({ "revoked": name.as_str() }))?;
    }
    context.out.note(&format!("revoked token `{name}`; running hubs refuse it within a second"));
    Ok(())
}

/// A misspelled server would only be noticed by the user of the token.
fn warn_of_unknown(context: &Context, rights: &Rights) {
    let (Some(servers), Ok(plan)) = (&rights.servers, HubPlan::read(context)) else { return };
    let known = plan.server_names();
    for server in servers.iter().filter(|server| !known.contains(server.as_str())) {
        context
            .out
            .warn(&format!("no server `{server}` is configured; the token may use it once there is one"));
    }
}

fn row(token: &HubToken) -> Vec<Cell> {
    let servers = token.rights.servers.as_ref().map_or_else(
        || "all".to_owned(),
        |servers| servers.iter().map(String::as_str).collect::<Vec<_>>().join(", "),
    );
    let expires = match token.expires {
        None => "never".to_owned(),
        Some(expires) if expires <= SystemTime::now() => format!("expired {}", timestamp(expires)),
        Some(expires) => timestamp(expires),
    };
    vec![
        token.name.to_string().into(),
        token.rights.tier.as_str().into(),
        servers.into(),
        token.rights.profile.as_deref().unwrap_or("–").into(),
        timestamp(token.created).into(),
        expires.into(),
    ]
}

fn described(token: &HubToken) -> Value {
    json!({
        "name": token.name.as_str(),
        "tier": token.rights.tier.as_str(),
        "servers": token.rights.servers.as_deref(),
        "profile": token.rights.profile.as_deref(),
        "created": timestamp(token.created),
        "expires": token.expires.map(timestamp),
        "expired": token.expires.is_some_and(|expires| expires <= SystemTime::now()),
    })
}

fn timestamp(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time).to_string()
}
