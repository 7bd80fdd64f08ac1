//! How much work it is to check arguments against a schema, known before it is done.
//!
//! A reference is a few bytes and stands for a whole schema, so a short schema can ask for more steps than a machine will
//! ever make. Work is therefore estimated on the schema with its references unfolded: how many nodes of it can apply to
//! values of a given depth, each counted as often as it is reached. Recursive schemas grow with the depth of the
//! arguments, all others stop growing. The estimate is an upper bound, never an exact number.

use std::{borrow::Cow, collections::HashMap};

use serde_json::{Map, Value};

/// A schema that has more nodes, unfolded, is not checked against.
const MAX_NODES: u64 = 10_000;
/// A schema that is more work to compile is not compiled. See [`COMPILED_PATTERN`].
const MAX_COMPILED: u64 = 20_000;
/// Nodes of the schema times values of the arguments. Above that, arguments are passed on unchecked.
const MAX_WORK: u64 = 1_000_000;
/// Arguments that are deeper are checked only where the schema is not recursive.
const MAX_DEPTH: usize = 16;
/// A string counts as one more value per so many bytes.
const BYTES_PER_VALUE: usize = 32;
/// What matching a regular expression counts, and one that may have to step back.
const PATTERN: u64 = 10;
const BACKTRACKING_PATTERN: u64 = 1_000;
/// What compiling a regular expression counts, which may take its size limit in memory.
pub(super) const COMPILED_PATTERN: u64 = 200;

/// Keywords whose value is a schema, or a list of them, for the same value.
const IN_PLACE: [&str; 7] = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else"];
/// Keywords that name a schema for the same value.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
/// Keywords whose value maps names to schemas for the same value.
const IN_PLACE_BY_NAME: [&str; 2] = ["dependentSchemas", "dependencies"];
/// Keywords whose value is a schema, or a list of them, for the values within.
const WITHIN: [&str; 8] = [
    "additionalProperties",
    "propertyNames",
    "items",
    "prefixItems",
    "additionalItems",
    "contains",
    "unevaluatedProperties",
    "unevaluatedItems",
];
/// Keywords whose value maps names to schemas for the values within.
const WITHIN_BY_NAME: [&str; 2] = ["properties", "patternProperties"];
/// Keywords whose schemas apply only where something refers to them.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];
/// Evaluates the schemas in place once more, to find out what they covered.
const UNEVALUATED: [&str; 2] = ["unevaluatedProperties", "unevaluatedItems"];

/// The nodes of a schema that can apply to values, by the depth of the values.
#[derive(Debug)]
pub(super) struct ValidationCost {
    /// For arguments that hold nothing, for those whose values hold nothing, and so on.
    by_depth: Vec<u64>,
    /// Whether deeper arguments need no more than the last.
    is_final: bool,
}

impl ValidationCost {
    /// Estimates a schema; says why where it is too much work for any arguments.
    pub(super) fn of(schema: &Value) -> Result<Self, &'static str> {
        let graph = Graph::of(schema).ok_or("its schema has references that are not followed")?;
        let effort = graph.effort();
        match effort.by_depth.iter().take(2).max() {
            Some(nodes) if *nodes > MAX_NODES => Err("its schema is too large with its references unfolded"),
            _ => Ok(effort),
        }
    }

    /// How much work a check of `arguments` is, at most; nothing if it is too much.
    pub(super) fn with(&self, arguments: &Value) -> Option<u64> {
        let (values, depth) = measure(arguments);
        let nodes = match self.by_depth.get(depth) {
            Some(nodes) => *nodes,
            None if self.is_final => *self.by_depth.last()?,
            None => return None,
        };
        Some(nodes.saturating_mul(values)).filter(|work| *work <= MAX_WORK)
    }
}

/// Says why a schema is too much work to compile, if it is.
pub(super) fn check_size(schema: &Value) -> Result<(), &'static str> {
    if compile_effort(schema) <= MAX_COMPILED { Ok(()) } else { Err("its schema is too large to compile") }
}

