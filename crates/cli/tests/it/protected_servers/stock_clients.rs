//! Clients of the official SDKs and of FastMCP that authorize by themselves.

use serde_json::json;

use super::peers::{Issuer, Library, User};
use crate::program::Home;

const LIBRARIES: [Library; 3] = [Library::TypeScriptSdk, Library::PythonSdk, Library::FastMcp];

#[test]
fn stock_clients_find_the_issuer_of_a_hub_by_themselves() {
    let issuer = Issuer::start();
    let home = Home::new();
    home.write_user_config(&format!(
        "[auth]\nissuer = '{}'\nrequired_scopes = ['notes:read']\n\n[servers.small]\ncommand = 'python3'\nargs = [{:?}]\n",
        issuer.url(),
        home.path("server.py").to_str().unwrap(),
    ));
    let hub = home.serve(&[]);
    assert!(hub.post("{}").starts_with("HTTP/1.1 401"), "anyone may call");
    for (library, name) in LIBRARIES.into_iter().zip(["barbara", "frances", "kathleen"]) {
        let user = User::new(name);
        let seen = library.client(&hub.url, &user, &["small__echo"]);
        assert_eq!(seen["texts"], json!(["{}"]), "{library:?}");
        assert_eq!(user.pages().len(), 1, "{library:?}");
    }
    assert_eq!(issuer.count("registrations"), 3);
}

/// The issuer knows the hub alone. Clients register at the hub, whose users log in at the issuer.
#[test]
fn stock_clients_log_in_through_the_authorization_proxy_of_a_hub() {
    let issuer = Issuer::start();
    let home = Home::new();
    home.write_user_config(&format!(
        "[auth]\nrequired_scopes = ['mcp']\n\n[auth.proxy]\nissuer = '{}'\nclient_id = 'hub'\nscopes = ['openid']\n\
         allow_everyone = true\n\n[servers.small]\ncommand = 'python3'\nargs = [{:?}]\n",
        issuer.url(),
        home.path("server.py").to_str().unwrap(),
    ));
    let hub = home.serve(&[]);
    assert!(hub.post("{}").starts_with("HTTP/1.1 401"), "anyone may call");
    for (library, name) in LIBRARIES.into_iter().zip(["grace", "hedy", "joan"]) {
        let user = User::new(name);
        let seen = library.client(&hub.url, &user, &["small__echo"]);
        assert_eq!(seen["texts"], json!(["{}"]), "{library:?}");
        let pages = user.pages();
        assert_eq!(pages.len(), 1, "{library:?}");
        assert!(pages[0][0].starts_with("Allow ") && pages[0].len() >= 3, "{library:?}: {pages:?}");
    }
    assert_eq!(issuer.count("registrations"), 0);
}
