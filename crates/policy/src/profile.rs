//! Profiles: what a caller sees, and how.

use std::{fmt, str::FromStr, sync::Arc};

use crate::{Naming, Pattern, ToolIdentity, ToolPattern};

/// Longer names are mistakes.
const MAX_NAME: usize = 64;

/// The name of a profile. It is part of URLs, so it has only characters that need no escape there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProfileName(Arc<str>);

/// A text that is no name of a profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a name of a profile; use up to {MAX_NAME} letters, digits, `-` and `_`")]
pub struct InvalidProfileName(String);

impl ProfileName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ProfileName {
    type Err = InvalidProfileName;

    fn from_str(text: &str) -> Result<Self, InvalidProfileName> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        match !text.is_empty() && text.len() <= MAX_NAME && text.bytes().all(is_plain) {
            true => Ok(Self(text.into())),
            false => Err(InvalidProfileName(text.chars().take(MAX_NAME).collect())),
        }
    }
}

impl fmt::Display for ProfileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which tools a client is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Exposure {
    /// All of them.
    #[default]
    All,
    /// The tools of the hub that find the others, and those that are always listed.
    Search,
    /// All, unless their definitions are too long for the client.
    Auto,
}

impl Exposure {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::All, Self::Search, Self::Auto];

    /// The word for files, options and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Search => "search",
            Self::Auto => "auto",
        }
    }
}

impl FromStr for Exposure {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|exposure| exposure.as_str() == word);
        known.ok_or_else(|| format!("unknown exposure `{word}`; use all, search or auto"))
    }
}

impl fmt::Display for Exposure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Which tools are there. What is denied is denied even if it is allowed, too.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolSelection {
    /// The tools that are there; none for all.
    pub allow: Option<Vec<ToolPattern>>,
    /// The tools that are not.
    pub deny: Vec<ToolPattern>,
}

impl ToolSelection {
    fn contains(&self, tool: &ToolIdentity<'_>) -> bool {
        let is_any = |patterns: &[ToolPattern]| patterns.iter().any(|pattern| pattern.matches(tool));
        self.allow.as_deref().is_none_or(is_any) && !is_any(&self.deny)
    }
}

/// What a caller sees of the hub, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Its name.
    pub name: ProfileName,
    /// What it is for, for people.
    pub description: Option<String>,
    /// The servers that are there; none for all.
    pub servers: Option<Vec<Pattern>>,
    /// The tools that are there.
    pub tools: ToolSelection,
    /// Which of them are listed; none for what the hub says otherwise.
    pub exposure: Option<Exposure>,
    /// How many tokens the definitions may have before [`Exposure::Auto`] hides some; none for the usual number.
    pub budget: Option<u64>,
    /// The tools that are listed in any case.
    pub always_listed: Vec<ToolPattern>,
    /// How tools and prompts are named; none for what the hub says otherwise.
    pub naming: Option<Naming>,
    /// What models read before what servers say about themselves.
    pub instructions: Option<String>,
    /// How many bytes a result may have before it is cut; none for what the hub says otherwise.
    pub max_result: Option<u64>,
    /// The clients that get it without asking for it, by the name in their `clientInfo`.
    pub clients: Vec<Pattern>,
}

impl Profile {
    /// A profile that shows everything.
    pub fn new(name: ProfileName) -> Self {
        Self {
            name,
            description: None,
            servers: None,
            tools: ToolSelection::default(),
            exposure: None,
            budget: None,
            always_listed: Vec::new(),
            naming: None,
            instructions: None,
            max_result: None,
            clients: Vec::new(),
        }
    }

    /// Whether a server is there.
    pub fn has_server(&self, server: &str) -> bool {
        self.servers.as_ref().is_none_or(|servers| servers.iter().any(|pattern| pattern.matches(server)))
    }

    /// Whether a tool of a server that is there is there, too.
    pub fn has_tool(&self, tool: &ToolIdentity<'_>) -> bool {
        self.tools.contains(tool)
    }

    /// Whether a tool is listed in any case.
    pub fn always_lists(&self, tool: &ToolIdentity<'_>) -> bool {
        self.always_listed.iter().any(|pattern| pattern.matches(tool))
    }

    /// Whether a client gets it by its name.
    pub fn is_for_client(&self, client: &str) -> bool {
        self.clients.iter().any(|pattern| pattern.matches(client))
    }
}

#[cfg(test)]
mod tests {
    use toolbay_protocol::Tier;

    use super::*;

    fn tool<'a>(server: &'a str, name: &'a str, qualified: &'a str) -> ToolIdentity<'a> {
        ToolIdentity { server, name, qualified, exposed: qualified, tier: Tier::Read }
    }

    #[test]
    fn a_profile_selects_servers_and_tools() {
        let mut profile = Profile::new("work".parse().unwrap());
        let (own, foreign) = (tool("a", "get", "a__get"), tool("b", "a__get", "b__a__get"));
        assert!(profile.has_server("a") && profile.has_tool(&own));
        profile.servers = Some(vec!["a*".parse().unwrap()]);
        assert!(profile.has_server("ab") && !profile.has_server("b"));
        profile.tools.allow = Some(vec!["a__*".parse().unwrap()]);
        assert!(profile.has_tool(&own));
        assert!(!profile.has_tool(&foreign), "no server can name its tools like those of another");
        profile.tools.deny = vec!["g?t".parse().unwrap()];
        assert!(!profile.has_tool(&own));
    }

    #[test]
    fn names_need_no_escape_in_urls() {
        for name in ["", "a/b", "a b", "ä", "a.b", &"x".repeat(65)] {
            assert!(name.parse::<ProfileName>().is_err(), "{name}");
        }
        assert_eq!("Work-1_a".parse::<ProfileName>().unwrap().as_str(), "Work-1_a");
    }
}
