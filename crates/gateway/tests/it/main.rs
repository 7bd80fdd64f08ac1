//! The front door, over real sockets on this machine and over wires in memory.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bodies; // content types, limits, batches, what is no message
mod bounds; // what clients and servers say of themselves, and how long it may be
mod crowd; // many clients with the same ids
mod first_list; // what the first list of a starting hub waits for
mod guard; // Host and Origin
mod http; // HTTP/1.1 by hand
mod hub; // a gateway to test with
mod keeping; // how long clients may keep what is listed
mod local_users; // connections of other users of this machine
mod logging; // log messages, to those who want them
mod login; // a host that must say who it is
mod mirrored; // parameters that stand in headers, too
mod modern; // the rules of the stateless era
mod pace; // clients that take their time
mod questions; // servers that ask in the middle of a call
mod resume; // streams that break, and clients that come back
mod running; // cancelling, going away, streams
mod sessions; // legacy sessions over HTTP
mod socket; // one client per connection to a Unix socket
mod sse; // HTTP+SSE of 2024-11-05
mod tasks; // calls that go on after their answer
mod token; // a token that every request must carry
mod watching;
mod wire; // one client on a wire // resources that clients of both eras watch
mod ws; // WebSocket, by hand
