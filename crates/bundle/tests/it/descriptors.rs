//! Manifests of extensions and bundles.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Value, json};
use tempfile::TempDir;
use toolbay_bundle::{
    Bundle, Confirmed, Described, DescriptorError, DescriptorOrigin, DescriptorSource, Descriptors, Machine,
    Platform, read_manifest,
};
use toolbay_config::{Permission, ServerConfig, ServerEndpoint, parse};
use toolbay_protocol::ServerName;

/// As the source document has it.
const FILESYSTEM: &str = r#"{
  "context_servers": {
    "mcp-server-filesystem": {
      "command": { "path": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem"] },
      "settings_schema": {
        "type": "object",
        "properties": {
          "rootPath": { "type": "string" },
          "allowedPaths": { "type": "array", "items": { "type": "string" } }
        }
      },
      "installation_instructions": "Run `npm install -g @modelcontextprotocol/server-filesystem`"
    }
  }
}"#;

pub(crate) fn here() -> Machine {
    Machine { home: PathBuf::from("/home/me"), platform: Platform::Linux }
}

pub(crate) fn all(sources: Vec<Arc<dyn DescriptorSource>>) -> Descriptors {
    let mut descriptors = Descriptors::default();
    sources.into_iter().for_each(|source| descriptors.add(source).unwrap());
    descriptors
}

fn manifest(text: &str) -> Descriptors {
    let described = read_manifest("extension", text).unwrap();
    assert_eq!(described.problems, []);
    all(described.sources)
}

pub(crate) fn resolve(
    descriptors: &Descriptors,
    id: &str,
    settings: &Value,
) -> Result<ServerConfig, DescriptorError> {
    descriptors.resolve(id, ServerName::new("s"), settings, Confirmed::No, &here(), |_| true)
}

/// The command line, each word quoted, and the variables.
pub(crate) fn line(server: &ServerConfig) -> String {
    let ServerEndpoint::Command(command) = &server.endpoint else { panic!("{server:?}") };
    let args: String = command.args.iter().map(|arg| format!(" {arg:?}")).collect();
    let env: String = command.env.iter().map(|(name, value)| format!(" {name}={value:?}")).collect();
    format!("{}{args}{env}", command.command)
}

#[test]
fn r091_an_extension_of_the_source_document_is_understood() {
    let descriptors = manifest(FILESYSTEM);
    let descriptor = descriptors.get("mcp-server-filesystem").unwrap();
    assert_eq!(
        (descriptor.name.as_str(), descriptor.origin),
        ("mcp-server-filesystem", DescriptorOrigin::Manifest)
    );
    assert!(descriptor.installation_instructions.as_ref().unwrap().contains("npm install -g"));
    assert_eq!(descriptors.iter().count(), 1);
    assert!(descriptors.get("other").is_none());

    let settings = json!({"rootPath": "/workspace", "allowedPaths": ["/workspace", "/tmp"]});
    let server = resolve(&descriptors, "mcp-server-filesystem", &settings).unwrap();
    assert_eq!((server.name.as_str(), server.permission), ("s", Permission::Enabled));
    let ServerEndpoint::Command(command) = &server.endpoint else { panic!() };
    assert_eq!(command.args, ["-y", "@modelcontextprotocol/server-filesystem"]);
    // R093: the settings reach the server.
    assert_eq!(serde_json::from_str::<Value>(&command.env["CONTEXT_SERVER_SETTINGS"]).unwrap(), settings);
    assert_eq!(
        line(&resolve(&descriptors, "mcp-server-filesystem", &json!({})).unwrap()),
        r#"npx "-y" "@modelcontextprotocol/server-filesystem""#
    );
}

