//! The secrets of the user, for servers whose entries refer to them.

use std::{
    ffi::OsString,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use toolbay_config::SecretCommands;
use toolbay_host::{Incomplete, SecretLookup, Shim};
use toolbay_protocol::SecretName;
use toolbay_secrets::{
    CommandContext, KeyringPrompts, Secret, SecretCommand, SecretResolver, SecretsError, StoreConfig,
};

use crate::app::context::Context;

/// Finds the secrets of the user: what commands print, and what the store has. Clones share their commands.
#[derive(Debug, Clone)]
pub(crate) struct UserSecrets {
    commands: Arc<Mutex<SecretCommands>>,
    context: CommandContext,
    store: Option<StoreConfig>,
}

impl UserSecrets {
    /// Without commands yet. A locked keyring does not ask: what starts servers must not wait for people.
    pub(crate) fn new(context: &Context) -> Self {
        let home = context.env.home.clone().filter(|home| home.is_dir());
        Self {
            commands: Arc::default(),
            context: CommandContext {
                environment: context.env.variables.clone(),
                directory: home.unwrap_or_else(|| PathBuf::from("/")),
                shim: Shim::current_exe(),
                tasks: context.tasks.clone(),
            },
            store: context.env.secret_store(KeyringPrompts::Never),
        }
    }

    /// Replaces the commands, those of the user's own settings.
    pub(crate) fn set_commands(&self, commands: SecretCommands) {
        *self.commands.lock().unwrap_or_else(PoisonError::into_inner) = commands;
    }

    /// Whether a command prints that secret.
    pub(crate) fn has_command(&self, name: &SecretName) -> bool {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner).contains_key(name)
    }

    /// Finds a secret as it is now.
    ///
    /// # Errors
    /// If there is none; the error says what to do.
    pub(crate) async fn find(&self, name: &SecretName) -> Result<Secret, SecretsError> {
        let words = self.commands.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        let command = words.and_then(|words| {
            let mut words = words.into_iter().map(OsString::from);
            Some(SecretCommand { program: words.next()?, args: words.collect() })
        });
        let store = self.store.clone().ok_or(SecretsError::NoHome)?;
        let commands = command.into_iter().map(|command| (name.clone(), command)).collect();
        SecretResolver::new(commands, self.context.clone(), store).resolve(name).await
    }

    /// For a host, which looks secrets up whenever it starts a server.
    pub(crate) fn lookup(&self) -> SecretLookup {
        let secrets = self.clone();
        SecretLookup::new(move |name| {
            let secrets = secrets.clone();
            async move {
                let secret = secrets.find(&name).await.map_err(|error| Incomplete {
                    reason: in_full(&error),
                    // A command may ask the user, who must not be asked again and again.
                    may_change: !error.is_of_command(),
                })?;
                Ok(secret.expose().to_owned())
            }
        })
    }
}

/// An error with its causes.
pub(crate) fn in_full(error: &SecretsError) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
