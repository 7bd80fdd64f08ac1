//! Filters of two scopes as one: what either forbids is forbidden.

use crate::{ToolFilter, glob};

/// Allow-lists intersect, deny-lists unite.
pub(super) fn both(one: &ToolFilter, other: &ToolFilter) -> ToolFilter {
    let allow = match (&one.allow, &other.allow) {
        (Some(one), Some(other)) => Some(intersection(one, other)),
        (Some(only), None) | (None, Some(only)) => Some(only.clone()),
        (None, None) => None,
    };
    let mut deny = one.deny.clone();
    deny.extend(other.deny.iter().filter(|pattern| !one.deny.contains(pattern)).cloned());
    ToolFilter { allow, deny }
}

/// The patterns of each list that lie within one of the other. Two patterns that only overlap (`a*`, `*b`) have no
/// pattern in common that could be written down, so they allow nothing: never more than either list.
fn intersection(one: &[String], other: &[String]) -> Vec<String> {
    let within = |pattern: &String, list: &[String]| list.iter().any(|wider| glob::matches(wider, pattern));
    let mut both: Vec<String> = one.iter().filter(|pattern| within(pattern, other)).cloned().collect();
    let more: Vec<String> =
        other.iter().filter(|pattern| within(pattern, one) && !both.contains(pattern)).cloned().collect();
    both.extend(more);
    both
}
