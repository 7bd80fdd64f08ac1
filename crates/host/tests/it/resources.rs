//! Who has a URI, and completions.

use serde_json::{Value, json};
use toolbay_host::{CatalogKind, Host, Naming};
use toolbay_testkit::TestServer;

use crate::test_host::{ask, host, names};

async fn read(host: &Host, uri: &str) -> Value {
    let answer = ask(host, "resources/read", json!({"uri": uri})).await;
    match answer.get("error") {
        Some(error) => error.clone(),
        None => answer["result"]["contents"][0]["text"].clone(),
    }
}

fn templates(name: &'static str, templates: &[&'static str]) -> TestServer {
    templates.iter().fold(TestServer::new(name), |server, &template| {
        server.with_resource_template(template, move |_| Ok(format!("{name} {template}")))
    })
}

#[tokio::test(start_paused = true)]
async fn exact_then_template_then_the_only_origin() {
    let one = templates("one", &["test://h/{id}"]).with_resource("test://h/exact", "exact");
    let two = templates("two", &["test://h/users/{id}", "test://h/users/{id}/mail", "docs://{+path}"]);
    let three = TestServer::new("three").with_resource("only://x/listed", "listed");
    let host = host(&[("one", &one), ("two", &two), ("three", &three)], Naming::Prefix).await;
    assert_eq!(read(&host, "test://h/exact").await, "exact");
    assert_eq!(read(&host, "test://h/other").await, "one test://h/{id}");
    assert_eq!(read(&host, "test://h/users/5").await, "two test://h/users/{id}");
    assert_eq!(read(&host, "test://h/users/5/mail").await, "two test://h/users/{id}/mail");
    assert_eq!(host.table().resource("docs://a/b/c").unwrap().server.name().as_str(), "two");
    // Nobody lists it, but only one server could have it: the server says that it has not.
    let unlisted = read(&host, "only://x/unlisted").await;
    assert_eq!(unlisted["data"]["uri"], "only://x/unlisted", "{unlisted}");
    assert_eq!(three.handle().count("resources/read"), 1);
    // Two servers could have it, so nobody is asked.
    let ambiguous = read(&host, "test://h/a/b").await;
    assert_eq!(ambiguous["code"], -32602, "{ambiguous}");
    let message = ambiguous["message"].as_str().unwrap();
    assert!(message.contains("one, two") && message.contains("toolbay://"), "{message}");
    let nobody = read(&host, "nobody://x").await;
    assert_eq!((&nobody["code"], &nobody["data"]["uri"]), (&json!(-32602), &json!("nobody://x")));
}

#[tokio::test(start_paused = true)]
async fn a_shared_uri_stays_with_the_first_and_the_qualified_form_is_always_accepted() {
    let one =
        TestServer::new("one").with_resource("test://same", "of one").with_resource("test://mine", "mine");
    let two = TestServer::new("two").with_resource("test://same", "of two");
    let host = host(&[("one", &one), ("two", &two)], Naming::Prefix).await;
    assert_eq!(
        names(&host.table(), CatalogKind::Resources),
        ["test://same", "test://mine", "toolbay://two/test://same"]
    );
    for (uri, text) in [
        ("test://same", "of one"),
        ("toolbay://two/test://same", "of two"),
        ("toolbay://one/test://same", "of one"),
        ("toolbay://one/test://mine", "mine"),
    ] {
        assert_eq!(read(&host, uri).await, text, "{uri}");
    }
}

/// The qualified form of one server cannot be taken by another.
#[tokio::test(start_paused = true)]
async fn no_server_can_forge_a_qualified_uri() {
    let evil = templates("evil", &["toolbay://{+rest}"]).with_resource("toolbay://good/test://r", "evil");
    let good = TestServer::new("good").with_resource("test://r", "good");
    for order in [[("evil", &evil), ("good", &good)], [("good", &good), ("evil", &evil)]] {
        let host = host(&order, Naming::Prefix).await;
        assert_eq!(read(&host, "toolbay://good/test://r").await, "good");
    }
}

#[tokio::test(start_paused = true)]
async fn completions_go_to_the_server_that_owns_the_prompt_or_template() {
    let one = TestServer::new("one")
        .with_prompt("greet", |_| json!("hi"))
        .with_completion("greet", "name", &["Ada"])
        .with_resource_template("test://one/{id}", |_| Ok(String::new()))
        .with_completion("test://one/{id}", "id", &["1"]);
    let two = TestServer::new("two").with_prompt("greet", |_| json!("hi")).with_completion(
        "greet",
        "name",
        &["Alan"],
    );
    let host = host(&[("one", &one), ("two", &two)], Naming::Prefix).await;
    let complete = async |reference: Value, argument: &str| {
        let params = json!({"ref": reference, "argument": {"name": argument, "value": ""}});
        let mut answer = ask(&host, "completion/complete", params).await;
        if answer.get("error").is_some() {
            answer["error"].take()
        } else {
            answer["result"]["completion"]["values"].take()
        }
    };
    assert_eq!(complete(json!({"type": "ref/prompt", "name": "one__greet"}), "name").await, json!(["Ada"]));
    assert_eq!(complete(json!({"type": "ref/prompt", "name": "two__greet"}), "name").await, json!(["Alan"]));
    assert_eq!(complete(json!({"type": "ref/resource", "uri": "test://one/{id}"}), "id").await, json!(["1"]));
    for bad in [
        json!({"type": "ref/prompt", "name": "greet"}),
        json!({"type": "ref/prompt"}),
        json!({"type": "ref/other"}),
        json!({"type": "ref/resource", "uri": "nobody://{id}"}),
        json!(5),
    ] {
        assert_eq!(complete(bad.clone(), "name").await["code"], -32602, "{bad}");
    }
}
