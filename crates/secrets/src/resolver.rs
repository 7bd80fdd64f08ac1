//! Finding the secret of a name.

use std::collections::BTreeMap;
use toolbay_protocol::SecretName;

use crate::{
    command::{CommandContext, SecretCommand},
    error::SecretsError,
    open::{StoreConfig, open_store},
    secret::Secret,
};

/// Finds the secret that `${secret:NAME}` stands for: a command of that name is run, else the store is asked.
///
/// Nothing is remembered: each use sees the secret as it is then, and the store is opened when it is needed first. So commands work
/// without a store, and a keyring that starts after us is found.
#[derive(Debug)]
pub struct SecretResolver {
    commands: BTreeMap<SecretName, SecretCommand>,
    context: CommandContext,
    store: StoreConfig,
}

impl SecretResolver {
    /// A resolver. `commands` come from the user's own settings, because they run as the user.
    pub fn new(
        commands: BTreeMap<SecretName, SecretCommand>,
        context: CommandContext,
        store: StoreConfig,
    ) -> Self {
        Self { commands, context, store }
    }

    /// Returns the secret of a name.
    ///
    /// # Errors
    /// If there is none; the error names it, and says what to do.
    pub async fn resolve(&self, name: &SecretName) -> Result<Secret, SecretsError> {
        if let Some(command) = self.commands.get(name) {
            return command.run(name, &self.context).await;
        }
        let unavailable = |error| SecretsError::Unavailable { name: name.clone(), source: Box::new(error) };
        let store = open_store(&self.store).await.map_err(unavailable)?;
        match store.get(name).await {
            Ok(Some(secret)) if !name.is_reserved() => Ok(secret),
            Ok(_) => Err(SecretsError::NotSet { name: name.clone() }),
            Err(error @ SecretsError::Unusable { .. }) => Err(error),
            Err(error) => Err(unavailable(error)),
        }
    }
}