#[test]
fn r093_settings_can_stand_in_the_command() {
    let descriptors = manifest(
        r#"{"description": "Of the extension.", "version": "2.0.0", "context_servers": {"x": {
            "name": "X", "icon": "x.svg",
            "command": {"path": "${settings.path}/x", "args": ["${settings.dirs}", "--in=${settings.dirs}", "--level", "${settings.level}",
                "${HOME}", "${OTHER}", "${v%x}", "--opt=${settings.unset}", "$settings.level"],
                "env": {"TOKEN": "${settings.token}", "UNSET": "${settings.unset}", "CONTEXT_SERVER_SETTINGS": "mine"}},
            "settings_schema": {"type": "object", "properties": {
                "dirs": {"type": "array"}, "level": {"type": "integer", "default": 3}, "token": {"type": "string"}, "unset": {}}}
        }}}"#,
    );
    let descriptor = descriptors.get("x").unwrap();
    assert_eq!((descriptor.name.as_str(), descriptor.version.as_deref()), ("X", Some("2.0.0")));
    assert_eq!(descriptor.description.as_deref(), Some("Of the extension."));
    // Names in what is filled in are text.
    let settings = json!({"dirs": ["/a b", "${HOME}"], "token": "${settings.level}"});
    let server = resolve(&descriptors, "x", &settings).unwrap();
    assert_eq!(
        line(&server),
        concat!(
            r#"${settings.path}/x "/a b" "${HOME}" "--in=/a b" "--in=${HOME}" "--level" "3" "/home/me" "${OTHER}" "${v%x}" "#,
            r#""$settings.level" CONTEXT_SERVER_SETTINGS="mine" TOKEN="${settings.level}""#
        )
    );
}

