//! The OAuth client towards protected MCP servers.
//!
//! # Theory of operation
//!
//! A server that wants authorization refuses a request with a [`Challenge`]. [`discover`] finds out from it which authorization
//! server counts and how the resource is named. [`login`] registers the client there if needed, sends the user to it through a
//! [`UserAgent`] and exchanges the code for [`Tokens`](token::Tokens). An [`Authorizer`] per server has the headers of each request, renews
//! tokens before they expire and reacts to refusals. Other [`Grant`]s need no user.
//!
//! # Invariants
//!
//! - A token is sent only to the server whose resource it was issued for, and only in the `Authorization` header.
//! - Registrations and tokens belong to an issuer. What one issuer gave is never sent to another.
//! - A code is sent to a token endpoint only after `state` and `iss` were checked.
//! - Tokens are renewed by one task of one process at a time, and a renewal that was begun is finished, because the
//!   authorization server may have replaced the refresh token already.
//! - Nothing is fetched from addresses that the server could not be told to reach ([`AddressRule`]).
//! - No secret is in any `Debug` output, error or log line.

#![forbid(unsafe_code)]

mod authorizer;
mod challenge;
mod credential;
mod discovery;
mod error;
pub mod grants;
pub mod http_client;
mod identity;
mod login;
mod logout;
mod scope;
pub mod store;
pub mod token;

pub use authorizer::{Authorizer, AuthorizerConfig, NextStep};
pub use challenge::Challenge;
pub use credential::{Credential, NoRandomNumbers};
pub use discovery::{AuthorizationServer, Discovery, discover};
pub use error::{OAuthError, RefusedBy};
pub use grants::Grant;
pub use http_client::{AddressRule, BoxFuture, Fetch, GuardedClient};
pub use identity::{Claims, IdentityProvider, IdentityProviderSettings, PendingIdentity};
pub use login::{
    ClientSettings, LoginRequest, PreRegistered, RedirectInbox, Registration, RegistrationKind, UserAgent,
    login,
};
pub use logout::{Logout, logout};
pub use scope::Scopes;
pub use store::{CredentialStore, LoginKey};
