//! MCP messages as plain data.
//!
//! A [`Message`] is the bytes that arrived plus the spans of what the hub must look at: id, method, the fields of
//! `params` and of `_meta`. Nothing else is decoded, so what passes through arrives as it was sent: unknown fields,
//! number formats, order. Edits are made with a [`Splice`], which copies only what it changes.
//!
//! The parser validates every byte in one pass and is strict where leniency would be a hole: see [`ParseError`].

mod error;
pub mod file_uri;
pub mod header_params;
mod id;
mod json;
mod log_level;
mod message;
pub mod meta;
pub mod method;
pub mod model;
pub mod printable;
pub mod redact;
mod revision;
mod secret_name;
mod tier;
mod tokens;

pub use error::{ErrorCode, ErrorObject, ParseError};
pub use id::{RequestId, ServerName};
pub use json::fields::{Field, Fields, Span};
pub use json::id_recovery::IdRecovery;
pub use json::object_builder::ObjectBuilder;
pub use json::rope::{Rope, on_one_line};
pub use json::scanner::{MAX_DEPTH, Scanner};
pub use json::splice::Splice;
pub use json::string::{decode_pieces, decode_string, encode_string};
pub use log_level::{LogLevel, UnknownLogLevel};
pub use message::build::{cancelled, error, notification, request, result};
pub use message::{Message, MethodCall, Notification, Outcome, Request, Response, parse_batch};
pub use revision::{ProtocolFeatures, Revision};
pub use secret_name::{InvalidSecretName, SecretName};
pub use tier::{Tier, UnknownTier};
pub use tokens::estimated_tokens;
