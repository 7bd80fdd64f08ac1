//! Secrets that programs print, and the resolver that asks programs and store.

use std::{collections::BTreeMap, fs, time::Instant};

use tokio_util::task::TaskTracker;
use toolbay_secrets::{CommandContext, Secret, SecretCommand, SecretName, SecretResolver, SecretsError};
use toolbay_supervise::Shim;

use crate::support::{HOST, Place, assert_says, message, name};

fn context() -> CommandContext {
    CommandContext {
        environment: BTreeMap::from([
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("GREETING".into(), "passed in".into()),
        ]),
        directory: "/".into(),
        shim: Shim::program(HOST),
        tasks: TaskTracker::new(),
    }
}

fn shell(script: &str) -> SecretCommand {
    SecretCommand { program: "/bin/sh".into(), args: vec!["-c".into(), script.into()] }
}

async fn run(script: &str) -> Result<Secret, SecretsError> {
    shell(script).run(&name("TOKEN"), &context()).await
}

#[tokio::test]
async fn the_output_without_one_line_break_is_the_secret() {
    let cases = [
        ("printf one", "one"),
        ("printf 'one\\n'", "one"),
        ("printf 'one\\r\\n'", "one"),
        ("printf 'one\\n\\n'", "one\n"),
        ("printf ' one \\r'", " one \r"),
        ("printf 'a\\nb\\n'", "a\nb"),
        ("echo \"$GREETING\"; echo noise >&2", "passed in"),
        ("cat; echo stdin is empty", "stdin is empty"),
        ("pwd", "/"),
        ("head -c 65536 /dev/zero | tr '\\0' x; echo", &"x".repeat(65_536)),
        // What it leaves running ends with it.
        ("sleep 600 & echo one", "one"),
    ];
    for (script, expected) in cases {
        let begun = Instant::now();
        assert_eq!(run(script).await.unwrap().expose(), expected, "{script}");
        assert!(begun.elapsed().as_secs() < 8, "{script}");
    }
    // The environment is the one that was passed in, and nothing else.
    assert!(run("env | grep '^HOME='").await.is_err());
}

#[tokio::test]
async fn arguments_are_never_read_by_a_shell() {
    let command = SecretCommand { program: "echo".into(), args: vec!["$HOME; `id` *".into()] };
    assert_eq!(command.run(&name("TOKEN"), &context()).await.unwrap().expose(), "$HOME; `id` *");
}

#[tokio::test]
async fn no_error_contains_what_a_command_printed() {
    let cases = [
        ("echo hidden; exit 3", "failed (exit code 3); run it in a terminal"),
        ("echo hidden >&2; kill -TERM $$", "signal 15"),
        ("printf 'hidden\\377'", "printed no usable secret: it is not a text"),
        ("printf 'hid\\0den'", "it is not a text"),
        ("true", "it is empty"),
        ("echo", "it is empty"),
        ("yes hidden", "it has more than 64 KiB"),
        ("head -c 65537 /dev/zero | tr '\\0' x", "it has more than 64 KiB"),
    ];
    for (script, expected) in cases {
        let result = run(script).await;
        assert!(!format!("{result:?}").contains("hidden"), "{result:?}");
        let message = message(result);
        assert!(message.contains("`sh`, the command for secret `TOKEN`"), "{message}");
        assert!(message.contains(expected) && !message.contains("hidden"), "{message}");
    }
    let missing = SecretCommand { program: "no-such-program".into(), args: vec!["hidden".into()] };
    let message = message(missing.run(&name("TOKEN"), &context()).await);
    assert!(message.contains("cannot start `no-such-program`, the command for secret `TOKEN`"), "{message}");
    assert!(message.contains("looked in /usr/bin, /bin") && !message.contains("hidden"), "{message}");
}

#[tokio::test]
async fn a_command_that_waits_is_ended() {
    let directory = tempfile::tempdir().unwrap();
    let alive = directory.path().join("alive");
    let script = format!("trap '' TERM; (sleep 13; touch {0}) & sleep 13; touch {0}", alive.display());
    let begun = Instant::now();
    let result = run(&script).await;
    let waited = begun.elapsed();
    assert_says(result, &["did not end within 10 s", "must not ask questions"]);
    assert!((10..13).contains(&waited.as_secs()), "{waited:?}");
    tokio::time::sleep(std::time::Duration::from_secs(4)).await;
    assert!(!fs::exists(alive).unwrap());
}

#[tokio::test]
async fn commands_come_before_the_store_and_work_without_one() {
    let place = Place::new();
    place.set("STORED", "from the store").await.unwrap();
    place.set("BOTH", "from the store").await.unwrap();
    let commands: BTreeMap<SecretName, SecretCommand> =
        [("PRINTED", "echo printed"), ("BOTH", "echo printed")]
            .map(|(key, script)| (name(key), shell(script)))
            .into();
    let resolver = SecretResolver::new(commands, context(), place.config.clone());
    let resolve =
        async |key: &str| resolver.resolve(&name(key)).await.map(|secret| secret.expose().to_owned());
    assert_eq!(resolve("PRINTED").await.unwrap(), "printed");
    assert_eq!(resolve("BOTH").await.unwrap(), "printed");
    assert_eq!(resolve("STORED").await.unwrap(), "from the store");
    assert_says(resolve("OTHER").await, &["secret OTHER is not set: toolbay secret set OTHER"]);
    // What is set later is found, because nothing is remembered.
    place.set("OTHER", "set later").await.unwrap();
    assert_eq!(resolve("OTHER").await.unwrap(), "set later");
    fs::write(place.path(), "damaged").unwrap();
    assert_says(resolve("OTHER").await, &["cannot read secret `OTHER`", "is damaged"]);
    assert_eq!(resolve("PRINTED").await.unwrap(), "printed");
    assert!(!format!("{resolver:?}").contains("set later"));
}
