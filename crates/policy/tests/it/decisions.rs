//! The same decisions as an interpreter that goes through all rules for every call, with trees and without tricks.

use std::time::Instant;

use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};
use toolbay_policy::{
    Action, ArgumentMatcher, Condition, Decision, Denial, Pattern, Policy, RateLimits, Rule, Scalar, Subject,
    ToolDecision, ToolIdentity,
};
use toolbay_protocol::Tier;

const WORDS: [&str; 6] = ["a", "b", "ab", "ba", "aab", "x"];
const PATTERNS: [&str; 9] = ["a", "b", "*", "a*", "*b", "?b", "*a*", "a?b", "ab"];
const TOOL_PATTERNS: [&str; 8] = ["a", "a*", "*", "?b", "a__*", "*__a", "b__a*", "*b"];
const POINTERS: [&str; 6] = ["/a", "/b", "/a/b", "/a/*", "/*", "/b/0"];

fn patterns() -> impl Strategy<Value = Vec<Pattern>> {
    prop::collection::vec(select(&PATTERNS[..]).prop_map(|text| text.parse().unwrap()), 0..3)
}

fn scalars() -> impl Strategy<Value = Vec<Scalar>> {
    let scalar = prop_oneof![
        select(&PATTERNS[..]).prop_map(|text| Scalar::Text(text.parse().unwrap())),
        (0..3_u8).prop_map(|number| Scalar::Number(number.into())),
        any::<bool>().prop_map(Scalar::Bool),
    ];
    prop::collection::vec(scalar, 1..3)
}

fn condition() -> impl Strategy<Value = Condition> {
    prop_oneof![
        scalars().prop_map(Condition::Is),
        scalars().prop_map(Condition::Not),
        any::<bool>().prop_map(Condition::Exists),
        (prop::option::of(0..3_u8), prop::option::of(0..3_u8))
            .prop_map(|(min, max)| Condition::Range { min: min.map(f64::from), max: max.map(f64::from) }),
    ]
}

fn rule() -> impl Strategy<Value = Rule> {
    let action = prop_oneof![
        Just(Action::Allow),
        Just(Action::Ask),
        Just(Action::Deny),
        Just(Action::Limit("1000/s".parse().unwrap())),
    ];
    let matcher = (select(&POINTERS[..]), condition())
        .prop_map(|(pointer, condition)| ArgumentMatcher { pointer: pointer.parse().unwrap(), condition });
    let tools =
        prop::collection::vec(select(&TOOL_PATTERNS[..]).prop_map(|text| text.parse().unwrap()), 0..3);
    let tiers = prop::collection::vec(select(&Tier::ALL[..]), 0..2);
    let arguments = prop::collection::vec(matcher, 0..3);
    (patterns(), patterns(), patterns(), tools, tiers, arguments, action).prop_map(
        |(principals, profiles, servers, tools, tiers, arguments, action)| Rule {
            principals,
            profiles,
            servers,
            tools,
            tiers,
            arguments,
            ..Rule::new("r", action)
        },
    )
}

