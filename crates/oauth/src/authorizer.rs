//! The authorization of the requests to one server.

mod login_page;
mod requests;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use futures_util::{
    FutureExt as _,
    future::{BoxFuture as BoxedFuture, Shared},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header::AUTHORIZATION};
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use url::Url;

use crate::{
    challenge::Challenge,
    credential::Credential,
    discovery::{Discovery, discover},
    error::{OAuthError, RefusedBy},
    grants::Grant,
    http_client::Fetch,
    login::{
        ClientSettings, LoginRequest, PreRegistered, Registration, RegistrationKind, UserAgent, login,
        proof_key, scopes_to_request,
    },
    scope::Scopes,
    store::{CredentialStore, LoginKey, LoginRecord, StoreStamp},
    token::{PROOF, ProofKey, TokenEndpoint, Tokens, unix_time},
};

/// How often one request is sent again, whatever the server says.
const MAX_RETRIES: u32 = 3;
/// How often more scopes are requested before a request succeeds. With the first login, the user is asked three times at most.
const MAX_STEP_UPS: u32 = 2;
/// How often it is looked whether another process has changed the store.
const FOLLOW_INTERVAL: Duration = Duration::from_secs(1);
/// How long metadata is used without being read again. A refusal makes that happen sooner.
const METADATA_AGE: Duration = Duration::from_secs(3600);
/// How long a refused grant is not tried again.
const REFUSAL_AGE: Duration = Duration::from_secs(60);

/// What an [`Authorizer`] needs.
#[derive(Debug, Clone)]
pub struct AuthorizerConfig {
    /// Which server, and whose tokens.
    pub key: LoginKey,
    /// Who we are.
    pub settings: ClientSettings,
    /// How tokens are obtained.
    pub grant: Grant,
    /// Sends the requests.
    pub fetch: Arc<dyn Fetch>,
    /// Keeps registrations and tokens.
    pub store: CredentialStore,
    /// Where renewals run, so that one that was begun is finished even if its caller has gone.
    pub tasks: TaskTracker,
    /// How long a user may take to log in.
    pub login_timeout: Duration,
    /// Whether a server that refuses requests wants a login even if it says nothing about that.
    pub is_login_expected: bool,
    /// Ends logins that wait for their users.
    pub stop: CancellationToken,
}

/// What to do with a request that was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    /// Send it again, with new [`Authorizer::headers`].
    Retry,
    /// Nothing helps before [`Authorizer::login`].
    Login,
    /// Nothing helps.
    GiveUp,
}

/// Gives the requests to one server their headers, and reacts to refusals.
#[derive(Debug, Clone)]
pub struct Authorizer(Arc<AuthorizerShared>);

struct AuthorizerShared {
    config: AuthorizerConfig,
    state: Mutex<State>,
    /// Whether there are no tokens, and no refusal that would make us look for them.
    is_idle: AtomicBool,
}

#[derive(Default)]
struct State {
    tokens: Option<Arc<ActiveTokens>>,
    /// When it was last looked whether the store has changed.
    followed_at: Option<Instant>,
    /// Whether the store was read.
    has_looked: bool,
    /// What the store was like when it was last read.
    stamp: Option<StoreStamp>,
    /// The token of the last refused request; nothing if it had none.
    refused: Option<Credential>,
    /// The login that was begun for a user who gets its URL.
    page: Option<login_page::LoginPage>,
    /// What the server said last.
    challenge: Challenge,
    discovery: Option<(Instant, Arc<Discovery>)>,
    renewal: Option<Renewal>,
    /// A token that replaced a refused one and was not accepted yet.
    unproven: Option<Credential>,
    /// The scopes of the token that did not suffice.
    scopes_before: Scopes,
    step_ups: u32,
    /// Why a grant without a user was refused.
    refusal: Option<(Instant, Arc<OAuthError>)>,
}

