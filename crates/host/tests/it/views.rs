//! What callers see of a host.

use std::sync::Arc;

use serde_json::json;
use toolbay_config::{Permission, ServerConfig};
use toolbay_host::{
    CatalogKind, Connector, Endpoint, Host, HostChange, Naming, OwnConnections, ServerInView, ServerName,
    ToolInView, ViewPolicy,
};
use toolbay_policy::ToolIdentity;
use toolbay_testkit::TestServer;

use crate::{
    test_host::{ask, eventually, host, names, owner, server, text_of},
    troupe::{Troupe, config},
};

/// Shows servers by their names, and tools unless they are named.
#[derive(Default)]
struct Rules {
    hidden: Vec<&'static str>,
    own: Vec<&'static str>,
    without_tools: Vec<&'static str>,
}

impl ViewPolicy for Rules {
    fn server(&self, name: &ServerName, _: Option<&ServerConfig>) -> ServerInView {
        match name.as_str() {
            name if self.hidden.contains(&name) => ServerInView::Hidden,
            name if self.own.contains(&name) => ServerInView::Own,
            _ => ServerInView::Shared,
        }
    }

    fn tool(&self, tool: &ToolIdentity<'_>) -> ToolInView {
        match self.without_tools.contains(&tool.name) {
            true => ToolInView::Hidden,
            false => ToolInView::Shown,
        }
    }
}

fn through(connector: Connector) -> OwnConnections {
    OwnConnections { connector: Some(connector), ..OwnConnections::default() }
}

fn tools(host: &Host) -> Vec<String> {
    names(&host.table(), CatalogKind::Tools)
}

#[tokio::test]
async fn a_hidden_server_does_not_exist() {
    let (a, b) = (server("a", &["t"]), server("b", &["t"]).with_resource("b://r", "secret"));
    let host = host(&[("a", &a), ("b", &b)], Naming::Prefix).await;
    let view =
        host.view(Arc::new(Rules { hidden: vec!["b"], ..Rules::default() }), OwnConnections::default());
    assert_eq!(tools(&view), ["a__t"]);
    assert_eq!(owner(&view, "a__t").await, "a");
    assert_eq!(names(&view.table(), CatalogKind::Resources), Vec::<String>::new());
    for uri in ["b://r", "toolbay://b/b://r"] {
        let refused = ask(&view, "resources/read", json!({ "uri": uri })).await;
        assert!(refused["error"]["message"].as_str().unwrap().starts_with("no server has"), "{refused}");
    }
    // Nothing tells that there is such a server, whatever its state.
    let unknown = ask(&view, "tools/call", json!({ "name": "b__t" })).await["error"]["message"].take();
    assert_eq!(unknown, "no server offers the tool `b__t`; did you mean `a__t`?");
    assert!(view.server("b").is_none() && view.absence("b__t").is_none());
    assert_eq!(tools(&host), ["a__t", "b__t"]);
    assert_eq!(owner(&host, "b__t").await, "b");
}

#[tokio::test]
async fn names_stay_when_their_rival_is_hidden() {
    let (one, two) = (server("one", &["t"]), server("two", &["t"]));
    let host = host(&[("my server", &one), ("my.server", &two)], Naming::Prefix).await;
    let all = tools(&host);
    let view = host
        .view(Arc::new(Rules { hidden: vec!["my server"], ..Rules::default() }), OwnConnections::default());
    assert_eq!(tools(&view), all[1..]);
    assert_eq!(owner(&view, &all[1]).await, "two");
}

#[tokio::test]
async fn a_hidden_tool_cannot_be_called() {
    let a = server("a", &["read", "write"]);
    let host = host(&[("a", &a)], Naming::PrefixAndAlias).await;
    let view = host.view(
        Arc::new(Rules { without_tools: vec!["write"], ..Rules::default() }),
        OwnConnections::default(),
    );
    assert!(tools(&view).iter().all(|name| !name.contains("write")), "{:?}", tools(&view));
    for name in ["a__write", "write"] {
        assert!(ask(&view, "tools/call", json!({ "name": name })).await["error"].is_object());
        assert_eq!(owner(&host, name).await, "a");
    }
}

#[tokio::test]
async fn a_view_follows_its_host() {
    let troupe = Arc::new(Troupe::default());
    let host = Host::start(&[config("a", &["t"])], Vec::new(), &troupe.options());
    host.settled().await;
    let view =
        host.view(Arc::new(Rules { hidden: vec!["secret"], ..Rules::default() }), OwnConnections::default());
    let mut changes = view.changes();
    assert_eq!(tools(&view), ["a__t"]);
    host.apply(&[config("a", &["t"]), config("secret", &["t"]), config("b", &["t"])]).await;
    host.settled().await;
    eventually("the new server is seen", || tools(&view) == ["a__t", "b__t"]).await;
    assert!(matches!(changes.try_recv(), Ok(HostChange::List(CatalogKind::Tools))));
    assert_eq!(text_of(&view, "b__t", 0).await.unwrap(), "t of life 1 of b");
    // One connection serves both.
    assert_eq!(text_of(&host, "b__t", 0).await.unwrap(), "t of life 1 of b");
    host.disable_server("b").await.unwrap();
    eventually("the disabled server is gone", || tools(&view) == ["a__t"]).await;
    host.apply(&[]).await;
    eventually("all are gone", || tools(&view).is_empty()).await;
}

