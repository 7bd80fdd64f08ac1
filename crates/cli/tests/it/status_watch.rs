//! `status --watch`, and problems of the configuration.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::program::{Home, signal, within};

/// Longer than any change takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Lines of a command that goes on.
struct Watching {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Watching {
    fn start(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (said, lines) = mpsc::channel();
        thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| said.send(line)));
        Self { child, lines }
    }

    /// The next line with `text` in it.
    fn until(&mut self, text: &str) -> String {
        let mut seen = Vec::new();
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) if line.contains(text) => return line,
                Ok(line) => seen.push(line),
                Err(why) => panic!("{why} before it said {text:?}: {seen:#?}"),
            }
        }
    }

    /// The exit code, and what was not read.
    fn end(mut self) -> (Option<i32>, Vec<String>) {
        within("watching".to_owned(), move || {
            (self.child.wait().unwrap().code(), self.lines.iter().collect())
        })
    }
}

#[test]
fn every_change_is_a_line() {
    let home = Home::with_server();
    let right = std::fs::read_to_string(home.path("mcp.json")).unwrap();
    let mut hub = home.serve(&["--config", "mcp.json"]);
    hub.until("small ready");
    let mut watching = Watching::start(home.command(&["status", "--watch"]));
    watching.until("small ready (2025-11-25, 4 tools, 2 resources, 1 prompt, ");
    home.run(&["stop", "small"]).expect(0);
    watching.until("small stopped");
    home.run(&["start", "small"]).expect(0);
    watching.until("small ready");
    home.run(&["restart", "small"]).expect(0);
    watching.until("small ready"); // a new life, whatever of it was seen

    home.write("mcp.json", &right.replace("}}}", "}}"));
    assert!(watching.until("warning: ").contains("mcp.json:1:"));
    home.write("mcp.json", &right);
    watching.until("is valid again");
    home.write("mcp.json", &right.replace("small", "other"));
    watching.until("small removed");
    watching.until("other ready");

    assert_eq!(hub.stop(), Some(0));
    assert_eq!(watching.end().0, Some(4), "the hub it looked at is gone");
}

