//! Why an authorization failed.

use std::io;

use crate::{
    credential::NoRandomNumbers, http_client::FetchError, scope::Scopes, store::CredentialStoreError,
};

/// Why there is no authorization. Texts never hold tokens, codes or passwords.
#[derive(Debug, thiserror::Error)]
pub enum OAuthError {
    /// A request of the flow failed.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] CredentialStoreError),
    /// Nothing unguessable can be made.
    #[error(transparent)]
    Random(#[from] NoRandomNumbers),
    /// A URL cannot be used.
    #[error("{what} `{url}` is not a valid URL of a server")]
    InvalidUrl { what: &'static str, url: String },
    /// A document cannot be used.
    #[error("{url} returned {problem}")]
    InvalidDocument { url: String, problem: String },
    /// The metadata is about another resource.
    #[error("{url} describes the resource `{resource}`, which does not include the server `{server}`")]
    WrongResource { url: String, resource: String, server: String },
    /// The metadata is that of another issuer.
    #[error("{url} has the metadata of `{found}`, but that of `{expected}` is needed")]
    WrongIssuer { url: String, expected: String, found: String },
    /// There is no metadata.
    #[error(
        "the authorization server `{issuer}` has no metadata, neither as RFC 8414 nor as OpenID Connect says"
    )]
    NoMetadata { issuer: String },
    /// The authorization server lacks something.
    #[error("the authorization server `{issuer}` does not support {what}")]
    Unsupported { issuer: String, what: &'static str },
    /// There is no client id.
    #[error(
        "the authorization server `{issuer}` registers no clients by itself; register one there and set its `client_id`"
    )]
    NoClientId { issuer: String },
    /// The client id belongs to another authorization server.
    #[error(
        "`{client_id}` is registered at `{registered_at}`, but the server now uses `{issuer}`; register a client there and set \
         its `client_id`"
    )]
    IssuerChanged { client_id: String, registered_at: String, issuer: String },
    /// An OAuth error response.
    #[error("{by} refused: {code}{description}")]
    Refused { by: RefusedBy, code: String, description: String },
    /// The response of the authorization endpoint is not to be trusted.
    #[error("the response of the login is not acceptable: {0}")]
    InvalidResponse(&'static str),
    /// The listener for the redirect cannot be opened.
    #[error("cannot listen on port {port} for the end of the login")]
    Callback {
        port: u16,
        #[source]
        source: io::Error,
    },
    /// The login was not finished.
    #[error("the login was not finished within {seconds} s")]
    LoginTimeout { seconds: u64 },
    /// So many logins wait for their users that no other can begin.
    #[error("too many logins are waiting for their users; try again later")]
    TooManyLogins,
    /// The URL could not be shown to the user.
    #[error("cannot open the login page: {0}")]
    UserAgent(String),
    /// A key cannot be used.
    #[error(
        "the private key cannot be used: {0}; it must be a PKCS #8 PEM text with an EC P-256, Ed25519 or RSA key"
    )]
    Key(&'static str),
    /// An assertion cannot be had.
    #[error("cannot get the assertion: {0}")]
    Assertion(String),
    /// There is nothing to log in for.
    #[error("the server answers without a login, and says nothing about one")]
    NotProtected,
    /// The user has to log in.
    #[error("login required")]
    LoginRequired,
    /// More scopes would not help.
    #[error("the server requires the scope `{required}`, which was requested and did not suffice")]
    InsufficientScope { required: Scopes },
}

/// Which endpoint refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedBy {
    /// The authorization endpoint, through the redirect or directly.
    Authorization,
    /// The token endpoint.
    Token,
    /// The registration endpoint.
    Registration,
    /// The endpoint that revokes tokens.
    Revocation,
    /// The token endpoint of the identity provider.
    IdentityProvider,
}

impl std::fmt::Display for RefusedBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Authorization => "the authorization endpoint",
            Self::Token => "the token endpoint",
            Self::Registration => "the registration endpoint",
            Self::Revocation => "the revocation endpoint",
            Self::IdentityProvider => "the identity provider",
        })
    }
}

impl OAuthError {
    /// Whether the authorization server does not know the client any more, so that registering it again may help.
    pub fn is_stale_client(&self) -> bool {
        let Self::Refused { by: RefusedBy::Authorization | RefusedBy::Token, code, .. } = self else {
            return false;
        };
        matches!(code.as_str(), "invalid_client" | "unauthorized_client" | "invalid_redirect_uri")
    }

    /// Whether the grant (a refresh token, for example) is of no use any more, so that the user has to log in.
    pub fn is_grant_gone(&self) -> bool {
        matches!(self, Self::Refused { by: RefusedBy::Token, code, .. } if code == "invalid_grant")
            || self.is_stale_client()
    }

    /// Whether the same may succeed later: the network or a server failed, nothing was refused.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Fetch(error) => error.is_transient(),
            Self::Refused { code, .. } => matches!(code.as_str(), "temporarily_unavailable" | "server_error"),
            _ => false,
        }
    }
}
