//! Arguments that certainly fit, known without a tree.
//!
//! Most schemas of tools say which arguments there are, of which type, and which must be there. For those one walk over
//! the text is enough, and nothing of it is copied. Whatever is not certain is left to the real check.

use serde_json::{Map, Value};
use smallvec::SmallVec;
use toolbay_protocol::Scanner;

/// More fields than this are not looked up one by one.
const MAX_FIELDS: usize = 32;
/// Whole numbers up to this length are whole in every dialect and for every reader.
const MAX_DIGITS: usize = 18;
/// Keywords that describe and demand nothing.
const ANNOTATIONS: [&str; 8] =
    ["title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"];

/// What a plain schema demands.
#[derive(Debug)]
pub(super) struct SimpleSchema {
    fields: Vec<FieldSchema>,
    /// Whether there may be other fields.
    is_open: bool,
}

#[derive(Debug)]
struct FieldSchema {
    name: String,
    demand: Constraint,
    is_required: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Constraint {
    Nothing,
    /// One of these types.
    Types(Vec<Type>),
    /// Something that is not understood here.
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Object,
    Array,
    String,
    Number,
    Integer,
    Boolean,
    Null,
}

impl SimpleSchema {
    /// Reads a schema (JSON text); nothing if it demands something of the whole that is not understood here, or requires
    /// what it does not describe.
    pub(super) fn read(schema: &str) -> Option<Self> {
        let Ok(Value::Object(schema)) = serde_json::from_str(schema) else { return None };
        let mut plain = Self { fields: Vec::new(), is_open: true };
        for (keyword, value) in &schema {
            match keyword.as_str() {
                "type" => (value == "object").then_some(())?,
                "properties" => {
                    let field = |(name, schema): (&String, &Value)| FieldSchema {
                        name: name.clone(),
                        demand: Constraint::of(schema),
                        is_required: false,
                    };
                    plain.fields.extend(value.as_object()?.iter().map(field));
                }
                "required" | "$schema" => {}
                "additionalProperties" => plain.is_open = value.as_bool()?,
                other => ANNOTATIONS.contains(&other).then_some(())?,
            }
        }
        plain.require(schema.get("required"))?;
        (plain.fields.len() <= MAX_FIELDS).then_some(plain)
    }

    fn require(&mut self, names: Option<&Value>) -> Option<()> {
        let Some(names) = names else { return Some(()) };
        for name in names.as_array()? {
            let name = name.as_str()?;
            self.fields.iter_mut().find(|field| field.name == name)?.is_required = true;
        }
        Some(())
    }

    /// Whether arguments (JSON text) certainly fit. Those that do not may fit all the same.
    pub(super) fn fits(&self, arguments: &[u8]) -> bool {
        let mut seen = 0_u32;
        let mut unknown: SmallVec<[&[u8]; 8]> = SmallVec::new();
        let mut certain = true;
        let mut scanner = Scanner::new(arguments);
        let walked = scanner.object(|scanner, key| {
            let value = scanner.value()?;
            let (key, value) = (&arguments[key.range()], &arguments[value.range()]);
            // A key with escapes may mean any field.
            certain &= !key.contains(&b'\\');
            match self.fields.iter().position(|field| field.name.as_bytes() == key) {
                // A key that stands twice is no certainty.
                Some(index) => {
                    certain &= seen & 1 << index == 0 && self.fields[index].demand.is_met_by(value);
                    seen |= 1 << index;
                }
                None => {
                    certain &= self.is_open && unknown.len() < MAX_FIELDS && !unknown.contains(&key);
                    unknown.push(key);
                }
            }
            Ok(())
        });
        let mut required = self.fields.iter().enumerate().filter(|(_, field)| field.is_required);
        walked.is_ok() && certain && required.all(|(index, _)| seen & 1 << index != 0)
    }
}

impl Constraint {
    fn of(schema: &Value) -> Self {
        match schema {
            Value::Bool(true) => Self::Nothing,
            Value::Object(schema) => Self::of_object(schema).unwrap_or(Self::Other),
            _ => Self::Other,
        }
    }

    fn of_object(schema: &Map<String, Value>) -> Option<Self> {
        let mut demand = Self::Nothing;
        for (keyword, value) in schema {
            match (keyword.as_str(), value) {
                ("type", Value::String(name)) => demand = Self::Types(vec![Type::named(name)?]),
                ("type", Value::Array(names)) => {
                    let types = names.iter().map(|name| Type::named(name.as_str()?));
                    demand = Self::Types(types.collect::<Option<_>>()?);
                }
                (other, _) => ANNOTATIONS.contains(&other).then_some(())?,
            }
        }
        Some(demand)
    }

