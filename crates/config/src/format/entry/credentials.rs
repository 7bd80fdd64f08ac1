//! Headers, and the ways in which formats name variables instead of writing secrets.

use crate::{
    WrittenServer,
    format::fields::EntryFields,
    syntax::Node,
    template::{MissingValue, Style, Template},
};

pub(super) fn read(
    fields: &mut EntryFields<'_>,
    written: &mut WrittenServer,
    style: Style,
    notes: &mut Vec<String>,
) -> Result<(), String> {
    for (name, value) in fields.map(&["headers", "http_headers"])? {
        written.headers.insert(name, Template::parse(&value, style));
    }
    // Codex: values are names of variables.
    for (name, variable) in fields.map(&["env_http_headers"])? {
        written.headers.insert(name, Template::of_env("", &variable, MissingValue::LeavesOut));
    }
    if let Some(variable) = fields.text(&["bearer_token_env_var"])? {
        written.headers.insert(
            "Authorization".to_owned(),
            Template::of_env("Bearer ", variable, MissingValue::LeavesOut),
        );
    }
    // Codex passes what there is; goose has these in its keyring, and needs them.
    for (key, lack) in [("env_vars", MissingValue::IsFine), ("env_keys", MissingValue::LeavesOut)] {
        let Some((key, node)) = fields.take(&[key]) else { continue };
        let names = node.list().ok_or_else(|| format!("`{key}` must be an array, got {}", node.kind()))?;
        for name in names.iter().filter_map(name_of) {
            written.env.entry(name.to_owned()).or_insert_with(|| Template::of_env("", name, lack));
        }
    }
    for key in ["headersHelper", "http_headers_helper"] {
        if fields.take(&[key]).is_some() {
            notes.push(format!("`{key}` is not supported; put the headers into `headers`"));
        }
    }
    Ok(())
}

/// A name, or an object with one and where its value comes from.
fn name_of(node: &Node) -> Option<&str> {
    node.text().or_else(|| node.get("name")?.text())
}