/// How much work it is to compile a schema.
fn compile_effort(schema: &Value) -> u64 {
    match schema {
        Value::Array(items) => 1 + items.iter().map(compile_effort).sum::<u64>(),
        Value::Object(fields) => fields.iter().fold(1, |sum, (key, value)| {
            let patterns = match (key.as_str(), value) {
                ("pattern", Value::String(_)) => 1,
                ("patternProperties", Value::Object(patterns)) => patterns.len() as u64,
                _ => 0,
            };
            sum + compile_effort(value) + patterns * COMPILED_PATTERN
        }),
        _ => 1,
    }
}

/// How many values there are, long strings counted by length, and how deep they are nested.
fn measure(value: &Value) -> (u64, usize) {
    let within = |values: &mut dyn Iterator<Item = &Value>| {
        values
            .map(measure)
            .fold((1, 0), |(sum, deepest), (count, depth)| (sum + count, deepest.max(depth + 1)))
    };
    match value {
        Value::Array(items) => within(&mut items.iter()),
        Value::Object(fields) => {
            let names: u64 = fields.keys().map(|name| weight_of_text(name)).sum();
            let (count, depth) = within(&mut fields.values());
            (count + names, depth)
        }
        Value::String(text) => (1 + weight_of_text(text), 0),
        _ => (1, 0),
    }
}

fn weight_of_text(text: &str) -> u64 {
    (text.len() / BYTES_PER_VALUE) as u64
}

/// The schemas below a schema, and which of them applies where.
struct Graph<'a> {
    root: &'a Value,
    anchors: HashMap<&'a str, &'a Value>,
    /// Where each schema stands in `nodes`.
    indexes: HashMap<*const Value, usize>,
    nodes: Vec<Node>,
    /// Schemas that are in `nodes`, but not what they lead to.
    open: Vec<(usize, &'a Value)>,
}

#[derive(Default)]
struct Node {
    /// What its own keywords count.
    own: u64,
    in_place: Vec<usize>,
    within: Vec<usize>,
}

impl<'a> Graph<'a> {
    /// Reads a schema; nothing if it refers to something in a way that is not understood here.
    fn of(root: &'a Value) -> Option<Self> {
        let dialect = root.get("$schema").and_then(Value::as_str).unwrap_or_default();
        let id = if dialect.contains("draft-04") { "id" } else { "$id" };
        let mut anchors = HashMap::new();
        for field in root.as_object().into_iter().flat_map(Map::values) {
            find_anchors(field, id, &mut anchors)?;
        }
        let mut graph = Self { root, anchors, indexes: HashMap::new(), nodes: Vec::new(), open: Vec::new() };
        graph.index(root);
        while let Some((index, schema)) = graph.open.pop() {
            graph.nodes[index] = graph.node(schema)?;
        }
        Some(graph)
    }

    fn index(&mut self, schema: &'a Value) -> usize {
        let next = self.nodes.len();
        let index = *self.indexes.entry(std::ptr::from_ref(schema)).or_insert(next);
        if index == next {
            self.nodes.push(Node::default());
            self.open.push((index, schema));
        }
        index
    }

    fn node(&mut self, schema: &'a Value) -> Option<Node> {
        let mut node = Node { own: 1, ..Node::default() };
        let Value::Object(keywords) = schema else { return Some(node) };
        for (keyword, value) in keywords {
            let keyword = keyword.as_str();
            if IN_PLACE.contains(&keyword) {
                node.in_place.extend(schemas(value).map(|schema| self.index(schema)));
            } else if IN_PLACE_BY_NAME.contains(&keyword) {
                node.in_place.extend(named_schemas(value).map(|schema| self.index(schema)));
            } else if WITHIN.contains(&keyword) {
                node.within.extend(schemas(value).map(|schema| self.index(schema)));
            } else if WITHIN_BY_NAME.contains(&keyword) {
                node.within.extend(named_schemas(value).map(|schema| self.index(schema)));
            } else if REFERENCES.contains(&keyword) {
                let target = self.resolve(value.as_str()?)?;
                node.in_place.push(self.index(target));
            } else if !DEFINITIONS.contains(&keyword) {
                node.own += compile_effort(value);
            }
        }
        node.own += patterns(keywords).map(match_effort).sum::<u64>();
        if UNEVALUATED.iter().any(|keyword| keywords.contains_key(*keyword)) {
            let once = node.in_place.clone();
            node.in_place.extend(once.iter().chain(&once));
        }
        Some(node)
    }