    fn is_met_by(&self, value: &[u8]) -> bool {
        match self {
            Self::Nothing => true,
            Self::Types(types) => types.iter().any(|expected| expected.is_certainly(value)),
            Self::Other => false,
        }
    }
}

impl Type {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "object" => Self::Object,
            "array" => Self::Array,
            "string" => Self::String,
            "number" => Self::Number,
            "integer" => Self::Integer,
            "boolean" => Self::Boolean,
            "null" => Self::Null,
            _ => return None,
        })
    }

    /// Whether a value (JSON text) is of this type, by how it begins; a number may be whole without looking so.
    fn is_certainly(self, value: &[u8]) -> bool {
        match (self, value.first()) {
            (Self::Object, Some(b'{'))
            | (Self::Array, Some(b'['))
            | (Self::String, Some(b'"'))
            | (Self::Number, Some(b'-' | b'0'..=b'9'))
            | (Self::Boolean, Some(b't' | b'f'))
            | (Self::Null, Some(b'n')) => true,
            (Self::Integer, _) => {
                let digits = value.strip_prefix(b"-").unwrap_or(value);
                // `-0` is no whole number to all.
                (1..=MAX_DIGITS).contains(&digits.len())
                    && digits.iter().all(u8::is_ascii_digit)
                    && value != b"-0"
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Validator;

    const SCHEMA: &str = r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{
        "path":{"type":"string","description":"where"},"count":{"type":"integer","default":1},
        "any":{},"either":{"type":["boolean","null"]},"odd":{"type":"number","multipleOf":2}},"required":["path"]}"#;

    #[test]
    fn what_is_certain_needs_no_tree() {
        let plain = SimpleSchema::read(SCHEMA).unwrap();
        for fitting in [
            r#"{"path":"a"}"#,
            r#"{"count":-12,"path":"\"","any":[1,{}],"either":null}"#,
            r#" { "path" : "a" , "unknown" : 1 } "#,
        ] {
            assert!(plain.fits(fitting.as_bytes()), "{fitting}");
        }
        for open in [
            "{}",
            r#"{"path":1}"#,
            r#"{"path":"a","count":1.0}"#,
            r#"{"path":"a","count":-0}"#,
            r#"{"path":"a","count":12345678901234567890}"#,
            r#"{"path":"a","either":"x"}"#,
            r#"{"path":"a","odd":2}"#,
            r#"{"path":"a","p\u0061th":1}"#,
            r#"{"path":"a","path":1}"#,
            r#"{"path":"a","path":"a"}"#,
            r#"{"path":"a","unknown":1,"unknown":1}"#,
            "[]",
        ] {
            assert!(!plain.fits(open.as_bytes()), "{open}");
        }
        let closed = SimpleSchema::read(r#"{"properties":{"a":true},"additionalProperties":false}"#).unwrap();
        assert!(closed.fits(br#"{"a":1}"#) && closed.fits(b"{}") && !closed.fits(br#"{"b":1}"#));
    }

    #[test]
    fn what_demands_more_is_not_plain() {
        for schema in [
            r#"{"type":"object","anyOf":[]}"#,
            r#"{"type":"object","minProperties":1}"#,
            r#"{"type":"object","required":["a"]}"#,
            r#"{"type":"object","additionalProperties":{"type":"string"}}"#,
            r##"{"$ref":"#/$defs/a"}"##,
            "true",
        ] {
            assert!(SimpleSchema::read(schema).is_none(), "{schema}");
        }
        let many: Vec<String> = (0..=MAX_FIELDS).map(|index| format!("\"{index}\":{{}}")).collect();
        assert!(SimpleSchema::read(&format!("{{\"properties\":{{{}}}}}", many.join(","))).is_none());
    }

    /// Small pieces of schemas and values, so that they meet often.
    fn schema() -> impl Strategy<Value = String> {
        let kind = prop::sample::select(vec![
            "true",
            "false",
            "{}",
            r#"{"type":"string"}"#,
            r#"{"type":"integer","title":"n"}"#,
            r#"{"type":["number","null"]}"#,
            r#"{"type":"string","maxLength":1}"#,
            r#"{"enum":["x"]}"#,
        ]);
        let draft =
            prop::sample::select(vec!["http://json-schema.org/draft-04/schema#", "draft-07", "2020-12"]);
        let required = prop::sample::select(vec!["", r#","required":["a"]"#, r#","required":["a","b"]"#]);
        let rest =
            prop::sample::select(vec!["", r#","additionalProperties":false"#, r#","maxProperties":1"#]);
        (kind.clone(), kind, draft, required, rest).prop_map(|(a, b, draft, required, rest)| {
            format!(r#"{{"$schema":"{draft}","properties":{{"a":{a},"b":{b}}}{required}{rest}}}"#)
        })
    }

    fn arguments() -> impl Strategy<Value = String> {
        let value = prop::sample::select(vec![
            "1", "-0", "1.0", "1e2", "\"x\"", "\"long\"", "null", "true", "{}", "[\"]\"]",
        ]);
        let key = prop::sample::select(vec!["a", "b", "c", "\\u0061"]);
        prop::collection::vec((key, value), 0..4).prop_map(|fields| {
            let fields: Vec<String> =
                fields.into_iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
            format!("{{{}}}", fields.join(" , "))
        })
    }

    proptest! {
        #[test]
        fn what_the_simple_schema_accepts_is_valid(schema in schema(), arguments in arguments()) {
            let plain = SimpleSchema::read(&schema).filter(|plain| plain.fits(arguments.as_bytes()));
            if plain.is_some() {
                let compiled = Validator::of_known(&schema);
                prop_assert_eq!(compiled.faults_in_tree(arguments.as_bytes()), Vec::<String>::new());
            }
        }
    }
}
