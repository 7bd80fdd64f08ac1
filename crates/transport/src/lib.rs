//! Bytes to messages and back.
//!
//! A connection in either direction ends as a [`Connection`]: two bounded queues, one of [`Outgoing`] and one
//! of [`Incoming`] messages. What is at the other end (a pipe, a socket, a task) is the transport's business alone, and
//! no transport looks inside `params`.

#![forbid(unsafe_code)]

mod connection;
pub mod custom;
mod event_stream;
pub mod http;
pub mod legacy_sse;
pub mod memory;
mod outgoing;
pub mod stdio;
pub mod websocket;

pub use connection::RejectionLog;
pub use connection::{Connection, Incoming, RejectedMessage};
pub use outgoing::Outgoing;
