//! Bytes to messages and back.
//!
//! A connection in either direction ends as a [`Connection`]: two bounded queues, one of texts to send and one of
//! [`Incoming`] messages. What is at the other end (a pipe, a socket, a task) is the transport's business alone, and
//! no transport looks inside `params`.

#![forbid(unsafe_code)]

pub mod custom;
pub mod http;
pub mod memory;
mod refusal_log;
pub mod sse;
pub mod stdio;
mod wire;
pub mod ws;

pub use refusal_log::RejectionLog;
pub use wire::{Connection, Incoming, RejectedMessage};