/// A connector for views: each has a server that offers a tool with the name of the user.
fn connector_of(user: &'static str) -> (Connector, TestServer) {
    let server = server(user, &[user]).with_resource("note://1", user);
    let connection = server.in_process();
    (Connector::new(move |_| Some(Endpoint::InProcess(connection.clone()))), server)
}

#[tokio::test]
async fn each_view_has_connections_of_its_own() {
    let troupe = Arc::new(Troupe::default());
    let host = Host::start(&[config("a", &["t"]), config("mail", &["t"])], Vec::new(), &troupe.options());
    host.settled().await;
    let rules = || Arc::new(Rules { own: vec!["mail"], ..Rules::default() });
    let ((of_ann, ann_server), (of_ben, _ben_server)) = (connector_of("ann"), connector_of("ben"));
    let (ann, ben) = (host.view(rules(), through(of_ann)), host.view(rules(), through(of_ben)));
    ann.settled().await;
    ben.settled().await;
    assert_eq!(tools(&ann), ["a__t", "mail__ann"]);
    assert_eq!(tools(&ben), ["a__t", "mail__ben"]);
    assert_eq!(tools(&host), ["a__t", "mail__t"]);
    assert_eq!(owner(&ann, "mail__ann").await, "ann");
    assert_eq!(owner(&ben, "mail__ben").await, "ben");
    assert!(ask(&ben, "tools/call", json!({ "name": "mail__ann" })).await["error"].is_object());
    assert_eq!((troupe.lives("a"), troupe.lives("mail")), (1, 1));

    // What a server tells one of them stays there.
    let (mut at_ann, mut at_ben, mut at_host) = (ann.changes(), ben.changes(), host.changes());
    let _watched = ann.watch("note://1").await.unwrap();
    let _other = ben.watch("note://1").await.unwrap();
    ann_server.handle().notify_updated("note://1");
    let is_update = |change: HostChange| matches!(change, HostChange::Resource { .. });
    let mut heard = false;
    eventually("the update is heard", || {
        heard |= at_ann.try_recv().is_ok_and(is_update);
        heard
    })
    .await;
    assert!(!at_ben.try_recv().is_ok_and(is_update) && !at_host.try_recv().is_ok_and(is_update));

    // A view that ends takes its own connections with it, and no others.
    let mail = ann.server("mail").unwrap();
    ann.close_view();
    eventually("the connection of the view has ended", || mail.status().borrow().state.word() == "stopped")
        .await;
    assert_eq!(owner(&ben, "mail__ben").await, "ben");
    assert_eq!(text_of(&host, "a__t", 0).await.unwrap(), "t of life 1 of a");
}

#[tokio::test]
async fn own_connections_follow_configuration_and_permission() {
    let troupe = Arc::new(Troupe::default());
    let mail = config("mail", &["t"]);
    let host = Host::start(std::slice::from_ref(&mail), Vec::new(), &troupe.options());
    host.settled().await;
    let view = host.view(
        Arc::new(Rules { own: vec!["mail"], ..Rules::default() }),
        through(troupe.options().connector.unwrap()),
    );
    view.settled().await;
    assert_eq!(troupe.lives("mail"), 2);
    host.disable_server("mail").await.unwrap();
    eventually("it is disabled for all", || tools(&view).is_empty()).await;
    host.enable_server("mail").await.unwrap();
    eventually("it is enabled for all", || tools(&view) == ["mail__t"]).await;
    host.apply(&[config("mail", &["t", "more"])]).await;
    eventually("the change is seen", || tools(&view) == ["mail__t", "mail__more"]).await;
    host.apply(&[ServerConfig { permission: Permission::Pending, ..config("mail", &["t", "more"]) }]).await;
    eventually("it waits for approval for all", || tools(&view).is_empty()).await;
    host.apply(&[]).await;
    eventually("it is gone", || view.server("mail").is_none()).await;
}

#[tokio::test]
async fn a_view_ends_with_its_host() {
    let troupe = Arc::new(Troupe::default());
    let host = Host::start(&[config("mail", &["t"])], Vec::new(), &troupe.options());
    let view = host.view(
        Arc::new(Rules { own: vec!["mail"], ..Rules::default() }),
        through(troupe.options().connector.unwrap()),
    );
    view.settled().await;
    assert_eq!(text_of(&view, "mail__t", 0).await.unwrap().split(" of ").next(), Some("t"));
    tokio::time::timeout(std::time::Duration::from_secs(5), host.stop(std::time::Duration::from_secs(5)))
        .await
        .expect("the host waits for its views");
    assert!(view.server("mail").unwrap().status().borrow().state.word() == "stopped");
}

#[tokio::test]
async fn servers_of_the_program_are_shared_or_hidden() {
    let a = server("a", &["t"]);
    let host = host(&[("a", &a)], Naming::Prefix).await;
    let view = host.view(Arc::new(Rules { own: vec!["a"], ..Rules::default() }), OwnConnections::default());
    assert!(tools(&view).is_empty());
}
