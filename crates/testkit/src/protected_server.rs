//! An MCP server that wants a login, with the authorization server that it trusts.
//!
//! Both are at one origin. The user consents to everything: the authorization endpoint redirects at once. Access tokens and refresh
//! tokens contain `that-is-secret`, so that a test can search for them.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Read as _, Write as _},
    net::TcpStream,
    sync::Arc,
};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio_util::task::TaskTracker;

use crate::{HttpScript, RecordedRequest, Responder};

/// The scope that all calls need; the tool `write` needs `write`, too.
const SCOPE: &str = "read";

/// The client `service` with the password `pass word`, as a header.
const CLIENT: &str = "Basic c2VydmljZTpwYXNzK3dvcmQ=";

/// A protected server with the tools `read` and `write`.
#[derive(Debug, Clone)]
pub struct ProtectedServer {
    /// The URL of its MCP endpoint.
    pub url: String,
    state: Arc<Mutex<State>>,
}

/// How often something was requested so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AuthorizationLog {
    /// Clients that were registered.
    pub registrations: u32,
    /// Pages that a user saw: requests with a known client.
    pub logins: u32,
    /// Codes that were exchanged.
    pub codes: u32,
    /// Tokens for a client without a user.
    pub client_grants: u32,
    /// Refresh tokens that were used.
    pub refreshes: u32,
    /// Refresh tokens that were used twice.
    pub reused: u32,
    /// Tokens that were revoked.
    pub revoked: u32,
    /// MCP requests that were refused.
    pub refused: u32,
    /// Calls of tools that were answered.
    pub calls: u32,
}

#[derive(Debug, Default)]
struct State {
    log: AuthorizationLog,
    serial: u32,
    /// What tokens end with.
    padding: String,
    /// Redirect URIs by client id.
    clients: BTreeMap<String, BTreeSet<String>>,
    /// Scopes and `resource` by code.
    codes: BTreeMap<String, (String, String)>,
    /// Scopes by access token.
    tokens: BTreeMap<String, String>,
    /// Scopes by refresh token, and whether it was used.
    refresh_tokens: BTreeMap<String, (String, bool)>,
    resources: BTreeSet<String>,
}

impl ProtectedServer {
    /// Serves on a free port of this machine, on `tasks`.
    ///
    /// # Errors
    /// If there is no port.
    pub async fn start(tasks: &TaskTracker) -> io::Result<Self> {
        let state: Arc<Mutex<State>> = Arc::default();
        let script = {
            let state = state.clone();
            move |asked: RecordedRequest, answering: Responder| {
                let state = state.clone();
                async move { respond(&state, &asked, answering).await }
            }
        };
        Ok(Self { url: HttpScript::start(tasks, script).await?.url, state })
    }

    /// What was requested so far.
    pub fn log(&self) -> AuthorizationLog {
        self.state.lock().log
    }

    /// Every `resource` that was named in requests.
    pub fn resources(&self) -> Vec<String> {
        self.state.lock().resources.iter().cloned().collect()
    }

    /// Lets all access tokens expire; refresh tokens stay.
    pub fn expire_tokens(&self) {
        self.state.lock().tokens.clear();
    }

    /// Forgets all tokens, so that users have to log in again.
    pub fn forget_logins(&self) {
        let mut state = self.state.lock();
        state.tokens.clear();
        state.refresh_tokens.clear();
    }

    /// Makes new tokens longer by as many characters, as those of large identity providers are.
    pub fn lengthen_tokens(&self, characters: usize) {
        self.state.lock().padding = "x".repeat(characters);
    }

    /// Forgets all registered clients.
    pub fn forget_clients(&self) {
        self.state.lock().clients.clear();
    }
}

/// Opens a URL as a browser does, with all redirects, and returns the last response.
///
/// # Errors
/// If there is no response.
pub fn visit(url: &str) -> io::Result<String> {
    let mut url = url.to_owned();
    for _ in 0..5 {
        let response = response_of(&url)?;
        match response.lines().find_map(|line| line.strip_prefix("location: ")) {
            Some(location) => url = location.to_owned(),
            None => return Ok(response),
        }
    }
    Err(io::Error::other("too many redirects"))
}

