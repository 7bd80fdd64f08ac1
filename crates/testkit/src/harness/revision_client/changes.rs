//! Notifications of changes.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use toolbay_protocol::meta;

use super::{Link, RevisionClient, link::line};

/// The changes that a client subscribes to: of all lists, and of these resources.
#[derive(Debug, Clone, Copy)]
pub struct Subscriptions<'a> {
    pub lists: bool,
    pub resources: &'a [&'a str],
}

pub(super) fn is_change(heard: &Value) -> bool {
    let method = heard["method"].as_str().unwrap_or_default();
    method.ends_with("/list_changed") || method == "notifications/resources/updated"
}

impl RevisionClient {
    /// Listens to changes from now on, with the means of its revision and transport.
    pub fn listen(&mut self, wanted: Subscriptions<'_>) -> Result<()> {
        if self.revision.is_modern() {
            return self.open_subscription(wanted);
        }
        if let Link::Http(link) = &mut self.link {
            link.open_session_stream()?;
        }
        for uri in wanted.resources {
            self.result("resources/subscribe", json!({ "uri": uri }))?;
        }
        Ok(())
    }

    /// Ends the subscription to these resources; with modern revisions, to everything.
    pub fn unsubscribe(&mut self, resources: &[&str]) -> Result<()> {
        if !self.revision.is_modern() {
            for uri in resources {
                self.result("resources/unsubscribe", json!({ "uri": uri }))?;
            }
            return Ok(());
        }
        let started = self.subscription.take().context("nothing is subscribed")?;
        match &mut self.link {
            Link::Http(link) => {
                link.hang_up();
                Ok(())
            }
            Link::Lines { .. } => self.notify("notifications/cancelled", json!({ "requestId": started.id })),
        }
    }

    /// Returns the next notification of a change.
    pub fn next_change(&mut self) -> Result<Value> {
        let heard = match self.changes.pop_front() {
            Some(change) => change,
            None => self.next_heard()?,
        };
        ensure!(is_change(&heard), "no change: {heard}");
        if self.revision.is_modern() {
            let id = &self.subscription.as_ref().context("a change without a subscription")?.id;
            let tag = &heard["params"]["_meta"][meta::SUBSCRIPTION_ID];
            ensure!(tag == id, "the subscription is {id}: {heard}");
        }
        Ok(heard)
    }

    fn open_subscription(&mut self, wanted: Subscriptions<'_>) -> Result<()> {
        let mut filter = json!({});
        if wanted.lists {
            filter =
                json!({ "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true });
        }
        if !wanted.resources.is_empty() {
            filter["resourceSubscriptions"] = json!(wanted.resources);
        }
        let message = self.message("subscriptions/listen", json!({ "notifications": filter }));
        let mut started = self.link.start(&message)?;
        if let (Link::Http(link), Some(connection)) = (&mut self.link, started.connection.take()) {
            link.follow(connection)?;
        }
        let heard = self.next_heard()?;
        let is_acknowledged = heard["method"] == "notifications/subscriptions/acknowledged";
        ensure!(is_acknowledged, "not acknowledged: {heard}");
        ensure!(heard["params"]["_meta"][meta::SUBSCRIPTION_ID] == started.id, "{heard}");
        let agreed = &heard["params"]["notifications"];
        ensure!(*agreed == filter, "{filter} was requested: {heard}");
        self.subscription = Some(started);
        Ok(())
    }

    pub(super) fn next_heard(&mut self) -> Result<Value> {
        match &mut self.link {
            Link::Lines { lines, timeout } => line(&mut **lines, *timeout),
            Link::Http(link) => {
                let Some(heard) = &link.heard else { bail!("nothing is listened to") };
                heard.recv_timeout(link.timeout).context("no change in time")
            }
        }
    }
}
