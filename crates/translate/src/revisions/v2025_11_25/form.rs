//! Forms: choices with titles, and choices of several.

use std::collections::HashSet;

use toolbay_protocol::decode_string;

use super::lacks;
use crate::{
    json::{FieldEdit, Object, array, items},
    server_request::UnsupportedServerRequest,
};

/// A form in the words of 2025-06-18. A choice of several has no words there: it goes if it may be left out.
pub(super) fn for_older(params: &mut Object<'_>) -> Result<(), UnsupportedServerRequest> {
    let Some(mut schema) = params.get("requestedSchema").and_then(Object::parse) else { return Ok(()) };
    let Some(mut properties) = schema.get("properties").and_then(Object::parse) else { return Ok(()) };
    let required = schema.get("required").and_then(items).unwrap_or_default();
    let required: HashSet<_> =
        required.into_iter().filter_map(|name| decode_string(name.as_bytes())).collect();
    let mut must_choose_several = false;
    properties.sift(|name, property| {
        if is_choice_of_several(property) {
            must_choose_several |= required.contains(name);
            return FieldEdit::Goes;
        }
        titles_beside_values(property).map_or(FieldEdit::Stays, FieldEdit::Becomes)
    });
    if must_choose_several {
        return Err(lacks("multi-select in a form"));
    }
    if let Some(properties) = properties.changed_text() {
        schema.set("properties", properties);
        let schema = schema.text();
        params.set("requestedSchema", schema);
    }
    Ok(())
}

fn is_choice_of_several(property: &str) -> bool {
    Object::parse(property)
        .is_some_and(|property| property.string("type").is_some_and(|kind| kind == "array"))
}

/// `oneOf` with a title for each value, as `enum` with `enumNames`.
fn titles_beside_values(property: &str) -> Option<String> {
    let mut property = Object::parse(property)?;
    let options: Vec<Object<'_>> =
        items(property.get("oneOf")?)?.into_iter().map(Object::parse).collect::<Option<_>>()?;
    let values: Vec<&str> = options.iter().map(|option| option.get("const")).collect::<Option<_>>()?;
    let titles: Vec<&str> =
        options.iter().map(|option| option.get("title").or(option.get("const"))).collect::<Option<_>>()?;
    let (values, titles) = (array(&values), array(&titles));
    property.remove("oneOf");
    property.set("enum", values);
    property.set("enumNames", titles);
    Some(property.text())
}