/// Tokens in the form in which they are used.
struct ActiveTokens {
    tokens: Tokens,
    authorization: HeaderValue,
    proof_key: Option<ProofKey>,
}

type Renewed = Result<Arc<ActiveTokens>, Arc<OAuthError>>;
type Renewal = Shared<BoxedFuture<'static, Renewed>>;

impl Authorizer {
    /// An authorizer without tokens; they are read from the store with the first request.
    pub fn new(config: AuthorizerConfig) -> Self {
        Self(Arc::new(AuthorizerShared { config, state: Mutex::default(), is_idle: AtomicBool::default() }))
    }

    /// Returns the headers that authorize a request: none if there is no token, or the URL is of another origin.
    ///
    /// # Errors
    /// If an expired token cannot be renewed now.
    pub async fn headers(&self, method: &Method, url: &str) -> Result<HeaderMap, Arc<OAuthError>> {
        let mut headers = HeaderMap::new();
        if !same_origin(url, &self.0.config.key.server) {
            return Ok(headers);
        }
        let current = self.current().await?;
        self.0.is_idle.store(current.is_none(), Relaxed);
        if let Some(active) = current {
            headers.insert(AUTHORIZATION, active.authorization.clone());
            if let Some(key) = &active.proof_key {
                headers.insert(PROOF, key.proof(method, url, Some(&active.tokens.access_token))?);
            }
        }
        Ok(headers)
    }

    /// Records that a request was accepted.
    pub fn accepted(&self, url: &str, received: &HeaderMap) {
        let mut state = self.0.state.lock();
        state.unproven = None;
        state.step_ups = 0;
        if let Some(key) = state.tokens.as_ref().and_then(|active| active.proof_key.as_ref()) {
            key.remember_nonce(url, received);
        }
    }

    /// Decides about a request that was refused: `sent` are the headers that authorized it, `received` those of the response,
    /// and `retries` counts how often it was sent again.
    ///
    /// # Errors
    /// If tokens cannot be renewed now, or if the server wants scopes that it did not accept.
    pub async fn refused(
        &self,
        status: StatusCode,
        url: &str,
        sent: &HeaderMap,
        received: &HeaderMap,
        retries: u32,
    ) -> Result<NextStep, Arc<OAuthError>> {
        let challenge = Challenge::of(received);
        let is_step_up = status == StatusCode::FORBIDDEN && challenge.is_insufficient_scope();
        if retries >= MAX_RETRIES || (status != StatusCode::UNAUTHORIZED && !is_step_up) {
            return Ok(NextStep::GiveUp);
        }
        let active = {
            let mut state = self.0.state.lock();
            state.refused = sent
                .contains_key(AUTHORIZATION)
                .then(|| state.tokens.as_ref().map(|active| active.tokens.access_token.clone()))
                .flatten();
            state.tokens.clone()
        };
        let got_nonce = active
            .as_ref()
            .and_then(|active| active.proof_key.as_ref())
            .is_some_and(|key| key.remember_nonce(url, received));
        if got_nonce && challenge.is_nonce_required() {
            return Ok(NextStep::Retry);
        }
        if active.as_ref().is_some_and(|active| sent.get(AUTHORIZATION) != Some(&active.authorization)) {
            return Ok(NextStep::Retry); // the token was replaced meanwhile
        }
        self.0.state.lock().challenge = challenge.clone();
        match active {
            Some(active) if is_step_up => self.step_up(&active.tokens, &challenge).await,
            Some(active) => self.replace(&active.tokens).await,
            None => self.begin().await,
        }
    }

    /// Takes note of a refusal without reacting to it, so that a login requests what it asks for.
    pub fn note_challenge(&self, received: &HeaderMap) {
        self.0.state.lock().challenge = Challenge::of(received);
    }

    /// Adds scopes to what the next login requests.
    pub fn want(&self, scopes: &Scopes) {
        let mut state = self.0.state.lock();
        state.scopes_before = state.scopes_before.union(scopes);
    }

