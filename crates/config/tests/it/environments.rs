//! The environment that servers inherit.

use std::{collections::BTreeMap, ffi::OsString, os::unix::ffi::OsStringExt, path::Path};

use toolbay_config::{complete_path, environment_names, inherited, server_environment, shell_to_ask};

use crate::support::server;

fn variables(pairs: &[(&str, &str)]) -> BTreeMap<OsString, OsString> {
    pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

fn ours() -> BTreeMap<OsString, OsString> {
    variables(&[
        ("PATH", "/bin"),
        ("LC_ALL", "C"),
        ("https_proxy", "http://p/"),
        ("AWS_SECRET_ACCESS_KEY", "s3cret"),
        ("AWS_REGION", "eu"),
        ("MY_THING", "1"),
        ("TOOLBAY_TOKEN", "s3cret"),
    ])
}

/// The names that a server with this entry gets; those it declares with a `+`.
fn names(entry: &str) -> String {
    let server = server("s", entry);
    let names = environment_names(&ours(), &server);
    let environment = server_environment(&ours(), &server);
    assert!(names.iter().map(|name| OsString::from(&name.name)).eq(environment.into_keys()));
    let shown =
        names.into_iter().map(|name| format!("{}{}", if name.declared { "+" } else { "" }, name.name));
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn s23_a_server_gets_what_its_policy_says_and_none_of_our_secrets() {
    for (tuning, expected) in [
        ("{}", "+A LC_ALL PATH https_proxy"),
        (r#"{"inherit_env": "usual"}"#, "+A LC_ALL PATH https_proxy"),
        (r#"{"inherit_env": "none"}"#, "+A"),
        (r#"{"inherit_env": "all"}"#, "+A AWS_REGION AWS_SECRET_ACCESS_KEY LC_ALL MY_THING PATH https_proxy"),
        (r#"{"inherit_env": ["MY_*", "AWS_REGION"]}"#, "+A AWS_REGION LC_ALL MY_THING PATH https_proxy"),
        (r#"{"inherit_env": ["*_TOKEN"]}"#, "+A LC_ALL PATH TOOLBAY_TOKEN https_proxy"),
    ] {
        let entry = format!(r#"{{"command": "c", "env": {{"A": "1"}}, "toolbay": {tuning}}}"#);
        assert_eq!(names(&entry), expected, "{tuning}");
    }
    assert_eq!(names(r#"{"url": "http://h/"}"#), "");
}

#[test]
fn declared_variables_replace_inherited_ones() {
    let server = server("s", r#"{"command": "c", "env": {"PATH": "/mine"}}"#);
    assert_eq!(server_environment(&ours(), &server)["PATH".as_ref() as &std::ffi::OsStr], "/mine");
}

#[test]
fn names_that_are_no_text_are_inherited_only_with_everything() {
    let odd = OsString::from_vec(vec![b'X', 0xff]);
    let ours = BTreeMap::from([(odd.clone(), OsString::from("1"))]);
    assert!(inherited(ours.clone()).is_empty());
    let all = server("s", r#"{"command": "c", "toolbay": {"inherit_env": "all"}}"#);
    assert!(server_environment(&ours, &all).contains_key(&odd));
}

#[test]
fn the_login_shell_is_run_only_outside_a_terminal() {
    for (pairs, expected) in [
        (&[("SHELL", "/bin/bash")][..], Some("/bin/bash")),
        (&[("SHELL", "/bin/bash"), ("TERM", "dumb")], Some("/bin/bash")),
        (&[("SHELL", "/bin/bash"), ("TERM", "xterm")], None),
        (&[("SHELL", "bash")], None),
        (&[("SHELL", "/usr/sbin/nologin")], None),
        (&[("SHELL", "")], None),
        (&[], None),
    ] {
        assert_eq!(shell_to_ask(&variables(pairs)).as_deref(), expected.map(Path::new), "{pairs:?}");
    }
}

#[test]
fn the_path_of_the_shell_comes_first_and_ours_is_kept() {
    for (ours, login, expected) in [
        ("/usr/bin:/bin", "/home/me/.nvm/bin:/usr/bin", "/home/me/.nvm/bin:/usr/bin:/bin"),
        ("/app/bin:/usr/bin", "/usr/bin", "/usr/bin:/app/bin"),
        ("/bin", "", "/bin"),
        ("", "/bin", "/bin"),
        ("/bin", ".:evil::/a", "/a:/bin"),
    ] {
        assert_eq!(complete_path(ours.as_ref(), login.as_ref()), expected, "{ours} {login}");
    }
}
