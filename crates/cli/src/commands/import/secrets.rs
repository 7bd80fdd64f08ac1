//! Moving plain secrets of imported servers to the store.

use std::collections::BTreeMap;

use toolbay_config::WrittenServer;
use toolbay_secrets::{KeyringPrompts, Secret, SecretName, SecretStore, open_store};

use crate::{
    app::{context::Context, error::CliError},
    args::SecretsArg,
    commands::secret::PROMPT_TIMEOUT,
    term::confirm::{can_ask, confirm},
};

/// Moves the secrets in `servers` to the store if the user wants it, and puts references in their place. Returns how many.
pub(super) async fn move_to_store(
    context: &Context,
    servers: &mut [WrittenServer],
    wanted: Option<SecretsArg>,
) -> Result<usize, CliError> {
    let found: Vec<String> = servers.iter().flat_map(WrittenServer::literal_secrets).collect();
    let is_wanted = match wanted {
        _ if found.is_empty() => false,
        Some(wanted) => wanted == SecretsArg::Move,
        None => {
            let question = format!("Move the secrets ({}) out of the configuration?", found.join(", "));
            can_ask(context) && confirm(context, &question).await?
        }
    };
    if !is_wanted {
        return Ok(0);
    }
    let prompts = match can_ask(context) {
        true => KeyringPrompts::Within(PROMPT_TIMEOUT),
        false => KeyringPrompts::Never,
    };
    let config = context.env.secret_store(prompts);
    let config = config.ok_or_else(|| CliError::usage("set HOME or XDG_CONFIG_HOME"))?;
    let store = open_store(&config).await?;
    let mut known = known(&*store).await?;
    let mut moved = Vec::new();
    for server in servers {
        let server_name = server.name.clone();
        server.move_secrets(|called, value| {
            let name = free_name(&known, called, &server_name, value)?;
            let secret = Secret::new(value).ok()?;
            known.insert(name.clone(), secret.clone());
            moved.push((name.clone(), secret));
            Some(name)
        });
    }
    // Before the file refers to them.
    for (name, secret) in &moved {
        store.set(name, secret).await?;
    }
    Ok(moved.len())
}

/// The secrets of the store, so that none is overwritten.
async fn known(store: &dyn SecretStore) -> Result<BTreeMap<SecretName, Secret>, CliError> {
    let mut known = BTreeMap::new();
    for name in store.names().await? {
        if let Some(secret) = store.get(&name).await? {
            known.insert(name, secret);
        }
    }
    Ok(known)
}

/// The name of what a value is called, with that of the server before it if another value has that name.
fn free_name(
    known: &BTreeMap<SecretName, Secret>,
    called: &str,
    server: &str,
    value: &str,
) -> Option<SecretName> {
    let plain = |text: &str| -> String {
        let allowed = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        text.chars().map(allowed).take(60).collect()
    };
    let (called, server) = (plain(called), plain(server));
    let names = [called.clone(), format!("{server}/{called}")].into_iter();
    let names = names.chain((2..100).map(|number| format!("{server}/{called}-{number}")));
    let mut names = names.filter_map(|name| name.parse::<SecretName>().ok());
    names.find(|name| known.get(name).is_none_or(|secret| secret.expose() == value))
}
