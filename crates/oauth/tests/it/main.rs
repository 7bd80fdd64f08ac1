//! A real authorization server and a protected resource on sockets, and the client against them.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod discovery; // where metadata is found, and what of it is refused
mod grants; // tokens without a user
mod guard; // which addresses are requested, and what is never shown
mod login; // the login of a user, registrations and issuer checks
mod processes; // several processes that share tokens
mod renewal; // expiry, rotation, step-up, proofs of possession
mod world; // the servers, the user, and a client
