//! What the owner of the hub decides about the proxy.

use std::{path::PathBuf, sync::Arc, time::Duration};

use serde_json::{Map, Value};
use toolbay_oauth::{Credential, Fetch, IdentityProviderSettings, Scopes};
use url::Url;

use super::{clients::is_loopback, endpoints};
use crate::{
    authenticator::Refusal,
    issuer::{AccessPolicy, claims::Claims},
    principal::Principal,
    rights::Rights,
};

/// What the owner of the hub decides about the proxy.
#[derive(Debug, Clone)]
pub struct ProxySettings {
    /// The URL of the hub as clients see it, without a slash at the end. It is the name of the proxy as an issuer, too.
    pub public_url: String,
    /// The provider where people log in.
    pub provider: ProviderSettings,
    /// Which people may use the hub.
    pub allowed: AllowedUsers,
    /// Who they are to the hub and what they may do.
    pub policy: AccessPolicy,
    /// Schemes of redirect URIs besides `https` and `http` on the machine of the user, for programs that registered their own.
    pub redirect_schemes: Vec<String>,
    /// How long an access token is valid.
    pub access_token_lifetime: Duration,
    /// After what time without use a refresh token expires.
    pub refresh_token_lifetime: Duration,
    /// After what time a person has to log in again in any case.
    pub login_lifetime: Duration,
    /// Where logins, registrations and approvals are kept.
    pub directory: PathBuf,
    /// Sends requests to the provider.
    pub provider_fetch: Arc<dyn Fetch>,
    /// Reads the metadata documents of clients, whose addresses strangers choose.
    pub document_fetch: Arc<dyn Fetch>,
}

/// How the hub is registered at the provider.
#[derive(Debug, Clone)]
pub struct ProviderSettings {
    /// Its issuer.
    pub issuer: String,
    /// The client id of the hub there.
    pub client_id: String,
    /// Its password.
    pub client_secret: Option<Credential>,
    /// What is requested of the provider.
    pub scopes: Scopes,
}

impl ProxySettings {
    /// What is requested unless the configuration says otherwise.
    pub const PROVIDER_SCOPES: &'static str = "openid profile email";
    /// The lifetimes unless the configuration says otherwise: of access tokens, refresh tokens and logins.
    pub const LIFETIMES: [Duration; 3] = [
        Duration::from_secs(15 * 60),
        Duration::from_secs(14 * 24 * 3600),
        Duration::from_secs(30 * 24 * 3600),
    ];

    pub(super) fn identity_provider(&self) -> IdentityProviderSettings {
        let ProviderSettings { issuer, client_id, client_secret, scopes } = self.provider.clone();
        let redirect_uri = format!("{}{}", self.public_url, endpoints::CALLBACK);
        IdentityProviderSettings { issuer, client_id, client_secret, redirect_uri, scopes }
    }

    /// All scopes that clients may request. Others are left out.
    pub(super) fn scopes(&self) -> Scopes {
        self.policy.scopes().iter().map(String::as_str).collect()
    }

    /// Who a person is to the hub with a client that has these scopes, and what they may do with it.
    ///
    /// # Errors
    /// If the person may not use the hub, or the scopes do not suffice.
    pub(super) fn who(
        &self,
        claims: &Map<String, Value>,
        scopes: &Scopes,
    ) -> Result<(Principal, Rights), Refusal> {
        let mut claims = claims.clone();
        // Those of the provider are about the provider.
        claims.remove("scp");
        claims.insert("scope".to_owned(), scopes.to_string().into());
        let claims = Claims::new(claims);
        self.allowed.check(&claims).map_err(Refusal::InvalidToken)?;
        let access = self.policy.apply(&self.provider.issuer, &claims)?;
        Ok((access.principal, access.rights))
    }

