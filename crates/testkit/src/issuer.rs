//! An issuer of tokens: metadata, keys that rotate, introspection, outages.

mod keys;

use std::{
    collections::BTreeMap,
    io,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use ::http::{Request, Response, StatusCode, header};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use hyper::body::Incoming;
use parking_lot::Mutex;
use ring::hmac;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_transport::http::{Body, ConnectionLimits, Respond, read_body, serve};

pub use self::keys::TestAlgorithm;
use self::keys::TestKey;

/// An issuer of tokens, at a URL of this machine. Ends when dropped.
#[derive(Debug, Clone)]
pub struct TestIssuer {
    url: String,
    state: Arc<Mutex<State>>,
    _stop: Arc<StopOnDrop>,
}

#[derive(Debug)]
struct StopOnDrop(CancellationToken);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[derive(Default)]
struct State {
    /// The last one signs.
    keys: Vec<TestKey>,
    made: usize,
    is_down: bool,
    /// How long each response takes.
    delay: Duration,
    /// What introspection says.
    tokens: BTreeMap<String, Value>,
    /// How often each path was requested.
    requests: BTreeMap<String, usize>,
    /// What introspection requires.
    authorization: Option<String>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("requests", &self.requests).finish_non_exhaustive()
    }
}

impl TestIssuer {
    /// Starts on a free port, with one key (ES256).
    pub async fn start(tasks: &TaskTracker) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let state = Arc::<Mutex<State>>::default();
        let stop = CancellationToken::new();
        let service = Arc::new(Service { url: url.clone(), state: state.clone() });
        let limits = ConnectionLimits { drain: Duration::from_millis(200), ..ConnectionLimits::default() };
        tasks.spawn(serve(listener, service, limits, stop.clone(), tasks.clone()));
        let issuer = Self { url, state, _stop: Arc::new(StopOnDrop(stop)) };
        issuer.rotate(TestAlgorithm::Es256);
        Ok(issuer)
    }

    /// Its name, which is its URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Publishes a new key and signs with it from now on. Former keys stay published.
    pub fn rotate(&self, algorithm: TestAlgorithm) {
        let mut state = self.state.lock();
        state.made += 1;
        let id = format!("key-{}", state.made);
        state.keys.push(TestKey::new(id, algorithm));
    }

    /// Publishes only the newest key.
    pub fn withdraw_former_keys(&self) {
        let mut state = self.state.lock();
        let former = state.keys.len().saturating_sub(1);
        state.keys.drain(..former);
    }

    /// From now on, every request is answered with 503, or as it should be.
    pub fn set_down(&self, is_down: bool) {
        self.state.lock().is_down = is_down;
    }

    /// From now on, each response takes so long.
    pub fn set_delay(&self, delay: Duration) {
        self.state.lock().delay = delay;
    }

    /// How often the keys were requested.
    pub fn key_requests(&self) -> usize {
        self.requests("/jwks")
    }

    /// How often a path was requested.
    pub fn requests(&self, path: &str) -> usize {
        self.state.lock().requests.get(path).copied().unwrap_or_default()
    }

    /// Claims of a token for `audience` that is valid for an hour.
    pub fn claims(&self, subject: &str, audience: &str) -> Value {
        json!({
            "iss": self.url, "sub": subject, "aud": audience, "scope": "mcp",
            "iat": now(), "exp": now() + 3600, "client_id": "test", "jti": format!("{:x}", now()),
        })
    }

    /// A good token for `audience`.
    pub fn token(&self, subject: &str, audience: &str) -> String {
        self.sign(&self.claims(subject, audience))
    }

    /// A token with these claims, signed with the newest key.
    pub fn sign(&self, claims: &Value) -> String {
        self.sign_with(|_| {}, claims)
    }

    /// As [`TestIssuer::sign`], with a header that is changed before it is signed.
    pub fn sign_with(&self, change: impl FnOnce(&mut Value), claims: &Value) -> String {
        let state = self.state.lock();
        let key = state.keys.last().expect("there is always a key");
        let mut header = json!({"alg": key.algorithm.name(), "typ": "at+jwt", "kid": key.id});
        change(&mut header);
        key.sign(&header, claims)
    }

    /// A token that claims not to be signed.
    pub fn unsigned(&self, claims: &Value) -> String {
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        format!("{}.{}.", encode(&json!({"alg": "none", "typ": "at+jwt"})), encode(claims))
    }

    /// A token that is signed with the public key as if it were a shared one.
    pub fn signed_with_public_key(&self, claims: &Value) -> String {
        let state = self.state.lock();
        let key = state.keys.last().expect("there is always a key");
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let header = json!({"alg": "HS256", "typ": "at+jwt", "kid": key.id});
        let text = format!("{}.{}", encode(&header), encode(claims));
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key.public_bytes()), text.as_bytes());
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(tag))
    }

    /// Introspection says this about a token from now on. Without claims, it is not active.
    pub fn introspects(&self, token: &str, claims: Option<Value>) {
        let mut state = self.state.lock();
        match claims {
            Some(mut claims) => {
                claims["active"] = json!(true);
                state.tokens.insert(token.to_owned(), claims);
            }
            None => drop(state.tokens.remove(token)),
        }
    }

    /// Introspection requires this value of `Authorization`.
    pub fn require_authorization(&self, value: &str) {
        self.state.lock().authorization = Some(value.to_owned());
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

struct Service {
    url: String,
    state: Arc<Mutex<State>>,
}

impl Respond for Service {
    async fn respond(&self, request: Request<Incoming>) -> Response<Body> {
        let path = request.uri().path().to_owned();
        let delay = {
            let mut state = self.state.lock();
            *state.requests.entry(path.clone()).or_default() += 1;
            state.delay
        };
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        if self.state.lock().is_down {
            return json_response(StatusCode::SERVICE_UNAVAILABLE, &json!({"error": "down"}));
        }
        match path.as_str() {
            "/.well-known/openid-configuration" => json_response(
                StatusCode::OK,
                &json!({
                    "issuer": self.url, "token_endpoint": format!("{}/token", self.url),
                    "authorization_endpoint": format!("{}/authorize", self.url),
                    "jwks_uri": format!("{}/jwks", self.url),
                    "introspection_endpoint": format!("{}/introspect", self.url),
                    "code_challenge_methods_supported": ["S256"],
                }),
            ),
            "/jwks" => {
                let keys: Vec<Value> = self.state.lock().keys.iter().map(TestKey::jwk).collect();
                json_response(StatusCode::OK, &json!({"keys": keys}))
            }
            "/introspect" => self.introspect(request).await,
            _ => json_response(StatusCode::NOT_FOUND, &json!({"error": "not_found"})),
        }
    }
}

impl Service {
    async fn introspect(&self, request: Request<Incoming>) -> Response<Body> {
        let sent = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        if sent != self.state.lock().authorization.as_deref() {
            return json_response(StatusCode::UNAUTHORIZED, &json!({"error": "invalid_client"}));
        }
        let body = read_body(request.into_body(), 64 * 1024, Duration::from_secs(10)).await;
        let body = String::from_utf8(body.unwrap_or_default().to_vec()).unwrap_or_default();
        // Tokens of tests need no decoding.
        let token = body.split('&').find_map(|pair| pair.strip_prefix("token=")).unwrap_or_default();
        let found = self.state.lock().tokens.get(token).cloned();
        json_response(StatusCode::OK, &found.unwrap_or_else(|| json!({"active": false})))
    }
}

fn json_response(status: StatusCode, body: &Value) -> Response<Body> {
    let mut response = Response::new(Body::full(Bytes::from(body.to_string())));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    response
}