fn arguments() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        select(&WORDS[..]).prop_map(Value::from),
        (0..3_u8).prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    let value = leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(select(&["a", "b"][..]), inner, 0..3)
                .prop_map(|map| map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    });
    prop::collection::btree_map(select(&["a", "b", "c"][..]), value, 0..4)
        .prop_map(|map| map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// What a plain interpreter says: the index of the rule that decides.
fn reference(
    rules: &[Rule],
    subject: &Subject<'_>,
    tool: &ToolIdentity<'_>,
    arguments: &Value,
) -> Option<usize> {
    rules.iter().position(|rule| {
        let any = |patterns: &[Pattern], text: &str| {
            patterns.is_empty() || patterns.iter().any(|pattern| fits(pattern.as_str(), text))
        };
        any(&rule.principals, subject.principal)
            && (rule.profiles.is_empty() || subject.profile.is_some_and(|name| any(&rule.profiles, name)))
            && any(&rule.servers, tool.server)
            && (rule.tools.is_empty()
                || rule.tools.iter().any(|pattern| {
                    let text = pattern.as_str();
                    fits(text, if text.contains("__") { tool.qualified } else { tool.name })
                }))
            && (rule.tiers.is_empty() || rule.tiers.contains(&tool.tier))
            && rule.arguments.iter().all(|matcher| {
                let values = values_at(arguments, &matcher.pointer.to_string());
                let needs_all = matches!(rule.action, Action::Allow | Action::Limit(_));
                let quantified = |fits: &dyn Fn(&Value) -> bool| match needs_all {
                    true => !values.is_empty() && values.iter().all(fits),
                    false => values.iter().any(fits),
                };
                match &matcher.condition {
                    Condition::Is(scalars) => quantified(&|value| is_any(scalars, value)),
                    Condition::Not(scalars) => {
                        values.is_empty() || quantified(&|value| !is_any(scalars, value))
                    }
                    Condition::Range { min, max } => quantified(&|value| {
                        value.as_f64().is_some_and(|number| {
                            min.is_none_or(|min| min <= number) && max.is_none_or(|max| number <= max)
                        })
                    }),
                    Condition::Exists(exists) => values.is_empty() != *exists,
                }
            })
    })
}

/// By definition, in exponential time.
fn fits(pattern: &str, text: &str) -> bool {
    match pattern.chars().next() {
        None => text.is_empty(),
        Some('*') => {
            fits(&pattern[1..], text)
                || text.chars().next().is_some_and(|c| fits(pattern, &text[c.len_utf8()..]))
        }
        Some(wanted) => text.chars().next().is_some_and(|found| {
            (wanted == '?' || wanted == found)
                && fits(&pattern[wanted.len_utf8()..], &text[found.len_utf8()..])
        }),
    }
}

fn values_at(arguments: &Value, pointer: &str) -> Vec<Value> {
    let mut values = vec![arguments.clone()];
    for segment in pointer[1..].split('/') {
        let inside = |value: &Value| -> Vec<Value> {
            match value {
                Value::Object(map) if segment == "*" => map.values().cloned().collect(),
                Value::Object(map) => map.get(segment).cloned().into_iter().collect(),
                Value::Array(items) if segment == "*" => items.clone(),
                Value::Array(items) => {
                    segment.parse().ok().and_then(|at: usize| items.get(at).cloned()).into_iter().collect()
                }
                _ => Vec::new(),
            }
        };
        values = values.iter().flat_map(inside).collect();
    }
    let items = |value: Value| match value {
        Value::Array(items) if !items.is_empty() => items,
        other => vec![other],
    };
    values.into_iter().flat_map(items).collect()
}

fn is_any(scalars: &[Scalar], value: &Value) -> bool {
    scalars.iter().any(|scalar| match (scalar, value) {
        (_, Value::Array(_) | Value::Object(_)) => false,
        (Scalar::Text(pattern), Value::String(text)) => fits(pattern.as_str(), text),
        (Scalar::Text(pattern), other) => fits(pattern.as_str(), &other.to_string()),
        (Scalar::Number(number), Value::Number(other)) => other.as_f64() == Some(*number),
        (Scalar::Bool(flag), Value::Bool(other)) => flag == other,
        _ => false,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn decisions_are_those_of_a_plain_interpreter(
        rules in prop::collection::vec(rule(), 0..6),
        principal in select(&WORDS[..]),
        profile in prop::option::of(select(&WORDS[..])),
        server in select(&WORDS[..]),
        name in select(&WORDS[..]),
        tier in select(&Tier::ALL[..]),
        arguments in arguments(),
    ) {
        let rules: Vec<Rule> = rules
            .into_iter()
            .enumerate()
            .map(|(index, rule)| Rule { name: index.to_string().into(), ..rule })
            .collect();
        let subject = Subject { principal, profile };
        let qualified = format!("{server}__{name}");
        let tool = ToolIdentity { server, name, qualified: &qualified, exposed: &qualified, tier };
        let expected = reference(&rules, &subject, &tool, &arguments).map(|index| &rules[index]);
        let policy = Policy::new(rules.clone());
        let text = arguments.to_string();

        let explained = policy.explain(&subject, &tool, text.as_bytes());
        prop_assert_eq!(explained.rule.as_deref(), expected);
        let action = expected.map_or(Action::Allow, |rule| rule.action);
        prop_assert_eq!(explained.action(), action);

        let limits = RateLimits::default();
        let decided = match policy.tool(&subject, &tool, &limits) {
            ToolDecision::Allow => None,
            // Hidden: then it is denied with any arguments.
            ToolDecision::Deny(_) => {
                for other in [json!({}), json!({ "a": "a", "b": ["b"] }), arguments.clone()] {
                    let rule = reference(&rules, &subject, &tool, &other).map(|index| rules[index].action);
                    prop_assert_eq!(rule, Some(Action::Deny));
                }
                return Ok(());
            }
            ToolDecision::Check(check) => Some(check.decide(text.as_bytes(), Instant::now())),
        };
        match (decided, action) {
            (None | Some(Decision::Allow), Action::Allow | Action::Limit(_)) => {}
            (Some(Decision::Ask(rule)), Action::Ask) => prop_assert_eq!(Some(&*rule), expected),
            (Some(Decision::Deny(Denial::Rule(rule))), Action::Deny) => prop_assert_eq!(Some(&*rule), expected),
            (decided, action) => prop_assert!(false, "{decided:?} instead of {action}"),
        }
        if !policy.concerns(&subject) {
            prop_assert_eq!(expected, None);
        }
    }
}

/// A rule that limits counts the calls of each principal, whichever of its tools they call.
#[test]
fn limits_count_per_principal() {
    let policy = Policy::new(vec![Rule::new("two", Action::Limit("2/h".parse().unwrap()))]);
    let (limits, now) = (RateLimits::default(), Instant::now());
    let call = |principal: &str, name: &str| {
        let tool = ToolIdentity { server: "s", name, qualified: name, exposed: name, tier: Tier::Read };
        match policy.tool(&Subject { principal, profile: None }, &tool, &limits) {
            ToolDecision::Check(check) => check.decide(b"{}", now),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((call("p", "a"), call("p", "b")), (Decision::Allow, Decision::Allow));
    let Decision::Deny(Denial::Limit { rule, retry_after }) = call("p", "c") else { panic!("not limited") };
    assert_eq!((&*rule.name, retry_after.as_secs()), ("two", 1800));
    assert_eq!(call("q", "c"), Decision::Allow);
}

/// A call that was allowed is neither asked for nor counted again, but what is denied meanwhile is denied.
#[test]
fn a_call_that_goes_on_is_not_asked_for_again() {
    let about_a = |name: &str, action| Rule {
        arguments: vec![ArgumentMatcher {
            pointer: "/a".parse().unwrap(),
            condition: Condition::Exists(true),
        }],
        ..Rule::new(name, action)
    };
    let policy = Policy::new(vec![about_a("deny", Action::Deny), Rule::new("ask", Action::Ask)]);
    let tool = ToolIdentity { server: "s", name: "t", qualified: "s__t", exposed: "s__t", tier: Tier::Read };
    let subject = Subject { principal: "p", profile: None };
    let ToolDecision::Check(check) = policy.tool(&subject, &tool, &RateLimits::default()) else {
        panic!("must be checked");
    };
    assert!(matches!(check.decide(b"{}", Instant::now()), Decision::Ask(_)));
    assert_eq!(check.decide_again(b"{}"), Decision::Allow);
    assert!(matches!(check.decide_again(br#"{"a":1}"#), Decision::Deny(Denial::Rule(_))));
    assert!(matches!(check.decide_again(br#"{"A":1}"#), Decision::Deny(Denial::Unclear(_))));
}
