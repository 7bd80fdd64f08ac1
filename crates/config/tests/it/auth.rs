//! The table `[auth]`.

use std::path::Path;

use toolbay_config::{AuthSection, ClientSecret, ConfigFile, parse, schema};

fn file(text: &str) -> ConfigFile {
    parse(text, Path::new("/etc/toolbay.toml")).unwrap()
}

fn fits_schema(text: &str) -> bool {
    let json = serde_json::to_value(toml::from_str::<toml::Table>(text).unwrap()).unwrap();
    jsonschema::is_valid(&schema(), &json)
}

#[test]
fn the_least_is_an_issuer() {
    let file = file("[auth]\nissuer = 'https://i.example/t'\n");
    assert_eq!(file.problems, []);
    let AuthSection::Valid(auth) = file.auth else { panic!("{:?}", file.auth) };
    assert_eq!(auth.issuer, "https://i.example/t");
    assert!(auth.audience.is_empty() && auth.introspection.is_none() && auth.required_scopes.is_empty());
}

#[test]
fn a_secret_is_named_and_never_written() {
    let text = |secret: &str| {
        format!(
            "[auth]\nissuer = 'https://i'\nintrospection = {{ client_id = 'a', client_secret = '{secret}' }}"
        )
    };
    let AuthSection::Valid(auth) = file(&text("${secret:idp}")).auth else { panic!("it is valid") };
    assert_eq!(auth.introspection.unwrap().client_secret, ClientSecret("idp".into()));
    let plain = file(&text("hunter2"));
    assert_eq!(plain.auth, AuthSection::Invalid);
    let problem = plain.problems[0].to_string();
    assert!(problem.contains("toolbay secret set") && !problem.contains("hunter2"), "{problem}");
}

/// Where it is wrong, the hub must know that it was there.
#[test]
fn mistakes_are_reported_with_their_place_and_leave_it_invalid() {
    for (line, expected) in [
        ("required_scopes = ['a']", "1:2: `[auth]` needs an `issuer`"),
        ("issuer = 5", "2:1: `issuer`: invalid type"),
        ("issuer = 'login.example.com'", "2:1: `issuer`: must be a URL"),
        (
            "issuer = 'http://login.example.com'",
            "2:1: `issuer`: must begin with `https://`, except on this machine",
        ),
        ("issuer = 'https://i?x=1'", "2:1: `issuer`: must be a URL without query"),
        ("issuer = 'https://i'\nisuer = ''", "3:1: `isuer` is unknown; did you mean `issuer`?"),
        ("issuer = 'https://i'\naudience = 1", "3:1: `audience`: expected a string or an array of strings"),
        ("issuer = 'https://i'\nrequired_scopes = ['a b']", "3:1: `required_scopes`: `a b` is not a scope"),
        (
            "issuer = 'https://i'\nrequired_scopes = ['offline_access']",
            "3:1: `required_scopes`: `offline_access`",
        ),
        ("issuer = 'https://i'\ntiers = { a = 'admin' }", "3:1: `tiers`: `admin` is not a tier"),
        (
            "issuer = 'https://i'\ntier_claim = { claim = 'x', values = { a = 'b' } }",
            "3:1: `tier_claim`: `b` is not a tier",
        ),
        (
            "issuer = 'https://i'\nprofile_claim = { claim = 'x' }",
            "3:1: `profile_claim`: missing field `values`",
        ),
        (
            "issuer = 'https://i'\njwks_url = 'https://j'\n\
             introspection = { client_id = 'a', client_secret = '${secret:s}' }",
            "1:2: `jwks_url` and `introspection` cannot be used together",
        ),
    ] {
        let file = file(&format!("[auth]\n{line}\n"));
        assert_eq!(file.auth, AuthSection::Invalid, "{line}");
        let found: Vec<String> = file.problems.iter().map(ToString::to_string).collect();
        assert!(found.len() == 1 && found[0].starts_with(expected), "{line}: {found:?}");
    }
    assert_eq!(file("auth = true\n").auth, AuthSection::Invalid);
}

