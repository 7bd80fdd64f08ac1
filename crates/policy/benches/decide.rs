//! What a decision costs with 1,000 rules.
//!
//! Without argument matchers, a call looks at what was decided when the list of tools was made. With them, all 1,000 rules are
//! about the tool and look at its arguments, and none matches.

use std::{hint::black_box, time::Instant};

use toolbay_policy::{
    Action, ArgumentMatcher, Condition, Policy, RateLimits, Rule, Scalar, Subject, ToolDecision, ToolIdentity,
};
use toolbay_protocol::Tier;

fn main() {
    divan::main();
}

const RULES: usize = 1000;
const SUBJECT: Subject<'static> = Subject { principal: "token:ci", profile: Some("work") };
const TOOL: ToolIdentity<'static> = ToolIdentity {
    server: "files",
    name: "write_file",
    qualified: "files__write_file",
    exposed: "files__write_file",
    tier: Tier::Destructive,
};
const ARGUMENTS: &[u8] =
    br#"{"path":"/home/me/notes/today.md","content":"A few words, and some more of them.","create":true,"mode":420}"#;

/// Rules about other tools, then one that asks.
fn without_arguments() -> Policy {
    let other = |index: usize| Rule {
        servers: vec![format!("server{index}").parse().expect("valid")],
        tools: vec![format!("tool_{index}_*").parse().expect("valid")],
        ..Rule::new(&index.to_string(), Action::Deny)
    };
    let mut rules: Vec<Rule> = (1..RULES).map(other).collect();
    rules.push(Rule::new("last", Action::Ask));
    Policy::new(rules)
}

fn with_arguments() -> Policy {
    let about_path = |index: usize| Rule {
        arguments: vec![ArgumentMatcher {
            pointer: "/path".parse().expect("valid"),
            condition: Condition::Is(vec![Scalar::Text(
                format!("/home/user{index}/*").parse().expect("valid"),
            )]),
        }],
        ..Rule::new(&index.to_string(), Action::Deny)
    };
    Policy::new((0..RULES).map(about_path).collect())
}

fn check(policy: &Policy) -> toolbay_policy::ToolRules {
    match policy.tool(&SUBJECT, &TOOL, &RateLimits::default()) {
        ToolDecision::Check(rules) => *rules,
        other => panic!("nothing is left to decide: {other:?}"),
    }
}

#[divan::bench]
fn a_call_without_argument_matchers(bencher: divan::Bencher<'_, '_>) {
    let (rules, now) = (check(&without_arguments()), Instant::now());
    bencher.bench(|| rules.decide(black_box(ARGUMENTS), now));
}

#[divan::bench]
fn a_call_with_argument_matchers(bencher: divan::Bencher<'_, '_>) {
    let (rules, now) = (check(&with_arguments()), Instant::now());
    bencher.bench(|| rules.decide(black_box(ARGUMENTS), now));
}

#[divan::bench]
fn one_tool_of_a_new_list(bencher: divan::Bencher<'_, '_>) {
    let (policy, limits) = (without_arguments(), RateLimits::default());
    bencher.bench(|| policy.tool(black_box(&SUBJECT), black_box(&TOOL), &limits));
}