    /// Whether a resource is this hub, or a part of it. On this machine, all of its names mean the same.
    pub(super) fn is_ours(&self, resource: &str) -> bool {
        let (Ok(ours), Ok(named)) = (Url::parse(&self.public_url), Url::parse(resource)) else {
            return false;
        };
        let base = ours.path().trim_end_matches('/');
        let is_same_host = named.host() == ours.host() || (is_loopback(&named) && is_loopback(&ours));
        named.scheme() == ours.scheme()
            && is_same_host
            && named.port_or_known_default() == ours.port_or_known_default()
            && named.username().is_empty()
            && named.password().is_none()
            && named.query().is_none()
            && named.fragment().is_none()
            && named.path().strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// Which people of the provider may use the hub. Those who match one of the lists may.
///
/// There is no default that lets everyone in: at a public provider, anyone has an account.
#[derive(Debug, Clone, Default)]
pub struct AllowedUsers {
    /// Everyone whom the provider knows.
    pub everyone: bool,
    /// Addresses, if the provider verified them.
    pub emails: Vec<String>,
    /// Domains of addresses, if the provider verified them.
    pub domains: Vec<String>,
    /// Groups, by the claim [`groups_claim`](Self::groups_claim).
    pub groups: Vec<String>,
    /// The claim that has the groups of a person; `groups` if empty.
    pub groups_claim: String,
}

impl AllowedUsers {
    /// Whether nobody is named.
    pub fn is_empty(&self) -> bool {
        !self.everyone && self.emails.is_empty() && self.domains.is_empty() && self.groups.is_empty()
    }

    /// Whether a person may use the hub, or why not, in words for them.
    pub(crate) fn check(&self, claims: &Claims) -> Result<(), String> {
        if self.everyone {
            return Ok(());
        }
        let claim = if self.groups_claim.is_empty() { "groups" } else { &self.groups_claim };
        if claims.values(claim).iter().any(|group| self.groups.iter().any(|own| own == group)) {
            return Ok(());
        }
        let email = claims.values("email").first().copied().unwrap_or_default();
        let is_named = self.emails.iter().any(|own| own.eq_ignore_ascii_case(email))
            || email
                .rsplit_once('@')
                .is_some_and(|(_, domain)| self.domains.iter().any(|own| own.eq_ignore_ascii_case(domain)));
        match (is_named && !email.is_empty(), claims.is_true("email_verified")) {
            (true, true) => Ok(()),
            (true, false) => Err(format!("the identity provider has not verified the address {email}")),
            (false, _) if email.is_empty() => Err("this account may not use this hub".to_owned()),
            (false, _) => Err(format!("{email} may not use this hub")),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(allowed: &AllowedUsers, claims: serde_json::Value) -> Result<(), String> {
        allowed.check(&Claims::new(claims.as_object().unwrap().clone()))
    }

    #[test]
    fn only_those_who_are_named_and_verified_may_use_the_hub() {
        let allowed = AllowedUsers {
            emails: vec!["ada@a.example".into()],
            domains: vec!["b.example".into()],
            groups: vec!["hub".into()],
            ..AllowedUsers::default()
        };
        assert!(!allowed.is_empty() && AllowedUsers::default().is_empty());
        for good in [
            json!({ "email": "Ada@a.example", "email_verified": true }),
            json!({ "email": "bob@B.example", "email_verified": "true" }),
            json!({ "groups": ["x", "hub"] }),
            json!({ "groups": "hub" }),
        ] {
            assert_eq!(check(&allowed, good.clone()), Ok(()), "{good}");
        }
        for bad in [
            json!({}),
            json!({ "email": "ada@a.example" }),
            json!({ "email": "ada@a.example", "email_verified": false }),
            json!({ "email": "eve@a.example", "email_verified": true }),
            json!({ "email": "eve@xb.example", "email_verified": true }),
            json!({ "email": "eve@b.example@evil.example", "email_verified": true }),
            json!({ "email": "", "email_verified": true }),
            json!({ "groups": ["hubs"], "roles": ["hub"] }),
        ] {
            assert!(check(&allowed, bad.clone()).is_err(), "{bad}");
        }
        assert!(check(&AllowedUsers { everyone: true, ..AllowedUsers::default() }, json!({})).is_ok());
    }
}
