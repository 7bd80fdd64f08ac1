//! Nesting, and texts made to exhaust us.

use std::time::{Duration, Instant};

use toolbay_protocol::{MAX_DEPTH, Message, ParseError, parse_batch};

/// A message whose deepest container stands at `depth`.
fn nested(depth: usize, open: &str, close: &str) -> String {
    let (open, close) = (open.repeat(depth - 2), close.repeat(depth - 2));
    format!(r#"{{"jsonrpc":"2.0","method":"x","params":{{"a":{open}1{close}}}}}"#)
}

fn parse(text: String) -> Result<(), ParseError> {
    Message::parse(text.into()).map(drop)
}

#[test]
fn ends_at_128() {
    let limit = MAX_DEPTH as usize;
    for (open, close) in [("[", "]"), ("{\"k\":", "}"), ("[{\"k\":", "}]")] {
        let width = if open.starts_with("[{") { 2 } else { 1 };
        let fits = (limit - 2) / width + 2;
        assert_eq!(parse(nested(fits, open, close)), Ok(()), "{open}");
        assert_eq!(parse(nested(fits + 1, open, close)), Err(ParseError::TooDeep), "{open}");
    }
}

#[test]
fn hopeless_nesting_is_refused_at_once() {
    let started = Instant::now();
    for open in ["[", "{\"a\":", "[{\"a\":"] {
        let text = open.repeat(100_000);
        assert_eq!(parse(text.clone()), Err(ParseError::TooDeep));
        assert_eq!(parse(nested(100_000, open, "]")), Err(ParseError::TooDeep));
        let batch = parse_batch(text.into()).map(|all| all.len());
        assert_eq!(batch, Err(ParseError::TooDeep));
    }
    assert!(started.elapsed() < Duration::from_secs(20), "it takes the square of the length");
}

#[test]
fn siblings_are_no_depth() {
    assert_eq!(parse(nested(2, "", "").replace(":1", &format!(":[{}1]", "[],{},".repeat(10_000)))), Ok(()));
}
