//! How principals other than the owner of the hub use its servers.

use std::sync::Arc;

use http::{HeaderMap, Method, Uri};
use toolbay_access::{Principal, ServerLogins};
use toolbay_config::{BuiltIn, ServerConfig, ServerEndpoint};
use toolbay_control::Note;
use toolbay_gateway::{PrincipalServers, ServerIdentity};
use toolbay_host::{Authorizers, Host, OwnConnections, ServerStatus};
use toolbay_transport::http::client::{
    AfterRefusal, AuthorizationFailure, AuthorizerFuture, RefusedRequest, RequestAuthorizer,
};

use crate::app::logins::Logins;

/// Servers at a URL are used by each principal as itself, with a login of its own. Servers whose entries have credentials are
/// the owner's. `allow_shared` lets all principals use a server as the owner.
#[derive(Debug)]
pub(crate) struct ServersOfPrincipals {
    logins: Option<Logins>,
    /// The pages on which principals log in; without them, on this machine.
    pages: Option<Arc<ServerLogins>>,
}

impl ServersOfPrincipals {
    /// `logins` is none where tokens cannot be stored: then principals use servers at a URL without a login.
    pub(crate) fn new(logins: Option<Logins>, pages: Option<Arc<ServerLogins>>) -> Arc<Self> {
        Arc::new(Self { logins, pages })
    }
}

impl PrincipalServers for ServersOfPrincipals {
    fn identity(&self, config: &ServerConfig) -> ServerIdentity {
        identity(config)
    }

    fn connections(&self, principal: &Principal) -> OwnConnections {
        let inbox = self.pages.as_ref().map(|pages| pages.inbox().clone());
        let logins = self.logins.as_ref().map(|logins| logins.of_principal(principal, inbox));
        let authorizers = logins.map(Logins::authorizers);
        let authorizers = match &self.pages {
            Some(pages) => authorizers.map(|inner| with_pages(inner, pages.clone(), principal.clone())),
            None => authorizers,
        };
        OwnConnections { connector: None, authorizers }
    }
}

/// Authorizers whose login pages are those of the hub.
fn with_pages(inner: Authorizers, pages: Arc<ServerLogins>, principal: Principal) -> Authorizers {
    Authorizers::new(move |config| {
        Some(Arc::new(AuthorizerOfPrincipal {
            inner: inner.of(config)?,
            pages: pages.clone(),
            principal: principal.clone(),
            server: config.name.as_str().to_owned(),
        }))
    })
}

/// Authorizes the requests of one principal, who logs in on a page of the hub.
#[derive(Debug)]
struct AuthorizerOfPrincipal {
    inner: Arc<dyn RequestAuthorizer>,
    pages: Arc<ServerLogins>,
    principal: Principal,
    server: String,
}

impl RequestAuthorizer for AuthorizerOfPrincipal {
    fn is_active(&self) -> bool {
        self.inner.is_active()
    }

    fn headers<'a>(
        &'a self,
        method: &'a Method,
        url: &'a Uri,
    ) -> AuthorizerFuture<'a, Result<HeaderMap, AuthorizationFailure>> {
        self.inner.headers(method, url)
    }

    fn accepted(&self, url: &Uri, received: &HeaderMap) {
        self.inner.accepted(url, received);
    }

    fn refused<'a>(
        &'a self,
        request: RefusedRequest<'a>,
    ) -> AuthorizerFuture<'a, Result<AfterRefusal, AuthorizationFailure>> {
        self.inner.refused(request)
    }

    fn changed(&self) -> AuthorizerFuture<'_, ()> {
        self.inner.changed()
    }

    fn login_page(&self) -> AuthorizerFuture<'_, Result<String, String>> {
        Box::pin(async {
            let url = self.inner.login_page().await?;
            self.pages.link(&self.server, &self.principal, &url).map_err(str::to_owned)
        })
    }
}

