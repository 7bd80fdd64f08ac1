//! Notifications of changes.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{FeatureContext, Support};
use crate::harness::Subscriptions;

pub(super) fn subscriptions(place: &mut FeatureContext<'_>) -> Result<Support> {
    let [first, second] = ["test://readme", "test://license"];
    place.client.listen(Subscriptions { lists: false, resources: &[first] })?;
    place.text("update", json!({ "uri": second }))?;
    tells(place, first)?;
    place.client.unsubscribe(&[first])?;
    place.text("update", json!({ "uri": first }))?;
    place.client.listen(Subscriptions { lists: false, resources: &[second] })?;
    tells(place, second)?;
    place.client.unsubscribe(&[second])?;
    Ok(Support::Works)
}

/// Changes a resource; that must be the next change the client is notified of.
fn tells(place: &mut FeatureContext<'_>, uri: &str) -> Result<()> {
    place.text("update", json!({ "uri": uri }))?;
    loop {
        let change = place.client.next_change()?;
        let updated = change["method"] == "notifications/resources/updated";
        // A session is notified of lists without a subscription, too.
        if updated || place.client.revision().is_modern() {
            ensure!(updated && change["params"]["uri"] == uri, "only {uri} was asked for: {change}");
            return Ok(());
        }
    }
}

pub(super) fn lists(place: &mut FeatureContext<'_>) -> Result<Support> {
    place.client.listen(Subscriptions { lists: true, resources: &[] })?;
    let name = format!("new-{}", place.tag);
    for list in ["tools", "resources", "prompts"] {
        place.text("change", json!({ "list": list, "name": name }))?;
    }
    let (named, uri) = (Value::from(place.named(&name)), Value::from(format!("test://{name}")));
    let mut missing =
        vec![("tools", "name", &named), ("prompts", "name", &named), ("resources", "uri", &uri)];
    while !missing.is_empty() {
        let change = place.client.next_change()?;
        // A session may still get an earlier change.
        let mut still = Vec::new();
        for (list, field, expected) in missing {
            let told = change["method"] == format!("notifications/{list}/list_changed");
            let listed = if told { place.client.list(list)? } else { Vec::new() };
            if !listed.iter().any(|item| item[field] == *expected) {
                still.push((list, field, expected));
            }
        }
        missing = still;
    }
    Ok(Support::Works)
}
