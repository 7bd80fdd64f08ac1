//! `toolbay login`, `logout` and `auth list`: logins at protected servers.

mod browser;
mod proxy_logins;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::{
    HeaderValue, Request, StatusCode,
    header::{ACCEPT, CONTENT_TYPE},
};
use serde_json::{Value, json};
use toolbay_config::{Permission, Remote, ServerConfig, ServerEndpoint, visible};
use toolbay_control::{ServerSnapshot, ServerState, method};
use toolbay_host::connect_options;
use toolbay_oauth::{
    Authorizer, Grant, Logout, OAuthError, Scopes, logout as end_login, store::LoginRecord, token::Tokens,
};
use toolbay_protocol::printable::error_chain;
use toolbay_secrets::KeyringPrompts;
use toolbay_transport::http::client::WebClient;

use self::browser::TerminalUser;
use crate::{
    app::{
        context::Context,
        error::CliError,
        logins::{Logins, complete, over_http},
        session,
    },
    args::{AuthSubcommand, LoginArgs, LogoutArgs},
    configured::report::ConfiguredServers,
    term::{
        confirm::can_ask,
        table::{self, Cell, Look},
        time::{rfc3339, short},
    },
};

/// How long the prompt of a keyring may wait for its password.
const PROMPT_TIMEOUT: Duration = Duration::from_secs(120);
/// How long the server may take to refuse a request without a token.
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a server that waited for a login may take to come up before the command ends.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// The most that is read of its refusal.
const MAX_REFUSAL: usize = 256 * 1024;

/// `toolbay login`: sends the user to the authorization server of a server, and stores the tokens.
pub(crate) async fn login(context: &Context, args: &LoginArgs) -> Result<(), CliError> {
    let survey = ConfiguredServers::read(context)?;
    let config = find(context, &survey, &args.server).await?;
    let server = at_url(&config)?;
    let failed = |source| CliError::Login { action: "log in", server: args.server.clone(), source };
    let authorizer = authorizer(context, server, Duration::from_secs(args.timeout))?;
    if !matches!(authorizer.config().grant, Grant::Login) {
        return Err(CliError::Usage {
            message: format!("server `{}` needs no login: its `oauth.grant` is another one", args.server),
            hint: Some("its tokens are obtained when it is called".to_owned()),
        });
    }
    let is_refused = probe(context, server, &authorizer).await;
    let work = async {
        let discovery = authorizer.discover().await?;
        if discovery.server.is_assumed && !is_refused {
            return Err(OAuthError::NotProtected);
        }
        authorizer.want(&args.scope.iter().map(String::as_str).collect::<Scopes>());
        context.out.note(&format!("logging in at {}", visible(&discovery.server.issuer)));
        let user = TerminalUser { context, server: &args.server, opens_browser: !args.no_browser };
        authorizer.login(&user).await
    };
    tokio::select! {
        done = work => done.map_err(failed)?,
        () = context.stop.cancelled() => return Err(CliError::Interrupted),
    }
    start_at_hub(context, &args.server).await;
    let config = authorizer.config();
    let login = config.store.login(&config.key).await.map_err(|error| failed(error.into()))?;
    let Some(login) = login else { return Err(failed(OAuthError::LoginRequired)) };
    let tokens = config.store.tokens(&login).await.map_err(|error| failed(error.into()))?;
    if context.out.json {
        let fields =
            json!({ "event": "logged_in", "login": about(Some(&args.server), &login, tokens.as_ref()) });
        return Ok(context.out.json_object(&fields)?);
    }
    let expiry = tokens.as_ref().map(expiry).unwrap_or_default();
    context.out.note(&format!("logged in to {}; {expiry}", visible(&args.server)));
    Ok(())
}

/// Has the running hub start a server that waited for the login, so that the next command finds it there.
async fn start_at_hub(context: &Context, server: &str) {
    let started = async {
        let client = session::running_here(context).await.ok()?;
        let status = client.snapshot().await.ok()?;
        let waits =
            |known: &&ServerSnapshot| known.name == server && known.state == ServerState::LoginRequired;
        status.servers.iter().find(waits)?;
        let params = json!({ "server": server }).to_string();
        client.request_as::<ServerSnapshot>(method::START, Some(&params)).await.ok()
    };
    // The login is stored whatever becomes of it; `toolbay status` shows why a server does not come up.
    let _ = tokio::time::timeout(START_TIMEOUT, started).await;
}