    /// What it was made with.
    pub fn config(&self) -> &AuthorizerConfig {
        &self.0.config
    }

    /// Logs the user in, with the scopes that the last refusal asked for.
    ///
    /// # Errors
    /// If a step of the login fails.
    pub async fn login(&self, agent: &dyn UserAgent) -> Result<(), OAuthError> {
        let config = &self.0.config;
        let (challenge, scopes_before) = {
            let state = self.0.state.lock();
            (state.challenge.clone(), state.scopes_before.clone())
        };
        // What another process found out, and what the user consented to before.
        let before = config.store.login(&config.key).await?;
        let wanted = before.map(|login| login.wanted).unwrap_or_default();
        let scopes_before = scopes_before.union(&wanted);
        let request = LoginRequest {
            fetch: &*config.fetch,
            store: &config.store,
            settings: &config.settings,
            key: &config.key,
            challenge: &challenge,
            scopes_before: &scopes_before,
            timeout: config.login_timeout,
        };
        let (_, tokens) = login(&request, agent).await?;
        let mut state = self.0.state.lock();
        state.discovery = None;
        state.unproven = Some(tokens.access_token.clone());
        state.tokens = Some(Arc::new(ActiveTokens::new(tokens)?));
        self.0.is_idle.store(false, Relaxed);
        Ok(())
    }

    /// What the server says about authorization; read again if it was refused meanwhile.
    ///
    /// # Errors
    /// If it cannot be read.
    pub async fn discover(&self) -> Result<Arc<Discovery>, OAuthError> {
        self.0.discovery(false).await
    }

    /// The token to use now, renewed if it is about to expire.
    async fn current(&self) -> Result<Option<Arc<ActiveTokens>>, Arc<OAuthError>> {
        self.follow_store().await;
        let known = self.0.state.lock().tokens.clone();
        let active = match known {
            Some(active) => active,
            None => match self.look().await? {
                Some(active) => active,
                None => return Ok(None),
            },
        };
        if !active.tokens.is_expired() {
            return Ok(Some(active));
        }
        match self.renew(None).await {
            Ok(renewed) => Ok(Some(renewed)),
            Err(error) if matches!(*error, OAuthError::LoginRequired) => {
                // Without a token, the server says what it wants.
                self.0.state.lock().tokens = None;
                Ok(None)
            }
            Err(error)
                if error.is_transient() && active.tokens.expires_at.is_some_and(|at| unix_time() < at) =>
            {
                Ok(Some(active))
            }
            Err(error) => Err(error),
        }
    }

    /// Takes over what other processes did meanwhile: a logout, or a login as another user.
    async fn follow_store(&self) {
        let store = &self.0.config.store;
        {
            let mut state = self.0.state.lock();
            let is_recent = state.followed_at.is_some_and(|at| at.elapsed() < FOLLOW_INTERVAL);
            if state.tokens.is_none() || is_recent {
                return;
            }
            state.followed_at = Some(Instant::now());
            if store.stamp() == state.stamp {
                return;
            }
        }
        // A store that cannot be read now is read with its next change.
        let _ = self.load().await;
    }

    /// Looks for tokens in the store, once. A refusal makes us look again.
    async fn look(&self) -> Result<Option<Arc<ActiveTokens>>, Arc<OAuthError>> {
        if std::mem::replace(&mut self.0.state.lock().has_looked, true) {
            return Ok(None);
        }
        match self.load().await {
            // Most servers want no token, so a store that cannot be read matters only once one is refused.
            Err(error) => {
                tracing::debug!(server = self.0.config.key.server, %error, "cannot read stored tokens");
                Ok(None)
            }
            found => found,
        }
    }

