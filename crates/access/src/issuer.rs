//! Tokens of an issuer: an identity provider that knows the users, and issues tokens for the hub.
//!
//! # Theory of operation
//!
//! An [`Issuer`] accepts a token if the issuer says so, by its signature (a JSON Web Token and the public keys of the issuer) or
//! when it is asked (introspection, RFC 7662), and if it was issued for this hub. [`AccessPolicy`] then says who calls and what
//! they may do. What was accepted is remembered by the hash of the token, so that a call costs one hash.
//!
//! # Invariants
//!
//! - A token for another audience or of another issuer is never accepted, whatever else is right about it.
//! - Only asymmetric algorithms of a fixed list count, each only with a key of its own type.
//! - Work begins after the length of the token was checked. Keys are read again only so often, however many tokens name
//!   unknown ones.
//! - When the issuer cannot be reached, tokens whose keys are known stay valid.

mod accepted;
pub(crate) mod claims;
mod introspection;
mod jwk;
mod jwt;
mod key_set;
mod policy;

use std::{
    collections::BTreeSet,
    fmt,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use futures_util::future::BoxFuture;
use tokio_util::task::TaskTracker;
use toolbay_oauth::Fetch;

pub use introspection::IntrospectionConfig;
pub use policy::{AccessPolicy, ClaimMap};

use crate::{
    authenticator::{Access, Authenticator, Refusal},
    issuer::{
        accepted::{AcceptedTokens, TokenHash},
        claims::Claims,
        introspection::Introspection,
        jwt::Jwt,
        key_set::KeySet,
    },
    public_url::profile_of_endpoint,
};

/// No token of an issuer is longer.
const MAX_TOKEN: usize = 16 * 1024;
/// How long a signature that was checked counts, so that a key that the issuer withdrew ends with it.
const SIGNATURE_COUNTS: Duration = Duration::from_secs(5 * 60);

/// An issuer, and what its tokens mean here.
#[derive(Debug, Clone)]
pub struct IssuerConfig {
    /// The name of the issuer, exactly as in its tokens and metadata.
    pub issuer: String,
    /// The names of this hub in tokens; one of them must be in each.
    pub audiences: Vec<String>,
    /// How tokens are verified.
    pub verification: Verification,
    /// Who calls, and what they may do.
    pub policy: AccessPolicy,
}

/// How tokens of an issuer are verified.
#[derive(Debug, Clone)]
pub enum Verification {
    /// By their signature, with the keys at a URL; without it, at the one that the metadata of the issuer names.
    Keys { url: Option<String> },
    /// By asking the issuer about each of them.
    Introspection(IntrospectionConfig),
}

/// How an issuer is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerStatus {
    /// How many of its keys are known. None if it is asked about tokens instead.
    pub keys: Option<usize>,
    /// How often it could not be reached since it was last reached.
    pub failures: u32,
    /// Why not.
    pub error: Option<String>,
}

/// Accepts tokens of an issuer.
pub struct Issuer {
    config: IssuerConfig,
    verifier: Verifier,
    accepted: AcceptedTokens,
}

enum Verifier {
    Keys(Arc<KeySet>),
    Introspection(Box<Introspection>),
}

impl Issuer {
    /// An issuer that is reached with `fetch`. Nothing is requested before the first token, or [`Issuer::prepare`].
    pub fn new(config: IssuerConfig, fetch: Arc<dyn Fetch>, tasks: TaskTracker) -> Self {
        let verifier = match &config.verification {
            Verification::Keys { url } => {
                Verifier::Keys(Arc::new(KeySet::new(&config.issuer, url.clone(), fetch, tasks)))
            }
            Verification::Introspection(settings) => {
                Verifier::Introspection(Box::new(Introspection::new(&config.issuer, settings.clone(), fetch)))
            }
        };
        Self { config, verifier, accepted: AcceptedTokens::default() }
    }

    /// Begins to read the keys of the issuer, so that the first client need not wait for them.
    pub fn prepare(&self) {
        if let Verifier::Keys(keys) = &self.verifier {
            keys.prepare();
        }
    }

