//! Every way in that `serve` opens, and who is kept out.

mod origins; // pages in a browser
mod port; // addresses that others have
mod sockets; // Unix sockets
mod tls; // HTTPS with a given certificate
mod together;
mod token; // a token that clients must show // all doors of one port
mod users; // other users of this machine
