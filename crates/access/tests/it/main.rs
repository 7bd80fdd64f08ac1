//! Tokens, against issuers on real sockets.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod introspection; // issuers that are asked about tokens
mod keys; // rotation, unknown keys, outages
mod proxy; // the authorization proxy: clients, consent, logins, tokens
mod tokens; // which tokens are accepted
mod world; // an issuer, and the hub's view of it
