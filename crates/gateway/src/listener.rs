//! Accepting clients: HTTP, legacy SSE, WebSocket, Unix sockets and stdio.

pub(crate) mod connection;
pub(crate) mod cors;
pub(crate) mod headers;
pub(crate) mod http;
pub(crate) mod response;
pub(crate) mod send_queue;
pub(crate) mod unix;
