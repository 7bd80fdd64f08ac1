//! Listeners of `serve`: which clients are served, and which are refused.

mod issuers; // tokens of an identity provider
mod origins; // pages in a browser
mod port; // an address in use
mod shared_port; // every transport on one port
mod sockets; // Unix sockets
mod tls; // HTTPS with a given certificate
mod token; // a token that clients must send
mod users; // other users of this machine
