//! `toolbay secret`: values never pass through arguments or output. Stores themselves are tested in `toolbay-secrets`.

use std::{fs, os::unix::fs::PermissionsExt, process::Stdio};

use crate::program::Home;

/// Types a line whenever the program shows a question, and prints what it showed.
const TYPIST: &str = r#"
import os, pty, sys
lines, command = sys.argv[1].split("|"), sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    os.execv(command[0], command)
shown = b""
while True:
    try:
        read = os.read(terminal, 4096)
    except OSError:
        break
    if not read:
        break
    shown += read
    if lines and shown.endswith(b": "):
        os.write(terminal, lines.pop(0).encode() + b"\n")
sys.stdout.buffer.write(shown)
sys.exit(os.waitpid(pid, 0)[1] >> 8)
"#;

/// Runs a command on a terminal and answers its questions. Returns the exit code and what was shown.
#[expect(clippy::disallowed_methods, reason = "the program under test, on a terminal that Python makes")]
fn on_terminal(home: &Home, args: &[&str], answers: &[&str]) -> (Option<i32>, String) {
    let program = home.command(args);
    let mut command = std::process::Command::new("python3");
    command.args(["-c", TYPIST, &answers.join("|")]).arg(program.get_program()).args(program.get_args());
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.stdin(Stdio::null()).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn secrets_are_set_from_stdin_listed_and_removed() {
    let home = Home::new();
    let ran = home.run_with_input(&["secret", "set", "B_TOKEN", "--store", "plain-file"], "hidden-b\n");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:#?}");
    assert!(ran.stderr.contains("set secret `B_TOKEN` in the plain file"), "{ran:#?}");
    assert!(ran.stderr.contains("warning: secrets are kept in a plain file"), "{ran:#?}");
    assert_eq!(home.run_with_input(&["secret", "set", "A_TOKEN"], "hidden-a\nsecond line\n").code, Some(0));
    let file = home.path("config/toolbay/secrets");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(r#""A_TOKEN": "hidden-a\nsecond line","#), "{text}");
    let list = home.run(&["secret", "list"]);
    assert_eq!(list.stdout, "A_TOKEN\nB_TOKEN\n");
    assert!(list.stderr.contains(&format!("2 secrets in the plain file {}", file.display())), "{list:#?}");
    let json: serde_json::Value =
        serde_json::from_str(&home.run(&["secret", "list", "--json"]).stdout).unwrap();
    assert_eq!(json["store"], "plain-file");
    assert_eq!(json["file"], file.to_str().unwrap());
    assert_eq!(json["secrets"], serde_json::json!(["A_TOKEN", "B_TOKEN"]));
    assert!(!json.to_string().contains("hidden") && !format!("{list:?}").contains("hidden"));
    assert_eq!(home.run(&["secret", "remove", "A_TOKEN"]).code, Some(0));
    let ran = home.run(&["secret", "rm", "A_TOKEN"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("secret A_TOKEN is not set"), "{ran:#?}");
    assert_eq!(home.run(&["secret", "list"]).stdout, "B_TOKEN\n");
}

#[test]
fn a_value_is_never_an_argument_and_never_repeated() {
    let home = Home::new();
    let ran = home.run(&["secret", "set", "TOKEN", "hidden-value"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("a secret is never an argument"), "{ran:#?}");
    assert!(!format!("{ran:?}").contains("hidden-value"), "{ran:#?}");
    for (input, reason) in [("", "it is empty"), ("\n", "it is empty"), ("a\0hidden", "it is not a text")] {
        let ran = home.run_with_input(&["secret", "set", "TOKEN", "--store", "plain-file"], input);
        assert!(
            ran.code == Some(2) && ran.stderr.contains(reason) && !ran.stderr.contains("hidden"),
            "{ran:#?}"
        );
    }
    let long = "hidden".repeat(20_000);
    let ran = home.run_with_input(&["secret", "set", "TOKEN", "--store", "plain-file"], &long);
    assert!(ran.code == Some(2) && ran.stderr.contains("more than 64 KiB"), "{:?}", ran.code);
    assert!(!home.path("config/toolbay/secrets").exists());
}

#[test]
fn a_value_that_is_typed_is_not_shown() {
    let home = Home::new();
    let (code, shown) =
        on_terminal(&home, &["secret", "set", "TOKEN", "--store", "plain-file"], &["hidden-value"]);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("Value of TOKEN: ") && !shown.contains("hidden"), "{shown}");
    assert!(fs::read_to_string(home.path("config/toolbay/secrets")).unwrap().contains("hidden-value"));
    // A passphrase that is entered twice encrypts them.
    let (code, shown) =
        on_terminal(&home, &["secret", "move", "encrypted-file"], &["correct horse", "correct horse"]);
    assert!(code == Some(0) && shown.contains("moved 1 secret to the encrypted file"), "{shown}");
    assert!(!shown.contains("horse"), "{shown}");
    let text = fs::read_to_string(home.path("config/toolbay/secrets")).unwrap();
    assert!(text.starts_with("toolbay-secrets 1 encrypted\n") && !text.contains("hidden"), "{text}");
    let (code, shown) = on_terminal(&home, &["secret", "list"], &["correct horse"]);
    assert!(code == Some(0) && shown.contains("TOKEN\r\n"), "{shown}");
    let (code, shown) = on_terminal(&home, &["secret", "list"], &["wrong horse"]);
    assert!(code == Some(1) && shown.contains("wrong passphrase"), "{shown}");
    let ran = home.run(&["secret", "list"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("a passphrase was not given"), "{ran:#?}");
}

#[test]
fn a_key_file_encrypts_secrets() {
    let home = Home::new();
    home.write_secret("key", "0123456789abcdef0123456789abcdef\n");
    let key = home.path("key");
    let run = |args: &[&str], input: &str| {
        let mut command = home.command(args);
        command.env("TOOLBAY_SECRET_KEY_FILE", &key).stdin(Stdio::piped());
        let mut child = command.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let set = run(&["secret", "set", "TOKEN", "--store", "encrypted-file"], "hidden-value");
    assert!(set.status.success(), "{set:?}");
    assert!(!fs::read_to_string(home.path("config/toolbay/secrets")).unwrap().contains("hidden"));
    assert_eq!(run(&["secret", "list"], "").stdout, b"TOKEN\n");
    let ran = home.run(&["secret", "list"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("TOOLBAY_SECRET_KEY_FILE"), "{ran:#?}");
}
