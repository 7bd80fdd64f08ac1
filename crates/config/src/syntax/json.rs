//! JSON with comments and trailing commas.

use std::collections::HashSet;

use jsonc_parser::{CollectOptions, ParseOptions, ast::Value as Ast, common::Ranged, parse_to_ast};
use serde_json::{Number, Value};

use super::{Key, Node, SyntaxError};
use crate::{Location, problem::Position};

/// Comments and trailing commas, and nothing else: a missing comma is an error.
pub(crate) const JSONC: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

pub(super) fn parse(text: &str) -> Result<Node, SyntaxError> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &JSONC)
        .map_err(|error| (Location::of(text, error.range().start), error.kind().to_string()))?;
    let root = parsed.value.ok_or_else(|| (Location::START, "it is empty".to_owned()))?;
    Ok(node(root))
}

fn node(ast: Ast<'_>) -> Node {
    match ast {
        Ast::Object(object) => {
            let mut seen = HashSet::new();
            let entries = object.properties.into_iter().map(|property| {
                let (at, text) = (Position::Byte(property.start()), property.name.into_string());
                let is_repeated = !seen.insert(text.clone());
                (Key { text, at, is_repeated }, node(property.value))
            });
            Node::Map(entries.collect())
        }
        Ast::Array(array) => Node::List(array.elements.into_iter().map(node).collect()),
        Ast::StringLit(string) => Node::Text(string.value.into_owned()),
        Ast::BooleanLit(flag) => Node::Flag(flag.value),
        Ast::NumberLit(_) => match Value::from(ast) {
            Value::Number(number) => Node::Number(number),
            other => other.as_str().and_then(number).unwrap_or(Node::Null),
        },
        Ast::NullKeyword(_) => Node::Null,
    }
}

/// A number that does not fit 64 bits.
fn number(text: &str) -> Option<Node> {
    Some(Node::Number(Number::from_f64(text.parse().ok()?)?))
}