    /// How the issuer is doing.
    pub fn status(&self) -> IssuerStatus {
        match &self.verifier {
            Verifier::Keys(keys) => keys.status(),
            Verifier::Introspection(introspection) => introspection.status(),
        }
    }

    /// The name of the issuer.
    pub fn name(&self) -> &str {
        &self.config.issuer
    }

    async fn verify(&self, token: &str) -> Option<Result<Arc<Access>, Refusal>> {
        if token.len() > MAX_TOKEN {
            return Some(Err(Refusal::InvalidToken(format!("the token has more than {MAX_TOKEN} bytes"))));
        }
        let hash = TokenHash::of(token);
        match &self.verifier {
            Verifier::Keys(keys) => {
                let jwt = match Jwt::parse(token)? {
                    Ok(jwt) => jwt,
                    Err(refusal) => return Some(Err(refusal)),
                };
                Some(self.verify_signed(keys, hash, &jwt).await)
            }
            Verifier::Introspection(introspection) => Some(self.introspect(introspection, hash, token).await),
        }
    }

    async fn verify_signed(
        &self,
        keys: &Arc<KeySet>,
        hash: TokenHash,
        jwt: &Jwt<'_>,
    ) -> Result<Arc<Access>, Refusal> {
        // Before keys are looked for: others' tokens must not make us ask our issuer.
        let claims = jwt.unverified_claims()?;
        claims.check(&self.config.issuer, &self.config.audiences, SystemTime::now())?;
        let candidates = keys.find(jwt.key_id(), jwt.algorithm()).await?;
        if !candidates.iter().any(|key| key.verify(jwt.algorithm(), jwt.signed(), jwt.signature())) {
            return Err(Refusal::InvalidToken("the signature of the token is wrong".to_owned()));
        }
        self.accept(hash, &claims, Instant::now() + SIGNATURE_COUNTS)
    }

    async fn introspect(
        &self,
        introspection: &Introspection,
        hash: TokenHash,
        token: &str,
    ) -> Result<Arc<Access>, Refusal> {
        let _turn = introspection.turn().await?;
        // Another request with the same token may have asked meanwhile.
        if let Some(access) = self.accepted.get(&hash) {
            return Ok(access);
        }
        let found = match introspection.ask(&hash, token).await {
            Ok(claims) => {
                claims.check_introspected(&self.config.issuer, &self.config.audiences, SystemTime::now())?;
                self.accept(hash, &claims, Instant::now() + introspection.counts_for())
            }
            Err(refusal) => Err(refusal),
        };
        if let Err(Refusal::InvalidToken(_)) = &found {
            self.accepted.revoke(&hash);
        }
        found
    }

    fn accept(&self, hash: TokenHash, claims: &Claims, until: Instant) -> Result<Arc<Access>, Refusal> {
        let mut access = self.config.policy.apply(&self.config.issuer, claims)?;
        access.rights.bind(self.profile_of_audience(claims)?)?;
        Ok(self.accepted.insert(hash, access, until))
    }

    /// The profile to whose endpoints a token is limited: those that it was issued for.
    fn profile_of_audience(&self, claims: &Claims) -> Result<Option<&str>, Refusal> {
        let named = self.config.audiences.iter().filter(|audience| claims.names_audience(audience));
        let profiles: BTreeSet<Option<&str>> = named.map(|audience| profile_of_endpoint(audience)).collect();
        match profiles.into_iter().collect::<Vec<_>>()[..] {
            [Some(profile)] => Ok(Some(profile)),
            // One for the whole hub, too.
            [] | [None, ..] => Ok(None),
            [Some(_), ..] => {
                Err(Refusal::InvalidToken("the token was issued for several profiles".to_owned()))
            }
        }
    }
}

impl Authenticator for Issuer {
    fn known(&self, token: &str) -> Option<Arc<Access>> {
        if token.len() > MAX_TOKEN {
            return None;
        }
        self.accepted.get(&TokenHash::of(token))
    }

    fn authenticate<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Option<Result<Arc<Access>, Refusal>>> {
        Box::pin(self.verify(token))
    }
}

impl fmt::Debug for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issuer").field("config", &self.config).finish_non_exhaustive()
    }
}
