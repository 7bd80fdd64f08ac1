//! `[auth]`: tokens of an identity provider.

use std::{collections::BTreeMap, ffi::OsStr, net::SocketAddr, sync::Arc};

use toolbay_access::{
    PublicUrl, Tier,
    issuer::{AccessPolicy, ClaimMap, IntrospectionConfig, Issuer, IssuerConfig, Verification},
};
use toolbay_config::{AuthFile, AuthSection, ClaimFile, ClientSecret, IntrospectionFile};
use toolbay_gateway::{GatewayOptions, ProtectedResource};
use toolbay_oauth::{AddressRule, Credential, GuardedClient};
use toolbay_protocol::SecretName;
use toolbay_transport::http::client::{ConnectOptions, Proxies};

use crate::{
    app::{authorization_proxy, context::Context, error::CliError, hub::HubPlan, user_secrets::UserSecrets},
    args::ServeArgs,
};

/// Names of this machine that clients use.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Lets the gateway accept tokens as `[auth]` says, and tell clients where to get them. `listens_at` are its addresses.
///
/// # Errors
/// If `[auth]` cannot be used: without it, the hub would be open.
pub(crate) async fn protect(
    context: &Context,
    plan: &HubPlan,
    args: &ServeArgs,
    listens_at: &[SocketAddr],
    gateway: &mut GatewayOptions,
) -> Result<(), CliError> {
    let Some(auth) = checked(&plan.auth)? else { return Ok(()) };
    let secrets = plan.secrets(context);
    if let (None, Some(address)) = (&args.public_url, listens_at.iter().find(|it| !is_loopback(it))) {
        return Err(CliError::Usage {
            message: format!(
                "{address} is reachable from other machines; with `[auth]` the hub must know the URL under which clients reach it"
            ),
            hint: Some("pass --public-url https://HOST, or set `public_url` in `[hub]`".to_owned()),
        });
    }
    let policy = policy(auth)?;
    let variable = |name: &str| context.env.variables.get(OsStr::new(name)).map(|value| value.as_os_str());
    let route = ConnectOptions { proxies: Proxies::from_variables(variable), ..ConnectOptions::default() };
    // The user names the issuer, which may well be in a private network.
    let fetch = Arc::new(GuardedClient::new(AddressRule::Private, &route, &context.tasks));
    let mut authorization_servers = Vec::new();
    if let Some(proxy) = &auth.proxy
        && let Some(public_url) = public_url(args, listens_at)
    {
        let policy = policy.clone();
        let proxy =
            authorization_proxy::open(context, &secrets, proxy, policy, public_url, &route, fetch.clone())
                .await?;
        let proxy = Arc::new(proxy);
        authorization_servers.push(proxy.issuer().to_owned());
        gateway.authenticators.push(proxy.clone());
        gateway.authorization_proxy = Some(proxy);
    }
    if !auth.issuer.is_empty() {
        authorization_servers.push(auth.issuer.clone());
        let verification = match &auth.introspection {
            Some(settings) => Verification::Introspection(introspection(&secrets, settings).await?),
            None => Verification::Keys { url: auth.jwks_url.clone() },
        };
        let config = IssuerConfig {
            issuer: auth.issuer.clone(),
            audiences: audiences(auth, args, listens_at, plan),
            verification,
            policy: policy.clone(),
        };
        let issuer = Issuer::new(config, fetch, context.tasks.clone());
        issuer.prepare();
        gateway.authenticators.push(Arc::new(issuer));
    }
    gateway.protected_resource = Some(ProtectedResource { authorization_servers, scopes: policy.scopes() });
    Ok(())
}

/// The URL of the hub for clients. On this machine, without one in the settings, it is that of its first address.
fn public_url(args: &ServeArgs, listens_at: &[SocketAddr]) -> Option<String> {
    let scheme = if args.tls_cert.is_some() { "https" } else { "http" };
    let of_address = || listens_at.first().map(|address| format!("{scheme}://{address}"));
    args.public_url.as_ref().map(ToString::to_string).or_else(of_address)
}

