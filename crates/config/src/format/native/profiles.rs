//! The tables `[profiles.NAME]`: what callers see of the hub, and how.

use toolbay_policy::{Profile, ProfileName, ToolSelection};

use super::{
    hub::{texts, wrong_kind},
    unknown,
};
use crate::syntax::{Key, Node};

/// In `[profiles.NAME]`.
pub(crate) const KEYS: [&str; 10] = [
    "description",
    "servers",
    "tools",
    "exposure",
    "budget",
    "always_list",
    "naming",
    "instructions",
    "max_result",
    "clients",
];

/// More profiles are mistakes, and more text than models read.
const MAX_PROFILES: usize = 256;
const MAX_INSTRUCTIONS: usize = 16 * 1024;

/// A profile of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProfileEntry {
    /// It can be used.
    Valid(Box<Profile>),
    /// It has errors, which are reported. Nothing is shown with it, unless an earlier version is known.
    Invalid(ProfileName),
}

impl ProfileEntry {
    /// Its name.
    pub fn name(&self) -> &ProfileName {
        match self {
            Self::Valid(profile) => &profile.name,
            Self::Invalid(name) => name,
        }
    }
}

/// Reads the tables; `wrong` collects mistakes.
pub(super) fn read(tables: &[(Key, Node)], mut wrong: impl FnMut(&Key, String)) -> Vec<ProfileEntry> {
    let mut profiles = Vec::new();
    for (key, node) in tables {
        if profiles.len() == MAX_PROFILES {
            wrong(key, format!("there are more than {MAX_PROFILES} profiles"));
            break;
        }
        let name: ProfileName = match key.text.parse() {
            Ok(name) => name,
            Err(error) => {
                wrong(key, format!("{error}"));
                continue;
            }
        };
        let Some(settings) = node.entries() else {
            wrong(key, format!("`profiles.{name}` must be a table, got {}", node.kind()));
            profiles.push(ProfileEntry::Invalid(name));
            continue;
        };
        let mut profile = Profile::new(name.clone());
        let mut is_valid = true;
        for (key, node) in settings {
            if let Err(message) = setting(&mut profile, &key.text, node) {
                is_valid = false;
                wrong(key, format!("profile `{name}`: {message}"));
            }
        }
        profiles.push(match is_valid {
            true => ProfileEntry::Valid(Box::new(profile)),
            false => ProfileEntry::Invalid(name),
        });
    }
    profiles
}

fn setting(profile: &mut Profile, key: &str, node: &Node) -> Result<(), String> {
    match key {
        "description" => profile.description = Some(text(key, node)?.to_owned()),
        "servers" => profile.servers = Some(parsed(key, node)?),
        "tools" => profile.tools = tools(node)?,
        "exposure" => profile.exposure = Some(text(key, node)?.parse()?),
        "budget" => profile.budget = Some(count(key, node)?),
        "always_list" => profile.always_listed = parsed(key, node)?,
        "naming" => profile.naming = Some(text(key, node)?.parse()?),
        "instructions" => {
            let text = text(key, node)?;
            if text.len() > MAX_INSTRUCTIONS {
                return Err(format!("`{key}` may have at most {MAX_INSTRUCTIONS} bytes"));
            }
            profile.instructions = Some(text.to_owned()).filter(|text| !text.trim().is_empty());
        }
        "max_result" => profile.max_result = Some(count(key, node)?),
        "clients" => profile.clients = parsed(key, node)?,
        _ => return Err(unknown(key, &KEYS)),
    }
    Ok(())
}

/// `{ allow = […], deny = […] }`, or a list of those to allow.
fn tools(node: &Node) -> Result<ToolSelection, String> {
    let mut selection = ToolSelection::default();
    let Some(entries) = node.entries() else {
        selection.allow = Some(parsed("tools", node)?);
        return Ok(selection);
    };
    for (key, node) in entries {
        match key.text.as_str() {
            "allow" => selection.allow = Some(parsed("tools.allow", node)?),
            "deny" => selection.deny = parsed("tools.deny", node)?,
            other => return Err(unknown(other, &["allow", "deny"])),
        }
    }
    Ok(selection)
}

/// A text or a list of texts, each of them parsed.
pub(super) fn parsed<T>(key: &str, node: &Node) -> Result<Vec<T>, String>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    let parse = |text: &str| text.parse().map_err(|error: T::Err| format!("`{key}`: {error}"));
    texts(key, node)?.into_iter().map(parse).collect()
}

pub(super) fn text<'a>(key: &str, node: &'a Node) -> Result<&'a str, String> {
    node.text().ok_or_else(|| wrong_kind(key, "a string", node))
}

fn count(key: &str, node: &Node) -> Result<u64, String> {
    let count = match node {
        Node::Number(number) => number.as_u64().filter(|count| *count > 0),
        _ => None,
    };
    count.ok_or_else(|| format!("`{key}` must be a number greater than 0"))
}
