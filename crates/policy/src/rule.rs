//! One rule.

use std::fmt;

use toolbay_protocol::Tier;

use crate::{ArgumentMatcher, Mismatch, Pattern, Rate, Subject, ToolIdentity, ToolPattern};

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It is made.
    Allow,
    /// A person decides.
    Ask,
    /// It is refused. If that depends on no arguments, the tool is not even there.
    Deny,
    /// It is made, unless there were too many of them.
    Limit(Rate),
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allow => f.write_str("allow"),
            Self::Ask => f.write_str("ask"),
            Self::Deny => f.write_str("deny"),
            Self::Limit(rate) => write!(f, "limit {rate}"),
        }
    }
}

/// A rule: what it is about, and what happens. A list that is empty matches everything; of one that is not, one item must match.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// What messages and logs call it.
    pub name: Box<str>,
    /// Who calls.
    pub principals: Vec<Pattern>,
    /// With which profile. A caller without one does not match.
    pub profiles: Vec<Pattern>,
    /// At which server.
    pub servers: Vec<Pattern>,
    /// Which tool.
    pub tools: Vec<ToolPattern>,
    /// What the tool says that it may change.
    pub tiers: Vec<Tier>,
    /// With which arguments; all of these must match.
    pub arguments: Vec<ArgumentMatcher>,
    /// What happens then.
    pub action: Action,
    /// Why, for those who are refused.
    pub reason: Option<String>,
}

impl Rule {
    /// A rule about everything.
    pub fn new(name: &str, action: Action) -> Self {
        Self {
            name: name.into(),
            principals: Vec::new(),
            profiles: Vec::new(),
            servers: Vec::new(),
            tools: Vec::new(),
            tiers: Vec::new(),
            arguments: Vec::new(),
            action,
            reason: None,
        }
    }

    /// Whether it can be about calls of a caller.
    pub(crate) fn concerns(&self, subject: &Subject<'_>) -> bool {
        self.caller_mismatch(subject).is_none()
    }

    /// Whether it is about some tools of a server, and not about the whole server.
    pub(crate) fn is_about_tools(&self) -> bool {
        !self.tools.is_empty() || !self.tiers.is_empty() || !self.arguments.is_empty()
    }

    pub(crate) fn has_server(&self, server: &str) -> bool {
        is_any(&self.servers, |pattern| pattern.matches(server))
    }

    /// Why it does not match, arguments aside.
    pub(crate) fn mismatch(&self, subject: &Subject<'_>, tool: &ToolIdentity<'_>) -> Option<Mismatch> {
        if let Some(mismatch) = self.caller_mismatch(subject) {
            return Some(mismatch);
        }
        if !self.has_server(tool.server) {
            return Some(Mismatch::Server);
        }
        if !is_any(&self.tools, |pattern| pattern.matches(tool)) {
            return Some(Mismatch::Tool);
        }
        (!is_any(&self.tiers, |tier| *tier == tool.tier)).then_some(Mismatch::Tier(tool.tier))
    }

    fn caller_mismatch(&self, subject: &Subject<'_>) -> Option<Mismatch> {
        if !is_any(&self.principals, |pattern| pattern.matches(subject.principal)) {
            return Some(Mismatch::Principal);
        }
        let has_profile = |pattern: &Pattern| subject.profile.is_some_and(|profile| pattern.matches(profile));
        (!is_any(&self.profiles, has_profile)).then_some(Mismatch::Profile)
    }
}

/// Whether a list is empty or has an item that matches.
fn is_any<T>(items: &[T], matches: impl Fn(&T) -> bool) -> bool {
    items.is_empty() || items.iter().any(matches)
}
