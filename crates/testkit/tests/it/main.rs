//! The test servers, tested.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod fault_proxy; // each fault alone, switched while connections are open
mod hostile_calls; // each tool of the hostile server
mod hostile_life; // its flags for start, stop and pipes
mod hostile_lists; // its lists
mod http_client; // HTTP/1.1 by hand
mod memory_client; // the client's end of a wire
mod program; // a server as a child process, spoken to in raw lines
mod revisions; // every feature, client and server of the same revision
mod server_http; // the test server over Streamable HTTP
mod server_legacy; // the test server and clients that shake hands
mod server_modern; // the test server and clients that do not
mod server_program; // the test server as a program
mod server_questions; // its questions, as they stand on the wire
