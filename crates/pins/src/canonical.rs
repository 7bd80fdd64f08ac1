//! The canonical form of a definition: two texts have the same form if they mean the same JSON.
//!
//! White space, the order of keys and the way in which characters are escaped do not matter. Everything else does: numbers are
//! compared as they are written, because `1` and `1.0` are different to some readers, and a key that stands twice is kept twice,
//! because readers disagree about which one counts.

use toolbay_protocol::{decode_string, encode_string};

/// Definitions that are nested deeper are compared as they are written.
const MAX_DEPTH: usize = 256;

/// A JSON text, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tree {
    /// Sorted by key; equal keys stay in their order.
    Object(Vec<(String, Tree)>),
    Array(Vec<Tree>),
    String(String),
    /// A number, `true`, `false` or `null`, as written.
    Literal(String),
}

impl Tree {
    /// Reads a text; nothing where it is not JSON, or nested too deep.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parser = Parser { text, at: 0 };
        let tree = parser.value(0)?;
        parser.skip_white_space();
        (parser.at == text.len()).then_some(tree)
    }

    /// The canonical form.
    pub(crate) fn canonical(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    fn write(&self, to: &mut String) {
        match self {
            Self::Object(entries) => {
                to.push('{');
                for (index, (key, value)) in entries.iter().enumerate() {
                    if index > 0 {
                        to.push(',');
                    }
                    to.push_str(&encode_string(key));
                    to.push(':');
                    value.write(to);
                }
                to.push('}');
            }
            Self::Array(items) => {
                to.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        to.push(',');
                    }
                    item.write(to);
                }
                to.push(']');
            }
            Self::String(text) => to.push_str(&encode_string(text)),
            Self::Literal(text) => to.push_str(text),
        }
    }

    /// Calls `visit` with every string in it: values and keys.
    pub(crate) fn strings(&self, visit: &mut impl FnMut(&str)) {
        match self {
            Self::Object(entries) => {
                for (key, value) in entries {
                    visit(key);
                    value.strings(visit);
                }
            }
            Self::Array(items) => items.iter().for_each(|item| item.strings(visit)),
            Self::String(text) => visit(text),
            Self::Literal(_) => {}
        }
    }

    /// The value of a key of an object.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(entries) => entries.iter().find(|(known, _)| known == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The text of a string.
    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn value(&mut self, depth: usize) -> Option<Tree> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.skip_white_space();
        match self.peek()? {
            b'{' => {
                let mut entries = Vec::new();
                self.items(b'}', |parser| {
                    parser.skip_white_space();
                    let key = decode_string(parser.string()?.as_bytes())?.into_owned();
                    parser.skip_white_space();
                    parser.take(b':')?;
                    entries.push((key, parser.value(depth + 1)?));
                    Some(())
                })?;
                entries.sort_by(|(one, _), (other, _)| one.cmp(other));
                Some(Tree::Object(entries))
            }
            b'[' => {
                let mut items = Vec::new();
                self.items(b']', |parser| {
                    items.push(parser.value(depth + 1)?);
                    Some(())
                })?;
                Some(Tree::Array(items))
            }
            b'"' => Some(Tree::String(decode_string(self.string()?.as_bytes())?.into_owned())),
            _ => {
                let rest = &self.text[self.at..];
                let end = rest.find([',', '}', ']', ' ', '\n', '\r', '\t']).unwrap_or(rest.len());
                let literal = &rest[..end];
                let is_literal = matches!(literal, "true" | "false" | "null")
                    || literal.starts_with(|c: char| c == '-' || c.is_ascii_digit());
                self.at += end;
                is_literal.then(|| Tree::Literal(literal.to_owned()))
            }
        }
    }

    /// The items of an object or array, between commas, with its brackets.
    fn items(&mut self, end: u8, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.at += 1;
        self.skip_white_space();
        if self.peek()? == end {
            self.at += 1;
            return Some(());
        }
        loop {
            item(self)?;
            self.skip_white_space();
            match self.peek()? {
                b',' => self.at += 1,
                byte if byte == end => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    /// A string with its quotes.
    fn string(&mut self) -> Option<&'a str> {
        let from = self.at;
        self.take(b'"')?;
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at)? {
                b'"' => {
                    self.at += 1;
                    return Some(&self.text[from..self.at]);
                }
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_white_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn canonical(text: &str) -> String {
        Tree::parse(text).unwrap().canonical()
    }

    #[test]
    fn what_means_the_same_has_the_same_form() {
        for (one, other) in [
            (r#"{"a":1,"b":[true,null]}"#, "{ \"b\" : [ true,\n null ], \"a\": 1 }"),
            (r#"{"ä":"x/y"}"#, r#"{"\u00e4":"x\/y"}"#),
            (r#"{"a":{"x":1,"y":2}}"#, r#"{"a":{"y":2,"x":1}}"#),
            ("[]", " [ ] "),
            ("{}", "{ }"),
        ] {
            assert_eq!(canonical(one), canonical(other), "{one} {other}");
        }
    }

    #[test]
    fn everything_else_matters() {
        for (one, other) in [
            ("[1,2]", "[2,1]"),
            ("1", "1.0"),
            ("18446744073709551616", "18446744073709551617"),
            ("1e2", "100"),
            (r#""a""#, r#""a ""#),
            (r#"{"a":1}"#, r#"{"a":null}"#),
            (r#"{"a":1}"#, r#"{"a":1,"a":1}"#),
            (r#"{"a":1,"a":2}"#, r#"{"a":2,"a":1}"#),
            (r#"{"a":"1"}"#, r#"{"a":1}"#),
            (r#"{"a":"x","b":"y"}"#, r#"{"a":"x\",\"b\":\"y"}"#),
            ("true", "\"true\""),
        ] {
            assert_ne!(canonical(one), canonical(other), "{one} {other}");
        }
    }

    #[test]
    fn what_is_no_json_has_no_form() {
        for text in ["", "{", "{\"a\"}", "[1", "[1,]x", "\"a", "\"a\\", "tru", "{} {}", "{a:1}"] {
            assert_eq!(Tree::parse(text), None, "{text}");
        }
        assert_eq!(Tree::parse(&"[".repeat(100_000)), None);
    }

    proptest! {
        /// The form means the same as the text, as others read it.
        #[test]
        fn the_form_is_the_same_json(text in json()) {
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            let form = canonical(&text);
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&form).unwrap(), value);
            prop_assert_eq!(canonical(&form), form.clone());
        }

        #[test]
        fn no_text_panics(text in ".{0,60}") {
            Tree::parse(&text);
        }
    }

    fn json() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just("null".to_owned()),
            any::<i64>().prop_map(|number| number.to_string()),
            any::<bool>().prop_map(|flag| flag.to_string()),
            ".{0,8}".prop_map(|text| serde_json::to_string(&text).unwrap()),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4)
                    .prop_map(|items| format!("[{}]", items.join(" , "))),
                prop::collection::btree_map("[a-zä\"]{1,3}", inner, 0..4).prop_map(|entries| {
                    let entries: Vec<String> = entries
                        .iter()
                        .rev()
                        .map(|(key, value)| format!("{} :{value}", serde_json::to_string(key).unwrap()))
                        .collect();
                    format!("{{ {} }}", entries.join(","))
                }),
            ]
        })
    }
}
