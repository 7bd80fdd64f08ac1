//! Who calls the hub, and what they may do.
//!
//! A request carries a token. An [`Authenticator`] finds out whose it is: the answer is an [`Access`], the [`Principal`] that
//! calls with the [`Rights`] of that token. Sessions, suspended calls, tasks, subscriptions and results belong to principals,
//! so that a new token of the same principal keeps them.

#![forbid(unsafe_code)]

mod authenticator;
mod hub_tokens;
pub mod issuer;
mod owner_token;
mod principal;
pub mod proxy;
mod public_url;
mod rights;
mod seen_tokens;
mod server_logins;

pub use authenticator::{Access, Authenticator, Refusal};
pub use hub_tokens::{HubToken, HubTokens, InvalidTokenName, NewToken, TokenFile, TokenFileError, TokenName};
pub use owner_token::{InvalidToken, OwnerToken};
pub use principal::Principal;
pub use public_url::{InvalidPublicUrl, PublicUrl};
pub use rights::{Rights, Tier};
pub use server_logins::ServerLogins;
