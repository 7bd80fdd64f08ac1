//! Reading events, however they are cut.

use std::time::Duration;

use proptest::prelude::*;
use toolbay_transport::http::{EventReader, EventTooLong};

/// The data of all events, with the last id and `retry`, when `text` arrives in pieces of `size` bytes.
fn read(text: &[u8], size: usize) -> (Vec<String>, Option<String>, Option<u128>) {
    let mut reader = EventReader::new(1000);
    let mut events = Vec::new();
    for piece in text.chunks(size) {
        reader.push(piece);
        while let Some(data) = reader.next_event().unwrap() {
            events.push(String::from_utf8(data.to_vec()).unwrap());
        }
    }
    (events, reader.last_id().map(str::to_owned), reader.retry().map(|retry| retry.as_millis()))
}

#[test]
fn events_are_read_as_the_standard_says() {
    for (text, events) in [
        ("data: a\n\n", &["a"][..]),
        ("data:a\n\n", &["a"]),
        ("data:  a \n\n", &[" a "]),
        ("data: a\r\rdata: b\r\r", &["a", "b"]),
        ("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]),
        ("data: a\r\n\ndata: b\n\r\n", &["a", "b"]),
        ("data: a\ndata: b\ndata:\ndata: c\n\n", &["a\nb\n\nc"]),
        ("\u{feff}data: a\n\n", &["a"]),
        ("data: a\n\n\u{feff}data: b\n\n", &["a"]),
        (": comment\n\n:\n\ndata: a\n: more\n\n", &["a"]),
        ("event: message\ndata: a\n\n", &["a"]),
        ("event: endpoint\ndata: a\n\ndata: b\n\n", &["b"]),
        ("event\ndata: a\n\n", &["a"]),
        ("data\n\ndata:\n\ndata: \n\n", &[]),
        ("data: a\n", &[]),
        ("data: a", &[]),
        ("dat: a\nDATA: b\nfoo\n\n", &[]),
        ("\n\n\n", &[]),
        ("data: a: b\n\n", &["a: b"]),
    ] {
        for size in 1..=text.len() {
            assert_eq!(read(text.as_bytes(), size).0, events, "{text:?} in pieces of {size}");
        }
    }
}

#[test]
fn ids_and_delays_count_even_without_data() {
    for (text, id, retry) in [
        ("id: 1\ndata: a\n\n", Some("1"), None),
        ("id: 1\nretry: 500\ndata:\n\n", Some("1"), Some(500)),
        ("id: 1\n\nid\n\n", None, None),
        ("id: 1\n\nid: a\0b\n\n", Some("1"), None),
        ("retry: 500\n\nretry: soon\n\nretry: -1\n\nretry: 99999999999999999999\n\n", None, Some(500)),
        ("id: 1\n\ndata: a\n\n", Some("1"), None),
    ] {
        let (_, found, delay) = read(text.as_bytes(), 3);
        assert_eq!((found.as_deref(), delay), (id, retry), "{text:?}");
    }
}

#[test]
fn a_resumed_stream_forgets_half_an_event_but_not_its_place() {
    let mut reader = EventReader::new(100);
    reader.push(b"id: 7\nretry: 3\n\ndata: ha");
    assert_eq!(reader.next_event(), Ok(None));
    reader.resume();
    reader.push(b"data: whole\n\n");
    assert_eq!(reader.next_event().unwrap().unwrap(), "whole");
    assert_eq!((reader.last_id(), reader.retry()), (Some("7"), Some(Duration::from_millis(3))));
}

#[test]
fn an_event_that_is_too_long_ends_it() {
    let line = "x".repeat(100);
    let fits = format!("data: {line}\n\n");
    let two = format!("data: {}\ndata: {}\n\n", &line[..50], &line[..50]);
    for (text, fits) in [
        (fits.clone(), true),
        (format!("data: {line}y\n\n"), false),
        (format!("data: {}", line.repeat(3)), false),
        (two, false), // the line break counts
        (format!(":{}\n", line.repeat(3)), false),
    ] {
        let mut reader = EventReader::new(100);
        let mut outcome = Ok(());
        for piece in text.as_bytes().chunks(7) {
            reader.push(piece);
            outcome = outcome.and(loop {
                match reader.next_event() {
                    Ok(Some(_)) => {}
                    Ok(None) => break Ok(()),
                    Err(long) => break Err(long),
                }
            });
        }
        assert_eq!(outcome, if fits { Ok(()) } else { Err(EventTooLong { limit: 100 }) }, "{text}");
    }
}

proptest! {
    /// However a stream is cut, the same events come out; and nothing makes the reader panic.
    #[test]
    fn cutting_changes_nothing(
        text in proptest::collection::vec(
            prop_oneof![Just("data: x"), Just("id: 3"), Just("\n"), Just("\r"), Just("\r\n"), Just(":"), Just("é"), Just("\0")],
            0..40,
        ),
        size in 1_usize..9,
    ) {
        let text = text.concat();
        prop_assert_eq!(read(text.as_bytes(), size), read(text.as_bytes(), text.len().max(1)));
    }
}
