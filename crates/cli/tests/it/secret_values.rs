//! Secrets of servers: they arrive where the configuration refers to them, and appear nowhere else.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    path::Path,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use toolbay_testkit::harness::processes;

use crate::program::{Home, Ran};

/// Names of secrets and their values. Nothing in the values looks like a secret, so only what knows them can hide them.
const SECRETS: [(&str, &str); 10] = [
    ("in-env", "tulip orange 31"),
    ("in-noise", "daisy violet 32"),
    ("in-failure", "aster yellow 33"),
    ("in-refusal", "poppy indigo 34"),
    ("in-args", "lilac silver 35"),
    ("in-path", "clover-copper-36"),
    ("in-query", "maple-golden-37"),
    ("in-header", "cedar bronze 38"),
    ("in-key", "birch-purple-39"),
    ("in-multiple-lines", "acorn scarlet 40\nhazel crimson 41"),
];
const OF_COMMAND: &str = "willow marble 42";
const OF_TOKEN_FILE: &str = "juniper-cobalt-granite-ruby-emerald-topaz-43";

/// Writes its arguments and variables to stderr and stdout before it serves. It refuses the handshake, or fails, if asked to.
const TALKATIVE: &str = r#"
import json, os, sys
told = [os.environ[name] for name in sorted(os.environ) if name.startswith("WORD")] + sys.argv[1:]
print("started with", *told, file=sys.stderr, flush=True)
print("not a message:", *told, flush=True)
if "fail" in sys.argv:
    sys.exit("cannot log in with " + " ".join(told))
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if "refuse" in sys.argv:
        answer["error"] = {"code": -32000, "message": "no access for " + " ".join(told)}
    elif message["method"] == "initialize":
        answer["result"] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}}
    elif message["method"] == "tools/list":
        answer["result"] = {"tools": [{"name": "count", "inputSchema": {"type": "object"}}]}
    elif message["method"] == "tools/call":
        answer["result"] = {"content": [{"type": "text", "text": str([len(word) for word in told])}]}
    else:
        answer["error"] = {"code": -32601, "message": "unknown, says " + " ".join(told)}
    print(json.dumps(answer), flush=True)
"#;

/// Refuses every request and repeats all of it. Returns its address, and what it got.
fn repeating_server() -> (String, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let got = Arc::new(Mutex::new(String::new()));
    let log = got.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let log = log.clone();
            thread::spawn(move || {
                let mut reader = BufReader::new(stream);
                let (mut head, mut length) = (String::new(), 0);
                loop {
                    let mut line = String::new();
                    if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
                        break;
                    }
                    if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                    head.push_str(&line);
                }
                let _ = reader.read_exact(&mut vec![0; length]);
                log.lock().unwrap().push_str(&head);
                let body = format!("refused: {head}").replace("\r\n", " ");
                let _ = write!(
                    reader.into_inner(),
                    "HTTP/1.1 500 Oh\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                    body.len()
                );
            });
        }
    });
    (address, got)
}

/// A home whose configuration refers to secrets wherever that is possible.
fn home(address: &str) -> Home {
    let home = Home::new();
    home.write("talkative.py", TALKATIVE);
    home.write_secret("vault", &format!("{OF_COMMAND}\n"));
    home.write_secret("token", OF_TOKEN_FILE);
    for (name, value) in SECRETS {
        home.run_with_input(&["secret", "set", name, "--store", "plain-file"], value).expect(0);
    }
    let (script, vault) = (home.path("talkative.py"), home.path("vault"));
    let talkative = |name: &str, args: &str, rest: &str| {
        format!(
            "[servers.{name}]\ncommand = \"python3\"\nargs = [{script:?}{args}]\nrestart = \"never\"\n{rest}\n"
        )
    };
    let mut text = format!("[secret_commands]\nfrom-command = [\"cat\", {vault:?}]\n");
    text +=
        &talkative("env", "", "env = { WORD = \"${secret:in-env}\", WORDS = \"${secret:from-command}\" }");
    text += &talkative("lines", "", "env = { WORD = \"${secret:in-multiple-lines}\" }");
    text += &talkative("noise", "", "env = { WORD = \"x ${secret:in-noise} y\" }");
    text += &talkative("fails", ", \"fail\"", "env = { WORD = \"${secret:in-failure}\" }");
    text += &talkative("refuses", ", \"refuse\"", "env = { WORD = \"${secret:in-refusal}\" }");
    text += &talkative("args", ", \"${secret:in-args}\"", "secrets_in_args = true");
    text += &talkative("missing", "", "env = { WORD = \"${secret:not-there}\" }");
    text += &format!(
        "[servers.remote]\nurl = \"http://{address}/${{secret:in-path}}/mcp?k=${{secret:in-query}}\"\n\
         headers = {{ X-Word = \"${{secret:in-header}}\" }}\n\
         [servers.closed]\nurl = \"http://127.0.0.1:1/${{secret:in-path}}\"\n\
         [servers.search]\nbuiltin = \"brave-search\"\napi_key = \"${{secret:in-key}}\"\nbase_url = \"http://{address}\"\n"
    );
    home.write_user_config(&text);
    home
}

