//! Finding `x-mcp-header` in a tool's schema.
//!
//! An annotation counts where it marks a parameter of a primitive type that is reached through `properties` alone.
//! Anywhere else it makes the whole tool invalid, so every place that holds a schema is looked at. Values that merely
//! look like schemas (`const`, `enum`, `default`, `examples`) are not.

use bytes::Bytes;

use super::HeaderParam;
use crate::{
    Fields, Rope, Scanner, Span, Splice, decode_string, json::string::decode_inner,
    message::envelope::plain_fields,
};

const ANNOTATION: &str = "x-mcp-header";

/// Keywords whose value is a schema, or an array of them.
const HOLD_SCHEMAS: [&str; 16] = [
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "oneOf",
    "anyOf",
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "contentSchema",
];
/// Keywords whose value is an object of schemas under any name.
const HOLD_NAMED_SCHEMAS: [&str; 5] =
    ["patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];

/// Why the annotations of a tool cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadAnnotation {
    /// The value is not the name of a header.
    #[error("`x-mcp-header` of `{param}` is {written}, which is not a header name")]
    Name { param: String, written: String },
    /// Two parameters share a header.
    #[error("two parameters have the `x-mcp-header` `{name}`")]
    Twice { name: String },
    /// The parameter has no primitive type.
    #[error("`{param}` has an `x-mcp-header`, but its type is not string, integer or boolean")]
    Type { param: String },
    /// The parameter cannot be found by its path alone.
    #[error("an `x-mcp-header` is used outside of properties")]
    Place,
}

/// The parameters that a tool wants in headers. `schema` is the JSON text of its `inputSchema`.
pub fn header_params(schema: &str) -> Result<Vec<HeaderParam>, BadAnnotation> {
    let mut found: Vec<HeaderParam> = Vec::new();
    for annotation in annotations(schema.as_bytes()) {
        let param = annotation.param(schema.as_bytes())?;
        if found.iter().any(|other| other.name.eq_ignore_ascii_case(&param.name)) {
            return Err(BadAnnotation::Twice { name: param.name });
        }
        found.push(param);
    }
    Ok(found)
}

/// A schema without any annotation, all else as it was written.
pub fn without_annotations(schema: &Bytes) -> Rope {
    let mut splice = Splice::new(schema);
    for annotation in annotations(schema) {
        for cut in annotation.object.cuts(schema, &[ANNOTATION]) {
            splice.replace(cut, "");
        }
    }
    splice.finish()
}

/// A schema that carries an annotation.
struct Annotation {
    object: Fields,
    /// The keys from the root; nothing where another way leads there.
    path: Option<Vec<String>>,
}

impl Annotation {
    fn param(&self, text: &[u8]) -> Result<HeaderParam, BadAnnotation> {
        let path = self.path.clone().filter(|path| !path.is_empty()).ok_or(BadAnnotation::Place)?;
        let raw = |key| self.object.get(text, key).map_or(&b""[..], |span| &text[span.range()]);
        let written = raw(ANNOTATION);
        let name =
            decode_string(written).filter(|name| is_token(name)).ok_or_else(|| BadAnnotation::Name {
                param: path.join("."),
                written: String::from_utf8_lossy(&written[..written.len().min(64)]).into_owned(),
            })?;
        let is_integer = match decode_string(raw("type")).as_deref() {
            Some("integer") => true,
            Some("string" | "boolean") => false,
            _ => return Err(BadAnnotation::Type { param: path.join(".") }),
        };
        Ok(HeaderParam { name: name.into_owned(), path, is_integer })
    }
}

/// Every schema with an annotation, wherever it stands. A text that is no schema has none.
fn annotations(text: &[u8]) -> Vec<Annotation> {
    let mut found = Vec::new();
    // Places still to be looked at. Depth costs no stack this way, and the scanner bounds it besides.
    let mut places = vec![(Span::new(0, text.len()), Some(Vec::new()))];
    while let Some((place, path)) = places.pop() {
        let Some(object) = fields_at(text, place) else {
            places.extend(items_at(text, place).into_iter().map(|item| (item, None)));
            continue;
        };
        for field in &object.entries {
            let key = decode_inner(&text[field.key.range()]);
            if HOLD_SCHEMAS.contains(&&*key) {
                places.push((field.value, None));
            } else if key == "properties" || HOLD_NAMED_SCHEMAS.contains(&&*key) {
                for member in fields_at(text, field.value).iter().flat_map(|members| &members.entries) {
                    let path = path.as_ref().filter(|_| key == "properties").map(|path: &Vec<String>| {
                        let name = decode_inner(&text[member.key.range()]).into_owned();
                        path.iter().cloned().chain([name]).collect()
                    });
                    places.push((member.value, path));
                }
            }
        }
        if object.find(text, ANNOTATION).is_some() {
            found.push(Annotation { object, path });
        }
    }
    // In the order in which they are written, so that messages and headers do not depend on how we look.
    found.sort_by_key(|annotation| annotation.object.span.start);
    found
}

/// The fields of the object at `place`, with places of the whole text; nothing when it is no object.
fn fields_at(text: &[u8], place: Span) -> Option<Fields> {
    let inner = &text[place.range()];
    let mut fields = plain_fields(inner, &mut Scanner::new(inner), None).ok()?;
    let moved = |span: Span| Span { start: span.start + place.start, end: span.end + place.start };
    fields.span = moved(fields.span);
    for field in &mut fields.entries {
        field.key = moved(field.key);
        field.value = moved(field.value);
    }
    Some(fields)
}

/// The items of the array at `place`; none when it is no array.
fn items_at(text: &[u8], place: Span) -> Vec<Span> {
    let mut items = Vec::new();
    let walked = Scanner::new(&text[place.range()]).array(|scanner| {
        let item = scanner.value()?;
        items.push(Span { start: item.start + place.start, end: item.end + place.start });
        Ok(())
    });
    if walked.is_ok() { items } else { Vec::new() }
}

/// Whether a name of a header may hold this (RFC 9110, token).
fn is_token(name: &str) -> bool {
    let is_token_char = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_token_char)
}
