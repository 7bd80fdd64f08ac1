//! Detection of the revision of a server.

use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use toolbay_protocol::Revision;
use toolbay_testkit::{HttpScript, RecordedRequest, Responder};
use toolbay_upstream::{LogSource, UpstreamState};

use super::{PATIENCE, at};
use crate::harness::{Harness, discovery, hello, tools};

/// Responds to the probe as `discover` says, and to everything else as a legacy server.
async fn serve(asked: RecordedRequest, answering: Responder, discover: (&str, Value)) {
    match (asked.method.as_str(), asked.rpc()) {
        ("POST", "server/discover") => {
            let (status, mut body) = discover;
            if body.is_object() {
                body["id"] = asked.body["id"].clone();
                return answering.json(status, &body).await;
            }
            answering
                .respond(status, &[("content-type", "text/plain")], body.as_str().unwrap_or_default())
                .await;
        }
        ("POST", "initialize") => answering.result(&asked, hello()).await,
        ("POST", "tools/list") => answering.result(&asked, tools(&["t"])).await,
        ("POST", _) if asked.body.get("id").is_none() => answering.respond("202 Accepted", &[], "").await,
        _ => answering.respond("405 Method Not Allowed", &[], "").await,
    }
}

#[tokio::test]
async fn the_body_of_a_refusal_decides() {
    let error = |code: i64, data: Value| json!({"jsonrpc": "2.0", "error": {"code": code, "message": "m", "data": data}});
    let legacy = Some(Revision::LATEST_LEGACY);
    for (status, body, found) in [
        ("400 Bad Request", json!(""), legacy),
        ("400 Bad Request", json!("what?"), legacy),
        ("400 Bad Request", error(-32000, json!(null)), legacy),
        ("404 Not Found", error(-32601, json!(null)), legacy),
        ("404 Not Found", json!("not found"), legacy),
        ("405 Method Not Allowed", json!(""), legacy),
        ("500 Internal Server Error", json!("no session"), legacy),
        ("200 OK", json!("<html>"), legacy),
        ("200 OK", error(-32601, json!(null)), legacy),
        ("200 OK", json!({"jsonrpc": "2.0", "result": discovery()}), Some(Revision::LATEST)),
        // It knows the new era, but we have none of it in common; what both speak is the old one.
        ("400 Bad Request", error(-32022, json!({"supported": ["2099-01-01", "2025-11-25"]})), legacy),
        // It knows the new era: there is no falling back.
        ("400 Bad Request", error(-32022, json!({"supported": ["2099-01-01"]})), None),
        ("400 Bad Request", error(-32020, json!(null)), None),
        // Who wants to know us first wants it whatever we say.
        ("401 Unauthorized", json!("who are you?"), None),
    ] {
        let (told, case) = (body.clone(), format!("{status} {body}"));
        let server = HttpScript::start(&TaskTracker::new(), move |asked, answering| {
            serve(asked, answering, (status, told.clone()))
        })
        .await
        .unwrap();
        let harness = Harness::new(at(&server.url), |_| {});
        let settled = harness.until(|status| {
            status.state.failure().is_some() || matches!(status.state, UpstreamState::Running)
        });
        let settled = timeout(PATIENCE, settled).await.expect(&case);
        assert_eq!(settled.revision, found, "{case}: {:?}", settled.state);
        let asked = server.requests();
        assert_eq!(asked[0].rpc(), "server/discover", "{case}");
        if found.is_none() {
            assert!(asked.iter().all(|asked| asked.rpc() != "initialize"), "{case}");
            continue;
        }
        // People can see how that was decided.
        let lines = harness.server.log().tail(10);
        let ready =
            lines.iter().find(|line| line.source == LogSource::Event && line.text.starts_with("ready"));
        assert!(ready.is_some_and(|line| line.text.contains("`server/discover`")), "{case}: {lines:?}");
    }
}

#[tokio::test]
async fn a_refused_login_waits_for_people() {
    let server = HttpScript::start(&TaskTracker::new(), |_, answering| async move {
        answering.respond("401 Unauthorized", &[("www-authenticate", "Bearer")], "who are you?").await;
    })
    .await
    .unwrap();
    let harness = Harness::new(at(&server.url), |_| {});
    let failed = harness.until(|status| matches!(status.state, UpstreamState::Failed { .. }));
    let status = timeout(PATIENCE, failed).await.unwrap();
    let failure = status.state.failure().unwrap();
    assert!(failure.to_string().contains("401 Unauthorized: who are you?"), "{failure}");
    assert!(failure.hint().unwrap().contains("`headers`"));
    assert_eq!(server.requests().len(), 1, "asking again does not help");
}
