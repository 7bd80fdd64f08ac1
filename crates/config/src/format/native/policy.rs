//! The table `[policy]`: rules for calls.

use toolbay_policy::{Action, ArgumentMatcher, Condition, Pattern, Policy, Rate, Rule, Scalar};
use toolbay_protocol::Tier;

use super::{
    profiles::{parsed, text},
    unknown,
};
use crate::syntax::{Key, Node};

/// In `[policy]`.
pub(crate) const KEYS: [&str; 1] = ["rules"];
/// In `[[policy.rules]]`.
pub(crate) const RULE_KEYS: [&str; 10] =
    ["name", "principal", "profile", "server", "tool", "tier", "arguments", "action", "rate", "reason"];
/// What is asked of an argument.
pub(crate) const CONDITION_KEYS: [&str; 4] = ["not", "min", "max", "exists"];
/// The values of `action`.
pub(crate) const ACTIONS: [&str; 4] = ["allow", "ask", "deny", "limit"];

/// More rules are mistakes.
const MAX_RULES: usize = 10_000;

/// Whether there is a table `[policy]`.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum PolicySection {
    /// There is none.
    #[default]
    Absent,
    /// It can be used.
    Valid(Policy),
    /// It has errors, which are reported. A hub must not run without it then: calls would be allowed that should not be.
    Invalid,
}

/// Reads the table; `wrong` collects mistakes.
pub(super) fn read(settings: &[(Key, Node)], mut wrong: impl FnMut(&Key, String)) -> PolicySection {
    let mut is_valid = true;
    let mut wrong = |key: &Key, message: String| {
        is_valid = false;
        wrong(key, message);
    };
    let mut rules: Vec<Rule> = Vec::new();
    for (key, node) in settings {
        let written = match (key.text.as_str(), node.list()) {
            ("rules", Some(written)) => written,
            ("rules", None) => {
                wrong(key, format!("`rules` must be an array of tables, got {}", node.kind()));
                continue;
            }
            (other, _) => {
                wrong(key, unknown(other, &KEYS));
                continue;
            }
        };
        if written.len() > MAX_RULES {
            wrong(key, format!("there are more than {MAX_RULES} rules"));
            continue;
        }
        for (index, node) in written.iter().enumerate() {
            let number = index + 1;
            let Some(entries) = node.entries() else {
                wrong(key, format!("rule {number} must be a table, got {}", node.kind()));
                continue;
            };
            let first = entries.first().map_or(key, |(first, _)| first);
            match rule(number, entries) {
                Ok(rule) if rules.iter().any(|other| other.name == rule.name) => {
                    wrong(first, format!("two rules have the name `{}`", rule.name));
                }
                Ok(rule) => rules.push(rule),
                Err((at, message)) => {
                    wrong(at.unwrap_or(first), format!("rule {number}: {message}"));
                }
            }
        }
    }
    if is_valid { PolicySection::Valid(Policy::new(rules)) } else { PolicySection::Invalid }
}

/// A mistake, and the key that has it if it is one key.
type Mistake<'a> = (Option<&'a Key>, String);

fn rule(number: usize, entries: &[(Key, Node)]) -> Result<Rule, Mistake<'_>> {
    let mut rule = Rule::new(&format!("rule {number}"), Action::Allow);
    let (mut action, mut rate) = (None, None);
    for (key, node) in entries {
        let at = |message: String| (Some(key), message);
        let name = key.text.as_str();
        match name {
            "name" => {
                let text = text(name, node).map_err(at)?;
                if text.trim().is_empty() || text.len() > 100 || text.contains(char::is_control) {
                    return Err(at("`name` must be one line of up to 100 bytes".to_owned()));
                }
                rule.name = text.into();
            }
            "principal" => rule.principals = patterns(name, node).map_err(at)?,
            "profile" => rule.profiles = patterns(name, node).map_err(at)?,
            "server" => rule.servers = patterns(name, node).map_err(at)?,
            "tool" => rule.tools = not_empty(name, parsed(name, node).map_err(at)?).map_err(at)?,
            "tier" => rule.tiers = not_empty(name, parsed::<Tier>(name, node).map_err(at)?).map_err(at)?,
            "arguments" => rule.arguments = arguments(node)?,
            "action" => action = Some(text(name, node).map_err(at)?),
            "rate" => {
                let parsed = text(name, node).map_err(at)?.parse::<Rate>();
                rate = Some(parsed.map_err(|error| at(error.to_string()))?);
            }
            "reason" => rule.reason = Some(text(name, node).map_err(at)?.to_owned()),
            _ => return Err(at(unknown(name, &RULE_KEYS))),
        }
    }
    rule.action = match (action, rate) {
        (Some("allow"), None) => Action::Allow,
        (Some("ask"), None) => Action::Ask,
        (Some("deny"), None) => Action::Deny,
        (Some("limit"), Some(rate)) => Action::Limit(rate),
        (Some("limit"), None) => {
            return Err((None, "`limit` needs a `rate`, for example \"10/m\"".to_owned()));
        }
        (Some("allow" | "ask" | "deny"), Some(_)) => {
            return Err((None, "`rate` is only for `action = \"limit\"`".to_owned()));
        }
        (_, _) => return Err((None, format!("`action` must be one of {}", ACTIONS.join(", ")))),
    };
    Ok(rule)
}

