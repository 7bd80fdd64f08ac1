//! YAML: the first document, with the types of its core schema. Aliases are copies, up to a bound.

use std::collections::{HashMap, HashSet};

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, StrInput};
use serde_json::Number;

use super::{Key, Node, SyntaxError};
use crate::{Location, problem::Position};

/// Deeper or larger is no configuration, but perhaps an attack with aliases.
const MAX_DEPTH: usize = 64;
const MAX_NODES: usize = 100_000;
/// So many bytes of a text that is copied count as a node.
const TEXT_PER_NODE: usize = 64;

pub(super) fn parse(text: &str) -> Result<Node, SyntaxError> {
    let mut reader = YamlReader { events: Parser::new_from_str(text), anchors: HashMap::new(), nodes: 0 };
    loop {
        match reader.next()? {
            (Event::StreamEnd, span) => return Err((place(&span.start), "it is empty".to_owned())),
            (Event::StreamStart | Event::DocumentStart(_) | Event::Nothing, _) => {}
            (event, span) => return reader.node(event, span, 0),
        }
    }
}

struct YamlReader<'a> {
    events: Parser<'a, StrInput<'a>>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
}

impl<'a> YamlReader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), SyntaxError> {
        let failed = |error: ScanError| (place(error.marker()), error.info().to_owned());
        match self.events.next() {
            Some(event) => event.map_err(failed),
            None => Err((Location::START, "it ends too early".to_owned())),
        }
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Node, SyntaxError> {
        self.count(1, depth, span)?;
        let (anchor, node) = match event {
            Event::Scalar(text, style, anchor, _) => (anchor, scalar(&text, style)),
            Event::SequenceStart(anchor, _) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, _) => break,
                        (event, span) => items.push(self.node(event, span, depth + 1)?),
                    }
                }
                (anchor, Node::List(items))
            }
            Event::MappingStart(anchor, _) => (anchor, self.map(depth)?),
            Event::Alias(anchor) => {
                self.count(self.anchors.get(&anchor).map_or(1, size), depth, span)?;
                (0, self.anchors.get(&anchor).cloned().unwrap_or(Node::Null))
            }
            _ => return Err((place(&span.start), "a value is missing".to_owned())),
        };
        if anchor > 0 {
            self.count(size(&node), depth, span)?;
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn map(&mut self, depth: usize) -> Result<Node, SyntaxError> {
        let (mut entries, mut seen) = (Vec::new(), HashSet::new());
        loop {
            let (event, span) = self.next()?;
            let place = place(&span.start);
            let text = match event {
                Event::MappingEnd => return Ok(Node::Map(entries)),
                Event::Scalar(text, ..) => text.into_owned(),
                _ => return Err((place, "a key must be a string".to_owned())),
            };
            let (event, span) = self.next()?;
            let is_repeated = !seen.insert(text.clone());
            let key = Key { text, at: Position::Known(place), is_repeated };
            entries.push((key, self.node(event, span, depth + 1)?));
        }
    }

    fn count(&mut self, nodes: usize, depth: usize, span: Span) -> Result<(), SyntaxError> {
        self.nodes += nodes;
        match depth > MAX_DEPTH || self.nodes > MAX_NODES {
            true => Err((place(&span.start), "it is too deep or too large for a configuration".to_owned())),
            false => Ok(()),
        }
    }
}

/// What a copy of a node counts for: its nodes, and its texts by their length.
fn size(node: &Node) -> usize {
    let length = |text: &str| text.len() / TEXT_PER_NODE;
    1 + match node {
        Node::List(items) => items.iter().map(size).sum(),
        Node::Map(entries) => entries.iter().map(|(key, node)| length(&key.text) + size(node)).sum(),
        Node::Text(text) => length(text),
        Node::Null | Node::Flag(_) | Node::Number(_) => 0,
    }
}

fn scalar(text: &str, style: ScalarStyle) -> Node {
    if style != ScalarStyle::Plain {
        return Node::Text(text.to_owned());
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Node::Null,
        "true" | "True" | "TRUE" => Node::Flag(true),
        "false" | "False" | "FALSE" => Node::Flag(false),
        _ => number(text).map_or_else(|| Node::Text(text.to_owned()), Node::Number),
    }
}

fn number(text: &str) -> Option<Number> {
    if let Ok(whole) = text.parse::<i64>() {
        return Some(whole.into());
    }
    // Rust knows `inf` and `nan` by other names than YAML; both are no number of a configuration.
    let looks_so = text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    Number::from_f64(text.parse().ok().filter(|_| looks_so)?)
}

fn place(marker: &Marker) -> Location {
    Location { line: marker.line(), column: marker.col() + 1 }
}
