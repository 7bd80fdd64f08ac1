//! Files of a project that try to block the hub: FIFOs, endless devices, too many servers.

use std::{
    os::unix::fs::symlink,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use crate::program::{Home, Serving, within};

/// What the hub may take to answer, whatever its files do.
const PROMPT: Duration = Duration::from_millis(50);
/// What a single answer may take on a busy machine; a hub that waits for a file takes for ever.
const SLOWEST: Duration = Duration::from_secs(2);
/// What a command may take on a busy machine; one that hangs takes for ever.
const COMMAND: Duration = Duration::from_secs(10);

/// What a repository may put into its file; `pipe` is a FIFO beside it.
const ENTRIES: [&str; 9] = [
    r#""command": "true", "env": {"A": "${file:pipe}"}"#,
    r#""command": "true", "args": ["${file:pipe}"]"#,
    r#""command": "true", "envFile": "pipe""#,
    r#""url": "http://127.0.0.1:9/mcp", "headers": {"A": "${file:pipe}"}"#,
    r#""url": "https://127.0.0.1:9/mcp", "toolbay": {"ca": "pipe"}"#,
    r#""command": "true", "env": {"A": "${file:/dev/zero}", "B": "${file:/dev/tty}"}"#,
    r#""command": "true", "envFile": "/dev/zero""#,
    r#""url": "https://127.0.0.1:9/mcp", "toolbay": {"ca": "/dev/zero"}"#,
    r#""builtin": "codebase", "embeddings": {"url": "${file:pipe}", "model": "m", "api_key": "${file:/dev/zero}"}"#,
];

fn write_project(home: &Home, entry: &str) {
    home.write(".mcp.json", &format!(r#"{{"mcpServers": {{"evil": {{{entry}}}}}}}"#));
}

#[expect(clippy::disallowed_methods, reason = "std makes no FIFOs")]
fn make_fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Asks for `/health` again and again for a while.
fn expect_prompt_responses(hub: &Serving, what: &str, time: Duration) {
    let until = Instant::now() + time;
    let mut took = Vec::new();
    while Instant::now() < until || took.len() < 20 {
        let asked = Instant::now();
        assert!(hub.get("/health").starts_with("HTTP/1.1 200"));
        took.push(asked.elapsed());
        std::thread::sleep(Duration::from_millis(5));
    }
    took.sort_unstable();
    let (usual, slowest) = (took[took.len() / 2], took[took.len() - 1]);
    assert!(usual < PROMPT && slowest < SLOWEST, "{what}: {usual:?}, at most {slowest:?}");
}

#[test]
fn a_running_hub_responds_whatever_a_project_contains() {
    within("the hub".to_owned(), || {
        let home = Home::new();
        make_fifo(&home.path("pipe"));
        let mut hub = home.serve(&[]);
        for entry in ENTRIES {
            write_project(&home, entry);
            // Changes are looked at half a second after the last one.
            expect_prompt_responses(&hub, entry, Duration::from_millis(700));
        }
        for target in ["pipe", "/dev/zero", "/dev/tty"] {
            std::fs::remove_file(home.path(".mcp.json")).unwrap();
            symlink(target, home.path(".mcp.json")).unwrap();
            hub.until("it is not a regular file");
            expect_prompt_responses(&hub, target, Duration::ZERO);
            std::fs::remove_file(home.path(".mcp.json")).unwrap();
            write_project(&home, ENTRIES[0]);
            hub.until("is valid again");
        }
        assert_eq!(hub.stop(), Some(0));
    });
}

#[test]
fn commands_end_promptly_whatever_a_project_brings() {
    let home = Home::new();
    make_fifo(&home.path("pipe"));
    let run = |args: &[&str], what: &str| {
        let began = Instant::now();
        let ran = home.run(args);
        assert!(began.elapsed() < COMMAND, "{what}: {args:?}");
        ran
    };
    for entry in ENTRIES {
        write_project(&home, entry);
        for args in [&["list"][..], &["config", "show"]] {
            run(args, entry).expect(0);
        }
        let ran = run(&["list"], entry).expect(0);
        assert!(ran.stdout.contains("needs approval") && !ran.stderr.contains("pipe"), "{entry}: {ran:#?}");
    }
    for target in ["pipe", "/dev/zero", "/dev/tty"] {
        std::fs::remove_file(home.path(".mcp.json")).unwrap();
        symlink(target, home.path(".mcp.json")).unwrap();
        let ran = run(&["list"], target).expect(0);
        assert!(ran.stderr.contains(".mcp.json: it is not a regular file"), "{ran:#?}");
    }
    // As a file that somebody names, too.
    let ran = run(&["list", "--config", "pipe"], "named").expect(2);
    assert!(ran.stderr.contains("pipe: it is not a regular file"), "{ran:#?}");
}

/// What an approved entry names is read, if it can be.
#[test]
fn files_that_are_not_regular_are_reported_once_an_entry_is_approved() {
    let home = Home::new();
    make_fifo(&home.path("pipe"));
    for (entry, said) in [
        (ENTRIES[2], "cannot read the env file"),
        (ENTRIES[4], "`toolbay.ca`: cannot read"),
        (ENTRIES[6], "cannot read the env file /dev/zero: it is not a regular file"),
    ] {
        write_project(&home, entry);
        home.run(&["approve", "evil", "--yes"]).expect(0);
        let ran = home.run(&["list"]).expect(0);
        let told = format!("{}{}", ran.stdout, ran.stderr);
        assert!(told.contains(said) && told.contains("it is not a regular file"), "{entry}: {told}");
    }
}

/// By how much the hub may grow, in KiB.
const GROWTH: u64 = 20 * 1024;

/// The most memory that a process ever had, in KiB.
fn peak_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Files as large as they may be, saved again and again, and larger ones.
#[test]
fn a_project_cannot_fill_the_memory_of_a_hub() {
    within("the hub".to_owned(), || {
        let home = Home::new();
        let mut hub = home.serve(&[]);
        // Whatever is made when a file is first read is there then.
        home.write(".mcp.json", "{}");
        hub.until("it contains no servers");
        std::fs::remove_file(home.path(".mcp.json")).unwrap();
        hub.until("is valid again");
        let before = peak_kib(hub.pid());
        let many = |count: usize, entry: &dyn Fn(usize) -> String, separator: &str| {
            (0..count).map(entry).collect::<Vec<_>>().join(separator)
        };
        let json = |count| {
            let entry = |n| format!(r#""s{n}":{{"command":"x"}}"#);
            format!(r#"{{"mcpServers":{{{}}}}}"#, many(count, &entry, ","))
        };
        let toml = |count| many(count, &|n| format!("[servers.s{n}]\ncommand = 'x'"), "\n");
        for (name, text, said, saves) in [
            (".mcp.json", json(60_000), "larger than 512 KiB", 1),
            (".mcp.json", json(8_000), "has 8000 servers; at most 1024 are allowed", 10),
            (".mcp.json", format!("[{}]", vec!["0"; 250_000].join(",")), "has about 250000 values", 1),
            ("toolbay.toml", toml(60_000), "larger than 512 KiB", 1),
            ("toolbay.toml", toml(1_500), "has 1500 servers; at most 1024 are allowed", 1),
            ("toolbay.toml", toml(10_000), "values; at most 16384 are allowed", 1),
            (
                "toolbay.toml",
                many(4_500, &|n| format!("[a{n}]"), "\n"),
                "values; at most 16384 are allowed",
                1,
            ),
            (
                "toolbay.toml",
                format!("x = [{}]\n[servers.x]\ncommand = 5", vec!["0"; 16_000].join(",")),
                "server `x`",
                1,
            ),
            ("toolbay.toml", format!("x = [{}]", vec!["0"; 250_000].join(",")), "has about 250001 values", 1),
        ] {
            for save in 1..=saves {
                home.write(name, &text);
                hub.until(said);
                let grown = peak_kib(hub.pid()) - before;
                assert!(grown < GROWTH, "{name}, {said}: {grown} KiB after {save} saves");
                std::fs::remove_file(home.path(name)).unwrap();
                hub.until("is valid again");
            }
        }
        assert_eq!(hub.stop(), Some(0));
    });
}

#[test]
fn more_servers_than_anybody_has_are_refused_at_once() {
    let home = Home::new();
    let entries = |count: usize| {
        let all: Vec<String> = (0..count).map(|n| format!(r#""s{n}":{{"command":"c"}}"#)).collect();
        format!(r#"{{"mcpServers":{{{}}}}}"#, all.join(","))
    };
    home.write("many.json", &entries(60_000));
    let began = Instant::now();
    let ran = home.run(&["config", "check", "many.json"]).expect(2);
    assert!(ran.stdout.contains("has 60000 servers; at most 1024 are allowed"), "{ran:#?}");
    assert!(began.elapsed() < COMMAND, "{:?}", began.elapsed());
    home.write("enough.json", &entries(1024));
    let began = Instant::now();
    home.run(&["config", "check", "enough.json"]).expect(0);
    assert!(began.elapsed() < COMMAND, "{:?}", began.elapsed());
}
