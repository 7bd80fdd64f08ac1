//! `toolbay secret`: sets, lists, removes and moves named secrets.

use std::{io::Read, sync::Arc, time::Duration};

use serde_json::json;
use toolbay_secrets::{
    KeyKind, KeyringPrompts, Secret, SecretName, SecretStore, SecretsError, StoreConfig, StoreKey, StoreKind,
    move_secrets, open_store,
};

use crate::{
    app::{context::Context, error::CliError, hub::forbid_core_dumps},
    args::{SecretSubcommand, SetSecretArgs},
    term::confirm::{can_ask, read_hidden},
};

/// How long the prompt of a keyring may wait for its password.
pub(super) const PROMPT_TIMEOUT: Duration = Duration::from_secs(120);

/// What is said of the least safe store.
const PLAIN: &str = "secrets are kept in a plain file; `toolbay secret move encrypted-file` encrypts them";

pub(crate) async fn run(context: &Context, command: &SecretSubcommand) -> Result<(), CliError> {
    forbid_core_dumps();
    match command {
        SecretSubcommand::Set(args) => set(context, args).await,
        SecretSubcommand::List => list(context).await,
        SecretSubcommand::Remove(args) => remove(context, &args.name).await,
        SecretSubcommand::Move(args) => change_store(context, args.store.into()).await,
    }
}

async fn set(context: &Context, args: &SetSecretArgs) -> Result<(), CliError> {
    if args.value.is_some() {
        return Err(CliError::Usage {
            message: "a secret is never an argument: other users can see it, and shells remember it"
                .to_owned(),
            hint: Some(format!("run `toolbay secret set {}` and enter it, or pass it on stdin", args.name)),
        });
    }
    refuse_reserved(&args.name)?;
    let config = StoreConfig { kind: args.store.map(StoreKind::from), ..config(context)? };
    // Before the value is asked for: it would be typed in vain.
    let store = open(context, config).await?;
    let secret = value(context, &args.name).await?;
    store.set(&args.name, &secret).await?;
    context.out.note(&format!("set secret `{}` in the {}", args.name, store.kind()));
    if store.kind() == StoreKind::PlainFile {
        context.out.warn(PLAIN);
    }
    Ok(())
}

async fn list(context: &Context) -> Result<(), CliError> {
    let config = config(context)?;
    let path = config.path.clone();
    let store = open(context, config).await?;
    let names = store.names().await?;
    let names = names.iter().filter(|name| !name.is_reserved());
    let names: Vec<&str> = names.map(SecretName::as_str).collect();
    if context.out.json {
        let file = (store.kind() != StoreKind::Keyring).then_some(path);
        let list = json!({ "store": store.kind().id(), "file": file, "secrets": names });
        return Ok(context.out.json_object(&list)?);
    }
    for name in &names {
        context.out.data(&format!("{name}\n"))?;
    }
    context.out.note(&format!("{} in the {}", counted(names.len()), place(store.kind(), &path)));
    if store.kind() == StoreKind::PlainFile && !names.is_empty() {
        context.out.warn(PLAIN);
    }
    Ok(())
}

async fn remove(context: &Context, name: &SecretName) -> Result<(), CliError> {
    refuse_reserved(name)?;
    let store = open(context, config(context)?).await?;
    if !store.remove(name).await? {
        return Err(SecretsError::NotSet { name: name.clone() }.into());
    }
    context.out.note(&format!("removed secret `{name}` from the {}", store.kind()));
    Ok(())
}

async fn change_store(context: &Context, target: StoreKind) -> Result<(), CliError> {
    let mut config = config(context)?;
    // The passphrase that the secrets have, or the one that they get.
    match open_store(&config).await {
        Err(SecretsError::NoKey { needed: KeyKind::Passphrase, .. }) if can_ask(context) => {
            config.key = Some(passphrase(context, "Passphrase of the secrets: ").await?);
        }
        Ok(_) if target == StoreKind::EncryptedFile && config.key.is_none() && can_ask(context) => {
            config.key = Some(new_passphrase(context).await?);
        }
        Ok(_) => {}
        Err(error) => return Err(error.into()),
    }
    let count = move_secrets(&config, target).await?;
    context.out.note(&format!("moved {} to the {}", counted(count), place(target, &config.path)));
    Ok(())
}

