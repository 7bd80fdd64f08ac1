//! Several principals on one hub: logins of their own at servers, in browsers elsewhere.

use std::{net::TcpListener, thread, time::Duration};

use serde_json::{Value, json};
use toolbay_testkit::{ProtectedServer, response_of};

use crate::{
    program::{Home, Serving},
    remote::Beside,
};

/// A hub with a protected server, one with credentials of the owner, and the tokens of two principals.
struct Stage {
    _beside: Beside,
    _home: Home,
    server: ProtectedServer,
    hub: Serving,
    base: String,
    ann: String,
    ben: String,
}

fn stage() -> Stage {
    let (beside, server) = Beside::start(async |tasks, _| ProtectedServer::start(tasks).await);
    let home = Home::with_server();
    let entry = home.entry("owned");
    let entry = entry.replacen('{', r#"{"env": {"OWNER_TOKEN": "abc"}, "#, 1);
    assert!(entry.contains("OWNER_TOKEN"), "{entry}");
    let config = format!(r#"{{"mcpServers": {{"far": {{"url": "{}"}}, {entry}}}}}"#, server.url);
    home.write("mcp.json", &config);
    let token = |name: &str| home.run(&["token", "create", name]).expect(0).stdout.trim().to_owned();
    let (ann, ben) = (token("ann"), token("ben"));
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let base = format!("http://127.0.0.1:{port}");
    let hub =
        home.start(&["serve", "--listen", &port.to_string(), "--public-url", &base, "--config", "mcp.json"]);
    Stage { _beside: beside, _home: home, server, hub, base, ann, ben }
}

impl Stage {
    fn call(&self, token: &str) -> String {
        let call =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "far__read" } });
        self.hub.ask_with("POST /mcp", &format!("Authorization: Bearer {token}\r\n"), &call.to_string())
    }

    /// The link that a principal gets when it calls.
    fn link(&self, token: &str) -> String {
        let text = self.call(token);
        let start = text.find(&format!("{}/server-login/", self.base)).unwrap_or_else(|| panic!("{text}"));
        let link = &text[start..];
        link[..link.find(['\\', '"', '\n', ' ']).unwrap()].to_owned()
    }

    /// Opens a page of the hub as a browser with a cookie.
    fn browse(&self, method: &str, url: &str, cookie: &str, body: &str) -> String {
        let path = url.strip_prefix(&self.base).unwrap_or(url);
        let headers = match cookie {
            "" => String::new(),
            cookie => format!("Cookie: {cookie}\r\n"),
        };
        self.hub.ask_with(&format!("{method} {path}"), &headers, body)
    }

    /// Agrees on the page of a link; returns the cookie, and where the authorization server sends the browser.
    fn agree(&self, link: &str) -> (String, String) {
        let page = self.browse("GET", link, "", "");
        let form = between(&page, "name=\"form\" value=\"", "\"");
        let agreed = self.browse("POST", link, &cookie_of(&page), &format!("form={form}"));
        let url = between(&agreed, "<a href=\"", "\"").replace("&amp;", "&");
        let back = between(&response_of(&url).unwrap(), "location: ", "\r\n");
        (cookie_of(&agreed), back)
    }

    fn tools(&self, token: &str) -> Vec<String> {
        let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
        let text =
            self.hub.ask_with("POST /mcp", &format!("Authorization: Bearer {token}\r\n"), &list.to_string());
        let list: Value = serde_json::from_str(text.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        let tools = list["result"]["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }
}

fn between(text: &str, start: &str, end: &str) -> String {
    let from = text.find(start).unwrap_or_else(|| panic!("no {start} in {text}")) + start.len();
    text[from..].split(end).next().unwrap().to_owned()
}

fn cookie_of(page: &str) -> String {
    between(page, "set-cookie: ", ";")
}

#[test]
fn each_principal_logs_in_at_a_server_by_itself() {
    let stage = stage();
    let (cookie, back) = stage.agree(&stage.link(&stage.ann));
    assert!(back.starts_with(&format!("{}/server-login/callback?", stage.base)), "{back}");
    // In another browser the response does not count: it may be that of another person.
    assert!(stage.browse("GET", &back, "", "").contains("403 Forbidden"));
    assert!(stage.call(&stage.ann).contains("/server-login/"));
    assert!(stage.browse("GET", &back, &cookie, "").contains("200 OK"));
    for _ in 0..200 {
        if stage.call(&stage.ann).contains("read done") {
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    assert!(stage.call(&stage.ann).contains("read done"));
    // The login of one is not that of the other.
    assert!(stage.call(&stage.ben).contains("/server-login/"));
    assert_eq!(stage.server.log().logins, 1);
    // A registration of the hub serves all of them.
    let (cookie, back) = stage.agree(&stage.link(&stage.ben));
    assert!(stage.browse("GET", &back, &cookie, "").contains("200 OK"));
    for _ in 0..200 {
        if stage.call(&stage.ben).contains("read done") {
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    assert!(stage.call(&stage.ben).contains("read done"));
    assert_eq!((stage.server.log().logins, stage.server.log().registrations), (2, 1));
}

#[test]
fn servers_with_credentials_are_the_owners() {
    let stage = stage();
    for token in [&stage.ann, &stage.ben] {
        let tools = stage.tools(token);
        assert!(tools.iter().all(|tool| !tool.starts_with("owned__")), "{tools:?}");
    }
}
