//! The gateway, over real sockets on this machine and over connections in memory.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bodies; // content types, limits, batches, malformed messages
mod cache_hints; // how long clients may cache lists
mod calls; // cancellation, disconnects, streams
mod connection; // one client on a connection in memory
mod first_list; // what the first list of a starting hub waits for
mod header_params; // parameters that are mirrored in headers
mod http; // HTTP/1.1 by hand
mod hub_tokens; // clients with tokens of their own
mod hub_tools; // clients that search for tools
mod issuers; // tokens of an issuer: challenges, metadata, scopes
mod legacy_sse; // HTTP+SSE of 2024-11-05
mod limits; // of client info, capabilities and instructions
mod local_users; // connections of other users of this machine
mod logging; // log messages and levels
mod login; // servers that require authorization
mod many_clients; // many clients with the same ids
mod modern; // the rules of modern revisions
mod origin; // Host and Origin
mod policy; // profiles and rules
mod principals; // what principals see and get
mod resource_subscriptions; // of clients of all revisions
mod results; // limits and checks of results
mod resume; // streams that break and are resumed
mod schema_views; // schemas for clients that reject more than others
mod server_requests; // servers that send requests in the middle of a call
mod sessions; // legacy sessions over HTTP
mod slow_clients; // idle and slow clients
mod tasks; // calls that become tasks
mod test_gateway; // a gateway to test with
mod token; // a token that every request must carry
mod unix_socket; // one client per connection to a Unix socket
mod websocket; // WebSocket, by hand