    /// Takes over what the store has: tokens, or that there are none any more.
    async fn load(&self) -> Result<Option<Arc<ActiveTokens>>, Arc<OAuthError>> {
        // Asked for before, and remembered with the tokens: what changes meanwhile is read again.
        let stamp = self.0.config.store.stamp();
        let found = self.stored().await;
        let mut state = self.0.state.lock();
        state.stamp = stamp;
        // Tokens stay if the store cannot be read now.
        if let Ok(found) = &found {
            state.tokens.clone_from(found);
            if found.is_some() {
                self.0.is_idle.store(false, Relaxed);
            }
        }
        found
    }

    async fn stored(&self) -> Result<Option<Arc<ActiveTokens>>, Arc<OAuthError>> {
        let AuthorizerConfig { store, key, .. } = &self.0.config;
        let Some(login) = store.login(key).await.map_err(OAuthError::from)? else { return Ok(None) };
        let Some(tokens) = store.tokens(&login).await.map_err(OAuthError::from)? else { return Ok(None) };
        Ok(Some(Arc::new(ActiveTokens::new(tokens)?)))
    }

    /// There was no token.
    async fn begin(&self) -> Result<NextStep, Arc<OAuthError>> {
        if self.load().await?.is_some_and(|saved| !saved.tokens.is_expired()) {
            return Ok(NextStep::Retry); // another process got one
        }
        match self.renew(None).await {
            Ok(_) => Ok(NextStep::Retry),
            Err(error) if matches!(*error, OAuthError::LoginRequired) => self.first_login().await,
            Err(error) => Err(error),
        }
    }

    /// Finds out whether a server that refused a request without a token has logins at all. Many want a fixed key instead.
    async fn first_login(&self) -> Result<NextStep, Arc<OAuthError>> {
        let AuthorizerConfig { is_login_expected, store, key, .. } = &self.0.config;
        let is_announced = self.0.state.lock().challenge.resource_metadata.is_some();
        if *is_login_expected || is_announced || store.login(key).await.map_err(OAuthError::from)?.is_some() {
            return Ok(NextStep::Login);
        }
        match self.0.discovery(true).await {
            Ok(discovery) if discovery.server.is_assumed => Ok(NextStep::GiveUp),
            Ok(_) => Ok(NextStep::Login),
            Err(error) if error.is_transient() => Err(Arc::new(error)),
            Err(_) => Ok(NextStep::GiveUp),
        }
    }

    /// The token was not accepted.
    async fn replace(&self, tokens: &Tokens) -> Result<NextStep, Arc<OAuthError>> {
        let refused = &tokens.access_token;
        let is_unproven = self.0.state.lock().unproven.as_ref() == Some(refused);
        if is_unproven {
            if self.load().await?.is_some_and(|saved| saved.tokens.access_token != *refused) {
                return Ok(NextStep::Retry); // another process replaced it
            }
            // It is new, so another new one would not be better. A login may be: the authorization server may be another one.
            let is_login = matches!(self.0.config.grant, Grant::Login);
            return Ok(if is_login { NextStep::Login } else { NextStep::GiveUp });
        }
        match self.renew(Some(refused.clone())).await {
            Ok(_) => Ok(NextStep::Retry),
            Err(error) if matches!(*error, OAuthError::LoginRequired) => Ok(NextStep::Login),
            Err(error) => Err(error),
        }
    }

    /// The token is valid, but the request needs more scopes.
    async fn step_up(&self, tokens: &Tokens, challenge: &Challenge) -> Result<NextStep, Arc<OAuthError>> {
        let required = challenge.scope.clone().unwrap_or_default();
        if self.load().await?.is_some_and(|saved| saved.tokens.access_token != tokens.access_token) {
            return Ok(NextStep::Retry); // another process got more
        }
        {
            let mut state = self.0.state.lock();
            if tokens.requested.includes(&required) || state.step_ups >= MAX_STEP_UPS {
                return Err(Arc::new(OAuthError::InsufficientScope { required }));
            }
            state.step_ups += 1;
            state.scopes_before = tokens.requested.clone();
        }
        match &self.0.config.grant {
            Grant::Login => {
                let AuthorizerConfig { store, key, .. } = &self.0.config;
                store.want(key, &tokens.requested.union(&required)).await.map_err(OAuthError::from)?;
                Ok(NextStep::Login)
            }
            _ => self.renew(Some(tokens.access_token.clone())).await.map(|_| NextStep::Retry),
        }
    }

