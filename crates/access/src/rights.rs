//! What a caller may do.

use std::{collections::BTreeSet, str::FromStr, sync::Arc};

/// How much a caller may change, by the annotations of tools. A tool without annotations counts as destructive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Tier {
    /// Only tools that change nothing (`readOnlyHint`).
    Read,
    /// Also tools that only add (`destructiveHint: false`).
    Write,
    /// Every tool.
    #[default]
    Destructive,
}

/// What a caller may do. The default is everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rights {
    /// The most that it may change.
    pub tier: Tier,
    /// The servers that it may use; none for all.
    pub servers: Option<Arc<BTreeSet<String>>>,
    /// The profile that it gets; none for what it asks for.
    pub profile: Option<Arc<str>>,
}

impl Rights {
    /// Whether it may use a server.
    pub fn allows_server(&self, server: &str) -> bool {
        self.servers.as_ref().is_none_or(|servers| servers.contains(server))
    }

    /// Whether nothing is forbidden.
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }
}

impl Tier {
    /// All of them, the smallest first.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Destructive];

    /// The word for files, options and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Destructive => "destructive",
        }
    }
}

/// A word that is no tier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a tier; it must be `read`, `write` or `destructive`")]
pub struct UnknownTier(String);

impl FromStr for Tier {
    type Err = UnknownTier;

    fn from_str(word: &str) -> Result<Self, UnknownTier> {
        Self::ALL.into_iter().find(|tier| tier.as_str() == word).ok_or_else(|| UnknownTier(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_limit_what_they_name() {
        let rights = Rights { servers: Some(Arc::new(BTreeSet::from(["a".into()]))), ..Rights::default() };
        assert!(rights.allows_server("a") && !rights.allows_server("b") && !rights.is_unlimited());
        assert!(Rights::default().allows_server("b") && Rights::default().is_unlimited());
    }

    #[test]
    fn tiers_are_ordered_and_named() {
        assert!(Tier::Read < Tier::Write && Tier::Write < Tier::Destructive);
        assert!(Tier::ALL.into_iter().all(|tier| tier.as_str().parse() == Ok(tier)));
        assert!("admin".parse::<Tier>().unwrap_err().to_string().starts_with("`admin` is not a tier"));
    }
}
