//! Checks secrets: where they are kept, which are referred to and not set, and which are plain text in files. Names only.

use std::collections::BTreeSet;

use toolbay_config::{Permission, ServerConfig};
use toolbay_secrets::{KeyringPrompts, SecretName, StoreConfig, StoreKind, open_store};

use super::report::Finding;
use crate::{
    app::{context::Context, user_secrets::in_full},
    configured::files::Configuration,
};

const CHECK: &str = "secrets";

/// Checks the store, and the secrets of these servers.
pub(super) async fn check(
    context: &Context,
    configuration: &Configuration,
    servers: &[&ServerConfig],
) -> Vec<Finding> {
    let needed = servers.iter().filter(|server| server.permission == Permission::Enabled);
    let needed: Vec<(&ServerConfig, &SecretName)> = needed
        .flat_map(|server| server.secret_names().into_iter().map(|name| (*server, name)))
        .filter(|(_, name)| !configuration.secrets.has_command(name))
        .collect();
    let Some(store) = context.env.secret_store(KeyringPrompts::Never) else { return Vec::new() };
    match names(&store).await {
        Ok((kind, known)) => {
            let mut findings = vec![place(kind, &store, known.len())];
            findings.extend(needed.iter().filter(|(_, name)| !known.contains(*name)).map(
                |(server, name)| {
                    Finding::bad(CHECK, format!("secret {name} is not set"))
                        .about(server.name.as_str())
                        .fix(format!("toolbay secret set {name}"))
                },
            ));
            findings
        }
        Err(message) if needed.is_empty() => vec![Finding::odd(CHECK, message)],
        Err(message) => vec![Finding::bad(CHECK, message)],
    }
}

async fn names(store: &StoreConfig) -> Result<(StoreKind, BTreeSet<SecretName>), String> {
    let opened = open_store(store).await.map_err(|error| in_full(&error))?;
    let names = opened.names().await.map_err(|error| in_full(&error))?;
    // Tokens of logins are none of the user's.
    Ok((opened.kind(), names.into_iter().filter(|name| !name.is_reserved()).collect()))
}

fn place(kind: StoreKind, store: &StoreConfig, count: usize) -> Finding {
    let place = match kind {
        StoreKind::Keyring => kind.to_string(),
        StoreKind::EncryptedFile | StoreKind::PlainFile => format!("{kind} {}", store.path.display()),
    };
    match (kind, count) {
        (_, 0) => Finding::good(CHECK, format!("none; they would be kept in the {place}")),
        (StoreKind::PlainFile, _) => {
            Finding::odd(CHECK, format!("{count} in the {place}, which every program of yours can read"))
                .fix("encrypt them: toolbay secret move encrypted-file")
        }
        _ => Finding::good(CHECK, format!("{count} in the {place}")),
    }
}

/// Secrets that are plain text in configuration files.
pub(super) fn check_files(configuration: &Configuration, only: Option<&str>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &configuration.files {
        let Ok(content) = configuration.load(&file.path) else { continue };
        for written in content.written.iter().filter(|it| only.is_none_or(|only| it.name == only)) {
            let names = written.literal_secrets();
            if !names.is_empty() {
                let message = format!("{}: {} in plain text", file.path.display(), names.join(", "));
                let fix = "set it with `toolbay secret set NAME`, and refer to it as `${secret:NAME}`";
                findings.push(Finding::odd(CHECK, message).about(&written.name).fix(fix));
            }
        }
    }
    findings
}