    /// Renews the tokens. All callers wait for the same renewal, which is finished even if they go away.
    async fn renew(&self, refused: Option<Credential>) -> Renewed {
        let renewal = {
            let mut state = self.0.state.lock();
            match &state.renewal {
                Some(running) if running.peek().is_none() => running.clone(),
                _ => {
                    let shared = self.0.clone();
                    let task = self.0.config.tasks.spawn(async move { shared.renew(refused).await });
                    let ended = |_| Err(Arc::new(OAuthError::LoginRequired)); // the program ends
                    let renewal = task.map(move |renewed| renewed.unwrap_or_else(ended)).boxed().shared();
                    state.renewal.insert(renewal).clone()
                }
            }
        };
        renewal.await
    }
}

impl AuthorizerShared {
    async fn renew(&self, refused: Option<Credential>) -> Renewed {
        let was_refused = refused.is_some();
        let tokens = self.new_tokens(refused).await?;
        let active = Arc::new(ActiveTokens::new(tokens)?);
        let mut state = self.state.lock();
        if was_refused {
            state.unproven = Some(active.tokens.access_token.clone());
        }
        state.tokens = Some(active.clone());
        self.is_idle.store(false, Relaxed);
        Ok(active)
    }

    /// Obtains new tokens, unless another process did already.
    async fn new_tokens(&self, refused: Option<Credential>) -> Result<Tokens, Arc<OAuthError>> {
        let AuthorizerConfig { key, grant, store, .. } = &self.config;
        if let Some((at, refusal)) = &self.state.lock().refusal
            && at.elapsed() < REFUSAL_AGE
        {
            return Err(refusal.clone());
        }
        let login = store.login(key).await.map_err(OAuthError::from)?;
        if login.is_none() && matches!(grant, Grant::Login) {
            return Err(Arc::new(OAuthError::LoginRequired));
        }
        let discovery = self.discovery(refused.is_some()).await?;
        let login = match (grant, login) {
            (Grant::Login, Some(login)) if login.client.issuer == discovery.server.issuer => login,
            // The server trusts another authorization server now.
            (Grant::Login, _) => return Err(Arc::new(OAuthError::LoginRequired)),
            _ => {
                self.check_issuer(&discovery)?;
                self.record_of_grant(&discovery)
            }
        };
        let _lock = store.lock_tokens(&login).await.map_err(OAuthError::from)?;
        let saved = store.tokens(&login).await.map_err(OAuthError::from)?;
        if let Some(saved) = &saved
            && refused.as_ref() != Some(&saved.access_token)
            && !saved.is_expired()
        {
            return Ok(saved.clone());
        }
        let renewed = match grant {
            Grant::Login => self.refresh(&discovery, &login, saved).await?,
            _ => self.obtain(&discovery).await?,
        };
        // The old refresh token may be void by now, so the new tokens are used even if they cannot be stored.
        if let Err(error) = store.save_login(&login, &renewed).await {
            tracing::warn!(server = key.server, %error, "cannot store renewed tokens; the next start needs a login");
        }
        Ok(renewed)
    }

