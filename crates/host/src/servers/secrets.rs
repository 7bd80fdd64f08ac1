//! Secrets of servers: looked up for each start, and put where the configuration refers to them.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
};

use futures_util::{
    FutureExt,
    future::{WeakShared, try_join_all},
};
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use toolbay_config::{SecretPlace, ServerConfig, ServerEndpoint};
use toolbay_protocol::{SecretName, redact::KnownSecrets};
use toolbay_upstream::{Completion, Endpoint, Incomplete};

use crate::Connector;

/// How many secrets are looked up at once: a password manager may start a process for each.
const MAX_LOOKUPS: usize = 8;

/// A lookup of a secret; ends with its value.
pub type SecretFuture = Pin<Box<dyn Future<Output = Result<String, Incomplete>> + Send>>;

/// Looks up the values of `${secret:NAME}`. Clones are the same lookup.
#[derive(Clone)]
pub struct SecretLookup {
    look_up: Arc<dyn Fn(SecretName) -> SecretFuture + Send + Sync>,
    turns: Arc<Semaphore>,
    /// Lookups that are under way: servers that start together share them, so that a password manager asks its user once.
    running: Arc<Mutex<HashMap<SecretName, WeakShared<SecretFuture>>>>,
}

impl SecretLookup {
    /// Looks secrets up with a function, which is called for each start of a server. It must end in a bounded time, and its
    /// errors must not contain values.
    pub fn new<F>(look_up: impl Fn(SecretName) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<String, Incomplete>> + Send + 'static,
    {
        Self {
            look_up: Arc::new(move |name| Box::pin(look_up(name))),
            turns: Arc::new(Semaphore::new(MAX_LOOKUPS)),
            running: Arc::default(),
        }
    }

    async fn look_up(&self, name: SecretName) -> Result<(SecretName, String), Incomplete> {
        let value = {
            let mut running = self.running.lock();
            running.retain(|_, lookup| lookup.upgrade().is_some());
            running.get(&name).and_then(WeakShared::upgrade).unwrap_or_else(|| {
                let value = self.begin(name.clone()).shared();
                running.extend(value.downgrade().map(|lookup| (name.clone(), lookup)));
                value
            })
        };
        Ok((name, value.await?))
    }

    fn begin(&self, name: SecretName) -> SecretFuture {
        let (turns, value) = (self.turns.clone(), (self.look_up)(name));
        Box::pin(async move {
            // The semaphore is never closed.
            let _turn = turns.acquire().await;
            value.await
        })
    }
}

impl fmt::Debug for SecretLookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretLookup")
    }
}

/// Completes the endpoint of a server with its secrets, if it refers to any. Their values are added to `known`, so that what
/// the server writes is shown without them.
pub fn completion(
    config: &Arc<ServerConfig>,
    lookup: Option<&SecretLookup>,
    connector: Option<&Connector>,
    known: &KnownSecrets,
) -> Option<Completion> {
    if config.secrets.is_empty() {
        return None;
    }
    let (config, lookup, connector, known) =
        (config.clone(), lookup.cloned(), connector.cloned(), known.clone());
    Some(Completion::new(move |endpoint| {
        let (config, lookup, connector, known) =
            (config.clone(), lookup.clone(), connector.clone(), known.clone());
        async move {
            let lasting = |reason| Incomplete { reason, may_change: false };
            let lookup = lookup.ok_or_else(|| lasting(NO_LOOKUP.to_owned()))?;
            let names = config.secret_names().into_iter().cloned();
            let values: BTreeMap<SecretName, String> =
                try_join_all(names.map(|name| lookup.look_up(name))).await?.into_iter().collect();
            values.values().for_each(|value| known.add(value));
            let value_of = |name: &SecretName| values.get(name).map_or("", String::as_str);
            let resolved = config.with_secrets(value_of).map_err(lasting)?;
            Ok(with_values(endpoint, &config, &resolved, connector.as_ref()))
        }
    }))
}

/// Why a program that embeds us has no secrets.
const NO_LOOKUP: &str = "it refers to secrets, and this program has no lookup for them";

/// The endpoint with everything of `resolved` that has secrets in it.
fn with_values(
    mut endpoint: Endpoint,
    config: &ServerConfig,
    resolved: &ServerConfig,
    connector: Option<&Connector>,
) -> Endpoint {
    match (&mut endpoint, &resolved.endpoint) {
        (Endpoint::Process(process), ServerEndpoint::Command(command)) => {
            for field in &config.secrets {
                match &field.place {
                    SecretPlace::Argument(index) => {
                        process.launch.args[*index] = command.args[*index].clone().into();
                    }
                    SecretPlace::Variable(name) => {
                        let value = command.env.get(name).map(Into::into).unwrap_or_default();
                        process.launch.env.insert(name.into(), value);
                    }
                    SecretPlace::Url
                    | SecretPlace::Header(_)
                    | SecretPlace::OAuth(_)
                    | SecretPlace::Setting(_) => {}
                }
            }
        }
        (
            Endpoint::Auto(target)
            | Endpoint::Http(target)
            | Endpoint::Sse(target)
            | Endpoint::WebSocket(target),
            ServerEndpoint::Url(remote),
        ) => {
            target.url = remote.url.clone();
            for field in &config.secrets {
                if let SecretPlace::Header(name) = &field.place
                    && let Some(value) = remote.headers.get(name)
                {
                    target.headers.insert(name.clone(), value.clone());
                }
            }
        }
        // A server in this process is made with its settings.
        _ => return connector.and_then(|connector| connector.connect(resolved)).unwrap_or(endpoint),
    }
    endpoint
}
