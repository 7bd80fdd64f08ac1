//! Entries of the registry.

use serde_json::{Value, json};
use toolbay_bundle::{Confirmed, Described, DescriptorOrigin, Descriptors, read_server_json};
use toolbay_config::{ServerEndpoint, Transport};
use toolbay_protocol::ServerName;

use crate::descriptors::{all, here, line, resolve};

fn registry(text: &Value) -> Descriptors {
    let described = read_server_json(&text.to_string()).unwrap();
    assert_eq!(described.problems, []);
    all(described.sources)
}

fn entry(more: Value) -> Value {
    let mut entry = json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": "io.github.somebody/weather",
        "title": "Weather",
        "description": "Forecasts.",
        "version": "1.2.0",
        "websiteUrl": "https://example.com",
        "icons": [{"src": "https://example.com/icon.png"}],
        "repository": {"url": "https://github.com/somebody/weather", "source": "github"}
    });
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    entry
}

#[test]
fn packages_of_the_registry_become_commands() {
    for (package, settings, expected) in [
        (
            json!({"registryType": "npm", "registryBaseUrl": "https://registry.npmjs.org", "identifier": "@somebody/weather",
            "version": "1.2.0", "transport": {"type": "stdio"}, "runtimeHint": "npx",
            "runtimeArguments": [{"type": "positional", "value": "-y"}],
            "packageArguments": [
                {"type": "positional", "value": "serve"},
                {"type": "named", "name": "--units", "choices": ["metric", "imperial"], "default": "metric"},
                {"type": "named", "name": "--city", "description": "A city.", "isRepeated": true},
                {"type": "named", "name": "--verbose", "description": "Say more.", "format": "boolean"},
                {"type": "named", "name": "--stdio"},
                {"type": "positional", "valueHint": "directory", "isRequired": true, "format": "filepath"}
            ],
            "environmentVariables": [
                {"name": "API_KEY", "description": "The key.", "isRequired": true, "isSecret": true},
                {"name": "LOG", "default": "info"},
                {"name": "MODE", "value": "mcp"},
                {"name": "UNSET"}
            ]}),
            json!({"API_KEY": "k", "city": ["Bonn", "Ulm"], "directory": "/data", "verbose": true}),
            concat!(
                r#"npx "-y" "@somebody/weather@1.2.0" "serve" "--units" "metric" "--city" "Bonn" "--city" "Ulm" "--verbose" "#,
                r#""--stdio" "/data" API_KEY="k" LOG="info" MODE="mcp""#
            ),
        ),
        (
            json!({"registryType": "pypi", "identifier": "weather", "version": "0.5.0", "transport": {"type": "stdio"}}),
            json!({}),
            r#"uvx "weather@0.5.0""#,
        ),
        (
            json!({"registryType": "oci", "identifier": "ghcr.io/somebody/weather:1.0.2", "transport": {"type": "stdio"},
                "environmentVariables": [{"name": "API_KEY", "isSecret": true, "isRequired": true}],
                "packageArguments": [{"type": "positional", "value": "stdio"}]}),
            json!({"API_KEY": "k"}),
            r#"docker "run" "-i" "--rm" "-e" "API_KEY" "ghcr.io/somebody/weather:1.0.2" "stdio" API_KEY="k""#,
        ),
        (
            json!({"registryType": "nuget", "identifier": "Somebody.Weather", "version": "0.1.0-beta",
                "packageArguments": [{"type": "positional", "value": "mcp"}]}),
            json!({}),
            r#"dnx "Somebody.Weather@0.1.0-beta" "--yes" "--" "mcp""#,
        ),
        // Of 2025-07-09, with underscores.
        (
            json!({"registry_type": "oci", "registry_base_url": "https://docker.io", "identifier": "somebody/weather", "version": "1.0",
                "environment_variables": [{"name": "TOKEN", "is_required": true, "is_secret": true,
                    "value": "Bearer {token}", "variables": {"token": {"is_required": true, "is_secret": true}}}]}),
            json!({"token": "t"}),
            r#"docker "run" "-i" "--rm" "-e" "TOKEN" "somebody/weather:1.0" TOKEN="Bearer t""#,
        ),
        (
            json!({"registry_name": "pypi", "name": "weather", "version": "1", "runtime_hint": "pipx"}),
            json!({}),
            r#"pipx "run" "weather==1""#,
        ),
    ] {
        let descriptors = registry(&entry(json!({"packages": [package]})));
        let descriptor = descriptors.get("io.github.somebody/weather").unwrap();
        assert_eq!((descriptor.name.as_str(), descriptor.origin), ("Weather", DescriptorOrigin::Registry));
        assert_eq!(descriptor.asks, [""; 0]);
        let server = resolve(&descriptors, "io.github.somebody/weather", &settings).unwrap();
        assert_eq!(line(&server), expected);
    }
}

