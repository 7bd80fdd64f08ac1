//! Who calls with a token of an issuer, and what they may do.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use tokio_util::sync::CancellationToken;

use crate::{
    authenticator::{Access, Refusal},
    issuer::claims::Claims,
    principal::Principal,
    rights::{Rights, Tier},
};

/// Subjects that are longer are of no use.
const MAX_SUBJECT: usize = 256;

/// Who calls with a token of an issuer, and what they may do.
#[derive(Debug, Clone)]
pub struct AccessPolicy {
    /// The scopes that every token must have.
    pub required_scopes: Vec<String>,
    /// What broader scopes include, directly; what these include counts, too.
    pub scope_includes: BTreeMap<String, Vec<String>>,
    /// How much scopes allow; the most of a token counts. Empty if scopes do not limit it.
    pub scope_tiers: BTreeMap<String, Tier>,
    /// The claim that says who calls.
    pub principal_claim: String,
    /// How much a claim allows.
    pub tier_claim: Option<ClaimMap<Tier>>,
    /// Which profile a claim gives.
    pub profile_claim: Option<ClaimMap<String>>,
}

/// What the values of a claim mean.
#[derive(Debug, Clone)]
pub struct ClaimMap<T> {
    /// The claim: its name, or a path with dots.
    pub claim: String,
    /// What its values mean.
    pub values: BTreeMap<String, T>,
    /// What counts if it has none of these values; without it, the token is refused.
    pub default: Option<T>,
}

impl Default for AccessPolicy {
    fn default() -> Self {
        Self {
            required_scopes: Vec::new(),
            scope_includes: BTreeMap::new(),
            scope_tiers: BTreeMap::new(),
            principal_claim: "sub".to_owned(),
            tier_claim: None,
            profile_claim: None,
        }
    }
}

impl AccessPolicy {
    /// All scopes that a client may ask for: those that are required, and those that allow more.
    pub fn scopes(&self) -> Vec<String> {
        let tiers = self.scope_tiers.keys().filter(|scope| !self.required_scopes.contains(scope));
        self.required_scopes.iter().chain(tiers).cloned().collect()
    }

    /// What a verified token gives.
    pub(crate) fn apply(&self, issuer: &str, claims: &Claims) -> Result<Access, Refusal> {
        let scopes = self.expand(&claims.scopes());
        let principal = self.principal(issuer, claims)?;
        let by_scope = self.tier_by_scope(&scopes)?;
        let by_claim = match &self.tier_claim {
            Some(map) => map.found(claims, "tier", Iterator::max)?.copied(),
            None => None,
        };
        let profile = match &self.profile_claim {
            Some(map) => map.found(claims, "profile", |mut all| all.next())?,
            None => None,
        };
        let tier = by_scope.min(by_claim.unwrap_or_default());
        let rights = Rights { tier, servers: None, profile: profile.map(|name| Arc::from(name.as_str())) };
        Ok(Access { principal, rights, expires: claims.expires(), revoked: CancellationToken::new() })
    }

    fn principal(&self, issuer: &str, claims: &Claims) -> Result<Principal, Refusal> {
        match claims.values(&self.principal_claim)[..] {
            [subject]
                if !subject.is_empty()
                    && subject.len() <= MAX_SUBJECT
                    && !subject.contains(char::is_control) =>
            {
                Ok(Principal::user(issuer, subject))
            }
            _ => Err(Refusal::InvalidToken(format!(
                "the token does not say who calls: its claim `{}` is missing or unusable",
                self.principal_claim
            ))),
        }
    }

    /// The most that the scopes allow, if they suffice.
    fn tier_by_scope(&self, scopes: &BTreeSet<&str>) -> Result<Tier, Refusal> {
        let allowed = self.scope_tiers.iter().filter(|(scope, _)| scopes.contains(scope.as_str()));
        let most = allowed.map(|(_, tier)| *tier).max();
        let lacks_required = self.required_scopes.iter().any(|scope| !scopes.contains(scope.as_str()));
        let lacks_tier = most.is_none() && !self.scope_tiers.is_empty();
        if !lacks_required && !lacks_tier {
            return Ok(most.unwrap_or_default());
        }
        let mut required = self.required_scopes.clone();
        if lacks_tier {
            // The least that lets it in.
            let least = self.scope_tiers.iter().min_by_key(|(_, tier)| **tier);
            required.extend(least.map(|(scope, _)| scope.clone()).filter(|scope| !required.contains(scope)));
        }
        Err(Refusal::InsufficientScope { required })
    }

    /// The scopes, with all that they include.
    fn expand<'a>(&'a self, scopes: &BTreeSet<&'a str>) -> BTreeSet<&'a str> {
        let mut all = scopes.clone();
        let mut new: Vec<&str> = scopes.iter().copied().collect();
        while let Some(scope) = new.pop() {
            for included in self.scope_includes.get(scope).into_iter().flatten() {
                if all.insert(included) {
                    new.push(included);
                }
            }
        }
        all
    }
}

