use std::{
    collections::BTreeMap,
    convert::Infallible,
    path::Path,
    sync::{Arc, Mutex, MutexGuard},
};

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;
use toolbay_access::{
    Access, Authenticator,
    issuer::AccessPolicy,
    proxy::{AllowedUsers, AuthorizationProxy, ProviderSettings, ProxySettings},
};
use toolbay_oauth::{
    AddressRule, BoxFuture, Credential, Fetch, GuardedClient, Scopes, http_client::FetchError,
};
use toolbay_transport::http::client::ConnectOptions;
use url::{Url, form_urlencoded};

pub(super) const HUB: &str = "https://hub.example";
pub(super) const VERIFIER: &str = "a-verifier-of-at-least-forty-three-characters-0123456789";
pub(super) const WEB: &str = "https://app.example/cb";
pub(super) const LOOPBACK: &str = "http://127.0.0.1:33418/cb";

/// What the provider does.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    /// Who logs in.
    pub(super) user: Value,
    /// Claims of the ID token that are replaced.
    pub(super) id_token: Value,
    pub(super) user_info: Value,
    /// What `iss` of the response is, if it is there.
    pub(super) iss: Option<String>,
    pub(super) is_iss_announced: bool,
    pub(super) error: Option<&'static str>,
    pub(super) is_down: bool,
}

#[derive(Debug, Default)]
pub(super) struct ProviderState {
    /// Authorization requests.
    pub(super) authorizations: Vec<BTreeMap<String, String>>,
    /// Token requests: the form, and the client's password.
    pub(super) exchanges: Vec<(BTreeMap<String, String>, String)>,
    codes: BTreeMap<String, BTreeMap<String, String>>,
}

/// An OpenID provider that registers no clients.
pub(super) struct Provider {
    pub(super) issuer: String,
    rules: Mutex<Rules>,
    state: Mutex<ProviderState>,
}

impl Provider {
    pub(super) fn rules(&self) -> MutexGuard<'_, Rules> {
        self.rules.lock().unwrap()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, ProviderState> {
        self.state.lock().unwrap()
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let rules = self.rules().clone();
        if rules.is_down {
            return reply(StatusCode::SERVICE_UNAVAILABLE, json!({}));
        }
        match head.uri.path() {
            "/.well-known/openid-configuration" => reply(
                StatusCode::OK,
                json!({
                    "issuer": self.issuer,
                    "authorization_endpoint": format!("{}/authorize", self.issuer),
                    "token_endpoint": format!("{}/token", self.issuer),
                    "userinfo_endpoint": format!("{}/userinfo", self.issuer),
                    "authorization_response_iss_parameter_supported": rules.is_iss_announced,
                }),
            ),
            "/authorize" => {
                let asked = pairs(head.uri.query().unwrap_or_default().as_bytes());
                self.state().authorizations.push(asked.clone());
                let mut back = Url::parse(&asked["redirect_uri"]).unwrap();
                match rules.error {
                    Some(error) => drop(back.query_pairs_mut().append_pair("error", error)),
                    None => {
                        let code = format!("provider-code-{}", self.state().codes.len());
                        back.query_pairs_mut().append_pair("code", &code);
                        self.state().codes.insert(code, asked.clone());
                    }
                }
                back.query_pairs_mut().append_pair("state", &asked["state"]);
                if let Some(iss) = rules.iss {
                    back.query_pairs_mut().append_pair("iss", &iss.replace("{issuer}", &self.issuer));
                }
                let mut response = reply(StatusCode::FOUND, json!({}));
                response.headers_mut().insert(header::LOCATION, back.as_str().parse().unwrap());
                response
            }
            "/token" => {
                let form = pairs(&body);
                let password = head.headers[header::AUTHORIZATION].to_str().unwrap().to_owned();
                self.state().exchanges.push((form.clone(), password));
                let Some(asked) = self.state().codes.remove(&form["code"]) else {
                    return reply(StatusCode::BAD_REQUEST, json!({ "error": "invalid_grant" }));
                };
                let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&form["code_verifier"]));
                assert_eq!(challenge, asked["code_challenge"]);
                let mut claims = json!({
                    "iss": self.issuer, "aud": asked["client_id"], "exp": 4_000_000_000_u64, "nonce": asked["nonce"],
                });
                merge(&mut claims, &rules.user);
                merge(&mut claims, &rules.id_token);
                let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
                let id_token = format!("{}.{}.sig", part(&json!({ "alg": "RS256" })), part(&claims));
                let tokens =
                    json!({ "access_token": "provider-token", "token_type": "Bearer", "id_token": id_token });
                reply(StatusCode::OK, tokens)
            }
            "/userinfo" => {
                assert_eq!(head.headers[header::AUTHORIZATION], "Bearer provider-token");
                let mut claims = json!({ "sub": rules.user["sub"] });
                merge(&mut claims, &rules.user_info);
                reply(StatusCode::OK, claims)
            }
            _ => reply(StatusCode::NOT_FOUND, json!({})),
        }
    }
}