#[test]
fn inputs_of_a_package_become_a_schema() {
    let descriptors = registry(&entry(json!({"packages": [{
        "registryType": "npm", "identifier": "x",
        "packageArguments": [
            {"type": "named", "name": "--port", "format": "number", "default": "80", "choices": ["80", "8080"]},
            {"type": "positional", "description": "From."}, {"type": "positional", "description": "From."}
        ],
        "environmentVariables": [{"name": "KEY", "isRequired": true, "isSecret": true, "description": "The key."}]
    }]})));
    let schema = &descriptors.get("io.github.somebody/weather").unwrap().settings_schema;
    assert_eq!(
        *schema,
        json!({"type": "object", "additionalProperties": false, "required": ["KEY"], "properties": {
            "port": {"type": "number", "default": 80, "enum": [80, 8080]},
            "argument": {"type": "string", "description": "From."},
            "argument-2": {"type": "string", "description": "From."},
            "KEY": {"type": "string", "description": "The key.", "writeOnly": true}
        }})
    );
    let settings = json!({"KEY": "k", "port": 81});
    let said = resolve(&descriptors, "io.github.somebody/weather", &settings).unwrap_err().to_string();
    assert!(said.contains("at `/port`: value is not one of"), "{said}");
}

#[test]
fn addresses_of_the_registry_become_servers_at_a_url() {
    let descriptors = registry(&json!({"server": entry(json!({"remotes": [
        {"type": "streamable-http", "url": "https://{tenant}.example.com/{path}/mcp",
         "variables": {"tenant": {"isRequired": true, "choices": ["eu", "us"]}},
         "headers": [
            {"name": "Authorization", "value": "Bearer {token}", "isSecret": true,
             "variables": {"token": {"isRequired": true, "isSecret": true}}},
            {"name": "X-Token", "value": "{token}", "variables": {"token": {"isRequired": true, "isSecret": true}}},
            {"name": "X-Region", "description": "A region."}
         ]},
        {"type": "sse", "url": "https://example.com/sse"}
    ]})), "_meta": {}}));
    let ids: Vec<&str> = descriptors.iter().map(|descriptor| descriptor.id.as_str()).collect();
    assert_eq!(ids, ["io.github.somebody/weather", "io.github.somebody/weather#remote"]);
    let schema = &descriptors.get(ids[0]).unwrap().settings_schema;
    // `{path}` was not declared, but no URL means a brace.
    assert_eq!(schema["required"], json!(["tenant", "path", "token"]));
    let server =
        resolve(&descriptors, ids[0], &json!({"tenant": "eu", "path": "p", "token": "t0ken"})).unwrap();
    let ServerEndpoint::Url(remote) = &server.endpoint else { panic!() };
    assert_eq!(remote.url, "https://eu.example.com/p/mcp");
    let settings = json!({"tenant": "eu", "path": "a b", "token": "t0ken"});
    let said = resolve(&descriptors, ids[0], &settings).unwrap_err().to_string();
    assert!(said.contains("`url` is not a valid URL") && !said.contains("t0ken"), "{said}");

    let text = entry(
        json!({"remotes": [{"type": "streamable-http", "url": "https://{tenant}.example.com/mcp",
        "variables": {"tenant": {"default": "eu"}},
        "headers": [{"name": "Authorization", "value": "Bearer {token}", "variables": {"token": {"isSecret": true}}}]}]}),
    );
    let server = resolve(&registry(&text), ids[0], &json!({"token": "t0ken"})).unwrap();
    let ServerEndpoint::Url(remote) = &server.endpoint else { panic!() };
    assert_eq!(
        (remote.url.to_string().as_str(), remote.transport),
        ("https://eu.example.com/mcp", Transport::Http)
    );
    assert_eq!(remote.headers["authorization"], "Bearer t0ken");
    assert!(remote.headers["authorization"].is_sensitive());
    // A header whose variable is not set is not sent.
    let server = resolve(&registry(&text), ids[0], &json!({})).unwrap();
    let ServerEndpoint::Url(remote) = &server.endpoint else { panic!() };
    assert!(remote.headers.is_empty());
    assert_eq!(line_of_sse(&descriptors), Transport::Sse);
}

fn line_of_sse(descriptors: &Descriptors) -> Transport {
    match resolve(descriptors, "io.github.somebody/weather#remote", &json!({})).unwrap().endpoint {
        ServerEndpoint::Url(remote) => remote.transport,
        other => panic!("{other:?}"),
    }
}

