//! One record.

use std::{fmt, io::Write, str::FromStr, time::SystemTime};

use serde::{Deserialize, Serialize};
use toolbay_protocol::encode_string;

/// What a record is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordKind {
    /// A call that will be sent now, because it may destroy something.
    Start,
    /// A call that has ended.
    End,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// With a result.
    Success,
    /// With a result that says that the tool failed.
    ToolError,
    /// With an error of the protocol.
    ProtocolError,
    /// It was not allowed.
    Denied,
    /// Its client cancelled it, or left.
    Cancelled,
    /// It took too long.
    Timeout,
    /// The server requires input of the client first.
    InputRequired,
}

impl CallOutcome {
    const ALL: [Self; 7] = [
        Self::Success,
        Self::ToolError,
        Self::ProtocolError,
        Self::Denied,
        Self::Cancelled,
        Self::Timeout,
        Self::InputRequired,
    ];

    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::ToolError => "tool_error",
            Self::ProtocolError => "protocol_error",
            Self::Denied => "denied",
            Self::Cancelled => "cancelled",
            Self::Timeout => "timeout",
            Self::InputRequired => "input_required",
        }
    }
}

impl fmt::Display for CallOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that is no outcome.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is not an outcome; expected success, tool_error, protocol_error, denied, cancelled, timeout or input_required"
)]
pub struct UnknownOutcome(String);

impl FromStr for CallOutcome {
    type Err = UnknownOutcome;

    fn from_str(text: &str) -> Result<Self, UnknownOutcome> {
        let known = text.replace('-', "_");
        Self::ALL.into_iter().find(|it| it.as_str() == known).ok_or_else(|| UnknownOutcome(text.to_owned()))
    }
}

/// A record, before it has its place in the chain.
#[derive(Debug, Clone, Copy)]
pub struct AuditRecord<'a> {
    /// What it is about.
    pub kind: RecordKind,
    /// A number that the records of one call share.
    pub call: u64,
    /// When it was made.
    pub time: SystemTime,
    /// As whom the client called.
    pub principal: &'a str,
    /// The name that the client gives itself.
    pub client: Option<&'a str>,
    /// The profile through which it called.
    pub profile: Option<&'a str>,
    /// The method.
    pub method: &'a str,
    /// The server.
    pub server: Option<&'a str>,
    /// The tool, prompt or resource as the client names it.
    pub target: Option<&'a str>,
    /// The same as the server names it, where that is another name.
    pub own_name: Option<&'a str>,
    /// The rule that decided about it.
    pub rule: Option<&'a str>,
    /// How it ended.
    pub outcome: Option<CallOutcome>,
    /// The size of the request.
    pub bytes_in: usize,
    /// The size of the response.
    pub bytes_out: usize,
    /// How long it took, in microseconds.
    pub micros: u64,
    /// The arguments as JSON, without secrets.
    pub arguments: Option<&'a str>,
}

impl AuditRecord<'_> {
    /// Appends the fields, without the braces and what the chain adds.
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        let kind = match self.kind {
            RecordKind::Start => "start",
            RecordKind::End => "end",
        };
        // Writing to memory cannot fail.
        let time = humantime::format_rfc3339_millis(self.time);
        let _ = write!(to, r#""time":"{time}","event":"{kind}","call":{}"#, self.call);
        for (key, value) in [
            ("principal", Some(self.principal)),
            ("client", self.client),
            ("profile", self.profile),
            ("method", Some(self.method)),
            ("server", self.server),
            ("target", self.target),
            ("name", self.own_name),
            ("rule", self.rule),
            ("outcome", self.outcome.map(CallOutcome::as_str)),
        ] {
            let Some(value) = value else { continue };
            let _ = write!(to, r#","{key}":"#);
            // Most are plain.
            match value.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\') {
                true => {
                    to.push(b'"');
                    to.extend_from_slice(value.as_bytes());
                    to.push(b'"');
                }
                false => to.extend_from_slice(encode_string(value).as_bytes()),
            }
        }
        let _ = write!(to, r#","bytes_in":{}"#, self.bytes_in);
        if self.kind == RecordKind::End {
            let _ = write!(to, r#","bytes_out":{},"us":{}"#, self.bytes_out, self.micros);
        }
        if let Some(arguments) = self.arguments {
            to.extend_from_slice(br#","arguments":"#);
            to.extend_from_slice(arguments.as_bytes());
        }
    }
}