/// The settings of `[auth]`, if there are any.
pub(crate) fn checked(auth: &AuthSection) -> Result<Option<&AuthFile>, CliError> {
    match auth {
        AuthSection::Absent => Ok(None),
        AuthSection::Valid(auth) => Ok(Some(auth)),
        AuthSection::Invalid => Err(CliError::Usage {
            message: "`[auth]` has errors or cannot be read, and the hub would be open without it".to_owned(),
            hint: Some("`toolbay config check` shows them".to_owned()),
        }),
    }
}

fn is_loopback(address: &SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// The names of the hub in tokens: those in the file, else the URLs of its endpoints.
fn audiences(auth: &AuthFile, args: &ServeArgs, listens_at: &[SocketAddr], plan: &HubPlan) -> Vec<String> {
    let of_profiles = |endpoint: String| -> Vec<String> {
        let profiles = plan.profile_names().map(|name| format!("{endpoint}/p/{name}")).collect::<Vec<_>>();
        std::iter::once(endpoint).chain(profiles).collect()
    };
    if !auth.audience.is_empty() {
        return auth.audience.clone();
    }
    if let Some(url) = &args.public_url {
        return url.endpoints().into_iter().flat_map(of_profiles).collect();
    }
    let scheme = if args.tls_cert.is_some() { "https" } else { "http" };
    let mut urls = Vec::new();
    for address in listens_at {
        let names = LOOPBACK.iter().map(|name| format!("{scheme}://{name}:{}", address.port()));
        urls.extend(names.chain([format!("{scheme}://{address}")]));
    }
    let urls = urls.iter().filter_map(|url| url.parse::<PublicUrl>().ok());
    let mut audiences: Vec<String> = urls.flat_map(|url| url.endpoints()).flat_map(of_profiles).collect();
    audiences.sort_unstable();
    audiences.dedup();
    audiences
}

fn policy(auth: &AuthFile) -> Result<AccessPolicy, CliError> {
    let default = AccessPolicy::default();
    Ok(AccessPolicy {
        required_scopes: auth.required_scopes.clone(),
        scope_includes: auth.scope_includes.clone(),
        scope_tiers: tiers(&auth.tiers)?,
        principal_claim: auth.principal_claim.clone().unwrap_or(default.principal_claim),
        tier_claim: match &auth.tier_claim {
            Some(ClaimFile { claim, values, default }) => Some(ClaimMap {
                claim: claim.clone(),
                values: tiers(values)?,
                default: default.as_deref().map(tier).transpose()?,
            }),
            None => None,
        },
        profile_claim: auth.profile_claim.as_ref().map(|map| ClaimMap {
            claim: map.claim.clone(),
            values: map.values.clone(),
            default: map.default.clone(),
        }),
    })
}

fn tiers(written: &BTreeMap<String, String>) -> Result<BTreeMap<String, Tier>, CliError> {
    written.iter().map(|(name, word)| Ok((name.clone(), tier(word)?))).collect()
}

fn tier(word: &str) -> Result<Tier, CliError> {
    word.parse().map_err(|error| CliError::usage(format!("`[auth]`: {error}")))
}

async fn introspection(
    secrets: &UserSecrets,
    settings: &IntrospectionFile,
) -> Result<IntrospectionConfig, CliError> {
    Ok(IntrospectionConfig {
        url: settings.url.clone(),
        client_id: settings.client_id.clone(),
        client_secret: client_secret(secrets, "[auth.introspection]", &settings.client_secret).await?,
        counts_for: settings.cache.unwrap_or(IntrospectionConfig::COUNTS_FOR),
    })
}

/// The password that a table names.
pub(super) async fn client_secret(
    secrets: &UserSecrets,
    table: &str,
    named: &ClientSecret,
) -> Result<Credential, CliError> {
    let unusable =
        |error: &dyn std::fmt::Display| CliError::usage(format!("`client_secret` in `{table}`: {error}"));
    let name: SecretName = named.0.parse().map_err(|error| unusable(&error))?;
    Ok(Credential::new(secrets.find(&name).await?.expose()))
}
