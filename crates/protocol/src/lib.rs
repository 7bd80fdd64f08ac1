//! MCP messages as plain data.
//!
//! A [`Message`] is the bytes that arrived plus the spans of what the hub must look at: id, method, the fields of
//! `params` and of `_meta`. Nothing else is decoded, so what passes through arrives as it was sent: unknown fields,
//! number formats, order. Edits are made with a [`Splice`], which copies only what it changes.
//!
//! The parser validates every byte in one pass and is strict where leniency would be a hole: see [`ParseError`].

mod block;
mod encode;
mod error_code;
pub mod extension;
mod fields;
mod id;
mod id_tracker;
mod keys;
mod log_level;
mod malformed;
mod message;
pub mod meta;
pub mod method;
pub mod mirrored;
mod names;
pub mod printable;
pub mod redact;
mod revision;
mod rope;
mod scan;
mod splice;
mod string;
pub mod view;

pub use encode::{ErrorObject, error, notification, request, result};
pub use error_code::ErrorCode;
pub use fields::{Field, Fields, Span};
pub use id::RequestId;
pub use id_tracker::IdRecovery;
pub use log_level::{LogLevel, UnknownLogLevel};
pub use malformed::ParseError;
pub use message::{Message, Notification, Outcome, Request, Response, parse_batch};
pub use names::ServerName;
pub use revision::Revision;
pub use rope::{Rope, on_one_line};
pub use scan::{MAX_DEPTH, Scanner};
pub use splice::Splice;
pub use string::{decode_string, encode_string};
