//! What runner and engine send each other: one JSON object per line.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// How many calls of tools may run at once. The engine keeps further ones until others have ended.
pub(crate) const MAX_CALLS_AT_ONCE: usize = 16;
/// How many calls of tools one run may make.
pub(crate) const MAX_CALLS: usize = 1000;
/// How many timers may run at once.
pub(crate) const MAX_TIMERS: usize = 100;
/// The longest result of a tool that the code gets, in bytes.
pub(crate) const MAX_REPLY: usize = 4 << 20;
/// The longest line that the engine may send. Arguments of a tool and the result of the code are each one.
pub(crate) const MAX_LINE: usize = 4 << 20;
/// How much of what the code logs is kept, in bytes.
pub(crate) const MAX_LOGS: usize = 256 << 10;

/// What the runner sends.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToEngine<'a> {
    /// First and once: the code.
    #[serde(borrow)]
    Run(Cow<'a, str>),
    /// What a tool returned: the result of `tools/call`.
    Result {
        id: u64,
        #[serde(borrow)]
        result: &'a RawValue,
    },
    /// A call that came to nothing.
    Failed {
        id: u64,
        #[serde(borrow)]
        message: Cow<'a, str>,
    },
    /// A timer has run out.
    Elapsed { id: u64 },
}

/// What the engine sends.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FromEngine<'a> {
    /// Calls a tool, by its name at its server or by the name that clients see.
    Call {
        id: u64,
        #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
        server: Option<Cow<'a, str>>,
        #[serde(borrow)]
        name: Cow<'a, str>,
        #[serde(borrow)]
        arguments: &'a RawValue,
    },
    /// Starts a timer.
    Sleep { id: u64, milliseconds: u64 },
    /// A line of the log.
    #[serde(borrow)]
    Log(Cow<'a, str>),
    /// Last and once: what the code came to. Nothing where that is `undefined`.
    #[serde(borrow)]
    Returned(Option<Cow<'a, str>>),
    /// Last and once: why it failed.
    #[serde(borrow)]
    Threw(Cow<'a, str>),
}

/// A message as a line. JSON text has line breaks only between its tokens, where they mean nothing.
pub(crate) fn line(message: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).expect("messages are plain data with string keys");
    for byte in &mut line {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_whatever_is_in_it() {
        let result: &RawValue = serde_json::from_str("{\n  \"text\": \"a\\nb\"\r\n}").unwrap();
        let line = line(&ToEngine::Result { id: 1, result });
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        let ToEngine::Result { result, .. } = serde_json::from_slice(&line).unwrap() else { panic!() };
        let value: serde_json::Value = serde_json::from_str(result.get()).unwrap();
        assert_eq!(value["text"], "a\nb");
    }
}
