//! The table `[auth.proxy]`: the hub as the authorization server of clients, in front of a provider that registers none.

use std::time::Duration;

use serde::Deserialize;

use super::{ClientSecret, check_url, one_or_more};
use crate::model::duration;

/// The shortest and the longest time that an access token may be valid.
const ACCESS_TOKEN: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(24 * 3600)];
/// Schemes that run or show what is in the URI, and those that have rules of their own.
const REFUSED_SCHEMES: [&str; 9] =
    ["http", "https", "javascript", "data", "file", "blob", "about", "vbscript", "ftp"];

/// The table `[auth.proxy]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuthProxyFile {
    /// The issuer of the provider where people log in.
    pub issuer: String,
    /// The name of this hub there.
    pub client_id: String,
    /// Its password there.
    pub client_secret: Option<ClientSecret>,
    /// What is requested of the provider.
    pub scopes: Option<Vec<String>>,
    /// Whether everyone whom the provider knows may use the hub.
    pub allow_everyone: bool,
    /// Who may, by verified addresses.
    #[serde(deserialize_with = "one_or_more")]
    pub allowed_emails: Vec<String>,
    /// Who may, by the domains of verified addresses.
    #[serde(deserialize_with = "one_or_more")]
    pub allowed_domains: Vec<String>,
    /// Who may, by groups.
    #[serde(deserialize_with = "one_or_more")]
    pub allowed_groups: Vec<String>,
    /// The claim that has the groups of a person.
    pub groups_claim: Option<String>,
    /// Schemes of redirect URIs besides `https` and `http` on the machine of the person.
    #[serde(deserialize_with = "one_or_more")]
    pub redirect_schemes: Vec<String>,
    /// How long an access token is valid.
    #[serde(deserialize_with = "duration::deserialize")]
    pub access_token_lifetime: Option<Duration>,
    /// After what time without use a client has to log in again.
    #[serde(deserialize_with = "duration::deserialize")]
    pub refresh_token_lifetime: Option<Duration>,
    /// After what time it has to in any case.
    #[serde(deserialize_with = "duration::deserialize")]
    pub login_lifetime: Option<Duration>,
}

impl AuthProxyFile {
    /// Checks what is set, and that what must be is.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.issuer.is_empty() || self.client_id.is_empty() {
            return Err("it needs the `issuer` of the provider, and a `client_id` there".to_owned());
        }
        check_url(&self.issuer).map_err(|problem| format!("`issuer` {problem}"))?;
        let lists = [&self.allowed_emails, &self.allowed_domains, &self.allowed_groups];
        if !self.allow_everyone && lists.iter().all(|list| list.is_empty()) {
            return Err("it must say who may use the hub: `allowed_emails`, `allowed_domains` or `allowed_groups`, or \
                        `allow_everyone = true` for all whom the provider knows"
                .to_owned());
        }
        if let Some(email) = self.allowed_emails.iter().find(|email| !email.contains('@')) {
            return Err(format!("`allowed_emails`: `{email}` is not an address"));
        }
        if let Some(domain) =
            self.allowed_domains.iter().find(|domain| domain.is_empty() || domain.contains(['@', '*', '/']))
        {
            return Err(format!("`allowed_domains`: `{domain}` is not a domain, such as example.com"));
        }
        if let Some(scheme) = self.redirect_schemes.iter().find(|scheme| !is_own_scheme(scheme)) {
            return Err(format!(
                "`redirect_schemes`: `{scheme}` is not a scheme that a program has for itself"
            ));
        }
        let [shortest, longest] = ACCESS_TOKEN;
        if self.access_token_lifetime.is_some_and(|time| time < shortest || time > longest) {
            return Err("`access_token_lifetime` must be between 1m and 24h".to_owned());
        }
        let others = [self.refresh_token_lifetime, self.login_lifetime];
        match others.into_iter().flatten().any(|time| time < shortest) {
            true => Err("`refresh_token_lifetime` and `login_lifetime` must be at least 1m".to_owned()),
            false => Ok(()),
        }
    }
}

fn is_own_scheme(scheme: &str) -> bool {
    scheme.starts_with(|first: char| first.is_ascii_lowercase())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"+-.".contains(&byte))
        && !REFUSED_SCHEMES.contains(&scheme)
}
