//! What clients see of a server's name.

/// The longest prefix of names of tools.
const MAX: usize = 24;

/// The prefix that the tools of a server get, before equal ones are told apart.
pub(crate) fn slug(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let mapped: String = name.chars().map(plain).take(MAX).collect();
    mapped.trim_matches('-').to_owned()
}