/// `toolbay logout`: removes the tokens of a server and has them revoked.
pub(crate) async fn logout(context: &Context, args: &LogoutArgs) -> Result<(), CliError> {
    let survey = ConfiguredServers::read(context)?;
    let config = find(context, &survey, &args.server).await?;
    let server = at_url(&config)?;
    let authorizer = authorizer(context, server, PROBE_TIMEOUT)?;
    let ended = end_login(authorizer.config()).await.map_err(|source| CliError::Login {
        action: "log out",
        server: args.server.clone(),
        source,
    })?;
    let name = visible(&args.server);
    let (outcome, note) = match &ended {
        Logout::Revoked => ("revoked", format!("logged out of {name}; its tokens are revoked")),
        Logout::NotRevocable => (
            "removed",
            format!(
                "logged out of {name}; its authorization server cannot revoke tokens, they expire by themselves"
            ),
        ),
        Logout::NotRevoked(_) => ("removed", format!("logged out of {name}")),
        Logout::NotLoggedIn => ("not_logged_in", format!("you are not logged in to {name}")),
    };
    if let Logout::NotRevoked(error) = &ended {
        context.out.warn(&format!("its tokens could not be revoked: {}", error_chain(error)));
    }
    match context.out.json {
        true => Ok(context.out.json_object(&json!({ "server": args.server, "outcome": outcome }))?),
        false => {
            context.out.note(&note);
            Ok(())
        }
    }
}

/// `toolbay auth`: logins of this user at servers, and of others at this hub.
pub(crate) async fn auth(context: &Context, command: &AuthSubcommand) -> Result<(), CliError> {
    match command {
        AuthSubcommand::List => list(context).await,
        AuthSubcommand::Clients => proxy_logins::list(context),
        AuthSubcommand::Revoke(args) => proxy_logins::revoke(context, args),
    }
}

/// `toolbay auth list`: where the user is logged in. Shows no tokens.
async fn list(context: &Context) -> Result<(), CliError> {
    let survey = ConfiguredServers::read(context)?;
    let logins = Logins::open_with(context, KeyringPrompts::Never)?;
    let unreadable = |error| CliError::Login {
        action: "list logins",
        server: "all".to_owned(),
        source: OAuthError::from(error),
    };
    let mut entries = Vec::new();
    for login in logins.store.logins().await.map_err(unreadable)? {
        if login.key.principal.is_empty() {
            let tokens = logins.store.tokens(&login).await.map_err(unreadable)?;
            entries.push((name_of(&survey, &login), login, tokens));
        }
    }
    entries.sort_by(|one, other| (&one.0, &one.1.key.server).cmp(&(&other.0, &other.1.key.server)));
    if context.out.json {
        let list: Vec<Value> = entries
            .iter()
            .map(|(name, login, tokens)| about(name.as_deref(), login, tokens.as_ref()))
            .collect();
        return Ok(context.out.json_object(&json!({ "logins": list }))?);
    }
    let rows: Vec<Vec<Cell>> = entries
        .iter()
        .map(|(name, login, tokens)| {
            let name = name.as_deref().map_or_else(|| shown_url(&login.key.server), visible);
            vec![
                Cell::new(name, Look::Bold),
                visible(&login.client.issuer).into(),
                tokens.as_ref().map(|tokens| visible(&scopes(tokens))).unwrap_or_default().into(),
                Cell::new(tokens.as_ref().map_or("login required".to_owned(), expiry), Look::Dim),
            ]
        })
        .collect();
    table::print(context, &rows, "you are not logged in anywhere; `toolbay login NAME` logs in at a server")
}

/// Finds a configured server at a URL, with its secrets.
async fn find(context: &Context, survey: &ConfiguredServers, name: &str) -> Result<ServerConfig, CliError> {
    let Some(placed) = survey.find(name) else {
        return Err(session::explain(context, survey.unknown(name)).await);
    };
    at_url(&placed.server)?;
    if placed.server.permission == Permission::Pending {
        return Err(CliError::NeedsApproval { servers: vec![name.to_owned()] });
    }
    let complete = complete(&placed.server, &survey.configuration.secrets).await;
    complete.map_err(|why| CliError::usage(format!("server `{name}`: {why}")))
}