/// The response to a GET, headers and all.
///
/// # Errors
/// If there is none.
pub fn response_of(url: &str) -> io::Result<String> {
    let rest = url.trim_start_matches("http://");
    let (address, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    Ok(response)
}

type Parameters = BTreeMap<String, String>;

async fn respond(state: &Mutex<State>, asked: &RecordedRequest, answering: Responder) {
    let origin = format!("http://{}", asked.header("host"));
    let (path, query) = asked.path.split_once('?').unwrap_or((&asked.path, ""));
    let form =
        parameters(if asked.method == "POST" { asked.body.as_str().unwrap_or_default() } else { query });
    match path {
        "/.well-known/oauth-protected-resource/mcp" => {
            let metadata = json!({
                "resource": format!("{origin}/mcp"), "authorization_servers": [origin], "scopes_supported": [SCOPE],
            });
            answering.json("200 OK", &metadata).await;
        }
        "/.well-known/oauth-authorization-server" => {
            let metadata = json!({
                "issuer": origin,
                "authorization_endpoint": format!("{origin}/authorize"),
                "token_endpoint": format!("{origin}/token"),
                "registration_endpoint": format!("{origin}/register"),
                "revocation_endpoint": format!("{origin}/revoke"),
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
                "authorization_response_iss_parameter_supported": true,
            });
            answering.json("200 OK", &metadata).await;
        }
        "/register" => {
            let client = state.lock().register(&asked.body);
            answering.json("201 Created", &client).await;
        }
        "/authorize" => {
            let location = state.lock().authorize(&form, &origin);
            match location {
                Some(location) => answering.respond("302 Found", &[("location", &location)], "").await,
                None => answering.respond("400 Bad Request", &[], "unknown client or redirect URI").await,
            }
        }
        "/token" => {
            let tokens = state.lock().exchange(&form, asked.header("authorization"));
            match tokens {
                Ok(tokens) => answering.json("200 OK", &tokens).await,
                Err(error) => answering.json("400 Bad Request", &json!({ "error": error })).await,
            }
        }
        "/revoke" => {
            state.lock().revoke(&form);
            answering.respond("200 OK", &[], "").await;
        }
        "/mcp" => serve(state, asked, &origin, answering).await,
        _ => answering.respond("404 Not Found", &[], "").await,
    }
}

impl State {
    fn next(&mut self, what: &str) -> String {
        self.serial += 1;
        format!("{what}-{}-that-is-secret{}", self.serial, if what == "code" { "" } else { &self.padding })
    }

    fn register(&mut self, metadata: &Value) -> Value {
        self.log.registrations += 1;
        let id = format!("client-{}", self.log.registrations);
        let uris = metadata["redirect_uris"].as_array().into_iter().flatten();
        let uris = uris.filter_map(|uri| uri.as_str().map(str::to_owned)).collect();
        self.clients.insert(id.clone(), uris);
        json!({ "client_id": id, "token_endpoint_auth_method": "none" })
    }

    fn authorize(&mut self, request: &Parameters, issuer: &str) -> Option<String> {
        let redirect_uri = request.get("redirect_uri")?;
        if !self.clients.get(request.get("client_id")?)?.contains(redirect_uri) {
            return None;
        }
        self.log.logins += 1;
        self.resources.extend(request.get("resource").cloned());
        let code = self.next("code");
        let get = |name: &str| request.get(name).cloned().unwrap_or_default();
        self.codes.insert(code.clone(), (get("scope"), get("resource")));
        let encode = |text: &str| text.replace(':', "%3A").replace('/', "%2F");
        Some(format!("{redirect_uri}?code={code}&state={}&iss={}", get("state"), encode(issuer)))
    }

    fn exchange(&mut self, form: &Parameters, authorization: &str) -> Result<Value, &'static str> {
        let get = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
        if get("grant_type") == "client_credentials" && authorization == CLIENT {
            let access_token = self.next("access");
            self.tokens.insert(access_token.clone(), get("scope").to_owned());
            self.log.client_grants += 1;
            return Ok(json!({ "access_token": access_token, "token_type": "Bearer", "expires_in": 3600 }));
        }
        if !self.clients.contains_key(get("client_id")) {
            return Err("invalid_client");
        }
        self.resources.insert(get("resource").to_owned());
        let scopes = match get("grant_type") {
            "authorization_code" => {
                self.log.codes += 1;
                let (scopes, resource) = self.codes.remove(get("code")).ok_or("invalid_grant")?;
                if resource != get("resource") {
                    return Err("invalid_target");
                }
                scopes
            }
            "refresh_token" => {
                self.log.refreshes += 1;
                match self.refresh_tokens.get_mut(get("refresh_token")) {
                    Some((scopes, was_used @ false)) => {
                        *was_used = true;
                        scopes.clone()
                    }
                    Some(_) => {
                        self.log.reused += 1;
                        return Err("invalid_grant");
                    }
                    None => return Err("invalid_grant"),
                }
            }
            _ => return Err("unsupported_grant_type"),
        };
        let (access_token, refresh_token) = (self.next("access"), self.next("refresh"));
        self.tokens.insert(access_token.clone(), scopes.clone());
        self.refresh_tokens.insert(refresh_token.clone(), (scopes, false));
        Ok(json!({
            "access_token": access_token, "refresh_token": refresh_token, "token_type": "Bearer", "expires_in": 3600,
        }))
    }

    fn revoke(&mut self, form: &Parameters) {
        let token = form.get("token").cloned().unwrap_or_default();
        let is_known = self.tokens.remove(&token).is_some() | self.refresh_tokens.remove(&token).is_some();
        self.log.revoked += u32::from(is_known);
    }

    /// The scope that a request lacks; the error is that it has no valid token.
    fn check(&mut self, asked: &RecordedRequest) -> Result<Option<&'static str>, ()> {
        let token = asked.header("authorization").strip_prefix("Bearer ").unwrap_or_default();
        let Some(scopes) = self.tokens.get(token) else {
            self.log.refused += 1;
            return Err(());
        };
        let has = |scope: &str| scopes.split(' ').any(|granted| granted == scope);
        let is_write = asked.rpc() == "tools/call" && asked.body["params"]["name"] == "write";
        let lacks =
            [(true, SCOPE), (is_write, "write")].into_iter().find(|(needed, scope)| *needed && !has(scope));
        self.log.refused += u32::from(lacks.is_some());
        self.log.calls += u32::from(lacks.is_none() && asked.rpc() == "tools/call");
        Ok(lacks.map(|(_, scope)| scope))
    }
}