/// As whom principals other than the owner use a server.
///
/// Whether a server at a URL wants a login is known only once it was asked, and then it may be too late: a connection that is
/// shared would be the owner's. So each principal has its own.
pub(crate) fn identity(config: &ServerConfig) -> ServerIdentity {
    match &config.endpoint {
        _ if config.tuning.allow_shared => ServerIdentity::Shared,
        _ if config.has_credentials() => ServerIdentity::OfOwner,
        ServerEndpoint::Url(_) => ServerIdentity::OfPrincipal,
        // Its programs that go on running, and its long outputs, are those of one connection.
        ServerEndpoint::BuiltIn(BuiltIn::Shell(_)) => ServerIdentity::OfPrincipal,
        ServerEndpoint::Command(_) | ServerEndpoint::BuiltIn(_) => ServerIdentity::Shared,
    }
}

/// What the status says about servers whose users all act as the owner.
pub(crate) fn identity_notes(host: &Host) -> Vec<Note> {
    let note = |status: ServerStatus| {
        let config = status.config.as_deref().filter(|config| config.has_credentials())?;
        let text = match identity(config) {
            ServerIdentity::OfOwner => {
                "shared identity: it has credentials of yours, so only you see it; `allow_shared = true` in its entry lets all \
                 principals use it as you"
            }
            _ => "shared identity: all principals use it as you (`allow_shared`)",
        };
        Some(Note { server: status.name.as_str().to_owned(), text: text.to_owned() })
    };
    host.statuses().into_iter().filter_map(note).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn credentials_are_shared_only_where_the_entry_says_so() {
        for (entry, expected) in [
            ("command = 'x'", ServerIdentity::Shared),
            ("command = 'x'\nenv = { PATH = '/bin' }", ServerIdentity::Shared),
            ("command = 'x'\nenv = { GITHUB_TOKEN = 'abc' }", ServerIdentity::OfOwner),
            ("command = 'x'\nargs = ['--api-key', 'abc']", ServerIdentity::OfOwner),
            ("command = 'x'\nargs = ['--api-key=abc']", ServerIdentity::OfOwner),
            ("command = 'x'\nargs = ['--verbose']", ServerIdentity::Shared),
            ("command = 'x'\nenv = { GITHUB_TOKEN = 'abc' }\nallow_shared = true", ServerIdentity::Shared),
            ("command = 'x'\nenv = { PLAIN = '${secret:s}' }", ServerIdentity::OfOwner),
            ("url = 'https://h/mcp'\nheaders = { X-Team = '${secret:s}' }", ServerIdentity::OfOwner),
            ("url = 'https://h/mcp'", ServerIdentity::OfPrincipal),
            ("url = 'https://h/mcp'\nallow_shared = true", ServerIdentity::Shared),
            ("url = 'https://h/mcp'\nheaders = { Authorization = 'Bearer abc' }", ServerIdentity::OfOwner),
            ("url = 'https://h/mcp'\nheaders = { X-Api-Key = 'abc' }", ServerIdentity::OfOwner),
            ("url = 'https://h/mcp'\nheaders = { X-Team = 'blue' }", ServerIdentity::OfPrincipal),
            ("url = 'https://h/mcp?api_key=abc'", ServerIdentity::OfOwner),
            (
                "url = 'https://h/mcp'\noauth = { grant = 'client_credentials', client_id = 'a', client_secret = 'b' }",
                ServerIdentity::OfOwner,
            ),
            ("url = 'https://h/mcp'\noauth = { client_id = 'a' }", ServerIdentity::OfPrincipal),
            ("builtin = 'time'", ServerIdentity::Shared),
            ("builtin = 'shell'\nroot = '/tmp'", ServerIdentity::OfPrincipal),
            ("builtin = 'shell'\nroot = '/tmp'\nallow_shared = true", ServerIdentity::Shared),
        ] {
            let text = format!("[servers.s]\n{entry}\n");
            let file = toolbay_config::parse(&text, Path::new("toolbay.toml")).unwrap();
            assert_eq!(identity(&file.servers[0]), expected, "{entry}");
        }
    }
}