/// All values, line by line.
fn values() -> impl Iterator<Item = &'static str> {
    let stored = SECRETS.iter().flat_map(|(_, value)| value.lines());
    stored.chain([OF_COMMAND, OF_TOKEN_FILE])
}

#[track_caller]
fn assert_clean(what: &str, text: &str) {
    for value in values() {
        assert!(!text.contains(value), "{what} contains `{value}`:\n{text}");
    }
}

fn assert_clean_output(what: &str, ran: &Ran) {
    assert_clean(what, &ran.stdout);
    assert_clean(what, &ran.stderr);
}

/// Looks through all files below a folder but those that hold secrets by intention. Returns how many there were.
fn assert_clean_files(folder: &Path) -> usize {
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            count += assert_clean_files(&path);
        } else if kind.is_file() && !["secrets", "vault", "token"].iter().any(|name| path.ends_with(name)) {
            assert_clean(&path.display().to_string(), &String::from_utf8_lossy(&fs::read(&path).unwrap()));
            count += 1;
        }
    }
    count
}

#[test]
fn secrets_reach_their_servers_and_appear_nowhere_else() {
    let (address, got) = repeating_server();
    let home = home(&address);
    let mut hub = home.serve(&["--token-file", "token"]);
    hub.until("env ready");
    let called = home.run(&["call", "env__count"]).expect(0);
    assert!(called.stdout.contains("[15, 16]"), "the server has both words: {called:#?}");
    let called = home.run(&["call", "args__count"]).expect(0);
    assert!(called.stdout.contains("[15]"), "{called:#?}");
    assert_clean_output("a failed search", &home.run(&["call", "search__brave_web_search", "query=x"]));
    for (name, value) in
        SECRETS.iter().filter(|(name, _)| ["in-path", "in-query", "in-header", "in-key"].contains(name))
    {
        assert!(got.lock().unwrap().contains(value), "{name}: {}", got.lock().unwrap());
    }

    let status = home.run(&["status"]);
    assert!(
        status.stdout.contains("secret not-there is not set: toolbay secret set not-there"),
        "{status:#?}"
    );
    assert!(status.stdout.contains("its arguments contain secrets"), "{status:#?}");
    let mut looked_at = 0;
    for command in [
        "status",
        "status --json",
        "list",
        "list --json",
        "tools",
        "tools --json",
        "config check",
        "config show",
        "export --client claude-code --servers",
        "export --client claude-code --servers --json",
        "secret list",
        "secret list --json",
        "logs env",
        "logs lines",
        "logs noise",
        "logs fails",
        "logs refuses",
        "logs args",
        "logs remote",
        "logs closed",
        "logs search",
        "logs missing",
        "get env",
        "get remote --json",
        "get search",
        "call hub__status",
        "call noise__count",
        "call fails__count",
        "call refuses__count",
        "call remote__x",
        "restart fails",
        "restart env",
    ] {
        let ran = home.run(&command.split(' ').collect::<Vec<_>>());
        looked_at += ran.stdout.len() + ran.stderr.len();
        assert_clean_output(command, &ran);
    }
    for process in processes() {
        let line = process.arguments.join(" ");
        let is_allowed = |value: &str| value == "lilac silver 35" && line.contains("talkative.py");
        for value in values().filter(|value| line.contains(value)) {
            assert!(is_allowed(value), "`{value}` is in a command line: {line}");
        }
    }
    assert_eq!(hub.stop(), Some(0));
    assert_clean("the output of the hub", &hub.said);

    // Without a hub, commands start the servers themselves, and say everything with -vv.
    for command in [
        "-vv call env__count",
        "-vv call remote__x",
        "-vv call refuses__count",
        "doctor -vv --timeout 20",
        "doctor --json --timeout 20",
    ] {
        let ran = home.run(&command.split(' ').collect::<Vec<_>>());
        looked_at += ran.stdout.len() + ran.stderr.len();
        assert_clean_output(command, &ran);
    }
    let files = assert_clean_files(&home.path(""));
    assert!(files > 5 && looked_at > 20_000, "{files} files, {looked_at} bytes");
}