impl<T> ClaimMap<T> {
    /// What a token has of this; `choose` takes one of several, in the order of the token.
    fn found<'a>(
        &'a self,
        claims: &Claims,
        what: &str,
        choose: impl FnOnce(std::vec::IntoIter<&'a T>) -> Option<&'a T>,
    ) -> Result<Option<&'a T>, Refusal> {
        let found: Vec<&T> =
            claims.values(&self.claim).into_iter().filter_map(|value| self.values.get(value)).collect();
        match choose(found.into_iter()).or(self.default.as_ref()) {
            Some(found) => Ok(Some(found)),
            None => Err(Refusal::NotAllowed(format!(
                "the claim `{}` of the token has no value with a {what} for this hub",
                self.claim
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn apply(policy: &AccessPolicy, claims: Value) -> Result<Access, Refusal> {
        let Value::Object(claims) = claims else { panic!("it is an object") };
        policy.apply("https://i", &Claims::new(claims))
    }

    fn map<T>(entries: &[(&str, T)]) -> BTreeMap<String, T>
    where
        T: Clone,
    {
        entries.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    #[test]
    fn required_scopes_are_named_all_at_once_and_broader_ones_suffice() {
        let policy = AccessPolicy {
            required_scopes: vec!["a".into(), "b".into()],
            scope_includes: map(&[
                ("admin", vec!["write".to_owned()]),
                ("write", vec!["a".to_owned(), "b".to_owned()]),
                ("loop", vec!["loop".to_owned()]),
            ]),
            ..AccessPolicy::default()
        };
        let scopes = |scope: &str| apply(&policy, json!({"sub": "u", "scope": scope}));
        assert!(scopes("b a x").is_ok() && scopes("write").is_ok() && scopes("admin").is_ok());
        let required = vec!["a".to_owned(), "b".to_owned()];
        for lacking in ["", "a", "b", "loop"] {
            assert_eq!(
                scopes(lacking).unwrap_err(),
                Refusal::InsufficientScope { required: required.clone() },
                "{lacking}"
            );
        }
    }

    #[test]
    fn the_least_of_what_scopes_and_claims_allow_counts() {
        let policy = AccessPolicy {
            scope_tiers: map(&[("r", Tier::Read), ("w", Tier::Write), ("d", Tier::Destructive)]),
            tier_claim: Some(ClaimMap {
                claim: "roles".into(),
                values: map(&[("viewer", Tier::Read), ("editor", Tier::Write)]),
                default: None,
            }),
            ..AccessPolicy::default()
        };
        let tier = |scope: &str, roles: Value| {
            apply(&policy, json!({"sub": "u", "scope": scope, "roles": roles}))
                .map(|access| access.rights.tier)
        };
        assert_eq!(tier("r w", json!(["viewer", "editor"])), Ok(Tier::Write));
        assert_eq!(tier("d", json!(["editor"])), Ok(Tier::Write));
        assert_eq!(tier("r", json!("editor")), Ok(Tier::Read));
        assert_eq!(
            tier("x", json!("editor")),
            Err(Refusal::InsufficientScope { required: vec!["r".into()] })
        );
        assert!(matches!(tier("d", json!(["guest"])), Err(Refusal::NotAllowed(_))));
        assert_eq!(policy.scopes(), ["d", "r", "w"]);
    }

    #[test]
    fn a_claim_gives_a_profile_or_the_default() {
        let mut policy = AccessPolicy {
            principal_claim: "email".into(),
            profile_claim: Some(ClaimMap {
                claim: "groups".into(),
                values: map(&[("dev", "coding".to_owned()), ("ops", "servers".to_owned())]),
                default: Some("guest".into()),
            }),
            ..AccessPolicy::default()
        };
        let access = apply(&policy, json!({"email": "a@b", "groups": ["x", "ops", "dev"]})).unwrap();
        assert_eq!(access.principal, Principal::user("https://i", "a@b"));
        assert_eq!(access.rights.profile.as_deref(), Some("servers"));
        assert_eq!(access.rights.tier, Tier::Destructive);
        let other = apply(&policy, json!({"email": "a@b"})).unwrap();
        assert_eq!(other.rights.profile.as_deref(), Some("guest"));
        policy.profile_claim.as_mut().unwrap().default = None;
        assert!(matches!(apply(&policy, json!({"email": "a@b"})), Err(Refusal::NotAllowed(_))));
        for bad in [json!({}), json!({"email": ""}), json!({"email": ["a", "b"]}), json!({"email": "a\n"})] {
            assert!(matches!(apply(&policy, bad), Err(Refusal::InvalidToken(_))));
        }
    }
}