#[test]
fn for_programs_every_change_is_an_object() {
    let home = Home::with_server();
    let mut hub = home.serve(&["--config", "mcp.json"]);
    hub.until("small ready");
    let mut watching = Watching::start(home.command(&["--json", "status", "-w"]));
    let event = |line: String| -> Value { serde_json::from_str(&line).unwrap() };
    let first = event(watching.until(""));
    assert_eq!((&first["schema_version"], &first["event"]), (&1.into(), &"server".into()));
    assert_eq!((&first["server"]["name"], &first["server"]["state"]), (&"small".into(), &"ready".into()));
    home.write("mcp.json", "{");
    let problem = event(watching.until(r#""event":"config""#));
    assert!(problem["problems"][0]["message"].as_str().unwrap().contains("mcp.json:1:"), "{problem}");
    home.write("mcp.json", r#"{"mcpServers": {}}"#);
    assert_eq!(event(watching.until(r#""event":"config""#))["problems"], json!([]));
    assert_eq!(event(watching.until(r#""event":"removed""#))["server"], "small");
    signal(watching.child.id(), "INT");
    assert_eq!(watching.end(), (Some(130), Vec::new()));
}

/// Runs a command on a terminal of 10 rows and 40 columns. After each text that the command must write, a key is pressed.
/// Says whether the terminal is as before in the end.
const ON_SMALL_TERMINAL: &str = r#"
import fcntl, os, pty, struct, sys, termios, time
steps = sys.argv[1].split("|")
pid, fd = pty.fork()
if pid == 0:
    time.sleep(0.2)
    os.execv(sys.argv[2], sys.argv[2:])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 40, 0, 0))
before, said = termios.tcgetattr(fd), ""
try:
    for step in steps:
        text, key = step.split("=")
        seen = len(said)
        while text not in said[seen:]:
            said += os.read(fd, 65536).decode()
        os.write(fd, key.encode().decode("unicode_escape").encode())
    while chunk := os.read(fd, 65536):
        said += chunk.decode()
        if "\x1b[?1049l" in said and termios.tcgetattr(fd) == before:
            print("restored")
except OSError:
    pass # the other end is closed
print(said)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) % 256)
"#;

/// Watches a hub on a small terminal; `steps` are as [`ON_SMALL_TERMINAL`] wants them.
fn watch_on_terminal(home: &Home, steps: &str) -> (Option<i32>, String) {
    let command = home.command(&[]);
    #[expect(clippy::disallowed_methods, reason = "the program under test, on a terminal")]
    let mut terminal = Command::new("python3");
    terminal.args(["-c", ON_SMALL_TERMINAL, steps]).arg(command.get_program());
    terminal.args(["status", "--watch", "--color", "never"]);
    terminal.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    terminal.current_dir(home.path("")).stdin(Stdio::null());
    let output = within("watching".to_owned(), move || terminal.output().unwrap());
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn on_a_terminal_the_table_fits_and_nothing_stays_of_it() {
    let home = Home::new();
    let entries: Vec<String> = (0..8).map(|number| home.entry(&format!("small{number}"))).collect();
    let typo = r#""typo": {"command": "no-such-program-with-a-very-long-name-that-does-not-fit"}"#;
    home.write("mcp.json", &format!(r#"{{"mcpServers": {{{}, {typo}}}}}"#, entries.join(",")));
    let _hub = home.serve(&["--config", "mcp.json"]);
    home.run(&["status", "--wait"]).expect(0);

    let (code, said) = watch_on_terminal(&home, "q quit=?|any key=x|q quit=q");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("restored"), "{said}");
    let page = said.split("\x1b[H\x1b[J").nth(1).unwrap().split("\x1b[?7h").next().unwrap();
    let lines: Vec<&str> = page.split("\r\n").map(str::trim_end).collect();
    assert_eq!(lines.len(), 10, "{page}");
    assert!(lines.iter().all(|line| line.chars().count() <= 40), "{page}");
    assert!(lines[3].contains("typo") && lines[4].ends_with('…'), "trouble comes first: {page}");
    assert!(lines[8].starts_with("… ") && lines[8].ends_with(" more"), "{page}");

    let (code, said) = watch_on_terminal(&home, "q quit=\\x03");
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("restored"), "{said}");
}

#[test]
fn a_terminal_is_given_back_when_the_hub_ends() {
    let home = Home::with_server();
    let mut hub = home.serve(&["--config", "mcp.json"]);
    hub.until("small ready");
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| watch_on_terminal(&home, "q quit=x"));
        std::thread::sleep(Duration::from_secs(1)); // whether it is up by then or not, it must end
        assert_eq!(hub.stop(), Some(0));
        let (code, said) = watching.join().unwrap();
        assert_eq!(code, Some(4), "{said}");
    });
}

/// F29: a mistake while the hub runs is told with its place and changes nothing.
#[test]
fn configuration_problems_are_warnings_until_fixed() {
    let home = Home::with_server();
    let right = std::fs::read_to_string(home.path("mcp.json")).unwrap();
    let mut hub = home.serve(&["--config", "mcp.json"]);
    hub.until("small ready");
    assert_eq!(home.run(&["status", "--config", "mcp.json"]).expect(0).stderr, "");
    let entry = home.entry("small");
    home.write(
        "mcp.json",
        &format!("{{\"mcpServers\": {{{entry},\n\"bad\": {{\"command\": 5}},\n \"worse\": 1}}}}"),
    );
    hub.until("server `worse`");
    let status = home.run(&["status", "--config", "mcp.json"]).expect(0);
    let lines: Vec<&str> = status.stdout.lines().collect();
    assert!(lines[0].starts_with("1 ready, 2 broken · 4 tools"), "{status:#?}");
    // What is broken comes first, each with its place.
    let at = |text: &str| {
        lines.iter().position(|line| line.contains(text)).unwrap_or_else(|| panic!("{text} {status:#?}"))
    };
    assert!(at("bad     broken") < at("mcp.json:2:1: server `bad`"));
    assert!(at("mcp.json:2:1") < at("worse   broken") && at("mcp.json:3:2") < at("small   ready"));
    let told = home.run(&["status", "--json", "--config", "mcp.json"]).expect(0).json();
    let broken = told["config_problems"].as_array().unwrap().iter().map(|problem| &problem["server"]);
    assert_eq!(broken.collect::<Vec<_>>(), ["bad", "worse"]);
    let states = told["servers"].as_array().unwrap().iter().map(|server| (&server["name"], &server["state"]));
    let broken = states.filter(|(_, state)| **state == "broken").map(|(name, _)| name);
    assert_eq!(broken.collect::<Vec<_>>(), ["bad", "worse"]);
    let restart = home.run(&["restart", "bad", "--config", "mcp.json"]).expect(4);
    assert!(restart.stderr.contains("mcp.json:2:1: server `bad`"), "{restart:#?}");

    home.write("mcp.json", &right);
    hub.until("the configuration is valid again");
    let status = home.run(&["status", "--json", "--config", "mcp.json"]).expect(0);
    assert_eq!((&status.json()["config_problems"], status.stderr.as_str()), (&json!([]), ""));
    assert_eq!(status.json()["servers"][0]["starts"], 1, "nothing was started anew");
}

#[test]
fn a_problem_from_the_start_is_reported_once() {
    let home = Home::new();
    home.write("mcp.json", &format!(r#"{{"mcpServers": {{{}, "bad": 1}}}}"#, home.entry("small")));
    let mut hub = home.serve(&["--config", "mcp.json"]);
    hub.until("small ready");
    assert!(home.run(&["status"]).expect(0).stdout.contains("server `bad`"));
    assert_eq!(hub.stop(), Some(0));
    assert_eq!(hub.said.matches("server `bad`").count(), 1, "{}", hub.said);
}

#[test]
fn there_must_be_a_hub_to_watch() {
    let home = Home::with_server();
    let ran = home.run(&["status", "--watch", "--config", "mcp.json"]).expect(4);
    assert!(ran.stderr.contains("toolbay serve --config mcp.json"), "{ran:#?}");
}