#[test]
fn r092_settings_that_do_not_fit_are_named_by_their_path() {
    let text = FILESYSTEM.replace(
        r#""rootPath": { "type": "string" }"#,
        r#""rootPath": { "type": "string", "pattern": "^/" }, "mode": { "enum": ["ro", "rw"] }"#,
    );
    let descriptors =
        manifest(&text.replace(r#""type": "object","#, r#""type": "object", "required": ["rootPath"],"#));
    for (settings, expected) in [
        (json!({"rootPath": 5}), r#"at `/rootPath`: value is not of type "string""#),
        (
            json!({"rootPath": "/", "allowedPaths": ["/a", 7]}),
            r#"at `/allowedPaths/1`: value is not of type "string""#,
        ),
        (json!({}), r#"at `/`: "rootPath" is a required property"#),
        (json!("s3cret"), "at `/`: settings must be an object"),
        (json!({"rootPath": "s3cret"}), r#"at `/rootPath`: value does not match "^/""#),
        (json!({"rootPath": "/", "mode": "s3cret"}), "at `/mode`: value is not one of"),
    ] {
        let error = resolve(&descriptors, "mcp-server-filesystem", &settings).unwrap_err();
        let said = error.to_string();
        assert!(
            said.starts_with("JSON schema validation failed for the settings of `mcp-server-filesystem`: "),
            "{said}"
        );
        assert!(said.contains(expected), "{said}");
        // S23
        assert!(!said.contains("s3cret"), "{said}");
    }
    // All at once.
    let both = resolve(&descriptors, "mcp-server-filesystem", &json!({"rootPath": 1, "allowedPaths": 2}));
    let Err(DescriptorError::Settings { problems, .. }) = both else { panic!("{both:?}") };
    assert_eq!(problems.len(), 2);
}

#[test]
fn a_missing_command_comes_with_a_hint() {
    let descriptors = manifest(FILESYSTEM);
    let id = "mcp-server-filesystem";
    let error = descriptors
        .resolve(id, ServerName::new("s"), &json!({}), Confirmed::No, &here(), |command| command != "npx")
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "`mcp-server-filesystem` needs the command `npx`, which is not found. Run `npm install -g @modelcontextprotocol/server-filesystem`"
    );
    let error = resolve(&descriptors, "nothing", &json!({})).unwrap_err();
    assert_eq!(error.to_string(), "unknown extension, bundle or registry entry `nothing`");
}

#[test]
fn one_bad_server_of_an_extension_drops_no_other() {
    let Described { sources, problems } = read_manifest(
        "e",
        r#"{"context_servers": {
            "good": {"command": {"path": "g"}},
            "no-command": {},
            "bad-schema": {"command": {"path": "g"}, "settings_schema": {"type": "nonsense"}},
            "far-schema": {"command": {"path": "g"}, "settings_schema": {"$ref": "https://example.com/schema"}}
        }}"#,
    )
    .unwrap();
    assert_eq!(sources.len(), 1);
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(
        said.iter().any(|said| said.contains("`no-command` is invalid: missing field `command`")),
        "{said:?}"
    );
    assert!(read_manifest("e", "[]").unwrap_err().to_string().contains("`e`"));

    let mut descriptors = all(sources);
    let again = read_manifest("e", r#"{"context_servers": {"good": {"command": {"path": "evil"}}}}"#)
        .unwrap()
        .sources;
    assert_eq!(descriptors.add(again[0].clone()), Err(DescriptorError::Taken { id: "good".to_owned() }));
    assert_eq!(line(&resolve(&descriptors, "good", &Value::Null).unwrap()), "g");
}

/// R095: the file has the settings, the extension the command.
#[test]
fn entries_of_extensions_in_a_file_become_servers() {
    let text = r#"{"project": {"context_servers": {
        "mcp-server-filesystem": {"enabled": false, "settings": {"rootPath": "/workspace"}},
        "bad": {"enabled": true, "settings": {"rootPath": 5}},
        "unknown": {"enabled": true, "settings": {}},
        "custom": {"command": "c"}
    }}}"#;
    let file = parse(text, Path::new("/home/me/.config/zed/settings.json")).unwrap();
    assert_eq!((file.servers.len(), file.extensions.len(), file.problems.len()), (1, 3, 0), "{file:?}");
    let mut descriptors = manifest(FILESYSTEM);
    let bad = read_manifest("e", &FILESYSTEM.replace("mcp-server-filesystem\"", "bad\"")).unwrap().sources;
    descriptors.add(bad[0].clone()).unwrap();
    let resolved = descriptors.resolve_all(&file.extensions, &here(), |_| true);
    let [server] = &resolved.servers[..] else { panic!("{resolved:?}") };
    assert_eq!((server.name.as_str(), server.permission), ("mcp-server-filesystem", Permission::Disabled));
    assert!(line(server).starts_with(r#"npx "-y""#));
    let said: Vec<String> = resolved.problems.iter().map(ToString::to_string).collect();
    assert!(said[0].contains("JSON schema validation failed") && said[0].contains("/rootPath"), "{said:?}");
    assert!(said[0].starts_with("3:9") && said[1].contains("registry entry `unknown`"), "{said:?}");
    let missing = descriptors.resolve_all(&file.extensions[..1], &here(), |_| false);
    assert!(missing.problems[0].message.contains("npm install -g"), "{missing:?}");
}

/// A bundle that was unpacked somewhere.
fn bundle(manifest: &Value) -> (TempDir, Result<Bundle, DescriptorError>) {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("manifest.json"), manifest.to_string()).unwrap();
    let bundle = Bundle::open(folder.path());
    (folder, bundle)
}

fn notes() -> Value {
    json!({
        "$schema": "https://example.com/mcpb-manifest.schema.json",
        "manifest_version": "0.3",
        "name": "notes",
        "display_name": "My Notes",
        "version": "0.4.2",
        "description": "Reads notes.",
        "author": {"name": "Somebody", "email": "somebody@example.com"},
        "icon": "icon.png",
        "server": {
            "type": "node",
            "entry_point": "server/index.js",
            "mcp_config": {
                "command": "node",
                "args": ["${__dirname}/server/index.js", "${user_config.folders}", "--max=${user_config.max}", "${user_config.mode}"],
                "env": {"NOTES_KEY": "${user_config.api_key}", "DEBUG": "${user_config.debug}", "SEP": "${/}"},
                "platform_overrides": {
                    "win32": {"command": "node.exe"},
                    "darwin": {"args": ["mac"], "env": {"MAC": "1"}}
                }
            }
        },
        "tools": [{"name": "read", "description": "Reads."}],
        "user_config": {
            "folders": {"type": "directory", "title": "Folders", "description": "Where notes are.", "multiple": true,
                        "required": true, "default": ["${DOCUMENTS}/notes", "${HOME}"]},
            "api_key": {"type": "string", "title": "Key", "description": "The key.", "sensitive": true, "required": true},
            "max": {"type": "number", "title": "Most", "description": "Most notes.", "default": 10, "min": 1, "max": 100},
            "debug": {"type": "boolean", "title": "Debug", "description": "Say more."},
            "mode": {"type": "string", "title": "Mode", "description": "Optional."}
        },
        "compatibility": {"claude_desktop": ">=0.10.0", "platforms": ["darwin", "linux"], "runtimes": {"node": ">=18"}}
    })
}

#[test]
fn a_bundle_becomes_a_command_with_its_settings_filled_in() {
    let (folder, bundle) = bundle(&notes());
    let dir = folder.path().display();
    let descriptors = all(vec![Arc::new(bundle.unwrap())]);
    let descriptor = descriptors.get("notes").unwrap();
    assert_eq!((descriptor.name.as_str(), descriptor.version.as_deref()), ("My Notes", Some("0.4.2")));
    assert_eq!(descriptor.settings_schema["required"], json!(["api_key"]));
    assert_eq!(descriptor.settings_schema["properties"]["api_key"]["writeOnly"], json!(true));
    assert_eq!(
        descriptor.settings_schema["properties"]["max"],
        json!({"type": "number", "minimum": 1.0, "maximum": 100.0, "title": "Most", "description": "Most notes.", "default": 10})
    );

    let server = resolve(&descriptors, "notes", &json!({"api_key": "k", "debug": true})).unwrap();
    assert_eq!(
        line(&server),
        format!(
            r#"node "{dir}/server/index.js" "/home/me/Documents/notes" "/home/me" "--max=10" DEBUG="true" NOTES_KEY="k" SEP="/""#
        )
    );
    // What the user says is text, not a template.
    let settings = json!({"api_key": "${HOME}", "folders": ["${HOME}", "/b"], "max": 5, "mode": "fast"});
    assert_eq!(
        line(&resolve(&descriptors, "notes", &settings).unwrap()),
        format!(
            r#"node "{dir}/server/index.js" "${{HOME}}" "/b" "--max=5" "fast" NOTES_KEY="${{HOME}}" SEP="/""#
        )
    );
    for (settings, expected) in [
        (json!({}), r#""api_key" is a required property"#),
        (json!({"api_key": ""}), "at `/api_key`"),
        (json!({"api_key": "k", "max": 1000}), "at `/max`"),
        (json!({"api_key": "k", "folders": []}), "at `/folders`"),
        (json!({"api_key": "k", "folders": "/a"}), "at `/folders`"),
        (json!({"api_key": "k", "typo": "/a"}), "'typo' was unexpected"),
    ] {
        let said = resolve(&descriptors, "notes", &settings).unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn a_bundle_heeds_the_platform() {
    let (_folder, bundle) = bundle(&notes());
    let descriptors = all(vec![Arc::new(bundle.unwrap())]);
    let on = |platform| {
        let here = Machine { platform, ..here() };
        let settings = json!({"api_key": "k"});
        descriptors.resolve("notes", ServerName::new("s"), &settings, Confirmed::No, &here, |_| true)
    };
    assert_eq!(line(&on(Platform::Mac).unwrap()), r#"node "mac" MAC="1" NOTES_KEY="k" SEP="/""#);
    let error = on(Platform::Windows).unwrap_err();
    assert_eq!(error.to_string(), "`notes` is for darwin, linux, not for win32");
}

#[test]
fn bundles_of_every_version_and_kind_are_understood() {
    for (kind, entry, expected) in [
        ("node", "index.js", r#"node "DIR/index.js""#),
        ("python", "main.py", r#"python3 "DIR/main.py""#),
        ("binary", "bin/x", "DIR/bin/x"),
        ("uv", "src/main.py", r#"uv "run" "--directory" "DIR" "src/main.py""#),
    ] {
        for version in ["0.1", "0.2", "0.3", "0.4"] {
            let key = if version == "0.1" { "dxt_version" } else { "manifest_version" };
            let (folder, bundle) = bundle(&json!({
                key: version, "name": "x", "version": "1", "description": "", "author": {"name": "a"},
                "server": {"type": kind, "entry_point": entry}
            }));
            let descriptors = all(vec![Arc::new(bundle.unwrap())]);
            let found = line(&resolve(&descriptors, "x", &json!({})).unwrap());
            assert_eq!(found.replace(folder.path().to_str().unwrap(), "DIR"), expected);
        }
    }
    let (_folder, none) = bundle(&json!({"name": "x"}));
    assert!(matches!(none, Err(DescriptorError::Broken { .. })));
}
