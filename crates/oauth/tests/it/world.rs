//! An authorization server, a protected resource, a user who consents to everything, and a client.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;
use toolbay_oauth::{
    AddressRule, Authorizer, AuthorizerConfig, BoxFuture, ClientSettings, CredentialStore, Fetch as _, Grant,
    GuardedClient, LoginKey, NextStep, OAuthError, Scopes, UserAgent, store::FileStorage,
};
use toolbay_transport::http::client::ConnectOptions;
use url::{Url, form_urlencoded};

/// What the servers do. The default is what the specification recommends.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    /// Where the resource metadata is; nothing for a server of 2025-03-26.
    pub(crate) resource_metadata: Option<&'static str>,
    pub(crate) is_in_challenge: bool,
    /// The path of the issuer.
    pub(crate) tenant: &'static str,
    /// Where the metadata of the issuer is.
    pub(crate) issuer_metadata: Option<&'static str>,
    pub(crate) resource: Option<String>,
    pub(crate) issuer: Option<String>,
    pub(crate) scopes_supported: Option<Vec<&'static str>>,
    pub(crate) challenge_scope: Option<&'static str>,
    pub(crate) is_scope_never_enough: bool,
    pub(crate) server_scopes: Vec<&'static str>,
    pub(crate) has_pkce: bool,
    pub(crate) is_iss_announced: bool,
    /// What `iss` is, with `{issuer}` in it.
    pub(crate) iss: Option<&'static str>,
    pub(crate) has_registration: bool,
    pub(crate) one_redirect_uri: bool,
    pub(crate) has_documents: bool,
    pub(crate) authentication: &'static str,
    pub(crate) expires_in: u64,
    pub(crate) has_refresh: bool,
    pub(crate) dpop: bool,
    pub(crate) nonces: bool,
    pub(crate) authorize_path: &'static str,
    pub(crate) user_error: Option<&'static str>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            resource_metadata: Some("/.well-known/oauth-protected-resource/mcp"),
            is_in_challenge: true,
            tenant: "",
            issuer_metadata: Some("/.well-known/oauth-authorization-server"),
            resource: None,
            issuer: None,
            scopes_supported: None,
            challenge_scope: None,
            is_scope_never_enough: false,
            server_scopes: Vec::new(),
            has_pkce: true,
            is_iss_announced: true,
            iss: Some("{issuer}"),
            has_registration: true,
            one_redirect_uri: false,
            has_documents: false,
            authentication: "none",
            expires_in: 3600,
            has_refresh: true,
            dpop: false,
            nonces: false,
            authorize_path: "/authorize",
            user_error: None,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct State {
    /// Every request: server, method and path, parameters.
    pub(crate) log: Vec<(&'static str, String, BTreeMap<String, String>)>,
    pub(crate) clients: BTreeMap<String, Value>,
    codes: BTreeMap<String, BTreeMap<String, String>>,
    /// Access tokens and their scopes.
    pub(crate) tokens: BTreeMap<String, Scopes>,
    /// Refresh tokens: scopes, and whether they were used.
    pub(crate) refresh: BTreeMap<String, (Scopes, bool)>,
    pub(crate) reused: u32,
    pub(crate) proofs: Vec<Value>,
    serial: u32,
}

pub(crate) struct World {
    pub(crate) rules: Mutex<Rules>,
    pub(crate) state: Mutex<State>,
    pub(crate) resource: String,
    /// Two authorization servers.
    pub(crate) issuers: [String; 2],
    /// Which of them counts.
    pub(crate) current: Mutex<usize>,
    pub(crate) tasks: TaskTracker,
}

impl World {
    pub(crate) async fn start(rules: Rules) -> Arc<Self> {
        let listener = || async { TcpListener::bind("127.0.0.1:0").await.unwrap() };
        let (resource, first, second) = (listener().await, listener().await, listener().await);
        let origin = |of: &TcpListener| format!("http://{}", of.local_addr().unwrap());
        let issuers = match rules.resource_metadata {
            // A server of 2025-03-26 is its own authorization server.
            None => [origin(&resource), origin(&second)],
            Some(_) => [origin(&first), origin(&second)],
        };
        let world = Arc::new(Self {
            rules: Mutex::new(rules),
            state: Mutex::default(),
            resource: origin(&resource),
            issuers,
            current: Mutex::new(0),
            tasks: TaskTracker::new(),
        });
        for (name, listener) in [("resource", resource), ("first", first), ("second", second)] {
            world.tasks.spawn(accept(world.clone(), name, listener));
        }
        world
    }

    pub(crate) fn url(&self) -> String {
        format!("{}/mcp", self.resource)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(crate) fn rules(&self) -> MutexGuard<'_, Rules> {
        self.rules.lock().unwrap()
    }

    /// The parameters of all requests to a path.
    pub(crate) fn requests(&self, path: &str) -> Vec<BTreeMap<String, String>> {
        let state = self.state();
        let to_path = |(_, target, _): &&(&str, String, BTreeMap<String, String>)| {
            target.split(' ').nth(1) == Some(path)
        };
        state.log.iter().filter(to_path).map(|(.., parameters)| parameters.clone()).collect()
    }

    pub(crate) fn fetch(&self) -> Arc<GuardedClient> {
        Arc::new(GuardedClient::new(AddressRule::Loopback, &ConnectOptions::default(), &self.tasks))
    }

    /// A client that keeps its tokens in a directory.
    pub(crate) fn client(self: &Arc<Self>, directory: &std::path::Path) -> Client {
        self.client_with(directory, Grant::Login, ClientSettings::default())
    }

    pub(crate) fn client_with(
        self: &Arc<Self>,
        directory: &std::path::Path,
        grant: Grant,
        settings: ClientSettings,
    ) -> Client {
        Client::new(&self.url(), directory, grant, settings, self.fetch(), self.tasks.clone())
    }
}

/// A client with a user who consents to everything.
pub(crate) struct Client {
    pub(crate) authorizer: Authorizer,
    pub(crate) store: CredentialStore,
    pub(crate) key: LoginKey,
    fetch: Arc<GuardedClient>,
    url: String,
    pub(crate) user: User,
}

impl Client {
    pub(crate) fn new(
        url: &str,
        directory: &std::path::Path,
        grant: Grant,
        mut settings: ClientSettings,
        fetch: Arc<GuardedClient>,
        tasks: TaskTracker,
    ) -> Self {
        let store = CredentialStore::new(FileStorage::open(directory).unwrap());
        let key = LoginKey { server: url.to_owned(), principal: String::new() };
        settings.client_name = "Toolbay".to_owned();
        let config = AuthorizerConfig {
            key: key.clone(),
            settings,
            grant,
            fetch: fetch.clone(),
            store: store.clone(),
            tasks,
            is_login_expected: true,
            stop: Default::default(),
            login_timeout: Duration::from_secs(30),
        };
        let user = User { fetch: fetch.clone(), pastes: false };
        Self { authorizer: Authorizer::new(config), store, key, fetch, url: url.to_owned(), user }
    }

    /// Calls the server as a transport would. `needs` is the scope that the call needs.
    pub(crate) async fn call(&self, needs: &str) -> Result<StatusCode, Arc<OAuthError>> {
        for retries in 0.. {
            let sent = self.authorizer.headers(&Method::POST, &self.url).await?;
            let mut request = Request::new(Bytes::from(needs.to_owned()));
            *request.method_mut() = Method::POST;
            *request.uri_mut() = self.url.parse().unwrap();
            request.headers_mut().extend(sent.clone());
            let response = self.fetch.fetch(request).await.map_err(OAuthError::from)?;
            if response.status().is_success() {
                self.authorizer.accepted(&self.url, response.headers());
                return Ok(response.status());
            }
            let step =
                self.authorizer.refused(response.status(), &self.url, &sent, response.headers(), retries);
            match step.await? {
                NextStep::Retry => {}
                NextStep::Login => self.authorizer.login(&self.user).await?,
                NextStep::GiveUp => return Ok(response.status()),
            }
        }
        unreachable!()
    }
}

/// Follows the redirect of the authorization server, as a browser would.
pub(crate) struct User {
    fetch: Arc<GuardedClient>,
    /// Whether the user pastes the URL.
    pub(crate) pastes: bool,
}

impl UserAgent for User {
    fn open<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Option<String>, OAuthError>> {
        Box::pin(async move {
            let get = |url: &str| Request::get(url).body(Bytes::new()).unwrap();
            let response = self.fetch.fetch(get(url)).await?;
            let Some(location) = response.headers().get(header::LOCATION) else {
                return std::future::pending().await; // an error page: the user looks at it
            };
            let location = location.to_str().unwrap();
            if self.pastes {
                return Ok(Some(location.to_owned()));
            }
            let origin = &location[..location.find("/callback").unwrap()];
            for other in ["/favicon.ico", "/callback?code=evil&state=guessed"] {
                let refused = self.fetch.fetch(get(&format!("{origin}{other}"))).await?;
                assert_eq!(refused.status(), StatusCode::NOT_FOUND);
            }
            assert!(self.fetch.fetch(get(location)).await?.status().is_success());
            Ok(None)
        })
    }
}

async fn accept(world: Arc<World>, name: &'static str, listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        let world = world.clone();
        let service = service_fn({
            let world = world.clone();
            move |request| {
                let world = world.clone();
                async move { Ok::<_, Infallible>(world.respond(name, request).await) }
            }
        });
        world.tasks.spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

type Answer = Response<Full<Bytes>>;

fn answer(status: u16, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = StatusCode::from_u16(status).unwrap();
    answer
}

fn json_answer(status: u16, body: &Value) -> Answer {
    answer(status, body.to_string())
}

fn with(mut answer: Answer, name: &'static str, value: &str) -> Answer {
    answer.headers_mut().append(name, value.parse().unwrap());
    answer
}

impl World {
    async fn respond(&self, name: &'static str, request: Request<Incoming>) -> Answer {
        let (head, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let path = head.uri.path().to_owned();
        let rules = self.rules().clone();
        let is_form = path.ends_with("/token");
        let query = if is_form { &body[..] } else { head.uri.query().unwrap_or_default().as_bytes() };
        let parameters: BTreeMap<String, String> = form_urlencoded::parse(query).into_owned().collect();
        self.state().log.push((name, format!("{} {path}", head.method), parameters.clone()));
        if name == "resource" && path == "/mcp" {
            return self.call(&rules, &head.headers, &String::from_utf8_lossy(&body));
        }
        if name == "resource" && Some(path.as_str()) == rules.resource_metadata {
            let issuer = &self.issuers[*self.current.lock().unwrap()];
            let mut metadata = json!({
                "resource": rules.resource.unwrap_or_else(|| self.url()),
                "authorization_servers": [format!("{issuer}{}", rules.tenant)],
            });
            if let Some(scopes) = rules.scopes_supported {
                metadata["scopes_supported"] = json!(scopes);
            }
            return json_answer(200, &metadata);
        }
        let origin = match name {
            "resource" => &self.resource,
            "first" => &self.issuers[0],
            _ => &self.issuers[1],
        };
        let issuer = rules.issuer.clone().unwrap_or_else(|| format!("{origin}{}", rules.tenant));
        match path.as_str() {
            path if Some(path) == rules.issuer_metadata => {
                json_answer(200, &metadata(&rules, origin, &issuer))
            }
            "/register" if rules.has_registration => self.register(&rules, name, &body),
            "/authorize" => self.authorize(&rules, &issuer, parameters),
            "/token" => self.token(&rules, &head.headers, &format!("{origin}/token"), &parameters),
            _ => answer(404, "<html>not here</html>"),
        }
    }

    fn call(&self, rules: &Rules, headers: &HeaderMap, needs: &str) -> Answer {
        let metadata = rules.resource_metadata.filter(|_| rules.is_in_challenge);
        let metadata = metadata.map(|path| format!("resource_metadata=\"{}{path}\", ", self.resource));
        let scheme = if rules.dpop { "DPoP" } else { "Bearer" };
        let refuse = |status, error: &str, scope: Option<&str>| {
            let scope = scope.map(|scope| format!(", scope=\"{scope}\"")).unwrap_or_default();
            let metadata = metadata.clone().unwrap_or_default();
            with(
                answer(status, "no"),
                "www-authenticate",
                &format!("{scheme} {metadata}error=\"{error}\"{scope}"),
            )
        };
        let sent = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = sent.and_then(|value| value.strip_prefix(scheme)).map(str::trim_start);
        let mut state = self.state();
        let Some(scopes) = token.and_then(|token| state.tokens.get(token)) else {
            return refuse(401, "invalid_token", rules.challenge_scope);
        };
        if rules.is_scope_never_enough || !scopes.includes(&Scopes::parse(needs)) {
            return refuse(403, "insufficient_scope", Some(needs));
        }
        if rules.dpop {
            let proof = proof(headers, &mut state);
            if rules.nonces && proof["nonce"] != "resource-nonce" {
                return with(refuse(401, "use_dpop_nonce", None), "dpop-nonce", "resource-nonce");
            }
        }
        answer(200, "ok")
    }

    fn register(&self, rules: &Rules, name: &str, body: &[u8]) -> Answer {
        let metadata: Value = serde_json::from_slice(body).unwrap();
        if rules.one_redirect_uri && metadata["redirect_uris"].as_array().unwrap().len() > 1 {
            return json_answer(400, &json!({ "error": "invalid_redirect_uri" }));
        }
        let mut state = self.state();
        state.serial += 1;
        let id = format!("{name}-client-{}", state.serial);
        state.clients.insert(id.clone(), metadata);
        json_answer(201, &json!({ "client_id": id, "client_secret": "client-secret-text" }))
    }

    fn authorize(&self, rules: &Rules, issuer: &str, parameters: BTreeMap<String, String>) -> Answer {
        let mut state = self.state();
        let is_document = rules.has_documents && parameters["client_id"].starts_with("https://");
        let registered = state.clients.get(&parameters["client_id"]);
        let is_known = registered.is_some_and(|client| {
            let uris = client["redirect_uris"].as_array().unwrap();
            uris.iter().any(|uri| uri == &parameters["redirect_uri"])
        });
        if !is_known && !is_document && parameters["client_id"] != "pre-registered" {
            return answer(400, "invalid redirect URI");
        }
        state.serial += 1;
        let code = format!("code-{}-that-is-secret", state.serial);
        let mut target = Url::parse(&parameters["redirect_uri"]).unwrap();
        {
            let mut query = target.query_pairs_mut();
            query.append_pair("state", &parameters["state"]);
            match rules.user_error {
                Some(error) => query.append_pair("error", error),
                None => query.append_pair("code", &code),
            };
            if let Some(iss) = rules.iss {
                query.append_pair("iss", &iss.replace("{issuer}", issuer));
            }
        }
        state.codes.insert(code, parameters);
        with(answer(302, ""), "location", target.as_str())
    }

    fn token(
        &self,
        rules: &Rules,
        headers: &HeaderMap,
        url: &str,
        form: &BTreeMap<String, String>,
    ) -> Answer {
        use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
        use sha2::{Digest as _, Sha256};
        let error = |code: &str| {
            json_answer(400, &json!({ "error": code, "error_description": format!("refused {form:?}") }))
        };
        let get = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
        let mut state = self.state();
        let is_basic = headers.contains_key(header::AUTHORIZATION);
        let found =
            match (is_basic, form.contains_key("client_secret"), form.contains_key("client_assertion")) {
                (true, ..) => "client_secret_basic",
                (_, true, _) => "client_secret_post",
                (.., true) => "private_key_jwt",
                _ => "none",
            };
        if found != rules.authentication {
            return error("invalid_client");
        }
        if rules.dpop {
            let proof = proof(headers, &mut state);
            assert_eq!((&proof["htu"], &proof["htm"]), (&json!(url), &json!("POST")));
            if rules.nonces && proof["nonce"] != "token-nonce" {
                return with(error("use_dpop_nonce"), "dpop-nonce", "token-nonce");
            }
        }
        let scopes = match get("grant_type") {
            "authorization_code" => {
                let Some(request) = state.codes.remove(get("code")) else { return error("invalid_grant") };
                let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(get("code_verifier")));
                if !is_basic && !state.clients.contains_key(get("client_id")) && !rules.has_documents {
                    return error("invalid_client");
                }
                if challenge != request["code_challenge"] || get("resource") != request["resource"] {
                    return error("invalid_grant");
                }
                Scopes::parse(request.get("scope").map(String::as_str).unwrap_or_default())
            }
            "refresh_token" => match state.refresh.get_mut(get("refresh_token")) {
                Some((scopes, was_used)) if !*was_used => {
                    *was_used = true;
                    scopes.clone()
                }
                Some(_) => {
                    // Used twice means stolen: everything is revoked.
                    state.reused += 1;
                    state.tokens.clear();
                    state.refresh.clear();
                    return error("invalid_grant");
                }
                None => return error("invalid_grant"),
            },
            "urn:ietf:params:oauth:grant-type:token-exchange" => {
                return json_answer(
                    200,
                    &json!({
                        "access_token": format!("jag-for-{}", get("audience")), "token_type": "N_A",
                        "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
                    }),
                );
            }
            "urn:ietf:params:oauth:grant-type:jwt-bearer" if get("assertion").contains("expired") => {
                return error("invalid_grant");
            }
            _ => Scopes::parse(get("scope")),
        };
        state.serial += 1;
        let (access, refresh) = (
            format!("access-{}-that-is-secret", state.serial),
            format!("refresh-{}-that-is-secret", state.serial),
        );
        state.tokens.insert(access.clone(), scopes.clone());
        state.refresh.insert(refresh.clone(), (scopes, false));
        let kind = if rules.dpop { "DPoP" } else { "Bearer" };
        let mut body = json!({ "access_token": access, "token_type": kind, "expires_in": rules.expires_in });
        if rules.has_refresh {
            body["refresh_token"] = refresh.into();
        }
        json_answer(200, &body)
    }
}

fn metadata(rules: &Rules, origin: &str, issuer: &str) -> Value {
    let mut metadata = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{origin}{}", rules.authorize_path),
        "token_endpoint": format!("{origin}/token"),
        "authorization_response_iss_parameter_supported": rules.is_iss_announced,
        "token_endpoint_auth_methods_supported": [rules.authentication],
        "client_id_metadata_document_supported": rules.has_documents,
        "scopes_supported": rules.server_scopes,
    });
    if rules.has_pkce {
        metadata["code_challenge_methods_supported"] = json!(["plain", "S256"]);
    }
    if rules.has_registration {
        metadata["registration_endpoint"] = format!("{origin}/register").into();
    }
    if rules.dpop {
        metadata["dpop_signing_alg_values_supported"] = json!(["ES256"]);
    }
    metadata
}

/// Verifies the proof of a request and returns its claims. No proof is accepted twice.
fn proof(headers: &HeaderMap, state: &mut State) -> Value {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    let proof = headers["dpop"].to_str().unwrap();
    let parts: Vec<&str> = proof.split('.').collect();
    let read = |part: &str| serde_json::from_slice::<Value>(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap();
    let (header, claims) = (read(parts[0]), read(parts[1]));
    let coordinate = |name: &str| URL_SAFE_NO_PAD.decode(header["jwk"][name].as_str().unwrap()).unwrap();
    let point = [vec![4], coordinate("x"), coordinate("y")].concat();
    let key = ring::signature::UnparsedPublicKey::new(&ring::signature::ECDSA_P256_SHA256_FIXED, point);
    let signature = URL_SAFE_NO_PAD.decode(parts[2]).unwrap();
    key.verify(format!("{}.{}", parts[0], parts[1]).as_bytes(), &signature).unwrap();
    assert!(state.proofs.iter().all(|used| used["jti"] != claims["jti"]), "a proof was used twice");
    state.proofs.push(claims.clone());
    claims
}
