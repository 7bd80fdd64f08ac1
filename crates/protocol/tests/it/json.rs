//! JSON texts as a hostile but correct writer might write them.

use proptest::prelude::*;

/// Any value: odd numbers, escapes, lone surrogates, duplicate keys and white space included.
pub(crate) fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("false".to_owned()),
        number(),
        string(),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            (space(), prop::collection::vec(inner.clone(), 0..6))
                .prop_map(|(space, items)| format!("[{space}{}{space}]", items.join(&format!("{space},")))),
            prop::collection::vec((string(), inner), 0..6).prop_flat_map(object),
        ]
    })
}

/// An object of these fields, with the same white space everywhere.
pub(crate) fn object(fields: Vec<(String, String)>) -> impl Strategy<Value = String> {
    space().prop_map(move |space| {
        let fields: Vec<_> =
            fields.iter().map(|(key, value)| format!("{key}{space}:{space}{value}")).collect();
        format!("{{{space}{}{space}}}", fields.join(&format!("{space},{space}")))
    })
}

pub(crate) fn space() -> impl Strategy<Value = String> {
    prop_oneof![4 => Just(String::new()), 1 => "[ \t\r\n]{1,3}"]
}

pub(crate) fn number() -> impl Strategy<Value = String> {
    "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?"
}

/// A string with its quotes.
pub(crate) fn string() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-zA-Z0-9 _/{}\\[\\],:.-]{0,20}",
        1 => Just("\\\"".to_owned()),
        1 => "\\\\[\\\\/bfnrt]",
        1 => "\\\\u[0-9a-fA-F]{4}",
        1 => "[äßſ\u{212a}€𝄞\u{7f}\u{2028}]{1,3}",
    ];
    prop::collection::vec(piece, 0..4).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}
