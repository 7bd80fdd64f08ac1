//! What a token says, and whether it is for us and for now.

use std::{
    collections::BTreeSet,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::{Map, Value};

use crate::authenticator::Refusal;

/// By how much clocks may differ.
const SKEW: Duration = Duration::from_secs(60);

/// What a token says, or what an issuer says about a token.
#[derive(Debug, Clone)]
pub(crate) struct Claims(Map<String, Value>);

impl Claims {
    pub(crate) fn new(claims: Map<String, Value>) -> Self {
        Self(claims)
    }

    /// Checks whether a signed token is that of this issuer, for one of these audiences, and valid now.
    pub(super) fn check(&self, issuer: &str, audiences: &[String], now: SystemTime) -> Result<(), Refusal> {
        if self.0.get("iss").and_then(Value::as_str) != Some(issuer) {
            return refuse("the token is of another issuer");
        }
        if self.time("exp").is_none() {
            return refuse("the token has no expiry");
        }
        self.check_introspected(issuer, audiences, now)
    }

    /// The same for what the issuer says about a token, where it may leave out itself and the expiry.
    pub(super) fn check_introspected(
        &self,
        issuer: &str,
        audiences: &[String],
        now: SystemTime,
    ) -> Result<(), Refusal> {
        if self.0.get("iss").is_some_and(|named| named.as_str() != Some(issuer)) {
            return refuse("the token is of another issuer");
        }
        if !audiences.iter().any(|audience| self.names_audience(audience)) {
            return refuse("the token was issued for another audience");
        }
        if self.expires().is_some_and(|expires| expires <= now) {
            return refuse("the token is expired");
        }
        if self.0.contains_key("exp") && self.time("exp").is_none() {
            return refuse("the expiry of the token is not readable");
        }
        match (self.0.get("nbf"), self.time("nbf")) {
            (None, _) => {}
            (Some(_), Some(begin)) if begin <= now + SKEW => {}
            _ => return refuse("the token is not valid yet"),
        }
        // With the scheme `Bearer` there is no proof that the client has the key.
        if self.0.get("cnf").is_some_and(|bound| !bound.is_null()) {
            return refuse("the token is bound to a key of its client, which this hub cannot check");
        }
        Ok(())
    }

    /// When the token ends, with the time by which clocks may differ.
    pub(super) fn expires(&self) -> Option<SystemTime> {
        self.time("exp").and_then(|time| time.checked_add(SKEW))
    }

    /// Seconds since 1970, possibly with a fraction.
    fn time(&self, name: &str) -> Option<SystemTime> {
        let seconds = self.0.get(name)?.as_f64().filter(|seconds| *seconds >= 0.0)?;
        UNIX_EPOCH.checked_add(Duration::try_from_secs_f64(seconds).ok()?)
    }

    /// Whether the token was issued for an audience.
    pub(super) fn names_audience(&self, audience: &str) -> bool {
        match self.0.get("aud") {
            Some(Value::String(named)) => named == audience,
            Some(Value::Array(all)) => all.iter().any(|named| named.as_str() == Some(audience)),
            _ => false,
        }
    }

    /// The scopes: `scope` as RFC 9068 says, or `scp` as some issuers do, as a text or as a list.
    pub(super) fn scopes(&self) -> BTreeSet<&str> {
        let mut scopes = BTreeSet::new();
        for name in ["scope", "scp"] {
            for text in self.0.get(name).map(texts).unwrap_or_default() {
                scopes.extend(text.split_ascii_whitespace());
            }
        }
        scopes
    }

    /// The texts of a claim: one, several, or none. A name with dots is also a path: `realm_access.roles`.
    pub(crate) fn values(&self, name: &str) -> Vec<&str> {
        let at_path = || {
            let mut parts = name.split('.');
            let first = self.0.get(parts.next()?)?;
            parts.try_fold(first, |value, part| value.get(part))
        };
        self.0.get(name).or_else(at_path).map(texts).unwrap_or_default()
    }

    /// Whether a claim is true. Some providers write that as text.
    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|value| *value == true || *value == "true")
    }
}

fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn refuse<T>(why: &str) -> Result<T, Refusal> {
    Err(Refusal::InvalidToken(why.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn check(change: impl FnOnce(&mut Value)) -> Result<(), String> {
        let mut claims = json!({"iss": "https://i", "aud": "us", "exp": NOW + 300, "sub": "a"});
        change(&mut claims);
        let Value::Object(claims) = claims else { panic!("it was an object") };
        let now = UNIX_EPOCH + Duration::from_secs(NOW);
        Claims::new(claims).check("https://i", &["us".into()], now).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn a_token_must_be_ours_and_valid_now() {
        assert_eq!(check(|_| {}), Ok(()));
        assert_eq!(check(|it| it["aud"] = json!(["others", "us"])), Ok(()));
        assert_eq!(check(|it| it["exp"] = json!(NOW - 59)), Ok(()));
        assert_eq!(check(|it| it["nbf"] = json!(NOW + 60)), Ok(()));
        assert_eq!(check(|it| it["exp"] = json!(NOW as f64 + 0.5)), Ok(()));
        for (expected, claim, value) in [
            ("another issuer", "iss", json!("https://i/")),
            ("another issuer", "iss", json!(["https://i"])),
            ("another issuer", "iss", json!(null)),
            ("another audience", "aud", json!("us2")),
            ("another audience", "aud", json!(["others"])),
            ("another audience", "aud", json!([])),
            ("another audience", "aud", json!(null)),
            ("another audience", "aud", json!({"us": "us"})),
            ("expired", "exp", json!(NOW - 60)),
            ("no expiry", "exp", json!(null)),
            ("no expiry", "exp", json!("1900000000")),
            ("no expiry", "exp", json!(-1)),
            ("no expiry", "exp", json!(1e300)),
            ("not valid yet", "nbf", json!(NOW + 61)),
            ("not valid yet", "nbf", json!("soon")),
            ("bound to a key", "cnf", json!({"jkt": "x"})),
        ] {
            let found = check(|it| it[claim] = value.clone());
            assert!(found.clone().is_err_and(|why| why.contains(expected)), "{claim}: {value}: {found:?}");
        }
    }

    #[test]
    fn scopes_and_values_are_found_however_they_are_written() {
        let Value::Object(claims) = json!({
            "scope": "a b", "scp": ["c", "d e"], "groups": ["x", 1, "y"],
            "realm_access": {"roles": ["r"]}, "https://h.example/role": "z",
        }) else {
            panic!("it is an object")
        };
        let claims = Claims::new(claims);
        assert_eq!(claims.scopes(), BTreeSet::from(["a", "b", "c", "d", "e"]));
        assert_eq!(claims.values("groups"), ["x", "y"]);
        assert_eq!(claims.values("realm_access.roles"), ["r"]);
        assert_eq!(claims.values("https://h.example/role"), ["z"]);
        assert!(claims.values("realm_access").is_empty() && claims.values("none").is_empty());
    }
}
