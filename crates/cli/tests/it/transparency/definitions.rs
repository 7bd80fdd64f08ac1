//! Definitions of tools that some clients would refuse: they change as ARCHITECTURE.md lists it, and in no other way.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use toolbay_testkit::harness::{Programs, Setup};

use super::{
    FRONTS, Pair, RevisionKind,
    peers::Peer,
    raw::{field, fields},
    tools,
};
use crate::odd_tools::{Odd, interop, odd_tools};

type Fields = Vec<(String, String)>;

#[test]
fn definitions_of_tools_change_only_as_listed() -> Result<()> {
    let programs = Programs::beside(Path::new(env!("CARGO_BIN_EXE_toolbay")))?;
    let file = interop().join("odd_tools.json").canonicalize()?.display().to_string();
    let flags = ["--tools-file", &file];
    for front in FRONTS {
        let folder = tempfile::Builder::new().prefix("toolbay-").tempdir()?;
        let setup = Setup::new(programs.clone(), folder.path()).hostile("s", &flags, serde_json::json!({}));
        let direct = Peer::direct(programs.pipe("toolbay-hostile", &flags)?, RevisionKind::Legacy)?;
        let mut pair =
            Pair { server: RevisionKind::Legacy, direct, through: Peer::through(setup, front, "s__good")? };
        compare(&mut pair).with_context(|| format!("{front:?}"))?;
    }
    Ok(())
}

fn compare(pair: &mut Pair) -> Result<()> {
    let (direct, through) = pair.ask("7", "tools/list", "", r#"{"_meta":{META"a/b":1}}"#)?;
    let (direct, through) = (tools(&direct)?, tools(&through)?);
    let odd = odd_tools()?;
    ensure!(direct.len() == odd.len(), "the server lists {} of {}", direct.len(), odd.len());
    let mut listed = through.iter().peekable();
    for (direct, odd) in direct.iter().zip(&odd) {
        let is_listed = match odd.through.as_str() {
            "aside" => false,
            "any" => is_named(listed.peek().context("the list ends too early")?, direct)?,
            _ => true,
        };
        if is_listed {
            let through = listed.next().with_context(|| format!("not listed: {direct}"))?;
            same_definition(direct, through, odd, pair.through.revision())
                .with_context(|| format!("\ndirect:  {direct}\nthrough: {through}"))?;
        }
    }
    ensure!(listed.next().is_none(), "more is listed than the server has");
    Ok(())
}

/// Whether a tool has the name of another, with the prefix of its server.
fn is_named(through: &str, direct: &str) -> Result<bool> {
    Ok(field(through, "name")? == field(direct, "name")?.map(|name| name.replacen('"', "\"s__", 1)))
}

fn same_definition(direct: &str, through: &str, odd: &Odd, client: RevisionKind) -> Result<()> {
    let mut expected = fields(direct)?;
    let mut shown = fields(through)?;
    // Names that do not fit are made to fit; other tests say how.
    let is_plain = field(direct, "name")?.is_some_and(|name| {
        name.len() < 40 && name.chars().all(|c| c.is_ascii_alphanumeric() || "_\"".contains(c))
    });
    ensure!(!is_plain || is_named(through, direct)?, "its name");
    expected.retain(|(key, _)| key != "name" && !odd.without.contains(key));
    shown.retain(|(key, _)| key != "name");
    if odd.through == "typed" {
        let schema = typed(take(&mut expected, "inputSchema"), take(&mut shown, "inputSchema"))?;
        ensure!(schema, "more of its schema than the type");
    }
    if client == RevisionKind::Legacy {
        for_older(&mut expected)?;
    }
    ensure!(expected == shown, "expected {expected:?}");
    Ok(())
}

fn take(fields: &mut Fields, name: &str) -> Option<String> {
    let index = fields.iter().position(|(key, _)| key == name)?;
    Some(fields.remove(index).1)
}

/// Whether a schema differs from another in nothing but that its type is `object`.
fn typed(direct: Option<String>, through: Option<String>) -> Result<bool> {
    let mut direct = fields(&direct.unwrap_or_else(|| "{}".to_owned()))?;
    let mut through = fields(&through.context("no schema")?)?;
    take(&mut direct, "type");
    Ok(take(&mut through, "type").as_deref() == Some("\"object\"") && direct == through)
}

/// What clients of the revisions with a handshake get otherwise, by the table of docs/revisions.md.
fn for_older(tool: &mut Fields) -> Result<()> {
    let is_of_object = |schema: &str| {
        fields(schema).is_ok_and(|fields| fields.contains(&("type".into(), "\"object\"".into())))
    };
    tool.retain(|(key, schema)| key != "outputSchema" || is_of_object(schema));
    for (_, schema) in tool.iter_mut().filter(|(key, _)| key.ends_with("Schema")) {
        let Ok(Some(properties)) = field(schema, "properties") else { continue };
        for (key, value) in fields(&properties).unwrap_or_default() {
            let object = match value.as_str() {
                "true" => "{}",
                "false" => "{\"not\":{}}",
                _ => continue,
            };
            let changed =
                properties.replacen(&format!("\"{key}\":{value}"), &format!("\"{key}\":{object}"), 1);
            let changed =
                changed.replacen(&format!("\"{key}\": {value}"), &format!("\"{key}\": {object}"), 1);
            *schema = schema.replacen(&properties, &changed, 1);
        }
    }
    Ok(())
}