fn patterns(key: &str, node: &Node) -> Result<Vec<Pattern>, String> {
    not_empty(key, parsed(key, node)?)
}

/// An empty list would match nothing to people and everything to us.
fn not_empty<T>(key: &str, items: Vec<T>) -> Result<Vec<T>, String> {
    if items.is_empty() {
        return Err(format!("`{key}` must not be empty; leave it out to match everything"));
    }
    Ok(items)
}

/// `{ "/pointer" = condition }`.
fn arguments(node: &Node) -> Result<Vec<ArgumentMatcher>, Mistake<'_>> {
    let wrong = || (None, format!("`arguments` must be a table of JSON pointers, got {}", node.kind()));
    let entries = node.entries().filter(|entries| !entries.is_empty()).ok_or_else(wrong)?;
    let matcher = |(key, node): &'_ (Key, Node)| {
        let pointer = key.text.parse().map_err(|error: toolbay_policy::InvalidPointer| error.to_string())?;
        Ok(ArgumentMatcher { pointer, condition: condition(node)? })
    };
    entries
        .iter()
        .map(|entry| {
            matcher(entry).map_err(|message: String| (Some(&entry.0), format!("`arguments`: {message}")))
        })
        .collect()
}

fn condition(node: &Node) -> Result<Condition, String> {
    let Some(entries) = node.entries() else { return scalars(node).map(Condition::Is) };
    let (mut not, mut min, mut max, mut exists) = (None, None, None, None);
    for (key, node) in entries {
        let number = || node.number().ok_or_else(|| format!("`{}` must be a number", key.text));
        match key.text.as_str() {
            "not" => not = Some(scalars(node)?),
            "min" => min = Some(number()?),
            "max" => max = Some(number()?),
            "exists" => exists = Some(node.flag().ok_or("`exists` must be true or false")?),
            other => return Err(unknown(other, &CONDITION_KEYS)),
        }
    }
    match (not, min.is_some() || max.is_some(), exists) {
        (Some(not), false, None) => Ok(Condition::Not(not)),
        (None, true, None) => Ok(Condition::Range { min, max }),
        (None, false, Some(exists)) => Ok(Condition::Exists(exists)),
        _ => Err("a condition is a value, a list of values, or one of `not`, `min` with `max`, and `exists`"
            .to_owned()),
    }
}

fn scalars(node: &Node) -> Result<Vec<Scalar>, String> {
    let items = node.list().unwrap_or(std::slice::from_ref(node));
    if items.is_empty() {
        return Err("an empty list matches nothing".to_owned());
    }
    items.iter().map(scalar).collect()
}

fn scalar(node: &Node) -> Result<Scalar, String> {
    match node {
        Node::Flag(flag) => Ok(Scalar::Bool(*flag)),
        Node::Number(number) => {
            number.as_f64().map(Scalar::Number).ok_or("the number is too large".to_owned())
        }
        Node::Text(text) => {
            text.parse().map(Scalar::Text).map_err(|error: toolbay_policy::InvalidPattern| error.to_string())
        }
        Node::Null | Node::List(_) | Node::Map(_) => {
            Err(format!("a value is a string, a number or a boolean, got {}", node.kind()))
        }
    }
}