    fn resolve(&self, reference: &str) -> Option<&'a Value> {
        let fragment = decoded(reference.strip_prefix('#')?)?;
        match fragment.is_empty() || fragment.starts_with('/') {
            true => self.root.pointer(&fragment),
            false => self.anchors.get(&*fragment).copied(),
        }
    }

    fn effort(&self) -> ValidationCost {
        let mut by_depth = Vec::new();
        let mut below: Vec<u64> = vec![0; self.nodes.len()];
        for _ in 0..=MAX_DEPTH {
            let level = self.level(&below);
            by_depth.push(level[0]);
            if level == below {
                return ValidationCost { by_depth, is_final: true };
            }
            if level[0] > MAX_WORK {
                break;
            }
            below = level;
        }
        ValidationCost { by_depth, is_final: false }
    }

    /// The nodes that can apply to values of one depth, given those for values that are less deep. Per node.
    fn level(&self, below: &[u64]) -> Vec<u64> {
        /// A schema that leads back to itself for the same value never ends.
        const UNDERWAY: u64 = u64::MAX;
        let mut counts: Vec<Option<u64>> = vec![None; self.nodes.len()];
        for start in 0..self.nodes.len() {
            let mut path = vec![start];
            while let Some(&index) = path.last() {
                let node = &self.nodes[index];
                if counts[index].is_none() {
                    counts[index] = Some(UNDERWAY);
                    path.extend(node.in_place.iter().filter(|other| counts[**other].is_none()));
                    continue;
                }
                path.pop();
                if counts[index] == Some(UNDERWAY) {
                    let in_place = node.in_place.iter().map(|other| counts[*other].unwrap_or(UNDERWAY));
                    let within = node.within.iter().map(|other| below[*other]);
                    counts[index] = Some(in_place.chain(within).fold(node.own, u64::saturating_add));
                }
            }
        }
        counts.into_iter().map(|count| count.unwrap_or(UNDERWAY)).collect()
    }
}

/// A fragment without its percent-encoding; nothing if that is broken.
fn decoded(fragment: &str) -> Option<Cow<'_, str>> {
    let Some((plain, mut rest)) = fragment.split_once('%') else { return Some(fragment.into()) };
    let mut decoded = plain.as_bytes().to_vec();
    loop {
        decoded.push(u8::from_str_radix(rest.get(..2)?, 16).ok()?);
        match rest[2..].split_once('%') {
            Some((plain, next)) => {
                decoded.extend_from_slice(plain.as_bytes());
                rest = next;
            }
            None => {
                decoded.extend_from_slice(&rest.as_bytes()[2..]);
                return String::from_utf8(decoded).ok().map(Cow::from);
            }
        }
    }
}

/// A schema or a list of schemas. Anything else is no schema, and demands nothing.
fn schemas(value: &Value) -> impl Iterator<Item = &Value> {
    let list = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    list.iter().filter(|schema| schema.is_object())
}

fn named_schemas(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_object().into_iter().flat_map(Map::values).filter(|schema| schema.is_object())
}

fn patterns(keywords: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let of_names = keywords.get("patternProperties").and_then(Value::as_object);
    let of_names = of_names.into_iter().flat_map(Map::keys).map(String::as_str);
    keywords.get("pattern").and_then(Value::as_str).into_iter().chain(of_names)
}

fn match_effort(pattern: &str) -> u64 {
    let may_step_back = pattern.contains("(?")
        || pattern
            .as_bytes()
            .windows(2)
            .any(|two| two[0] == b'\\' && (two[1].is_ascii_digit() || two[1] == b'k'));
    if may_step_back { BACKTRACKING_PATTERN } else { PATTERN }
}

