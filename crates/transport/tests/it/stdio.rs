//! Lines from a stream: limits, noise, and the same messages however the stream is cut.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use proptest::prelude::*;
use tokio::io::{AsyncRead, ReadBuf};
use toolbay_protocol::ParseError;
use toolbay_transport::{Incoming, stdio::LineReader};

/// A stream made of parts, each repeated so often, given out in pieces of at most `piece` bytes.
struct Parts {
    parts: Vec<(Vec<u8>, usize)>,
    at: usize,
    piece: usize,
    /// The largest room a reader ever offered.
    widest: usize,
}

impl Parts {
    fn new(parts: &[(&[u8], usize)], piece: usize) -> Self {
        let parts = parts.iter().map(|(part, times)| (part.to_vec(), *times)).rev().collect();
        Self { parts, at: 0, piece, widest: 0 }
    }
}

impl AsyncRead for Parts {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        this.widest = this.widest.max(buffer.remaining());
        let mut room = buffer.remaining().min(this.piece);
        while room > 0 {
            let Some((part, times)) = this.parts.last_mut() else { break };
            if *times == 0 || part.is_empty() {
                this.parts.pop();
                continue;
            }
            let step = room.min(part.len() - this.at);
            buffer.put_slice(&part[this.at..this.at + step]);
            room -= step;
            this.at += step;
            if this.at == part.len() {
                this.at = 0;
                *times -= 1;
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// What came, one word each: the id of a request, or why it was refused and whose it was.
async fn read(parts: &mut Parts, limit: usize) -> Vec<String> {
    let mut lines = LineReader::new(parts, limit);
    let mut seen = Vec::new();
    while let Some(incoming) = lines.next().await.unwrap() {
        seen.push(match incoming {
            Incoming::Message(message) => String::from_utf8(message.text().to_vec()).unwrap(),
            Incoming::Refused(refusal) => {
                let why = match refusal.why {
                    ParseError::TooLong { .. } => "long",
                    ParseError::Utf8 { .. } => "utf8",
                    _ => "noise",
                };
                format!("{why} {}", refusal.id.map_or("-".to_owned(), |id| id.to_string()))
            }
            other => panic!("{other:?}"),
        });
    }
    seen
}

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
const MIB: usize = 1024 * 1024;

#[tokio::test]
async fn a_line_of_100_mb_fails_alone() {
    let limit = 16 * MIB;
    for (head, tail, expected) in [
        (&b"{\"id\":7,\"result\":{\"t\":\""[..], &b"\"}}\n"[..], "long 7"),
        (b"{\"result\":{\"t\":\"", b"\"},\"id\":\"x\"}\n", "long \"x\""),
        (b"\"", b"\"\n", "long -"),
    ] {
        let ping = format!("{PING}\n");
        let mut parts = Parts::new(
            &[(head, 1), (&[b'a'; 4096], 100_000_000 / 4096), (tail, 1), (ping.as_bytes(), 2)],
            64 * 1024,
        );
        assert_eq!(read(&mut parts, limit).await, [expected, PING, PING]);
        assert!(parts.widest <= limit + 16 * 1024, "room for {} bytes", parts.widest);
    }
}

#[tokio::test]
async fn an_endless_line_ends_the_stream() {
    let mut parts =
        Parts::new(&[(PING.as_bytes(), 1), (b"\n{\"id\":3,", 1), (&[b' '; 4096], usize::MAX)], usize::MAX);
    assert_eq!(read(&mut parts, MIB).await, [PING, "long 3"]);
    assert!(parts.widest <= MIB + 16 * 1024);
}

#[tokio::test]
async fn the_limit_is_exact() {
    for piece in [1, 7, 1000, usize::MAX] {
        for (extra, fits) in [(0, true), (1, false)] {
            let line = format!("{PING}{}\n{PING}\n", " ".repeat(60 + extra));
            let mut parts = Parts::new(&[(line.as_bytes(), 1)], piece);
            let first = read(&mut parts, PING.len() + 60).await.swap_remove(0);
            assert_eq!(first == "long 1", !fits, "{extra} by {piece}");
        }
    }
}

#[tokio::test]
async fn noise_is_distinguished_from_messages() {
    let stream = [
        &b"Server started\n\n  \r\n"[..],
        b"\x1b[32mok\x1b[0m\n",
        b"[]\n42\n{bad\n",
        b"got {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"t\":\"\xff\"}}\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\n",
        PING.as_bytes(),
        b"\r\n",
        PING.as_bytes(),
    ]
    .concat();
    let expected =
        ["noise -", "noise -", "noise -", "noise -", "noise -", "noise -", "utf8 4", "noise 5", PING, PING];
    for piece in [1, 2, 3, 5, 50, usize::MAX] {
        let seen = read(&mut Parts::new(&[(&stream, 1)], piece), MIB).await;
        assert_eq!(seen, expected, "by {piece}");
    }
}

#[tokio::test]
async fn characters_may_come_in_two_pieces() {
    let line = r#"{"jsonrpc":"2.0","method":"ä€𝄞"}"#;
    for piece in 1..5 {
        assert_eq!(read(&mut Parts::new(&[(line.as_bytes(), 1), (b"\n", 1)], piece), MIB).await, [line]);
    }
}

proptest! {
    #[test]
    fn however_the_stream_is_cut(
        lines in prop::collection::vec(prop_oneof![
            Just(PING.to_owned()),
            (0_usize..300).prop_map(|pad| format!(r#"{{"jsonrpc":"2.0","id":{pad},"method":"x"{}}}"#, " ".repeat(pad))),
            "[a-z{}\"\\\\ \r\u{e4}]{0,40}",
        ], 0..12),
        invalid in any::<bool>(),
        piece in 1_usize..200,
        terminated: bool,
    ) {
        let mut stream = lines.join("\n").into_bytes();
        if invalid && let Some(byte) = stream.first_mut() {
            *byte = 0xff;
        }
        if terminated {
            stream.push(b'\n');
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let cut = runtime.block_on(read(&mut Parts::new(&[(&stream, 1)], piece), 200));
        let whole = runtime.block_on(read(&mut Parts::new(&[(&stream, 1)], usize::MAX), 200));
        prop_assert_eq!(cut, whole);
    }
}
