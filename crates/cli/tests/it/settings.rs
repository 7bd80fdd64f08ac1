//! `[hub]`: options of `serve` in a file.

use crate::program::Home;

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

#[test]
fn options_of_serve_are_read_from_the_users_file() {
    let home = Home::with_server();
    home.write_secret("token", "open-sesame-12345\n");
    let script = home.path("server.py");
    home.write_user_config(&format!(
        "[hub]\nlisten = '127.0.0.1:0'\nnaming = 'none'\ntoken_file = {:?}\n\
         [servers.small]\ncommand = 'python3'\nargs = [{script:?}]\n",
        home.path("token")
    ));
    let mut hub = home.start(&["serve"]);
    hub.until("small ready");
    assert!(!hub.url.contains(":4100"), "{}", hub.url);
    assert!(hub.post(LIST).starts_with("HTTP/1.1 401"));
    let listed = hub.ask_with("POST /mcp", "Authorization: Bearer open-sesame-12345\r\n", LIST);
    assert!(listed.contains(r#""echo""#), "{listed}");
    assert_eq!(hub.stop(), Some(0));

    // What is typed wins.
    let mut hub = home.start(&["serve", "--naming", "prefix"]);
    hub.until("small ready");
    let listed = hub.ask_with("POST /mcp", "Authorization: Bearer open-sesame-12345\r\n", LIST);
    assert!(listed.contains(r#""small__echo""#), "{listed}");
    assert_eq!(hub.stop(), Some(0));
}

#[test]
fn a_project_does_not_set_up_the_hub() {
    let home = Home::new();
    home.write("toolbay.toml", "[hub]\nlisten = '127.0.0.1:1'\n");
    let mut hub = home.serve(&[]);
    assert!(hub.said.contains("toolbay.toml:1:2: `[hub]` is ignored"), "{}", hub.said);
    assert_eq!(hub.stop(), Some(0));
    let checked = home.run(&["config", "check"]).expect(0);
    assert!(checked.stdout.contains("warning: `[hub]` is ignored"), "{checked:#?}");
}
