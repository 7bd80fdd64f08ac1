//! TOML.

use serde_json::Number;
use toml_edit::{Document, Item, TableLike, Value};

use super::{Key, Node, SyntaxError};
use crate::{Place, place::At};

pub(super) fn parse(text: &str) -> Result<Node, SyntaxError> {
    let document = Document::parse(text).map_err(|error| {
        let byte = error.span().map_or(0, |span| span.start);
        (Place::of(text, byte), error.message().to_owned())
    })?;
    Ok(table(document.as_table()))
}

fn table(table: &dyn TableLike) -> Node {
    let entries = table.iter().map(|(name, item)| {
        let key = table.key(name).and_then(toml_edit::Key::span);
        let byte = key.or_else(|| item.span()).map_or(0, |span| span.start);
        // The parser refuses what stands twice.
        (Key { text: name.to_owned(), at: At::Byte(byte), is_repeated: false }, node(item))
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