/// Tokens of logins are kept in the same store, and have commands of their own.
fn refuse_reserved(name: &SecretName) -> Result<(), CliError> {
    match name.is_reserved() {
        true => Err(CliError::Usage {
            message: format!("names that begin with `{}` belong to logins", SecretName::RESERVED),
            hint: Some("see `toolbay auth list`".to_owned()),
        }),
        false => Ok(()),
    }
}

fn config(context: &Context) -> Result<StoreConfig, CliError> {
    let prompts = match can_ask(context) {
        true => KeyringPrompts::Within(PROMPT_TIMEOUT),
        false => KeyringPrompts::Never,
    };
    context.env.secret_store(prompts).ok_or_else(|| CliError::usage("set HOME or XDG_CONFIG_HOME"))
}

/// Opens the store; asks for the passphrase if it needs one.
async fn open(context: &Context, mut config: StoreConfig) -> Result<Box<dyn SecretStore>, CliError> {
    match open_store(&config).await {
        Err(SecretsError::NoKey { needed: KeyKind::Passphrase, .. }) if can_ask(context) => {
            config.key = Some(passphrase(context, "Passphrase of the secrets: ").await?);
        }
        Err(SecretsError::KeyMissing) if can_ask(context) => {
            config.key = Some(new_passphrase(context).await?);
        }
        opened => return Ok(opened?),
    }
    Ok(open_store(&config).await?)
}

/// Asks for the value on a terminal; otherwise stdin up to its end is the value.
async fn value(context: &Context, name: &SecretName) -> Result<Secret, CliError> {
    let unusable = |error| CliError::usage(format!("cannot use the value of secret `{name}`: {error}"));
    if can_ask(context) {
        let line = read_hidden(context, &format!("Value of {name}: ")).await?;
        return Secret::new(line).map_err(unusable);
    }
    let read = tokio::task::spawn_blocking(|| {
        let mut bytes = Vec::with_capacity(Secret::MAX_LENGTH + 3);
        let limit = bytes.capacity() as u64;
        std::io::stdin().lock().take(limit).read_to_end(&mut bytes).map(|_| bytes)
    });
    let mut bytes = tokio::select! {
        () = context.stop.cancelled() => return Err(CliError::Interrupted),
        bytes = read => bytes.map_err(std::io::Error::other)??,
    };
    for ending in [b"\n", b"\r"] {
        if bytes.ends_with(ending) {
            bytes.pop();
        }
    }
    Secret::from_bytes(bytes.into()).map_err(unusable)
}

async fn new_passphrase(context: &Context) -> Result<Arc<StoreKey>, CliError> {
    let first = read_hidden(context, "New passphrase of the secrets: ").await?;
    if first != read_hidden(context, "The same again: ").await? {
        return Err(CliError::usage("the passphrases differ"));
    }
    key_of(first)
}

async fn passphrase(context: &Context, question: &str) -> Result<Arc<StoreKey>, CliError> {
    key_of(read_hidden(context, question).await?)
}

fn key_of(passphrase: String) -> Result<Arc<StoreKey>, CliError> {
    let passphrase = Secret::new(passphrase)
        .map_err(|error| CliError::usage(format!("cannot use the passphrase: {error}")))?;
    Ok(Arc::new(StoreKey::passphrase(passphrase)))
}

fn counted(count: usize) -> String {
    format!("{count} {}", if count == 1 { "secret" } else { "secrets" })
}

fn place(kind: StoreKind, path: &std::path::Path) -> String {
    match kind {
        StoreKind::Keyring => kind.to_string(),
        StoreKind::EncryptedFile | StoreKind::PlainFile => format!("{kind} {}", path.display()),
    }
}
