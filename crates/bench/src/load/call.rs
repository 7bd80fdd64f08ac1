//! The prepared call, and the check of its answer.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::options::Options;

/// Ids have ten digits, always, so that a new one is written over the old in place.
pub(super) const FIRST_ID: u64 = 1_000_000_000;
const ID_DIGITS: usize = 10;

pub(super) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// A `tools/call` ready to be sent again and again.
#[derive(Clone)]
pub(super) struct Call {
    bytes: Vec<u8>,
    id_at: usize,
}

impl Call {
    pub(super) fn new(options: &Options) -> Self {
        let head = r#"{"jsonrpc":"2.0","id":"#;
        let payload = serde_json::Value::from("x".repeat(options.payload)).to_string();
        let arguments = options.arguments.replace(r#""@""#, &payload);
        let tool = serde_json::Value::from(options.tool.as_str());
        let meta = if options.modern { format!(r#","_meta":{}"#, modern_meta()) } else { String::new() };
        let text = format!(
            r#"{head}{FIRST_ID},"method":"tools/call","params":{{"name":{tool},"arguments":{arguments}{meta}}}}}"#
        );
        Self { bytes: text.into_bytes(), id_at: head.len() }
    }

    /// Puts `head` before the message: the header of a request that is the same for every call.
    pub(super) fn after(mut self, head: &str) -> Self {
        self.bytes.splice(0..0, head.bytes());
        self.id_at += head.len();
        self
    }

    /// Puts `end` behind the message.
    pub(super) fn before(mut self, end: &str) -> Self {
        self.bytes.extend_from_slice(end.as_bytes());
        self
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The bytes of this call under the given id.
    pub(super) fn with_id(&mut self, id: u64) -> &[u8] {
        let mut rest = id;
        for digit in self.bytes[self.id_at..self.id_at + ID_DIGITS].iter_mut().rev() {
            *digit = b'0' + u8::try_from(rest % 10).unwrap_or(0);
            rest /= 10;
        }
        &self.bytes
    }
}

/// The `initialize` that opens a legacy session.
pub(super) fn initialize(revision: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{}},"clientInfo":{{"name":"toolbay-load","version":"0.1.0"}}}}}}"#
    )
}

pub(super) fn modern_meta() -> &'static str {
    concat!(
        r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
        r#""io.modelcontextprotocol/clientInfo":{"name":"toolbay-load","version":"0.1.0"},"#,
        r#""io.modelcontextprotocol/clientCapabilities":{}}"#
    )
}

/// How long the payload must be, and whether it stands alone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected {
    payload: usize,
    wrapped: bool,
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<Outcome<'a>>,
}

#[derive(Deserialize)]
struct Outcome<'a> {
    #[serde(borrow, default)]
    content: Vec<Content<'a>>,
    #[serde(default, rename = "isError")]
    is_error: bool,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
}

/// What a message from the other side is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The answer to this call, with the payload as it was sent.
    Good(u64),
    /// The answer to this call, but an error or with something else in it.
    Bad(u64),
    /// No answer: a notification, a request or noise.
    Other,
}

impl Expected {
    pub(super) fn of(options: &Options) -> Self {
        Self { payload: options.payload, wrapped: options.wrapped }
    }

    pub(super) fn judge(self, message: &[u8]) -> Verdict {
        let Ok(answer) = serde_json::from_slice::<Answer<'_>>(message) else {
            return Verdict::Other;
        };
        let id = answer.id.and_then(|id| id.get().parse().ok());
        let (Some(id), None) = (id, answer.method) else {
            return Verdict::Other;
        };
        let good = answer.result.is_some_and(|result| {
            !result.is_error
                && result
                    .content
                    .first()
                    .and_then(|content| content.text)
                    .is_some_and(|text| self.is_echo(text))
        });
        if good { Verdict::Good(id) } else { Verdict::Bad(id) }
    }

    fn is_echo(self, text: &RawValue) -> bool {
        let text = text.get().as_bytes();
        if self.wrapped {
            let longest = text.split(|byte| *byte != b'x').map(<[u8]>::len).max();
            return longest == Some(self.payload);
        }
        // Whole chunks compare fast; the two quotes are the rest.
        text.len() == self.payload + 2
            && text[1..=self.payload].chunks(32).all(|chunk| *chunk == [b'x'; 32][..chunk.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_judged_by_id_and_payload() {
        let expected = Expected { payload: 3, wrapped: false };
        for (message, verdict) in [
            (r#"{"id":5,"result":{"content":[{"text":"xxx"}]}}"#, Verdict::Good(5)),
            (r#"{"result":{"content":[{"text":"xxx"}]},"id":5}"#, Verdict::Good(5)),
            (r#"{"id":5,"result":{"content":[{"text":"xx"}]}}"#, Verdict::Bad(5)),
            (r#"{"id":5,"result":{"content":[{"text":"xxx"}],"isError":true}}"#, Verdict::Bad(5)),
            (r#"{"id":5,"error":{"code":-1,"message":""}}"#, Verdict::Bad(5)),
            (r#"{"id":5,"method":"ping"}"#, Verdict::Other),
            (r#"{"method":"notifications/message"}"#, Verdict::Other),
            ("", Verdict::Other),
        ] {
            assert_eq!(expected.judge(message.as_bytes()), verdict, "{message}");
        }
        let wrapped = Expected { payload: 3, wrapped: true };
        assert_eq!(
            wrapped.judge(br#"{"id":5,"result":{"content":[{"text":"{\"text\":\"xxx\"}"}]}}"#),
            Verdict::Good(5)
        );
    }

    #[test]
    fn an_id_is_written_in_place() {
        let args = ["--stdio", "--payload", "2", "--", "server"].map(str::to_owned);
        let mut call = Call::new(&Options::parse(args).unwrap()).after("POST ").before("\n");
        let text = String::from_utf8(call.with_id(FIRST_ID + 42).to_vec()).unwrap();
        assert_eq!(
            text,
            "POST {\"jsonrpc\":\"2.0\",\"id\":1000000042,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"payload\":\"xx\"}}}\n"
        );
    }
}