async fn serve(state: &Mutex<State>, asked: &RecordedRequest, origin: &str, answering: Responder) {
    let metadata = format!("resource_metadata=\"{origin}/.well-known/oauth-protected-resource/mcp\"");
    let lacks = state.lock().check(asked);
    match lacks {
        Err(()) => {
            let challenge = format!("Bearer {metadata}");
            return answering.respond("401 Unauthorized", &[("www-authenticate", &challenge)], "").await;
        }
        Ok(Some(scope)) => {
            let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\", {metadata}");
            return answering.respond("403 Forbidden", &[("www-authenticate", &challenge)], "").await;
        }
        Ok(None) => {}
    }
    let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
    let result = match (asked.method.as_str(), asked.rpc()) {
        ("POST", "initialize") => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "protected", "version": "1" },
        }),
        ("POST", "tools/list") => json!({ "tools": [tool("read"), tool("write")] }),
        ("POST", "tools/call") => {
            let text = format!("{} done", asked.body["params"]["name"].as_str().unwrap_or_default());
            json!({ "content": [{ "type": "text", "text": text }] })
        }
        ("POST", "ping") => json!({}),
        ("POST", method) if method.starts_with("notifications/") => {
            return answering.respond("202 Accepted", &[], "").await;
        }
        ("POST", _) => {
            let error = json!({ "code": -32601, "message": "not here" });
            let response = json!({ "jsonrpc": "2.0", "id": asked.body["id"], "error": error });
            return answering.json("200 OK", &response).await;
        }
        _ => return answering.respond("405 Method Not Allowed", &[], "").await,
    };
    answering.result(asked, result).await;
}

fn parameters(query: &str) -> Parameters {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), decode(value))).collect()
}

fn decode(value: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digits = [rest.next(), rest.next()].map(|digit| char::from(digit.unwrap_or(b'0')));
                let digit = |at: usize| digits[at].to_digit(16).unwrap_or_default();
                bytes.push(u8::try_from(digit(0) * 16 + digit(1)).unwrap_or_default());
            }
            other => bytes.push(other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
