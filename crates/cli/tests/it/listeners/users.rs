//! Other users of this machine.
//!
//! As root, another user is tried. Without root only the allowed users can be.
#![expect(clippy::disallowed_methods, reason = "the test needs processes of another user")]

use std::{os::unix::fs::MetadataExt, process::Command};

use toolbay_testkit::TlsFront;

use crate::program::{Home, Serving};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
const NOBODY: [&str; 6] = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];

fn is_root() -> bool {
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}

/// The status and body that curl gets, run behind `before`.
fn ping(before: &[&str], hub: &Serving) -> (u16, String) {
    let scheme = hub.url.split_once("://").unwrap().0;
    let port = hub.url.trim_end_matches("/mcp").rsplit(':').next().unwrap();
    let url = format!("{scheme}://127.0.0.1:{port}/mcp");
    let curl =
        ["curl", "-s", "-k", "-m", "30", "-w", "\n%{http_code}", "-H", "content-type: application/json"];
    let line: Vec<&str> = before.iter().chain(&curl).copied().chain(["-d", PING, &url]).collect();
    let output = Command::new(line[0]).args(&line[1..]).output().unwrap();
    assert!(output.status.success(), "{line:?}: {output:?}");
    let printed = String::from_utf8(output.stdout).unwrap();
    let (body, status) = printed.rsplit_once('\n').unwrap();
    (status.parse().unwrap(), body.to_owned())
}

#[test]
fn only_the_user_who_runs_a_hub_may_use_it() {
    let home = Home::new();
    home.write("cert.pem", TlsFront::CERTIFICATE);
    home.write_secret("key.pem", TlsFront::KEY);
    for args in [
        &["serve", "--listen", "127.0.0.1:0"][..],
        &["serve", "--listen", "[::ffff:127.0.0.1]:0"],
        &["serve", "--listen", "127.0.0.1:0", "--tls-cert", "cert.pem", "--tls-key", "key.pem"],
        &["codebase", ".", "--http", "127.0.0.1:0"],
    ] {
        let mut hub = home.start(args);
        assert_eq!(ping(&[], &hub).0, 200, "{args:?}");
        if is_root() {
            let (status, body) = ping(&NOBODY, &hub);
            assert_eq!(status, 403, "{args:?}: {body}");
            assert!(body.contains("--token-file") && body.contains("--allow-local-users"), "{body}");
        }
        assert_eq!(hub.stop(), Some(0));
        let mut hub = home.start(&[args, &["--allow-local-users"]].concat());
        let other: &[&str] = if is_root() { &NOBODY } else { &[] };
        assert_eq!(ping(other, &hub).0, 200, "{args:?}");
        assert_eq!(hub.stop(), Some(0));
    }
}
