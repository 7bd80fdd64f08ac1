//! One server and its supervisor, tested over connections in memory and in virtual time.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod calls; // deadlines, cancellation, queues
mod chaos; // many calls, many ends
mod custom; // a custom transport
mod freshness; // how long lists may be cached, and their refresh
mod handshake; // legacy and modern servers, and servers that break the rules
mod harness; // a server to test with, and calls to it
mod lists; // pages, limits, changes
mod logging; // log levels towards legacy and modern servers
mod messages; // progress, server requests, stray responses, noise
mod remote; // servers at a URL
mod subscriptions; // resources that clients subscribe to
mod supervisor; // crashes, restarts, the end
mod writes; // calls that may change something, one at a time