fn merge(into: &mut Value, from: &Value) {
    for (name, value) in from.as_object().unwrap() {
        into[name] = value.clone();
    }
}

fn reply(status: StatusCode, body: Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())));
    *response.status_mut() = status;
    response
}

pub(super) fn pairs(text: &[u8]) -> BTreeMap<String, String> {
    form_urlencoded::parse(text).into_owned().collect()
}

pub(super) fn ada() -> Value {
    json!({ "sub": "ada", "email": "ada@a.example", "email_verified": true })
}

pub(super) fn bob() -> Value {
    json!({ "sub": "bob", "email": "bob@a.example", "email_verified": true })
}

/// Documents of clients: by URL, a status and a text. What is not there is fetched by the real client.
#[derive(Debug)]
pub(super) struct DocumentFetch {
    pub(super) documents: Mutex<BTreeMap<String, (StatusCode, String)>>,
    pub(super) count: Mutex<BTreeMap<String, usize>>,
    guarded: GuardedClient,
}

impl Fetch for DocumentFetch {
    fn fetch(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, FetchError>> {
        let url = request.uri().to_string();
        *self.count.lock().unwrap().entry(url.clone()).or_default() += 1;
        let found = self.documents.lock().unwrap().get(&url).cloned();
        Box::pin(async move {
            let Some((status, text)) = found else { return self.guarded.fetch(request).await };
            let mut response = Response::new(Bytes::from(text));
            *response.status_mut() = status;
            Ok(response)
        })
    }
}

pub(super) struct World {
    pub(super) provider: Arc<Provider>,
    pub(super) proxy: AuthorizationProxy,
    pub(super) documents: Arc<DocumentFetch>,
    pub(super) directory: TempDir,
    pub(super) tasks: TaskTracker,
    change: fn(&mut ProxySettings),
}

impl World {
    pub(super) async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// A world whose settings are changed.
    pub(super) async fn with(change: fn(&mut ProxySettings)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let rules = Rules {
            user: ada(),
            id_token: json!({}),
            user_info: json!({}),
            iss: Some("{issuer}".to_owned()),
            is_iss_announced: true,
            error: None,
            is_down: false,
        };
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let provider = Arc::new(Provider { issuer, rules: Mutex::new(rules), state: Mutex::default() });
        let (tasks, directory) = (TaskTracker::new(), tempfile::tempdir().unwrap());
        tasks.spawn(accept(listener, provider.clone(), tasks.clone()));
        let guarded = GuardedClient::new(AddressRule::Public, &ConnectOptions::default(), &tasks);
        let documents =
            Arc::new(DocumentFetch { documents: Mutex::default(), count: Mutex::default(), guarded });
        let proxy = open(&provider, &documents, &tasks, directory.path(), change);
        Self { provider, proxy, documents, directory, tasks, change }
    }

    /// The proxy after a restart of the hub.
    pub(super) fn restart(&mut self) {
        self.proxy = open(&self.provider, &self.documents, &self.tasks, self.directory.path(), self.change);
    }

    /// Registers a client and returns its id.
    pub(super) async fn register(&self, redirect_uri: &str) -> String {
        let body = json!({ "client_name": "Test client", "redirect_uris": [redirect_uri] });
        let (status, body) = self.post_json("/oauth/register", &body.to_string()).await;
        assert_eq!(status, 201, "{body}");
        body["client_id"].as_str().unwrap().to_owned()
    }

    pub(super) async fn post_json(&self, path: &str, body: &str) -> (u16, Value) {
        let request = Request::post(format!("{HUB}{path}")).header(header::CONTENT_TYPE, "application/json");
        json_of(self.proxy.respond(request.body(Bytes::from(body.to_owned())).unwrap()).await)
    }

    pub(super) async fn post_form(&self, path: &str, form: &[(&str, &str)]) -> (u16, Value) {
        json_of(self.proxy.respond(form_request(path, form, &HeaderMap::new())).await)
    }

    /// Exchanges a code, with parameters that are replaced (an empty value removes one).
    pub(super) async fn exchange(&self, login: &Login, code: &str, changed: &[(&str, &str)]) -> (u16, Value) {
        let mut form = BTreeMap::from([
            ("grant_type", "authorization_code"),
            ("code", code),
            ("client_id", &login.client_id),
            ("redirect_uri", &login.redirect_uri),
            ("code_verifier", VERIFIER),
            ("resource", "https://hub.example/mcp"),
        ]);
        for (name, value) in changed {
            form.insert(name, value);
        }
        form.retain(|_, value| !value.is_empty());
        self.post_form("/oauth/token", &form.into_iter().collect::<Vec<_>>()).await
    }

