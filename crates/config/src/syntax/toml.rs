//! TOML.

use serde_json::Number;
use toml_edit::{Document, Item, TableLike, Value};

use super::{Key, Node, SyntaxError, count};
use crate::{Location, problem::Position};

pub(super) fn parse(text: &str) -> Result<Node, SyntaxError> {
    let document = Document::parse(text).map_err(|error| {
        let byte = error.span().map_or(0, |span| span.start);
        (Location::of(text, byte), error.message().to_owned())
    })?;
    Ok(table(document.as_table()))
}

/// A table takes the memory of so many values in the parser.
const TABLE: usize = 4;

/// See [`estimate_values`](super::estimate_values). Tables are made by headers, braces, and dots in keys.
pub(super) fn estimate_values(text: &str) -> usize {
    let line = |line: &str| {
        if line.trim_start().starts_with('[') {
            // A header, or a line of a list of lists.
            return TABLE * (1 + count(line, b".")) + count(line, b",[{=");
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let has_tables = value.contains('{');
        let tables = count(key, b".{") + count(value, if has_tables { b".{" } else { b"" });
        1 + TABLE * tables + count(line, b",[")
    };
    text.lines().map(line).sum()
}

fn table(table: &dyn TableLike) -> Node {
    let entries = table.iter().map(|(name, item)| {
        let key = table.key(name).and_then(toml_edit::Key::span);
        let byte = key.or_else(|| item.span()).map_or(0, |span| span.start);
        // The parser rejects duplicate keys.
        (Key { text: name.to_owned(), at: Position::Byte(byte), is_repeated: false }, node(item))
    });
    Node::Map(entries.collect())
}

fn node(item: &Item) -> Node {
    match item {
        Item::None => Node::Null,
        Item::Value(it) => value(it),
        Item::Table(it) => table(it),
        Item::ArrayOfTables(it) => Node::List(it.iter().map(|each| table(each)).collect()),
    }
}

fn value(it: &Value) -> Node {
    match it {
        Value::String(string) => Node::Text(string.value().clone()),
        Value::Integer(number) => Node::Number((*number.value()).into()),
        Value::Float(number) => Number::from_f64(*number.value()).map_or(Node::Null, Node::Number),
        Value::Boolean(flag) => Node::Flag(*flag.value()),
        Value::Datetime(time) => Node::Text(time.value().to_string()),
        Value::Array(array) => Node::List(array.iter().map(value).collect()),
        Value::InlineTable(it) => table(it),
    }
}
