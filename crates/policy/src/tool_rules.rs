//! What is left to decide when a tool is called.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    Action, Condition, Pointer, RateLimits, Rule, UnclearArguments,
    arguments::{FoundValues, Quantifier, find},
    rate::Counter,
};

/// The rules for calls of one tool by one caller, in their order.
#[derive(Debug)]
pub struct ToolRules {
    rules: Box<[OpenRule]>,
    /// What the rules look at in arguments, each once.
    pointers: Box<[Pointer]>,
}

/// A rule that matches but for the arguments.
#[derive(Debug)]
struct OpenRule {
    /// Indices of pointers, and what must be there.
    conditions: Box<[(usize, Condition)]>,
    quantifier: Quantifier,
    rule: Arc<Rule>,
    counter: Option<Arc<Counter>>,
}

/// What happens to a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// It is made.
    Allow,
    /// A person decides, because of this rule.
    Ask(Arc<Rule>),
    /// It is refused.
    Deny(Denial),
}

/// Why a call is refused.
#[derive(Debug, Clone, PartialEq)]
pub enum Denial {
    /// By a rule.
    Rule(Arc<Rule>),
    /// A rule allows fewer calls.
    Limit {
        /// The rule.
        rule: Arc<Rule>,
        /// When the next one is allowed.
        retry_after: Duration,
    },
    /// Rules look at its arguments, and these do not say clearly what they are.
    Unclear(UnclearArguments),
}

impl Denial {
    /// The rule that refuses it, if it is one rule.
    pub fn rule(&self) -> Option<&Arc<Rule>> {
        match self {
            Self::Rule(rule) | Self::Limit { rule, .. } => Some(rule),
            Self::Unclear(_) => None,
        }
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason =
            |rule: &Rule| rule.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        match self {
            Self::Rule(rule) => {
                write!(f, "denied by the policy of this hub, rule `{}`{}", rule.name, reason(rule))
            }
            Self::Limit { rule, retry_after } => {
                let seconds = retry_after.as_secs_f64().ceil().max(1.0);
                write!(
                    f,
                    "rule `{}` of this hub allows no more calls now; try again in {seconds} s{}",
                    rule.name,
                    reason(rule)
                )
            }
            Self::Unclear(why) => write!(f, "rules of this hub look at the arguments, but {why}"),
        }
    }
}

impl ToolRules {
    pub(crate) fn new(rules: &[Arc<Rule>], principal: &str, limits: &RateLimits) -> Self {
        let mut pointers: Vec<Pointer> = Vec::new();
        let mut index_of = |pointer: &Pointer| {
            let known = pointers.iter().position(|known| known == pointer);
            known.unwrap_or_else(|| {
                pointers.push(pointer.clone());
                pointers.len() - 1
            })
        };
        let mut open = |rule: &Arc<Rule>| OpenRule {
            conditions: rule
                .arguments
                .iter()
                .map(|matcher| (index_of(&matcher.pointer), matcher.condition.clone()))
                .collect(),
            quantifier: Quantifier::of(rule.action),
            counter: match rule.action {
                Action::Limit(rate) => Some(limits.counter(&rule.name, rate, principal)),
                Action::Allow | Action::Ask | Action::Deny => None,
            },
            rule: rule.clone(),
        };
        let rules = rules.iter().map(&mut open).collect();
        Self { rules, pointers: pointers.into() }
    }

    /// Decides about a call with these arguments, a JSON object. Calls that a rule limits are counted.
    pub fn decide(&self, arguments: &[u8], now: Instant) -> Decision {
        match self.matching(arguments) {
            Ok(None) => Decision::Allow,
            Ok(Some(open)) => match (open.rule.action, &open.counter) {
                (Action::Allow, _) => Decision::Allow,
                (Action::Ask, _) => Decision::Ask(open.rule.clone()),
                (Action::Deny, _) => Decision::Deny(Denial::Rule(open.rule.clone())),
                (Action::Limit(_), counter) => match counter.as_ref().map(|counter| counter.take(now)) {
                    Some(Err(retry_after)) => {
                        Decision::Deny(Denial::Limit { rule: open.rule.clone(), retry_after })
                    }
                    _ => Decision::Allow,
                },
            },
            Err(why) => Decision::Deny(Denial::Unclear(why)),
        }
    }

    /// Decides about a call that goes on after it was allowed: neither is anyone asked nor is it counted once more.
    pub fn decide_again(&self, arguments: &[u8]) -> Decision {
        match self.matching(arguments) {
            Ok(Some(open)) if open.rule.action == Action::Deny => {
                Decision::Deny(Denial::Rule(open.rule.clone()))
            }
            Ok(_) => Decision::Allow,
            Err(why) => Decision::Deny(Denial::Unclear(why)),
        }
    }

    /// Whether every call is decided by a person.
    pub fn always_asks(&self) -> bool {
        let first = self.rules.first();
        first.is_some_and(|open| open.conditions.is_empty() && open.rule.action == Action::Ask)
    }

    /// Why arguments cannot be judged, if they cannot.
    pub(crate) fn unclear(&self, arguments: &[u8]) -> Option<UnclearArguments> {
        self.matching(arguments).err()
    }

    /// The first rule that matches.
    fn matching(&self, arguments: &[u8]) -> Result<Option<&OpenRule>, UnclearArguments> {
        let found = match self.pointers.is_empty() {
            true => FoundValues::default(),
            false => find(arguments, &self.pointers)?,
        };
        let matches = |open: &&OpenRule| {
            let mut conditions = open.conditions.iter();
            conditions.all(|(index, condition)| condition.holds(found.at(*index), open.quantifier))
        };
        Ok(self.rules.iter().find(matches))
    }
}