#[test]
fn the_schema_agrees() {
    for (line, is_fine) in [
        ("issuer = 'https://i'", true),
        ("issuer = 5", false),
        ("required_scopes = ['a']", false),
        ("issuer = 'https://i'\naudience = 'a'", true),
        ("issuer = 'https://i'\naudience = ['a']", true),
        ("issuer = 'https://i'\ntiers = { a = 'read' }", true),
        ("issuer = 'https://i'\ntiers = { a = 'all' }", false),
        ("issuer = 'https://i'\nscope_includes = { a = ['b'] }", true),
        ("issuer = 'https://i'\nscope_includes = { a = 'b' }", false),
        ("issuer = 'https://i'\nintrospection = { client_id = 'a', client_secret = '${secret:s}' }", true),
        ("issuer = 'https://i'\nintrospection = { client_id = 'a', client_secret = 'plain' }", false),
        ("issuer = 'https://i'\nintrospection = { client_id = 'a' }", false),
        ("issuer = 'https://i'\nother = 1", false),
    ] {
        let text = format!("[auth]\n{line}\n");
        assert_eq!(fits_schema(&text), is_fine, "the schema: {text}");
        assert_eq!(file(&text).problems.is_empty(), is_fine, "the reader: {text}");
    }
}

#[test]
fn a_public_url_is_a_url_of_a_hub() {
    for (url, is_fine) in [
        ("https://hub.example.com", true),
        ("https://hub.example.com:8443/tools", true),
        ("http://localhost:4100", true),
        ("http://hub.example.com", false),
        ("hub.example.com", false),
        ("https://hub.example.com/?a", false),
        ("wss://hub.example.com", false),
    ] {
        let file = file(&format!("[hub]\npublic_url = '{url}'\n"));
        assert_eq!(file.problems.is_empty(), is_fine, "{url}: {:?}", file.problems);
        assert_eq!(file.hub.public_url.is_some(), is_fine);
    }
}

const PROXY: &str = "[auth.proxy]\nissuer = 'https://p.example'\nclient_id = 'hub'\n";

#[test]
fn the_proxy_needs_a_client_id_and_people() {
    let text = format!(
        "[auth]\nrequired_scopes = ['mcp']\n{PROXY}client_secret = '${{secret:p}}'\nallowed_domains = 'a.example'\n\
         access_token_lifetime = '5m'\nredirect_schemes = ['cursor']\n"
    );
    let found = file(&text);
    assert_eq!(found.problems, []);
    assert!(fits_schema(&text));
    let AuthSection::Valid(auth) = found.auth else { panic!("{:?}", found.auth) };
    let proxy = auth.proxy.unwrap();
    assert!(auth.issuer.is_empty() && !proxy.allow_everyone);
    assert_eq!(
        (proxy.issuer.as_str(), proxy.client_secret),
        ("https://p.example", Some(ClientSecret("p".into())))
    );
    assert_eq!(proxy.allowed_domains, ["a.example"]);
    assert_eq!(proxy.access_token_lifetime, Some(std::time::Duration::from_secs(300)));
}

#[test]
fn mistakes_in_the_proxy_leave_auth_invalid() {
    for (rest, expected) in [
        ("", "who may use the hub"),
        ("allowed_domains = []", "who may use the hub"),
        ("allow_everyone = false", "who may use the hub"),
        ("allowed_domains = ['@a.example']", "is not a domain"),
        ("allowed_emails = ['ada']", "is not an address"),
        ("allow_everyone = true\nredirect_schemes = ['javascript']", "is not a scheme"),
        ("allow_everyone = true\nredirect_schemes = ['http']", "is not a scheme"),
        ("allow_everyone = true\naccess_token_lifetime = '25h'", "between 1m and 24h"),
        ("allow_everyone = true\nlogin_lifetime = '1s'", "at least 1m"),
        ("allow_everyone = true\nclient_secret = 'hunter2'", "toolbay secret set"),
        ("allow_everyone = true\nclient = 'x'", "unknown field"),
    ] {
        let found = file(&format!("{PROXY}{rest}\n"));
        assert_eq!(found.auth, AuthSection::Invalid, "{rest}");
        let problem = found.problems[0].to_string();
        assert!(problem.contains(expected) && !problem.contains("hunter2"), "{rest}: {problem}");
    }
    assert_eq!(
        file("[auth.proxy]\nissuer = 'https://p'\nallow_everyone = true\n").auth,
        AuthSection::Invalid
    );
}
