//! `[auth.proxy]`: the hub as the authorization server of its clients.

use std::{error::Error as _, sync::Arc};

use toolbay_access::{
    issuer::AccessPolicy,
    proxy::{AllowedUsers, AuthorizationProxy, ProviderSettings, ProxySettings},
};
use toolbay_config::AuthProxyFile;
use toolbay_oauth::{AddressRule, Fetch, GuardedClient, Scopes};
use toolbay_transport::http::client::ConnectOptions;

use super::issuer::client_secret;
use crate::app::{context::Context, error::CliError, user_secrets::UserSecrets};

/// Opens the proxy that a file describes. `provider` sends requests to the provider.
///
/// # Errors
/// If its password or its files cannot be read.
pub(super) async fn open(
    context: &Context,
    secrets: &UserSecrets,
    file: &AuthProxyFile,
    policy: AccessPolicy,
    public_url: String,
    route: &ConnectOptions,
    provider: Arc<dyn Fetch>,
) -> Result<AuthorizationProxy, CliError> {
    let secret = match &file.client_secret {
        Some(secret) => Some(client_secret(secrets, "[auth.proxy]", secret).await?),
        None => None,
    };
    let scopes = match &file.scopes {
        Some(scopes) => scopes.iter().map(String::as_str).collect(),
        None => Scopes::parse(ProxySettings::PROVIDER_SCOPES),
    };
    let directory = context.env.auth_proxy();
    let [access_token, refresh_token, login] = ProxySettings::LIFETIMES;
    let settings = ProxySettings {
        public_url,
        provider: ProviderSettings {
            issuer: file.issuer.clone(),
            client_id: file.client_id.clone(),
            client_secret: secret,
            scopes,
        },
        allowed: AllowedUsers {
            everyone: file.allow_everyone,
            emails: file.allowed_emails.clone(),
            domains: file.allowed_domains.clone(),
            groups: file.allowed_groups.clone(),
            groups_claim: file.groups_claim.clone().unwrap_or_default(),
        },
        policy,
        redirect_schemes: file.redirect_schemes.clone(),
        access_token_lifetime: file.access_token_lifetime.unwrap_or(access_token),
        refresh_token_lifetime: file.refresh_token_lifetime.unwrap_or(refresh_token),
        login_lifetime: file.login_lifetime.unwrap_or(login),
        directory: directory.ok_or_else(|| CliError::usage("`[auth.proxy]`: set HOME or XDG_STATE_HOME"))?,
        provider_fetch: provider,
        // Strangers choose what is fetched.
        document_fetch: Arc::new(GuardedClient::new(AddressRule::Public, route, &context.tasks)),
    };
    AuthorizationProxy::open(settings).map_err(|error| {
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        CliError::usage(format!("`[auth.proxy]`: {error}{cause}"))
    })
}
