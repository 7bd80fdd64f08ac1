//! Clients of the official SDKs and of FastMCP that authorize by themselves.

use serde_json::{Value, json};

use super::peers::{Issuer, Library, User};
use crate::{
    interop::free_port,
    program::{Home, Serving},
};

const LIBRARIES: [Library; 3] = [Library::TypeScriptSdk, Library::PythonSdk, Library::FastMcp];

#[test]
fn stock_clients_find_the_issuer_of_a_hub_by_themselves() {
    let issuer = Issuer::start();
    let home = Home::new();
    write_config(&home, &format!("[auth]\nissuer = '{}'\nrequired_scopes = ['notes:read']\n", issuer.url()));
    let hub = home.serve(&[]);
    for (library, name) in LIBRARIES.into_iter().zip(["barbara", "frances", "kathleen"]) {
        let user = User::new(name);
        call_tool(library, &hub, &user);
        assert_eq!(user.pages()[0][..2], ["Sign-in", "Authorize"], "{library:?}");
    }
    assert_eq!(issuer.count("registrations"), 3);
}

#[test]
fn stock_clients_authorize_at_a_hub_that_stands_in_for_the_issuer() {
    let issuer = Issuer::start();
    let home = Home::new();
    let address = format!("127.0.0.1:{}", free_port());
    let [id, secret] = issuer.register(&format!("http://{address}/oauth/callback"));
    home.run_with_input(&["secret", "set", "provider"], &secret).expect(0);
    let proxy =
        format!("issuer = '{}'\nclient_id = '{id}'\nclient_secret = '${{secret:provider}}'", issuer.url());
    write_config(&home, &format!("[auth.proxy]\n{proxy}\nscopes = ['openid']\nallow_everyone = true\n"));
    let hub = home.start(&["serve", "--listen", &address]);
    for (library, name) in LIBRARIES.into_iter().zip(["radia", "sophie", "adele"]) {
        let user = User::new(name);
        call_tool(library, &hub, &user);
        let pages = user.pages().remove(0);
        // The hub asks first, because the issuer knows nothing of the clients.
        assert_eq!(pages.iter().position(|page| page == "Sign-in"), Some(1), "{library:?}: {pages:?}");
    }
    assert_eq!(issuer.count("registrations"), 1, "a client registered at the issuer");

    let logins = || home.run(&["auth", "clients", "--json"]).expect(0).json()["logins"].clone();
    let users = |logins: &Value| -> Vec<String> {
        let mut users: Vec<String> =
            logins.as_array().unwrap().iter().map(|login| login["user"].to_string()).collect();
        users.sort();
        users
    };
    assert_eq!(users(&logins()), [r#""adele""#, r#""radia""#, r#""sophie""#]);
    let unknown = home.run(&["auth", "revoke", "--user", "grace"]).expect(2);
    assert!(unknown.stderr.contains("no login is meant by `grace`"), "{unknown:#?}");
    home.run(&["auth", "revoke", "--user", "radia"]).expect(0);
    let first = logins()[0]["id"].as_str().unwrap().to_owned();
    home.run(&["auth", "revoke", &first]).expect(0);
    assert_eq!(users(&logins()), [r#""adele""#]);
    assert!(home.run(&["auth", "clients"]).expect(0).stdout.contains(" adele "));
}

/// Writes the user's own configuration, with one server.
fn write_config(home: &Home, auth: &str) {
    let script = home.path("server.py");
    home.write_user_config(&format!(
        "{auth}\n[servers.small]\ncommand = 'python3'\nargs = [{:?}]\n",
        script.to_str().unwrap()
    ));
}

/// Calls a tool with a client that knows nothing but the URL of the hub.
fn call_tool(library: Library, hub: &Serving, user: &User) {
    assert!(hub.post("{}").starts_with("HTTP/1.1 401"), "anyone may call");
    let seen = library.client(&hub.url, user, &["small__echo"]);
    assert_eq!(seen["texts"], json!(["{}"]), "{library:?}");
}