/// Where a server is.
fn at_url(config: &ServerConfig) -> Result<(&ServerConfig, &Remote), CliError> {
    match &config.endpoint {
        ServerEndpoint::Url(remote) => Ok((config, remote)),
        _ => Err(CliError::Usage {
            message: format!("server `{}` is not at a URL, so there is nothing to log in to", config.name),
            hint: Some(
                "servers that are started as a command get credentials in `env` of their entry".to_owned(),
            ),
        }),
    }
}

fn authorizer(
    context: &Context,
    (config, remote): (&ServerConfig, &Remote),
    timeout: Duration,
) -> Result<Authorizer, CliError> {
    let prompts = match can_ask(context) {
        true => KeyringPrompts::Within(PROMPT_TIMEOUT),
        false => KeyringPrompts::Never,
    };
    let logins = Logins::open_with(context, prompts)?;
    let unusable = |why| CliError::usage(format!("server `{}`: {why}", config.name));
    let authorizer = logins.authorizer(config, remote, timeout).map_err(unusable)?;
    authorizer.ok_or_else(|| match remote.oauth.is_enabled {
        true => CliError::Usage {
            message: format!(
                "server `{}` is at an `http` URL: tokens would be sent in clear text",
                config.name
            ),
            hint: Some("use its `https` URL".to_owned()),
        },
        false => {
            CliError::usage(format!("server `{}` has no logins: its entry says `oauth` is off", config.name))
        }
    })
}

/// Sends a request without a token, to learn from the refusal what to log in for. Returns whether it was refused.
async fn probe(
    context: &Context,
    (config, remote): (&ServerConfig, &Remote),
    authorizer: &Authorizer,
) -> bool {
    let client = WebClient::new(&connect_options(config, remote, &context.env.variables), &context.tasks);
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let mut request = Request::new(Bytes::from(ping.to_string()));
    *request.method_mut() = http::Method::POST;
    let Ok(url) = over_http(&remote.url).parse() else { return false };
    *request.uri_mut() = url;
    request.headers_mut().clone_from(&remote.headers);
    request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    match client.send(request, MAX_REFUSAL, PROBE_TIMEOUT).await {
        Ok(response) if response.status == StatusCode::UNAUTHORIZED => {
            authorizer.note_challenge(&response.headers);
            true
        }
        // What the metadata says is enough.
        Ok(_) | Err(_) => false,
    }
}

/// The configured name of a server; nothing if it is not configured here.
fn name_of(survey: &ConfiguredServers, login: &LoginRecord) -> Option<String> {
    let servers = survey.reading.merged.servers.iter().map(|placed| &placed.server);
    let mut at_url = servers.filter(|server| match &server.endpoint {
        ServerEndpoint::Url(remote) => over_http(&remote.url) == login.key.server,
        _ => false,
    });
    at_url.next().map(|server| server.name.to_string())
}

/// A login without its secrets, as JSON.
fn about(name: Option<&str>, login: &LoginRecord, tokens: Option<&Tokens>) -> Value {
    json!({
        "server": name,
        "url": shown_url(&login.key.server),
        "issuer": login.client.issuer,
        "client_id": login.client.client_id,
        "resource": login.resource,
        "scopes": tokens.map(|tokens| scopes(tokens).split(' ').filter(|scope| !scope.is_empty()).map(str::to_owned).collect::<Vec<_>>()),
        "expires_at": tokens.and_then(|tokens| tokens.expires_at).map(|at| rfc3339(UNIX_EPOCH + Duration::from_secs(at))),
        "is_renewable": tokens.is_some_and(|tokens| tokens.refresh_token.is_some()),
        "is_logged_in": tokens.is_some(),
    })
}

fn scopes(tokens: &Tokens) -> String {
    tokens.granted.as_ref().unwrap_or(&tokens.requested).to_string()
}

fn expiry(tokens: &Tokens) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    match (tokens.expires_at, tokens.refresh_token.is_some()) {
        (_, true) => "renewed automatically".to_owned(),
        (None, false) => "no known expiry".to_owned(),
        (Some(at), false) if at <= now => "expired".to_owned(),
        (Some(at), false) => format!("expires in {}", short(Duration::from_secs(at - now))),
    }
}

/// A URL without what may be secret in it.
fn shown_url(url: &str) -> String {
    visible(url.split(['?', '#']).next().unwrap_or_default())
}
