//! All rules.

use std::sync::Arc;

use toolbay_protocol::Tier;

use crate::{Action, RateLimits, Rule, ToolRules};

/// Who calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subject<'a> {
    /// The principal.
    pub principal: &'a str,
    /// The profile, if there is one.
    pub profile: Option<&'a str>,
}

/// A tool, as rules see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolIdentity<'a> {
    /// The name of its server in the configuration.
    pub server: &'a str,
    /// The name that its server gives it.
    pub name: &'a str,
    /// That name after the prefix of its server.
    pub qualified: &'a str,
    /// The same, as clients see it: shorter where it would be too long.
    pub exposed: &'a str,
    /// What it says that it may change.
    pub tier: Tier,
}

/// Rules in their order. The first that matches decides; without any, calls are made.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Policy {
    rules: Vec<Arc<Rule>>,
}

/// What a caller sees of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerDecision {
    /// Everything but tools that are denied.
    Shown,
    /// Tools that are not denied; no resources, no prompts.
    ToolsOnly,
    /// Nothing.
    Hidden,
}

/// What is decided about a tool before it is called.
#[derive(Debug)]
pub enum ToolDecision {
    /// Calls are made.
    Allow,
    /// The tool is not there.
    Deny(Arc<Rule>),
    /// It depends on the call.
    Check(Box<ToolRules>),
}

impl Policy {
    /// These rules, in this order.
    pub fn new(rules: Vec<Rule>) -> Self {
        Self { rules: rules.into_iter().map(Arc::new).collect() }
    }

    /// The rules.
    pub fn rules(&self) -> &[Arc<Rule>] {
        &self.rules
    }

    /// Whether some rule can be about calls of a caller.
    pub fn concerns(&self, subject: &Subject<'_>) -> bool {
        self.rules.iter().any(|rule| rule.concerns(subject))
    }

    /// What a caller sees of a server. Rules about tools decide nothing about resources and prompts, and these are never
    /// asked for or counted: they are there, or not.
    pub fn server(&self, subject: &Subject<'_>, server: &str) -> ServerDecision {
        let mut may_have_tools = false;
        let matching = self.rules.iter().filter(|rule| rule.concerns(subject) && rule.has_server(server));
        for rule in matching {
            match (rule.is_about_tools(), rule.action) {
                (false, Action::Deny) if may_have_tools => return ServerDecision::ToolsOnly,
                (false, Action::Deny) => return ServerDecision::Hidden,
                (false, Action::Allow | Action::Ask | Action::Limit(_)) => return ServerDecision::Shown,
                (true, Action::Deny) => {}
                (true, Action::Allow | Action::Ask | Action::Limit(_)) => may_have_tools = true,
            }
        }
        ServerDecision::Shown
    }

    /// What is decided about a tool before it is called.
    pub fn tool(&self, subject: &Subject<'_>, tool: &ToolIdentity<'_>, limits: &RateLimits) -> ToolDecision {
        let mut open = Vec::new();
        for rule in self.rules.iter().filter(|rule| rule.mismatch(subject, tool).is_none()) {
            let is_final = rule.arguments.is_empty();
            match rule.action {
                // Whatever the arguments are, it is denied.
                Action::Deny
                    if is_final && open.iter().all(|open: &Arc<Rule>| open.action == Action::Deny) =>
                {
                    return ToolDecision::Deny(rule.clone());
                }
                _ => open.push(rule.clone()),
            }
            if is_final {
                break;
            }
        }
        match open.iter().all(|open| open.action == Action::Allow) {
            true => ToolDecision::Allow,
            false => ToolDecision::Check(Box::new(ToolRules::new(&open, subject.principal, limits))),
        }
    }
}
