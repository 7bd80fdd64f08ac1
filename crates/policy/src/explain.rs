//! Why a decision was made.

use std::{fmt, sync::Arc};

use toolbay_protocol::Tier;

use crate::{
    Action, ArgumentMatcher, Pointer, Policy, RateLimits, Rule, Subject, ToolDecision, ToolIdentity,
    UnclearArguments,
    arguments::{Quantifier, find},
};

/// Why a rule does not match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mismatch {
    /// It is about other principals.
    Principal,
    /// It is about other profiles.
    Profile,
    /// It is about other servers.
    Server,
    /// It is about other tools.
    Tool,
    /// It is about other tiers than that of the tool.
    Tier(Tier),
    /// It is about other arguments.
    Argument(Pointer),
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Principal => f.write_str("it is about other principals"),
            Self::Profile => f.write_str("it is about other profiles"),
            Self::Server => f.write_str("it is about other servers"),
            Self::Tool => f.write_str("it is about other tools"),
            Self::Tier(tier) => write!(f, "the tool is of tier `{}`", tier.as_str()),
            Self::Argument(pointer) => write!(f, "the argument {pointer} does not match"),
        }
    }
}

/// How a decision is made.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The rules before the one that decides, and why they do not match.
    pub passed: Vec<(Arc<Rule>, Mismatch)>,
    /// The rule that decides; none if none matches.
    pub rule: Option<Arc<Rule>>,
    /// Why the arguments cannot be judged, if a rule looks at them.
    pub unclear: Option<UnclearArguments>,
    /// Whether the tool is not even there: it is denied whatever the arguments are.
    pub is_hidden: bool,
}

impl Policy {
    /// Says how a call would be decided. Nothing is counted.
    pub fn explain(&self, subject: &Subject<'_>, tool: &ToolIdentity<'_>, arguments: &[u8]) -> Explanation {
        let decision = self.tool(subject, tool, &RateLimits::default());
        let mut explanation = Explanation {
            passed: Vec::new(),
            rule: None,
            unclear: match &decision {
                ToolDecision::Check(rules) => rules.unclear(arguments),
                ToolDecision::Allow | ToolDecision::Deny(_) => None,
            },
            is_hidden: matches!(decision, ToolDecision::Deny(_)),
        };
        for rule in self.rules() {
            match mismatch(rule, subject, tool, arguments) {
                Some(mismatch) => explanation.passed.push((rule.clone(), mismatch)),
                None => {
                    explanation.rule = Some(rule.clone());
                    break;
                }
            }
        }
        explanation
    }
}

/// Why a rule does not match a call.
fn mismatch(
    rule: &Rule,
    subject: &Subject<'_>,
    tool: &ToolIdentity<'_>,
    arguments: &[u8],
) -> Option<Mismatch> {
    if let Some(mismatch) = rule.mismatch(subject, tool) {
        return Some(mismatch);
    }
    let does_not_hold = |matcher: &&ArgumentMatcher| {
        let found = find(arguments, std::slice::from_ref(&matcher.pointer));
        !found.is_ok_and(|found| matcher.condition.holds(found.at(0), Quantifier::of(rule.action)))
    };
    let argument = rule.arguments.iter().find(does_not_hold)?;
    Some(Mismatch::Argument(argument.pointer.clone()))
}

impl Explanation {
    /// What happens to the call.
    pub fn action(&self) -> Action {
        match &self.rule {
            _ if self.unclear.is_some() || self.is_hidden => Action::Deny,
            Some(rule) => rule.action,
            None => Action::Allow,
        }
    }
}
