//! A transport that others brought.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use serde_json::json;
use tokio_util::task::TaskTracker;
use toolbay_testkit::TestServer;
use toolbay_transport::Incoming;
use toolbay_upstream::{
    CallError, Endpoint,
    custom::{CustomConnection, TextChannels, Transport},
};

use crate::harness::{Harness, call};

/// Carries what it is given to a server in memory, and breaks when the server is asked to.
struct Thread {
    server: TestServer,
    lives: AtomicUsize,
}

impl Transport for Thread {
    fn name(&self) -> &'static str {
        "thread"
    }

    fn carry<'a>(&'a self, texts: &'a mut TextChannels) -> CustomConnection<'a> {
        Box::pin(async move {
            self.lives.fetch_add(1, Relaxed);
            let mut wire = self.server.in_memory(&TaskTracker::new());
            loop {
                tokio::select! {
                    text = texts.next() => match text {
                        Some(text) if text.windows(7).any(|part| part == b"tear_it") => {
                            return Err("it tore".into());
                        }
                        Some(text) => wire.outgoing.send(text.into()).await?,
                        None => return Ok(()),
                    },
                    received = wire.incoming.recv() => match received {
                        Some(Incoming::Message(message)) => texts.received(message.text().clone()).await,
                        other => return Err(format!("{other:?}").into()),
                    },
                }
            }
        })
    }
}

#[tokio::test(start_paused = true)]
async fn it_is_used_like_any_other() {
    let server = TestServer::new("s")
        .with_tool("t", |_| Ok(json!("done")))
        .with_tool("tear_it", |_| Ok(json!("never")))
        .with_async_tool("hang", |_, _| async { std::future::pending().await });
    let thread = Arc::new(Thread { server, lives: AtomicUsize::new(0) });
    let harness = Harness::new(Endpoint::Custom(thread.clone()), |_| {});
    let ready = harness.until_ready().await;
    assert_eq!((ready.transport, harness.server.transport()), ("thread", "thread"));
    assert!(harness.call("t").await.is_ok());

    // When it breaks, what the server had fails with the reason, and the next connection begins by itself.
    let hanging = harness.server.call(call("hang"));
    tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    let torn = harness.server.call(call("tear_it"));
    for lost in [hanging.await, torn.await] {
        let lost = lost.unwrap_err();
        assert!(matches!(lost, CallError::Died { .. }), "{lost}");
        assert!(lost.to_string().contains("thread closed the connection: it tore"), "{lost}");
    }
    assert!(harness.call("t").await.is_ok());
    assert_eq!(thread.lives.load(Relaxed), 2);

    let Harness { server, tasks, .. } = harness;
    server.stop();
    tasks.close();
    tasks.wait().await;
}