#[test]
fn a_missing_secret_fails_its_server_alone_and_is_noticed_when_it_is_set() {
    let home = Home::new();
    let script = home.path("server.py");
    home.write_user_config(&format!(
        "[servers.needs]\ncommand = \"python3\"\nargs = [{script:?}]\nenv = {{ A = \"${{secret:LATER}}\" }}\n\
         [servers.plain]\ncommand = \"python3\"\nargs = [{script:?}]\n"
    ));
    home.run_with_input(&["secret", "set", "OTHER", "--store", "plain-file"], "x").expect(0);
    let mut hub = home.serve(&[]);
    hub.until("plain ready");
    let ran = home.run(&["call", "needs__echo"]);
    assert!(ran.code != Some(0), "{ran:#?}");
    assert!(ran.stderr.contains("secret LATER is not set: toolbay secret set LATER"), "{ran:#?}");
    home.run_with_input(&["secret", "set", "LATER"], "now").expect(0);
    // Without a restart: it is looked for every 30 seconds.
    let is_up = || {
        thread::sleep(Duration::from_secs(1));
        home.run(&["call", "needs__echo", "text=hi"]).code == Some(0)
    };
    assert!((0..60).any(|_| is_up()), "it is not noticed: {:#?}", home.run(&["status"]));
    assert_eq!(hub.stop(), Some(0));
}

/// A repository cannot decide what runs, nor have a secret before it is approved.
#[test]
fn a_project_has_no_commands_and_no_secret_before_its_approval() {
    let home = Home::new();
    let (script, mark) = (home.path("server.py"), home.path("ran"));
    home.run_with_input(&["secret", "set", "MINE", "--store", "plain-file"], "mine").expect(0);
    home.write(
        "toolbay.toml",
        &format!(
            "[secret_commands]\nMINE = [\"touch\", {mark:?}]\n\
             [servers.s]\ncommand = \"python3\"\nargs = [{script:?}, \"--plain\"]\nenv = {{ A = \"${{secret:MINE}}\" }}\n"
        ),
    );
    let ran = home.run(&["doctor", "--timeout", "20"]);
    assert!(format!("{ran:?}").contains("needs approval"), "{ran:#?}");
    let mut hub = home.serve(&[]);
    assert!(hub.said.contains("`secret_commands` is ignored in a project file"), "{}", hub.said);
    let shown = home.run(&["approve", "--show"]);
    home.run(&["approve", "--yes", "s"]).expect(0);
    assert!(!format!("{shown:?}").contains("\"mine\""), "{shown:#?}");
    assert_eq!(hub.stop(), Some(0));
    let ran = home.run(&["call", "s__echo", "text=x"]).expect(0);
    assert!(ran.stdout.contains("x"), "{ran:#?}");
    assert!(!mark.exists(), "the command of the project never ran");
}

#[test]
fn import_moves_plain_secrets_to_the_store() {
    let home = Home::new();
    home.run_with_input(&["secret", "set", "API_KEY", "--store", "plain-file"], "another").expect(0);
    home.write(
        "theirs.json",
        r#"{"mcpServers": {
            "a": {"command": "x", "env": {"API_KEY": "ghp_walnut1234567", "MODE": "fast"}},
            "b": {"url": "https://h.example/mcp", "headers": {"Authorization": "Bearer pepper-walnut"}}}}"#,
    );
    let ran = home.run(&["import", "theirs.json", "--yes", "--secrets", "move"]).expect(0);
    assert!(ran.stderr.contains("2 secrets moved to the store"), "{ran:#?}");
    let text = fs::read_to_string(home.path("config/toolbay/toolbay.toml")).unwrap();
    assert!(
        text.contains("${secret:a/API_KEY}") && text.contains("Bearer ${secret:Authorization}"),
        "{text}"
    );
    assert!(text.contains("fast") && !text.contains("walnut"), "{text}");
    let stored = fs::read_to_string(home.path("config/toolbay/secrets")).unwrap();
    for value in ["another", "ghp_walnut1234567", "\"pepper-walnut\""] {
        assert!(stored.contains(value), "{value}: {stored}");
    }
    assert!(!format!("{ran:?}").contains("walnut"));
}
