//! The profiles and rules of a hub, for the commands of its owner.

use std::sync::Arc;

use serde_json::Value;
use toolbay_control::{CallToExplain, HubPolicy, PendingEntry, ProfileSnapshot, millis};
use toolbay_gateway::{ExplainedCall, Gateway, PendingCall};
use toolbay_host::{CatalogKind, Host};
use toolbay_policy::Profile;

/// Profiles and rules as the gateway of a hub applies them.
#[derive(Debug)]
pub(crate) struct OwnerPolicy {
    gateway: Arc<Gateway>,
    /// Where clients reach the hub.
    url: Option<String>,
}

impl OwnerPolicy {
    pub(crate) fn new(gateway: Arc<Gateway>, url: Option<String>) -> Self {
        Self { gateway, url }
    }

    fn snapshot(&self, profile: &Profile) -> ProfileSnapshot {
        let name = profile.name.as_str();
        let seen = self.gateway.owner_view(Some(name)).ok();
        ProfileSnapshot {
            name: name.to_owned(),
            description: profile.description.clone(),
            url: self.url.as_ref().map(|url| format!("{}/p/{name}", url.trim_end_matches('/'))),
            tools: seen.map_or(0, |host| host.table().count(CatalogKind::Tools)),
            clients: profile.clients.iter().map(ToString::to_string).collect(),
        }
    }
}

impl HubPolicy for OwnerPolicy {
    fn view(&self, profile: Option<&str>) -> Result<Host, String> {
        self.gateway.owner_view(profile)
    }

    fn profiles(&self) -> Vec<ProfileSnapshot> {
        self.gateway.profiles().iter().map(|profile| self.snapshot(profile)).collect()
    }

    fn explain(&self, call: &CallToExplain) -> Result<Value, String> {
        let CallToExplain { tool, arguments, principal, profile } = call;
        self.gateway.explain_call(ExplainedCall { principal, profile: profile.as_deref(), tool, arguments })
    }

    fn pending(&self) -> Vec<PendingEntry> {
        self.gateway.pending_calls().into_iter().map(entry).collect()
    }

    fn decide(&self, id: u64, is_allowed: bool) -> bool {
        self.gateway.decide_pending(id, is_allowed)
    }
}

fn entry(call: PendingCall) -> PendingEntry {
    PendingEntry {
        id: call.id,
        principal: call.principal.to_string(),
        client: call.client,
        server: call.server,
        tool: call.tool,
        arguments: call.arguments,
        rule: call.rule,
        since_ms: millis(call.since),
    }
}
