//! Arguments of `toolbay token`.

use std::{str::FromStr, time::Duration};

use clap::{Args, Subcommand};
use toolbay_access::{Tier, TokenName};

#[derive(Debug, Subcommand)]
pub(crate) enum TokenSubcommand {
    /// Create a token; it is printed once and cannot be shown again
    Create(CreateTokenArgs),
    /// List all tokens with what they allow, without the tokens themselves
    List,
    /// Revoke a token: running hubs refuse it within a second, and close what it opened
    #[command(visible_alias = "rm")]
    Revoke(RevokeTokenArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CreateTokenArgs {
    /// Name of the token: who or what uses it
    pub(crate) name: TokenName,
    /// Servers that it may use, separated by commas [default: all]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(crate) servers: Vec<String>,
    /// The most that its tools may change: read, write or destructive
    #[arg(long, value_name = "TIER", default_value = "destructive")]
    pub(crate) tier: Tier,
    /// When it expires, such as 12h, 90d or 8w [default: never]
    #[arg(long, value_name = "DURATION")]
    pub(crate) expires: Option<Lifespan>,
}

#[derive(Debug, Args)]
pub(crate) struct RevokeTokenArgs {
    /// Name of the token
    pub(crate) name: TokenName,
}

/// How long a token is valid: a whole number of seconds, minutes, hours, days or weeks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lifespan(pub(crate) Duration);

impl FromStr for Lifespan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unusable = || format!("`{text}` is not a duration; for example: 12h, 90d or 8w");
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = match &text[digits.len()..] {
            "s" => 1,
            "m" | "min" => 60,
            "h" => 3600,
            "d" => 24 * 3600,
            "w" => 7 * 24 * 3600,
            _ => return Err(unusable()),
        };
        let count: u64 = digits.parse().map_err(|_| unusable())?;
        let seconds = count.checked_mul(unit).filter(|seconds| (1..=MAX_SECONDS).contains(seconds));
        seconds.map(|seconds| Self(Duration::from_secs(seconds))).ok_or_else(|| {
            format!("`{text}` is too short or too long; leave --expires out for a token that never expires")
        })
    }
}

/// A hundred years.
const MAX_SECONDS: u64 = 100 * 365 * 24 * 3600;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifespans_are_numbers_with_a_unit() {
        let seconds = |text: &str| text.parse::<Lifespan>().map(|lifespan| lifespan.0.as_secs());
        assert_eq!(seconds("90d"), Ok(90 * 86400));
        assert_eq!(seconds("2w"), Ok(14 * 86400));
        assert_eq!(seconds("5s"), Ok(5));
        for text in ["", "90", "d", "-1d", "1.5h", "1y", "0d", "99999999999999999999d", "40000d"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
