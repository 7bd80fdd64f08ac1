//! What servers answered, whole.
//!
//! Every result keeps the text that the server sent: nothing is lost, whatever fields it has. What people, models and
//! programs want of it are views.

mod completion;
mod prompt;
mod resource;
mod tool;
mod truncate;

pub use completion::CompleteResult;
pub use prompt::GetPromptResult;
pub use resource::ReadResourceResult;
pub use tool::CallToolResult;
pub use truncate::{OutputLimit, Truncated};

use serde::de::DeserializeOwned;
use serde_json::{Value, value::RawValue};
use toolbay_protocol::ServerName;

use crate::Error;

/// The text of a result as its server sent it.
#[derive(Debug, Clone)]
struct RawResult(Box<RawValue>);

impl RawResult {
    /// Keeps a result and reads what is known of it.
    fn read<T: DeserializeOwned>(server: &ServerName, json: &str) -> Result<(Self, T), Error> {
        let unusable = |error: serde_json::Error| Error::protocol(server, format!("its result: {error}"));
        let known = serde_json::from_str(json).map_err(unusable)?;
        Ok((Self(RawValue::from_string(json.to_owned()).map_err(unusable)?), known))
    }

    fn text(&self) -> &str {
        self.0.get()
    }

    fn value(&self) -> Value {
        serde_json::from_str(self.text()).unwrap_or_default()
    }

    fn pretty(&self) -> String {
        serde_json::to_string_pretty(&self.value()).unwrap_or_else(|_| self.text().to_owned())
    }
}

/// What all results can do.
macro_rules! views {
    ($name:ident) => {
        impl $name {
            /// The whole result as the JSON text that the server sent.
            pub fn as_json(&self) -> &str {
                self.whole.text()
            }

            /// The whole result as a JSON value.
            pub fn to_value(&self) -> serde_json::Value {
                self.whole.value()
            }

            /// The whole result as JSON for people to read.
            pub fn to_pretty_json(&self) -> String {
                self.whole.pretty()
            }
        }
    };
}
use views;
