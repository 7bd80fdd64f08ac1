//! The table `[auth]`: who may use the hub over HTTP, by tokens of an identity provider.

mod proxy;

use std::{collections::BTreeMap, time::Duration};

use http::Uri;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

pub use proxy::AuthProxyFile;

use super::unknown;
use crate::{
    model::duration,
    syntax::{Key, Node},
};

/// In `[auth]`.
pub(crate) const KEYS: [&str; 11] = [
    "issuer",
    "audience",
    "jwks_url",
    "required_scopes",
    "scope_includes",
    "tiers",
    "principal_claim",
    "tier_claim",
    "profile_claim",
    "introspection",
    "proxy",
];

/// The words for how much a caller may change.
const TIERS: [&str; 3] = ["read", "write", "destructive"];

/// Whether there is a table `[auth]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum AuthSection {
    /// There is none.
    #[default]
    Absent,
    /// It can be used.
    Valid(Box<AuthFile>),
    /// It has errors or cannot be read, which is reported. A hub must not run without it then: it would be open.
    Invalid,
}

/// The table `[auth]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuthFile {
    /// The name of the issuer; empty if there is only `proxy`.
    pub issuer: String,
    /// The names of this hub in tokens; empty for the URLs of its endpoints.
    #[serde(deserialize_with = "one_or_more")]
    pub audience: Vec<String>,
    /// Where the keys of the issuer are; none for where its metadata says.
    pub jwks_url: Option<String>,
    /// The scopes that every token must have.
    pub required_scopes: Vec<String>,
    /// Which scopes broader ones include.
    pub scope_includes: BTreeMap<String, Vec<String>>,
    /// How much scopes allow.
    pub tiers: BTreeMap<String, String>,
    /// The claim that says who calls.
    pub principal_claim: Option<String>,
    /// How much a claim allows.
    pub tier_claim: Option<ClaimFile>,
    /// Which profile a claim gives.
    pub profile_claim: Option<ClaimFile>,
    /// How the issuer is asked about tokens; none if signatures are checked.
    pub introspection: Option<IntrospectionFile>,
    /// The hub as the authorization server of clients.
    pub proxy: Option<AuthProxyFile>,
}

/// What the values of a claim mean.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimFile {
    /// The name of the claim, or a path with dots.
    pub claim: String,
    /// What its values mean.
    pub values: BTreeMap<String, String>,
    /// What counts if it has none of these values.
    pub default: Option<String>,
}

/// How an issuer is asked about tokens.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntrospectionFile {
    /// The endpoint; none for the one in the metadata.
    pub url: Option<String>,
    /// The name of this hub at the issuer.
    pub client_id: String,
    /// Its password there.
    pub client_secret: ClientSecret,
    /// How long a response counts.
    #[serde(default, deserialize_with = "duration::deserialize")]
    pub cache: Option<Duration>,
}

/// A password, by its name in the store of secrets: it is never in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientSecret(pub String);

impl<'de> Deserialize<'de> for ClientSecret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let name = text.strip_prefix("${secret:").and_then(|rest| rest.strip_suffix('}'));
        match name.filter(|name| !name.is_empty()) {
            Some(name) => Ok(Self(name.to_owned())),
            None => Err(serde::de::Error::custom(
                "`client_secret` must be `${secret:NAME}`; store it with `toolbay secret set NAME`",
            )),
        }
    }
}

/// Reads the table; `wrong` collects mistakes.
pub(super) fn read(
    table: &Key,
    settings: &[(Key, Node)],
    mut wrong: impl FnMut(&Key, String),
) -> AuthSection {
    let mut is_valid = true;
    let mut whole = Map::new();
    let mut complain = |key: &Key, message: String| {
        is_valid = false;
        wrong(key, message);
    };
    for (key, node) in settings {
        let value = node.to_json();
        // One key at a time, so that an error is reported at its location.
        let alone = json!({ &key.text: &value });
        if !KEYS.contains(&key.text.as_str()) {
            complain(key, unknown(&key.text, &KEYS));
        } else if let Err(error) = serde_json::from_value(alone)
            .map_err(|error| error.to_string())
            .and_then(|alone: AuthFile| alone.check())
        {
            complain(key, format!("`{}`: {error}", key.text));
        }
        whole.insert(key.text.clone(), value);
    }
    let Ok(file) = serde_json::from_value::<AuthFile>(Value::Object(whole)) else {
        return AuthSection::Invalid; // reported above
    };
    if file.issuer.is_empty() && file.proxy.is_none() {
        complain(table, "`[auth]` needs an `issuer`, or a table `[auth.proxy]`".to_owned());
    }
    if file.introspection.is_some() && file.jwks_url.is_some() {
        complain(table, "`jwks_url` and `introspection` cannot be used together".to_owned());
    }
    if is_valid { AuthSection::Valid(Box::new(file)) } else { AuthSection::Invalid }
}

impl AuthFile {
    /// Checks what is set.
    fn check(&self) -> Result<(), String> {
        let urls = [
            Some(&self.issuer).filter(|issuer| !issuer.is_empty()),
            self.jwks_url.as_ref(),
            self.introspection.as_ref().and_then(|introspection| introspection.url.as_ref()),
        ];
        urls.into_iter().flatten().try_for_each(|url| check_url(url))?;
        self.proxy.as_ref().map_or(Ok(()), AuthProxyFile::check)?;
        let included = self.scope_includes.iter().flat_map(|(scope, all)| all.iter().chain([scope]));
        for scope in self.required_scopes.iter().chain(included).chain(self.tiers.keys()) {
            check_scope(scope)?;
        }
        let by_claim = self.tier_claim.iter().flat_map(|map| map.values.values().chain(&map.default));
        for tier in self.tiers.values().chain(by_claim) {
            if !TIERS.contains(&tier.as_str()) {
                return Err(format!("`{tier}` is not a tier; it must be one of {}", TIERS.join(", ")));
            }
        }
        Ok(())
    }
}

/// Whether a URL can be that of an issuer or a hub: HTTPS, or HTTP on this machine.
pub(super) fn check_url(url: &str) -> Result<(), String> {
    let parsed = url.parse::<Uri>().map_err(|_| "must be a URL".to_owned())?;
    let host = parsed.host().unwrap_or_default().trim_matches(['[', ']']);
    let is_loopback = host == "localhost"
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback());
    match parsed.scheme_str() {
        Some("https") => {}
        Some("http") if is_loopback => {}
        Some("http") => return Err("must begin with `https://`, except on this machine".to_owned()),
        _ => return Err("must be a URL that begins with `https://`".to_owned()),
    }
    if host.is_empty() || url.contains(['?', '#', '@']) {
        return Err("must be a URL without query, fragment and user name".to_owned());
    }
    Ok(())
}

fn check_scope(scope: &str) -> Result<(), String> {
    let is_written = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
    if scope.is_empty() || !scope.bytes().all(is_written) {
        return Err(format!("`{scope}` is not a scope"));
    }
    if scope == "offline_access" {
        return Err(
            "`offline_access` is between clients and the issuer; a hub does not require it".to_owned()
        );
    }
    Ok(())
}

/// A string or an array of strings.
fn one_or_more<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a string or an array of strings")]
    enum Written {
        One(String),
        More(Vec<String>),
    }
    Ok(match Written::deserialize(deserializer)? {
        Written::One(text) => vec![text],
        Written::More(texts) => texts,
    })
}