/// Finds what references can name; nothing if a schema below the root has an address of its own, which stands in `id`: then
/// references mean other things there.
fn find_anchors<'a>(value: &'a Value, id: &str, anchors: &mut HashMap<&'a str, &'a Value>) -> Option<()> {
    match value {
        Value::Array(items) => items.iter().try_for_each(|item| find_anchors(item, id, anchors)),
        Value::Object(fields) => {
            for keyword in ["$anchor", "$dynamicAnchor"] {
                if let Some(name) = fields.get(keyword).and_then(Value::as_str) {
                    anchors.insert(name, value);
                }
            }
            if let Some(address) = fields.get(id).and_then(Value::as_str) {
                anchors.insert(address.strip_prefix('#')?, value);
            }
            fields.values().try_for_each(|field| find_anchors(field, id, anchors))
        }
        _ => Some(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn doubling(levels: usize) -> Value {
        let mut definitions = Map::new();
        for level in 0..levels {
            let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
            definitions.insert(format!("d{level}"), json!({"allOf": [next, next]}));
        }
        definitions.insert(format!("d{levels}"), json!({"type": "object"}));
        json!({"type": "object", "$defs": definitions, "properties": {"x": {"$ref": "#/$defs/d0"}}})
    }

    #[test]
    fn references_count_as_often_as_they_are_reached() {
        assert!(ValidationCost::of(&doubling(8)).is_ok());
        for levels in [14, 24, 60, 100] {
            assert!(ValidationCost::of(&doubling(levels)).is_err(), "{levels}");
        }
        let anchored = json!({"$defs": {
            "a": {"$anchor": "a", "allOf": vec![json!({"$ref": "#b"}); 120]},
            "b": {"$anchor": "b", "anyOf": vec![json!({"type": "string"}); 120]}},
            "properties": {"x": {"$ref": "#a"}}});
        assert!(ValidationCost::of(&anchored).is_err());
        assert!(ValidationCost::of(&json!({"allOf": [{"$ref": "#"}]})).is_err(), "it leads back to itself");
        let embedded =
            json!({"$defs": {"a": {"$id": "https://example.com/a"}}, "$ref": "https://example.com/a"});
        assert!(ValidationCost::of(&embedded).is_err(), "what is not followed is not trusted");
        let encoded = json!({"$defs": {"List<a>": {"type": "string"}}, "$ref": "#/$defs/List%3Ca%3e"});
        assert!(ValidationCost::of(&encoded).is_ok());
    }

    #[test]
    fn work_is_what_applies_times_what_it_applies_to() {
        let wide =
            json!({"properties": {"list": {"items": {"anyOf": vec![json!({"required": ["a"]}); 2300]}}}});
        let effort = ValidationCost::of(&wide).unwrap();
        assert!(effort.with(&json!({"list": [{}]})).is_some());
        assert!(effort.with(&json!({"list": vec![json!({}); 80_000]})).is_none());
        let long = json!({"properties": {"text": {"enum": (0..5000).collect::<Vec<u32>>()}}});
        assert!(ValidationCost::of(&long).unwrap().with(&json!({"text": "x".repeat(1 << 14)})).is_none());
    }

    #[test]
    fn recursion_counts_by_the_depth_of_the_arguments() {
        let twice = json!({"properties": {"x": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}});
        let once = json!({"properties": {"x": {"$ref": "#"}, "list": {"items": {"$ref": "#"}}}});
        let nested = |depth: usize| (0..depth).fold(json!({}), |inner, _| json!({"x": inner}));
        let (twice, once) = (ValidationCost::of(&twice).unwrap(), ValidationCost::of(&once).unwrap());
        assert!(twice.with(&nested(4)).is_some() && once.with(&nested(10)).is_some());
        assert!(twice.with(&nested(60)).is_none() && once.with(&nested(60)).is_none());
        let finite = ValidationCost::of(&json!({"properties": {"x": {"type": "object"}}})).unwrap();
        assert!(finite.with(&nested(100)).is_some(), "what is not recursive is checked at any depth");
    }
}
