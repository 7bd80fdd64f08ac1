//! Servers on the official SDKs and on FastMCP that require tokens of a certified authorization server.

mod peers;
mod stock_clients;

use std::{thread, time::Duration};

use serde_json::json;
use toolbay_testkit::harness::{Client, wait_until};

use self::peers::{Issuer, Library, Peer, User};
use crate::program::{Home, Serving};

/// The lifetime of tokens that shall expire in a test.
const LIFETIME: Duration = Duration::from_secs(3);

#[test]
fn a_login_at_a_server_on_the_typescript_sdk() {
    live_through_a_login(Library::TypeScriptSdk, "ada");
}

#[test]
fn a_login_at_a_server_on_the_python_sdk() {
    live_through_a_login(Library::PythonSdk, "grace");
}

#[test]
fn a_login_at_a_server_on_fastmcp() {
    live_through_a_login(Library::FastMcp, "edsger");
}

/// All that happens to a login, from the first to the last.
fn live_through_a_login(library: Library, name: &str) {
    let stage = Stage::new(library, name);
    let mut hub = stage.home.serve(&[]);
    stage.expect_login_required(&hub);
    let (reader, writer) = (format!("{name}: notes:read"), format!("{name}: notes:read notes:write"));

    stage.set_lifetime(LIFETIME);
    stage.log_in(&["Sign-in", "Authorize", "Toolbay"]);
    stage.expect(&hub, "whoami", &reader);

    // An expired token is renewed without the user.
    thread::sleep(LIFETIME + Duration::from_secs(1));
    assert_eq!(call(&hub, "whoami"), reader);
    assert!(stage.issuer.count("refreshes") > 0, "the token has not expired");

    // So is one after the issuer has another key.
    stage.issuer.control("rotate-keys", &json!({}));
    let before = stage.issuer.count("refreshes");
    thread::sleep(LIFETIME + Duration::from_secs(1));
    stage.set_lifetime(Duration::from_secs(3600));
    assert_eq!(call(&hub, "whoami"), reader);
    assert!(stage.issuer.count("refreshes") > before, "the token has not expired");

    // A tool that needs another scope takes one more consent.
    assert!(call(&hub, "write_note").contains("toolbay login notes"));
    assert_eq!(call(&hub, "whoami"), reader);
    stage.log_in(&["Authorize", "Toolbay"]);
    stage.expect(&hub, "write_note", "written");
    assert_eq!(call(&hub, "whoami"), writer);

    // A login outlives the hub.
    hub.stop();
    let hub = stage.home.serve(&[]);
    stage.expect(&hub, "whoami", &writer);
    assert_eq!(stage.issuer.count("authorizations"), 2);

    // A grant that the issuer has revoked ends with the token.
    stage.set_lifetime(LIFETIME);
    stage.log_in(&["Authorize", "Toolbay"]);
    stage.issuer.control("revoke", &json!({}));
    stage.expect_login_required(&hub);

    stage.set_lifetime(Duration::from_secs(3600));
    stage.log_in(&["Authorize", "Toolbay"]);
    stage.expect(&hub, "whoami", &writer);
    let ran = stage.home.run(&["logout", "notes"]).expect(0);
    assert!(ran.stderr.contains("its tokens are revoked"), "{ran:#?}");
    stage.expect_login_required(&hub);
}

#[test]
fn a_user_who_declines_is_not_logged_in() {
    let stage = Stage::new(Library::TypeScriptSdk, "nora");
    let ran = stage.user.run(&stage.home, &["login", "notes"]);
    assert_ne!(ran.code, Some(0), "{ran:#?}");
    assert!(ran.stderr.contains("access_denied"), "{ran:#?}");
    assert_eq!(stage.user.pages(), [["Sign-in", "Toolbay"]]);
}

/// A home with one protected server, which is called `notes`.
struct Stage {
    issuer: Issuer,
    user: User,
    home: Home,
    _server: Peer,
}

impl Stage {
    fn new(library: Library, user: &str) -> Self {
        let issuer = Issuer::start();
        let server = library.server(&issuer);
        let home = Home::new();
        home.run(&["add", "--scope", "user", "notes", &server.url]).expect(0);
        Self { issuer, user: User::new(user), home, _server: server }
    }

    fn set_lifetime(&self, lifetime: Duration) {
        self.issuer.control("settings", &json!({ "lifetime": lifetime.as_secs() }));
    }

    /// Logs in, and checks which pages the user sees.
    #[track_caller]
    fn log_in(&self, pages: &[&str]) {
        self.user.run(&self.home, &["login", "notes"]).expect(0);
        assert_eq!(self.user.pages(), [pages]);
    }

    /// Waits until a call has this result: a hub notices within a second what another process did.
    #[track_caller]
    fn expect(&self, hub: &Serving, tool: &str, result: &str) {
        let (mut client, mut last) = (client(hub), String::new());
        let look = || {
            last = text_of(&mut client, tool);
            Ok((last == result).then_some(()))
        };
        let seen = wait_until("the result", look);
        assert!(seen.is_ok(), "{tool} has the result {last}, not {result}");
    }

    /// Waits until calls and the status ask for a login.
    #[track_caller]
    fn expect_login_required(&self, hub: &Serving) {
        let mut client = client(hub);
        let look = || Ok(text_of(&mut client, "whoami").contains("toolbay login notes").then_some(()));
        wait_until("a login is required", look).unwrap();
        let status = self.home.run(&["status"]).stdout;
        assert!(status.contains("login required: toolbay login notes"), "{status}");
    }
}

fn client(hub: &Serving) -> Client {
    let address = hub.url.trim_start_matches("http://").trim_end_matches("/mcp");
    Client::open(address.parse().unwrap()).unwrap()
}

/// Calls a tool through the hub with a new client.
fn call(hub: &Serving, tool: &str) -> String {
    text_of(&mut client(hub), tool)
}

/// The text of the result of a call, or of the error.
fn text_of(client: &mut Client, tool: &str) -> String {
    let answer = client.call(&format!("notes__{tool}"), json!({})).unwrap();
    let text = answer["result"]["content"][0]["text"].as_str().or(answer["error"]["message"].as_str());
    text.unwrap_or_else(|| panic!("{answer:#}")).to_owned()
}