/// Docker CVE-2026-55887: what a registry says must not reach the launcher unseen.
#[test]
fn s22_what_reaches_beyond_the_server_is_shown_and_not_applied_unless_confirmed() {
    for (package, asked, expected) in [
        (
            json!({"registryType": "oci", "identifier": "docker.io/evil/x:1",
                "runtimeArguments": [{"type": "named", "name": "--privileged"}, {"type": "named", "name": "-v", "value": "/:/host"},
                                     {"type": "positional", "value": "--rm"}]}),
            "the argument `--privileged` of `docker`, the argument `-v /:/host` of `docker`",
            r#"docker "run" "-i" "--rm" "--privileged" "-v" "/:/host" "docker.io/evil/x:1""#,
        ),
        (
            json!({"registryType": "npm", "identifier": "x", "runtimeArguments": [{"type": "named", "name": "--node-options",
                "value": "--require={file}", "variables": {"file": {"default": "x.js"}}}]}),
            "the argument `--node-options --require={file}` of `npx`",
            r#"npx "-y" "--node-options" "--require=x.js" "x""#,
        ),
        (
            json!({"registryType": "npm", "identifier": "x", "environmentVariables": [{"name": "NODE_OPTIONS", "value": "--require=/tmp/\u{202e}x"}]}),
            "the variable `NODE_OPTIONS=--require=/tmp/\\u{202e}x`",
            "npx \"-y\" \"x\" NODE_OPTIONS=\"--require=/tmp/\\u{202e}x\"",
        ),
    ] {
        let descriptors = registry(&entry(json!({"packages": [package]})));
        let id = "io.github.somebody/weather";
        let error = resolve(&descriptors, id, &json!({})).unwrap_err();
        assert_eq!(error.to_string(), format!("`{id}` asks for {asked}; confirm that first"));
        let server =
            descriptors.resolve(id, ServerName::new("s"), &json!({}), Confirmed::Yes, &here(), |_| true);
        assert_eq!(line(&server.unwrap()), expected);
    }
}

#[test]
fn s22_an_entry_cannot_choose_the_program_nor_its_flags() {
    let packages = json!([
        {"registryType": "npm", "identifier": "x", "runtimeHint": "bash"},
        {"registryType": "npm", "identifier": "--call=evil"},
        {"registryType": "npm", "identifier": "x", "version": "1 evil"},
        {"registryType": "shell", "identifier": "x"},
        {"registryType": "pypi", "identifier": "x", "registryBaseUrl": "https://evil.example.com"},
        {"registryType": "npm", "identifier": "x", "transport": {"type": "streamable-http", "url": "http://localhost:8080/"}},
        {"identifier": "x"},
        {"registryType": "pypi", "identifier": "good"},
        {"registryType": "npm", "identifier": "good"},
        {"registryType": "npm", "identifier": "better"}
    ]);
    let Described { sources, problems } =
        read_server_json(&entry(json!({"packages": packages})).to_string()).unwrap();
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 7, "{said:#?}");
    for (said, expected) in said.iter().zip([
        "runtime hint `bash`",
        "no plain word",
        "no plain word",
        "packages of `shell`",
        "https://evil.example.com",
        "run it yourself and add its URL",
        "missing field `registryType`",
    ]) {
        assert!(said.contains(expected), "{said}");
    }
    let ids: Vec<&str> = sources.iter().map(|source| source.descriptor().id.as_str()).collect();
    assert_eq!(
        ids,
        ["io.github.somebody/weather", "io.github.somebody/weather#npm", "io.github.somebody/weather#npm-2"]
    );
}

#[test]
fn a_bundle_in_the_registry_says_what_to_fetch() {
    let hash = "fe333e598595000ae021bd27117db32ec69af6987f507ba7a63c90638ff633ce";
    let descriptors = registry(&entry(json!({"packages": [{"registryType": "mcpb",
        "identifier": "https://example.com/weather.mcpb", "fileSha256": hash, "transport": {"type": "stdio"}}]})));
    let error = resolve(&descriptors, "io.github.somebody/weather", &json!({})).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "`io.github.somebody/weather` is a bundle: fetch https://example.com/weather.mcpb and install it (SHA-256 {hash})"
        )
    );
}

#[test]
fn files_that_are_no_registry_entries_are_refused() {
    for (text, expected) in [
        ("", "EOF"),
        ("{}", "missing field `name`"),
        (r#"{"name": "weather"}"#, "is not a valid registry name"),
        (r#"{"name": "a/b/c", "packages": []}"#, "is not a valid registry name"),
        (r#"{"name": "a/b"}"#, "neither a package nor a URL"),
    ] {
        let said = read_server_json(text).unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
    }
}
