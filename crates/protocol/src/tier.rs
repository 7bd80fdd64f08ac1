//! What tools say that they may change.

use std::str::FromStr;

use serde::Deserialize;

use crate::model::Tool;

/// How much a tool may change, by its annotations. One without annotations counts as destructive, as MCP says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Tier {
    /// It changes nothing (`readOnlyHint`).
    Read,
    /// It only adds (`destructiveHint: false`).
    Write,
    /// Anything.
    #[default]
    Destructive,
}

impl Tier {
    /// All of them, the smallest first.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Destructive];

    /// What a tool says that it may change.
    pub fn of(tool: &Tool) -> Self {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct Annotations {
            read_only_hint: Option<bool>,
            destructive_hint: Option<bool>,
        }
        let annotations = tool.item().raw("annotations");
        let annotations: Annotations =
            annotations.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        match annotations {
            Annotations { read_only_hint: Some(true), .. } => Self::Read,
            Annotations { destructive_hint: Some(false), .. } => Self::Write,
            _ => Self::Destructive,
        }
    }

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
    fn tools_are_destructive_unless_they_say_otherwise() {
        for (annotations, tier) in [
            (r#"{}"#, Tier::Destructive),
            (r#"{"readOnlyHint":true}"#, Tier::Read),
            (r#"{"readOnlyHint":true,"destructiveHint":true}"#, Tier::Read),
            (r#"{"readOnlyHint":false,"destructiveHint":false}"#, Tier::Write),
            (r#"{"destructiveHint":true}"#, Tier::Destructive),
            (r#"{"readOnlyHint":"yes"}"#, Tier::Destructive),
            (r#"[]"#, Tier::Destructive),
        ] {
            let text = format!(r#"{{"name":"t","inputSchema":{{}},"annotations":{annotations}}}"#);
            assert_eq!(Tier::of(&Tool::parse(text.into()).unwrap()), tier, "{annotations}");
        }
        let plain = Tool::parse(r#"{"name":"t","inputSchema":{}}"#.into()).unwrap();
        assert_eq!(Tier::of(&plain), Tier::Destructive);
    }

    #[test]
    fn tiers_are_ordered_and_named() {
        assert!(Tier::Read < Tier::Write && Tier::Write < Tier::Destructive);
        assert!(Tier::ALL.into_iter().all(|tier| tier.as_str().parse() == Ok(tier)));
        assert!("admin".parse::<Tier>().unwrap_err().to_string().starts_with("`admin` is not a tier"));
    }
}
