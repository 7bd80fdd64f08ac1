//! Shared by all commands: environment, configuration, hubs, signals, errors.

pub(crate) mod audit;
mod authorization_proxy;
pub(crate) mod base64;
pub(crate) mod built_in;
pub(crate) mod code_mode;
pub(crate) mod codebases;
pub(crate) mod context;
pub(crate) mod cycle;
pub(crate) mod default_servers;
pub(crate) mod env;
pub(crate) mod error;
pub(crate) mod exit;
pub(crate) mod hub;
pub(crate) mod issuer;
pub(crate) mod login_settings;
pub(crate) mod login_store;
pub(crate) mod logins;
pub(crate) mod owner_policy;
pub(crate) mod pins;
pub(crate) mod port_owner;
pub(crate) mod principals;
pub(crate) mod reload;
pub(crate) mod secrets;
pub(crate) mod session;
pub(crate) mod shared_hub;
pub(crate) mod signals;
pub(crate) mod user_secrets;