    async fn refresh(
        &self,
        discovery: &Discovery,
        login: &LoginRecord,
        saved: Option<Tokens>,
    ) -> Result<Tokens, OAuthError> {
        let AuthorizerConfig { settings, fetch, store, .. } = &self.config;
        let Some(saved) = saved else { return Err(OAuthError::LoginRequired) };
        let proof_key = saved.proof_key.as_ref().map(ProofKey::from_saved).transpose()?;
        let endpoint = TokenEndpoint {
            fetch: &**fetch,
            url: &discovery.server.token_endpoint,
            issuer: &discovery.server.issuer,
            client: &login.client.credentials(settings, &discovery.server),
            proof_key: proof_key.as_ref(),
            by: RefusedBy::Token,
        };
        match endpoint.refresh(&saved, &login.resource).await {
            Err(error) if error.is_grant_gone() => {
                tracing::info!(server = login.key.server, %error, "the login has ended");
                store.remove_tokens(login).await?;
                if error.is_stale_client() {
                    store.remove_registration(&login.client).await?;
                }
                Err(OAuthError::LoginRequired)
            }
            other => other,
        }
    }

    async fn obtain(&self, discovery: &Discovery) -> Result<Tokens, Arc<OAuthError>> {
        let AuthorizerConfig { settings, grant, fetch, .. } = &self.config;
        let (challenge, before) = {
            let state = self.state.lock();
            (state.challenge.clone(), state.scopes_before.clone())
        };
        let scopes = scopes_to_request(settings, &challenge, discovery, &before);
        let proof_key = proof_key(settings, discovery, &challenge)?;
        let obtained = grant.obtain(&**fetch, discovery, &scopes, proof_key.as_ref()).await;
        obtained.map_err(|error| {
            let error = Arc::new(error);
            if !error.is_transient() {
                self.state.lock().refusal = Some((Instant::now(), error.clone()));
            }
            error
        })
    }

    /// What is known about the server; read again if it may have changed.
    async fn discovery(&self, must_be_new: bool) -> Result<Arc<Discovery>, OAuthError> {
        let (known, challenge) = {
            let state = self.state.lock();
            (state.discovery.clone(), state.challenge.clone())
        };
        if let Some((at, discovery)) = known
            && !must_be_new
            && at.elapsed() < METADATA_AGE
        {
            return Ok(discovery);
        }
        let found = Arc::new(discover(&*self.config.fetch, &self.config.key.server, &challenge).await?);
        self.state.lock().discovery = Some((Instant::now(), found.clone()));
        Ok(found)
    }

    /// Passwords and keys are sent only to the issuer that they were registered at.
    fn check_issuer(&self, discovery: &Discovery) -> Result<(), OAuthError> {
        match &self.config.settings.pre_registered {
            Some(PreRegistered { client_id, issuer: Some(issuer), .. })
                if *issuer != discovery.server.issuer =>
            {
                Err(OAuthError::IssuerChanged {
                    client_id: client_id.clone(),
                    registered_at: issuer.clone(),
                    issuer: discovery.server.issuer.clone(),
                })
            }
            _ => Ok(()),
        }
    }

    /// Where tokens of a grant without a user are stored.
    fn record_of_grant(&self, discovery: &Discovery) -> LoginRecord {
        LoginRecord {
            key: self.config.key.clone(),
            resource: discovery.resource.clone(),
            wanted: Scopes::default(),
            client: Registration {
                issuer: discovery.server.issuer.clone(),
                client_id: self.config.grant.client_id().to_owned(),
                kind: RegistrationKind::PreRegistered,
                client_secret: None,
                token_endpoint_auth_method: None,
                redirect_uri: String::new(),
                confirmed_at: unix_time(),
            },
        }
    }
}

impl ActiveTokens {
    fn new(tokens: Tokens) -> Result<Self, OAuthError> {
        let authorization = tokens.authorization()?;
        let proof_key = tokens.proof_key.as_ref().map(ProofKey::from_saved).transpose()?;
        Ok(Self { tokens, authorization, proof_key })
    }
}

fn same_origin(url: &str, server: &str) -> bool {
    match (Url::parse(url), Url::parse(server)) {
        (Ok(url), Ok(server)) => url.origin() == server.origin(),
        _ => false,
    }
}

impl fmt::Debug for AuthorizerShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorizer").field("key", &self.config.key).finish_non_exhaustive()
    }
}
