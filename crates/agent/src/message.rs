//! Protocol messages as values, for programs with a transport or a server of their own.
//!
//! ```
//! use serde_json::{Value, json};
//! use toolbay_agent::message::Message;
//!
//! let request = Message::request(1, "tools/call", json!({"name": "add"}))?;
//! assert_eq!(request.to_string(), r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"}}"#);
//! let done = Message::notification("notifications/initialized", Value::Null)?;
//! let read = Message::parse(done.to_string().into())?;
//! assert!(matches!(read, Message::Notification(_)));
//! # Ok::<_, toolbay_agent::message::ParseError>(())
//! ```

pub use toolbay_protocol::{
    ErrorCode, ErrorObject, Message, Notification, ParseError, Request, RequestId, Response, Revision,
};
