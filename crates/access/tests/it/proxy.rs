//! The authorization proxy with a provider, clients and browsers.

mod clients; // registration, metadata documents, redirect URIs
mod consent; // the page, its form, who approved what
mod logins; // the login at the provider, and what can go wrong there
mod metadata; // what the proxy says about itself
mod tokens; // codes, access tokens, refresh tokens, revocation
mod world; // the provider, the proxy, a browser, a client
