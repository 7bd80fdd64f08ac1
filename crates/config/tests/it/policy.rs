//! `[profiles.NAME]` and `[policy]`.

use std::path::Path;

use toolbay_config::{ConfigFile, PolicySection, ProfileEntry, parse};
use toolbay_policy::{Action, Condition, Exposure, Naming, Policy, Profile};
use toolbay_protocol::Tier;

fn file(text: &str) -> ConfigFile {
    parse(text, Path::new("/etc/toolbay.toml")).unwrap()
}

fn problems(text: &str) -> String {
    file(text).problems.iter().map(|problem| format!("{problem}\n")).collect()
}

fn example() -> (Profile, Policy) {
    let file = file(include_str!("../../../../docs/toolbay.toml"));
    match (&file.profiles[..], file.policy) {
        ([ProfileEntry::Valid(profile)], PolicySection::Valid(policy)) => (Profile::clone(profile), policy),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_key_of_a_profile_is_read() {
    let (profile, _) = example();
    assert_eq!(profile.name.as_str(), "work");
    assert_eq!(profile.description.as_deref(), Some("Issues and documents"));
    assert!(profile.has_server("issues") && !profile.has_server("other"));
    let texts = |patterns: &[toolbay_policy::ToolPattern]| -> Vec<String> {
        patterns.iter().map(ToString::to_string).collect()
    };
    assert_eq!(texts(&profile.tools.allow.unwrap()), ["get_*", "files__*"]);
    assert_eq!(texts(&profile.tools.deny), ["delete_*"]);
    assert_eq!((profile.exposure, profile.budget), (Some(Exposure::Auto), Some(20_000)));
    assert_eq!(texts(&profile.always_listed), ["files__read_file"]);
    assert_eq!(profile.naming, Some(Naming::Prefix));
    assert!(profile.instructions.unwrap().starts_with("Use these"));
    assert_eq!(profile.max_result, Some(100_000));
    assert_eq!(profile.clients.len(), 2);
}

#[test]
fn every_key_of_a_rule_is_read() {
    let (_, policy) = example();
    let [first, second] = policy.rules() else { panic!("{policy:?}") };
    assert_eq!((&*first.name, &*second.name), ("home only", "rule 2"));
    assert_eq!((first.principals.len(), first.profiles.len(), first.servers.len()), (2, 1, 1));
    assert_eq!((first.tools.len(), &first.tiers[..]), (2, &[Tier::Write, Tier::Destructive][..]));
    assert_eq!(first.arguments[0].pointer.to_string(), "/path");
    assert!(matches!(&first.arguments[0].condition, Condition::Not(_)));
    assert_eq!((first.action, first.reason.is_some()), (Action::Deny, true));
    assert_eq!(second.action, Action::Limit("10/m".parse().unwrap()));
}

#[test]
fn conditions_are_written_briefly() {
    let condition = |text: &str| {
        let text = format!("[[policy.rules]]\naction = 'deny'\narguments = {{ '/a' = {text} }}\n");
        match file(&text).policy {
            PolicySection::Valid(policy) => policy.rules()[0].arguments[0].condition.clone(),
            other => panic!("{text}: {other:?}"),
        }
    };
    assert!(matches!(condition("'x*'"), Condition::Is(scalars) if scalars.len() == 1));
    assert!(matches!(condition("['x', 5, true]"), Condition::Is(scalars) if scalars.len() == 3));
    assert_eq!(condition("{ min = 1, max = 2.5 }"), Condition::Range { min: Some(1.0), max: Some(2.5) });
    assert_eq!(condition("{ exists = false }"), Condition::Exists(false));
}

#[test]
fn a_mistake_is_reported_with_its_location() {
    for (text, said) in [
        (
            "[profiles.w]\nserver = ['a']\n",
            "2:1: profile `w`: `server` is unknown; did you mean `servers`?\n",
        ),
        (
            "[profiles.'a/b']\n",
            "1:11: `a/b` is not a name of a profile; use up to 64 letters, digits, `-` and `_`\n",
        ),
        (
            "[profiles.w]\nexposure = 'some'\nbudget = 0\n",
            "2:1: profile `w`: unknown exposure `some`; use all, search or auto\n3:1: profile `w`: `budget` must be a number greater than 0\n",
        ),
        ("profiles = 1\n", "1:1: `profiles` must be a table\n"),
        ("[policy]\nrule = []\n", "2:1: `rule` is unknown; did you mean `rules`?\n"),
        (
            "[[policy.rules]]\nserver = 'a'\n",
            "2:1: rule 1: `action` must be one of allow, ask, deny, limit\n",
        ),
        (
            "[[policy.rules]]\naction = 'limit'\n",
            "2:1: rule 1: `limit` needs a `rate`, for example \"10/m\"\n",
        ),
        (
            "[[policy.rules]]\naction = 'deny'\nrate = '1/m'\n",
            "2:1: rule 1: `rate` is only for `action = \"limit\"`\n",
        ),
        (
            "[[policy.rules]]\naction = 'deny'\ntool = []\n",
            "3:1: rule 1: `tool` must not be empty; leave it out to match everything\n",
        ),
        (
            "[[policy.rules]]\naction = 'deny'\ntier = 'wild'\n",
            "3:1: rule 1: `tier`: `wild` is not a tier; it must be `read`, `write` or `destructive`\n",
        ),
        (
            "[[policy.rules]]\naction = 'deny'\narguments = { path = 'x' }\n",
            "3:15: rule 1: `arguments`: `path` is not a JSON pointer into the arguments, such as `/path` or `/files/*/name`\n",
        ),
        (
            "[[policy.rules]]\nname = 'a'\naction = 'deny'\n[[policy.rules]]\nname = 'a'\naction = 'deny'\n",
            "5:1: two rules have the name `a`\n",
        ),
    ] {
        assert_eq!(problems(text), said, "{text}");
    }
}

/// Without the rules that cannot be read, calls would be allowed that should not be.
#[test]
fn a_policy_with_a_mistake_is_not_absent() {
    assert_eq!(file("[[policy.rules]]\naction = 'forbid'\n").policy, PolicySection::Invalid);
    assert_eq!(file("policy = 5\n").policy, PolicySection::Invalid);
    assert_eq!(file("[servers]\n").policy, PolicySection::Absent);
    let broken = file("[profiles.w]\nnaming = 5\n");
    assert!(matches!(&broken.profiles[..], [ProfileEntry::Invalid(name)] if name.as_str() == "w"));
}
