//! How the names of tools and prompts are made.

use std::{fmt, str::FromStr};

/// How the names of tools and prompts are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Naming {
    /// `server__tool`.
    #[default]
    Prefix,
    /// As the server says; equal names of two servers hide each other.
    None,
    /// `server__tool` in lists, and the bare name in calls where only one server has it.
    PrefixAndAlias,
}

impl FromStr for Naming {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "prefix" => Ok(Self::Prefix),
            "none" => Ok(Self::None),
            "prefix+alias" => Ok(Self::PrefixAndAlias),
            other => Err(format!("unknown naming `{other}`; use prefix, none or prefix+alias")),
        }
    }
}

impl fmt::Display for Naming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Prefix => "prefix",
            Self::None => "none",
            Self::PrefixAndAlias => "prefix+alias",
        })
    }
}
