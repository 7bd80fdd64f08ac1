//! Profiles and rules as checked data, and the decisions that follow from them.
//!
//! A [`Profile`] says what a caller sees: servers, tools, how they are listed. A [`Policy`] is a list of [`Rule`]s, of which the
//! first that matches decides. What depends on caller and tool alone is decided when the list of tools is made
//! ([`Policy::tool`]); what depends on arguments, on a person or on time is left to the call ([`ToolRules::decide`]).
//!
//! Nothing here waits or reads anything: time comes from the caller.

#![forbid(unsafe_code)]

mod arguments;
mod explain;
mod naming;
mod pattern;
mod policy;
mod policy_set;
mod profile;
mod rate;
mod rule;
mod tool_rules;

pub use arguments::{ArgumentMatcher, Condition, InvalidPointer, Pointer, Scalar, UnclearArguments};
pub use explain::{Explanation, Mismatch};
pub use naming::Naming;
pub use pattern::{InvalidPattern, Pattern, ToolPattern};
pub use policy::{Policy, ServerDecision, Subject, ToolDecision, ToolIdentity};
pub use policy_set::PolicySet;
pub use profile::{Exposure, InvalidProfileName, Profile, ProfileName, ToolSelection};
pub use rate::{InvalidRate, Rate, RateLimits};
pub use rule::{Action, Rule};
pub use tool_rules::{Decision, Denial, ToolRules};
