//! One server as we use it, tested over wires in memory and in virtual time.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod calls; // deadlines, cancelling, queues
mod chaos; // many calls, many ways to end
mod custom; // a transport that others brought
mod freshness; // how long lists may be kept, and asking again
mod handshake; // both eras, and servers that answer oddly
mod lists; // pages, limits, changes
mod lives; // crashes, restarts, the end
mod logging; // log levels towards servers of both eras
mod remote; // servers at a URL
mod talk; // progress, questions of servers, answers nobody waits for
mod watching; // resources that someone watches
mod world; // a server to test with, and calls to it
mod writes; // calls that may change something, one at a time
