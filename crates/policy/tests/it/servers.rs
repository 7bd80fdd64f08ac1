//! What is seen of whole servers.

use toolbay_policy::{Action, Policy, Rule, ServerDecision, Subject};
use toolbay_protocol::Tier;

#[test]
fn a_server_is_hidden_if_nothing_of_it_can_be_used() {
    let everything = |action| Rule { servers: vec!["s".parse().unwrap()], ..Rule::new("all", action) };
    let a_tool = |action| Rule { tools: vec!["t".parse().unwrap()], ..everything(action) };
    let readers = |action| Rule { tiers: vec![Tier::Read], ..everything(action) };
    for (rules, expected) in [
        (vec![], ServerDecision::Shown),
        (vec![everything(Action::Deny)], ServerDecision::Hidden),
        (vec![a_tool(Action::Deny)], ServerDecision::Shown),
        (vec![a_tool(Action::Deny), everything(Action::Deny)], ServerDecision::Hidden),
        (vec![a_tool(Action::Allow), everything(Action::Deny)], ServerDecision::ToolsOnly),
        (vec![readers(Action::Ask), everything(Action::Deny)], ServerDecision::ToolsOnly),
        (vec![everything(Action::Ask), everything(Action::Deny)], ServerDecision::Shown),
        (vec![everything(Action::Allow), everything(Action::Deny)], ServerDecision::Shown),
    ] {
        let policy = Policy::new(rules.clone());
        let subject = Subject { principal: "owner", profile: None };
        assert_eq!(policy.server(&subject, "s"), expected, "{rules:?}");
        assert_eq!(policy.server(&subject, "other"), ServerDecision::Shown);
    }
}

#[test]
fn a_rule_about_a_profile_is_for_callers_that_have_it() {
    let rule = Rule { profiles: vec!["w*".parse().unwrap()], ..Rule::new("r", Action::Deny) };
    let policy = Policy::new(vec![rule]);
    for (profile, expected) in [
        (None, ServerDecision::Shown),
        (Some("work"), ServerDecision::Hidden),
        (Some("home"), ServerDecision::Shown),
    ] {
        let subject = Subject { principal: "owner", profile };
        assert_eq!(policy.server(&subject, "s"), expected);
        assert_eq!(policy.concerns(&subject), expected == ServerDecision::Hidden);
    }
}
