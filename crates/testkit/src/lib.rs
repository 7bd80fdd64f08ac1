//! What Toolbay is tested with.
//!
//! [`TestServer`] does what a test tells it to; the [`hostile`] one does what no server should; an [`HttpScript`] answers
//! HTTP byte for byte; a [`PingFlood`] is a client that never reads; a [`FaultProxy`] between any two is a bad network, a [`TlsFront`] puts TLS before a server; a
//! [`TestIssuer`] issues tokens for a hub; a [`ProtectedServer`] wants a login. The
//! [`harness`] runs a whole hub and looks at it from outside; [`features`] is what clients and servers of all revisions
//! do together.

#![forbid(unsafe_code)]

mod fault_proxy;
pub mod features;
pub mod harness;
pub mod hostile;
mod http_script;
mod issuer;
pub mod listen;
mod loopback;
mod memory_client;
mod ping_flood;
mod protected_server;
mod test_server;
mod tls_front;

pub use fault_proxy::{Cut, End, FaultProxy, Toxics};
pub use http_script::{HttpScript, RecordedRequest, Responder};
pub use issuer::{TestAlgorithm, TestIssuer};
pub use loopback::own_loopback;
pub use memory_client::MemoryClient;
pub use ping_flood::PingFlood;
pub use protected_server::{AuthorizationLog, ProtectedServer, response_of, visit};
pub use test_server::{
    ElicitResult, ServerRequest, ServerRequestError, SupportedRevisions, TestServer, TestServerHandle,
    ToolContext, ToolError, ToolResult,
};
pub use tls_front::TlsFront;
