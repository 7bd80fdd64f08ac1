//! `toolbay auth clients` and `auth revoke`: logins of people at this hub, through `[auth.proxy]`.

use std::path::PathBuf;

use serde_json::{Value, json};
use toolbay_access::proxy::StoredLogin;
use toolbay_config::visible;

use crate::{
    app::{context::Context, error::CliError},
    args::RevokeLoginsArgs,
    term::{
        table::{self, Cell, Look},
        time::rfc3339,
    },
};

/// How much of the name of a login is shown: enough to tell them apart.
const SHOWN: usize = 8;

/// `toolbay auth clients`: who is logged in at this hub, and with which client.
pub(super) fn list(context: &Context) -> Result<(), CliError> {
    let logins = StoredLogin::list(&directory(context)?)?;
    if context.out.json {
        let list: Vec<Value> = logins.iter().map(about).collect();
        return Ok(context.out.json_object(&json!({ "logins": list }))?);
    }
    let rows: Vec<Vec<Cell>> = logins
        .iter()
        .map(|login| {
            vec![
                Cell::new(short(login), Look::Bold),
                visible(&login.user).into(),
                visible(&login.client_id).into(),
                visible(&login.scopes).into(),
                Cell::new(format!("since {}", rfc3339(login.since)), Look::Dim),
            ]
        })
        .collect();
    table::print(context, &rows, "no one is logged in at this hub through `[auth.proxy]`")
}

/// `toolbay auth revoke`: ends logins.
pub(super) fn revoke(context: &Context, args: &RevokeLoginsArgs) -> Result<(), CliError> {
    let directory = directory(context)?;
    let mut logins = StoredLogin::list(&directory)?;
    let is_meant = |login: &StoredLogin| match (&args.login, &args.user) {
        (Some(id), _) => login.id.starts_with(id.as_str()),
        (None, user) => user.as_ref() == Some(&login.user),
    };
    logins.retain(is_meant);
    if logins.is_empty() || (args.login.is_some() && logins.len() > 1) {
        let how_many = if logins.is_empty() { "no login" } else { "more than one login" };
        return Err(CliError::Usage {
            message: format!(
                "{how_many} is meant by `{}`",
                visible(args.login.as_ref().or(args.user.as_ref()).map_or("", |name| name))
            ),
            hint: Some("`toolbay auth clients` lists them".to_owned()),
        });
    }
    for login in &logins {
        login.end(&directory)?;
        context.out.note(&format!(
            "ended the login of {} with {}; a running hub refuses its tokens within a second",
            visible(&login.user),
            visible(&login.client_id)
        ));
    }
    if context.out.json {
        let list: Vec<Value> = logins.iter().map(about).collect();
        context.out.json_object(&json!({ "revoked": list }))?;
    }
    Ok(())
}

fn directory(context: &Context) -> Result<PathBuf, CliError> {
    context.env.auth_proxy().ok_or_else(|| CliError::usage("set HOME or XDG_STATE_HOME"))
}

fn short(login: &StoredLogin) -> String {
    login.id.chars().take(SHOWN).collect()
}

fn about(login: &StoredLogin) -> Value {
    json!({
        "id": short(login),
        "user": login.user,
        "client_id": login.client_id,
        "scopes": login.scopes.split(' ').filter(|scope| !scope.is_empty()).collect::<Vec<_>>(),
        "since": rfc3339(login.since),
    })
}
