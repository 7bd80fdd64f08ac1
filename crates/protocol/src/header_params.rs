//! Tool parameters that clients on HTTP repeat in headers (`x-mcp-header`), so that those between client and server can
//! route without reading bodies.
//!
//! Pure text work for both sides: which parameters those are, what a call says in them, and how that is written in a
//! header. The parameters are found once, when a list of tools arrives.

mod annotation;
mod value;

use std::borrow::Cow;

pub use annotation::{BadAnnotation, header_params, without_annotations};
pub use value::{decode_header_value, encode_header_value};

use crate::{ParseError, Scanner, json::string::key_is};

/// What the names of such headers begin with; names of headers know no case.
pub const HEADER_PREFIX: &str = "mcp-param-";

/// A parameter that stands in a header, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderParam {
    /// What the header's name ends with, as the tool spells it.
    pub name: String,
    /// The keys that lead to the value in `arguments`; never empty.
    pub path: Vec<String>,
    /// Whether it is an integer, which has more than one spelling.
    pub is_integer: bool,
}

/// Arguments in which a value cannot be found without guessing: keys that stand twice, or no JSON at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the arguments are ambiguous")]
pub struct AmbiguousArguments;

impl HeaderParam {
    /// The name of its header, in lower case.
    pub fn header_name(&self) -> String {
        format!("{HEADER_PREFIX}{}", self.name.to_ascii_lowercase())
    }

    /// What `arguments` (JSON text) say in it, not yet encoded for a header. Nothing when there is no value, when it is
    /// null, or when it is an object or an array, which no header can carry.
    pub fn value_in<'a>(&self, arguments: &'a [u8]) -> Result<Option<Cow<'a, str>>, AmbiguousArguments> {
        let mut raw = arguments;
        for key in &self.path {
            match member(raw, key)? {
                Some(value) => raw = value,
                None => return Ok(None),
            }
        }
        Ok(value::plain(raw, self.is_integer))
    }

    /// Whether a decoded header says the same as the body. Integers are compared by what they mean.
    pub fn agree(&self, header: &str, body: &str) -> bool {
        header == body
            || (self.is_integer && value::integer(header).is_some_and(|it| Some(it) == value::integer(body)))
    }
}

/// The member `key` of an object; nothing when it has none, or is no object.
fn member<'a>(object: &'a [u8], key: &str) -> Result<Option<&'a [u8]>, AmbiguousArguments> {
    let mut scanner = Scanner::new(object);
    if scanner.peek_kind() != Ok(b'{') {
        return Ok(None);
    }
    let mut found = None;
    let walked = scanner.object(|scanner, written| {
        let value = scanner.value()?;
        if key_is(&object[written.range()], key) && found.replace(value).is_some() {
            return Err(ParseError::DuplicateKey { object: "arguments", key: key.to_owned() });
        }
        Ok(())
    });
    walked.map_err(|_| AmbiguousArguments)?;
    Ok(found.map(|span| &object[span.range()]))
}