    pub(super) async fn refresh(&self, login: &Login, token: &str) -> (u16, Value) {
        let form = [
            ("grant_type", "refresh_token"),
            ("refresh_token", token),
            ("client_id", login.client_id.as_str()),
        ];
        self.post_form("/oauth/token", &form).await
    }

    /// Logs in with a new client and returns its tokens.
    pub(super) async fn tokens(&self, redirect_uri: &str) -> (Login, Value) {
        let login = Login::new(self.register(redirect_uri).await, redirect_uri);
        let code = Browser::default().log_in(self, &login).await;
        let (status, tokens) = self.exchange(&login, &code, &[]).await;
        assert_eq!(status, 200, "{tokens}");
        (login, tokens)
    }

    /// What a token gives, as the gateway finds out.
    pub(super) async fn access(&self, token: &str) -> Option<Arc<Access>> {
        match self.proxy.known(token) {
            Some(access) => Some(access),
            None => self.proxy.authenticate(token).await?.ok(),
        }
    }
}

fn open(
    provider: &Provider,
    documents: &Arc<DocumentFetch>,
    tasks: &TaskTracker,
    directory: &Path,
    change: fn(&mut ProxySettings),
) -> AuthorizationProxy {
    let [access_token_lifetime, refresh_token_lifetime, login_lifetime] = ProxySettings::LIFETIMES;
    let mut settings = ProxySettings {
        public_url: HUB.to_owned(),
        provider: ProviderSettings {
            issuer: provider.issuer.clone(),
            client_id: "hub-at-provider".to_owned(),
            client_secret: Some(Credential::new("hub-password")),
            scopes: Scopes::parse(ProxySettings::PROVIDER_SCOPES),
        },
        allowed: AllowedUsers { domains: vec!["a.example".to_owned()], ..AllowedUsers::default() },
        policy: AccessPolicy { required_scopes: vec!["mcp".to_owned()], ..AccessPolicy::default() },
        redirect_schemes: Vec::new(),
        access_token_lifetime,
        refresh_token_lifetime,
        login_lifetime,
        directory: directory.join("proxy"),
        provider_fetch: Arc::new(GuardedClient::new(AddressRule::Private, &ConnectOptions::default(), tasks)),
        document_fetch: documents.clone(),
    };
    change(&mut settings);
    AuthorizationProxy::open(settings).unwrap()
}

async fn accept(listener: TcpListener, provider: Arc<Provider>, tasks: TaskTracker) {
    while let Ok((stream, _)) = listener.accept().await {
        let provider = provider.clone();
        let serve = service_fn(move |request| {
            let provider = provider.clone();
            async move { Ok::<_, Infallible>(provider.answer(request).await) }
        });
        tasks.spawn(async move {
            drop(http1::Builder::new().serve_connection(TokioIo::new(stream), serve).await)
        });
    }
}

pub(super) fn form_request(path: &str, form: &[(&str, &str)], headers: &HeaderMap) -> Request<Bytes> {
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    let mut request = Request::post(format!("{HUB}{path}")).body(Bytes::from(body)).unwrap();
    request.headers_mut().insert(header::CONTENT_TYPE, "application/x-www-form-urlencoded".parse().unwrap());
    request.headers_mut().extend(headers.clone());
    request
}

pub(super) fn json_of(response: Response<Bytes>) -> (u16, Value) {
    assert_eq!(response.headers()[header::CONTENT_TYPE], "application/json");
    assert_eq!(response.headers()[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
    (response.status().as_u16(), serde_json::from_slice(response.body()).unwrap())
}

pub(super) fn text(response: &Response<Bytes>) -> String {
    String::from_utf8(response.body().to_vec()).unwrap()
}

pub(super) fn location(response: &Response<Bytes>) -> Url {
    Url::parse(response.headers()[header::LOCATION].to_str().unwrap()).unwrap()
}

/// A client that logs a person in.
#[derive(Debug, Clone)]
pub(super) struct Login {
    pub(super) client_id: String,
    pub(super) redirect_uri: String,
    /// Parameters that are replaced; an empty value removes one.
    pub(super) changed: Vec<(&'static str, String)>,
}

impl Login {
    pub(super) fn new(client_id: String, redirect_uri: &str) -> Self {
        Self { client_id, redirect_uri: redirect_uri.to_owned(), changed: Vec::new() }
    }

    pub(super) fn changed(&self, name: &'static str, value: &str) -> Self {
        let mut login = self.clone();
        login.changed.push((name, value.to_owned()));
        login
    }

    pub(super) fn url(&self) -> String {
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER));
        let mut parameters = BTreeMap::from([
            ("response_type", "code"),
            ("client_id", &self.client_id),
            ("redirect_uri", &self.redirect_uri),
            ("state", "client-state"),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("resource", "https://hub.example/mcp"),
            ("scope", "mcp"),
        ]);
        for (name, value) in &self.changed {
            parameters.insert(name, value);
        }
        parameters.retain(|_, value| !value.is_empty());
        Url::parse_with_params(&format!("{HUB}/oauth/authorize"), parameters).unwrap().into()
    }
}

/// A browser, with cookies of the hub.
#[derive(Debug, Clone, Default)]
pub(super) struct Browser {
    pub(super) cookies: BTreeMap<String, String>,
}

impl Browser {
    pub(super) async fn get(&mut self, world: &World, url: &str) -> Response<Bytes> {
        let mut request = Request::get(url).body(Bytes::new()).unwrap();
        request.headers_mut().extend(self.headers());
        self.keep(world.proxy.respond(request).await)
    }

    /// Sends the form of a consent page.
    pub(super) async fn decide(
        &mut self,
        world: &World,
        page: &Response<Bytes>,
        decision: &str,
    ) -> Response<Bytes> {
        let request = form_request(
            "/oauth/consent",
            &[("request", &hidden(page)), ("decision", decision)],
            &self.headers(),
        );
        self.keep(world.proxy.respond(request).await)
    }

    pub(super) fn headers(&self) -> HeaderMap {
        let cookies: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        HeaderMap::from_iter([(header::COOKIE, cookies.join("; ").parse().unwrap())])
    }

    fn keep(&mut self, response: Response<Bytes>) -> Response<Bytes> {
        for cookie in response.headers().get_all(header::SET_COOKIE) {
            let cookie = cookie.to_str().unwrap();
            assert!(
                cookie.starts_with("__Host-toolbay-") && cookie.contains("; Path=/; HttpOnly; SameSite=Lax;"),
                "{cookie}"
            );
            assert!(cookie.ends_with("; Secure"), "{cookie}");
            let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
            match value {
                "" => drop(self.cookies.remove(name)),
                value => drop(self.cookies.insert(name.to_owned(), value.to_owned())),
            }
        }
        response
    }

    /// Goes to a page of the provider, and returns where that sends the browser.
    pub(super) async fn at_provider(world: &World, url: &str) -> String {
        let client = GuardedClient::new(AddressRule::Loopback, &ConnectOptions::default(), &world.tasks);
        let request = Request::builder().method(Method::GET).uri(url).body(Bytes::new()).unwrap();
        let response = client.fetch(request).await.unwrap();
        response.headers()[header::LOCATION].to_str().unwrap().to_owned()
    }

    /// Consents, logs in at the provider and comes back; returns the response that leads to the client.
    pub(super) async fn finish(&mut self, world: &World, page: &Response<Bytes>) -> Response<Bytes> {
        let next = self.decide(world, page, "allow").await;
        let callback = Self::at_provider(world, &refresh_target(&next)).await;
        self.get(world, &callback).await
    }

    /// Logs in and returns the code of the client.
    pub(super) async fn log_in(&mut self, world: &World, login: &Login) -> String {
        let page = self.get(world, &login.url()).await;
        assert_eq!(page.status(), 200, "{}", text(&page));
        let back = self.finish(world, &page).await;
        assert_eq!(back.status(), 303, "{}", text(&back));
        code(&back)
    }
}

/// The code in a response that leads to the client.
pub(super) fn code(response: &Response<Bytes>) -> String {
    let parameters = pairs(location(response).query().unwrap().as_bytes());
    assert_eq!((&*parameters["state"], &*parameters["iss"]), ("client-state", HUB), "{parameters:?}");
    parameters["code"].clone()
}

/// The request in the form of a consent page.
pub(super) fn hidden(page: &Response<Bytes>) -> String {
    let text = text(page);
    let (_, rest) = text.split_once("name=\"request\" value=\"").unwrap();
    rest.split_once('"').unwrap().0.to_owned()
}

/// Where a page leads that has no redirect.
pub(super) fn refresh_target(page: &Response<Bytes>) -> String {
    let text = text(page);
    let (_, rest) = text.split_once("content=\"0; url=").unwrap_or_else(|| panic!("{text}"));
    rest.split_once('"').unwrap().0.replace("&amp;", "&")
}

pub(super) fn basic(client_id: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{client_id}:{password}")))
}
