//! The test servers, tested.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod fault_proxy; // each fault alone, switched while connections are open
mod hostile_calls; // each tool of the hostile server
mod hostile_lists; // its lists
mod hostile_processes; // its flags for start, stop and pipes
mod http_client; // HTTP/1.1 by hand
mod program; // a server as a child process, spoken to in raw lines
mod revisions; // every feature, client and server of the same revision
mod server_http; // the test server over Streamable HTTP
mod server_legacy; // the test server and legacy clients
mod server_modern; // the test server and modern clients
mod server_program; // the test server as a program
mod server_requests; // its requests to clients, byte for byte
