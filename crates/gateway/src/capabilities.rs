//! What we say that we can do.

use serde_json::{Map, Value, json};
use toolbay_host::Host;
use toolbay_protocol::{Revision, extension};

/// What we can do, in the words of a revision. Servers come and go, so we always can do what the core has; of
/// extensions and tasks we have what a server has that is up.
pub(crate) fn capabilities(host: &Host, revision: Revision) -> Value {
    let mut all = json!({
        "tools": { "listChanged": true },
        "resources": { "listChanged": true, "subscribe": true },
        "prompts": { "listChanged": true },
        "completions": {},
        "logging": {},
    });
    let (mut extensions, mut has_tasks) = (Map::new(), false);
    let features = revision.features();
    for (declared, spoken) in declared(host) {
        let spoken = spoken.features();
        for (name, settings) in declared["extensions"].as_object().into_iter().flatten() {
            let fits =
                name != extension::TASKS || (spoken.has_task_extension() && features.has_task_extension());
            if fits && !extensions.contains_key(name) {
                extensions.insert(name.clone(), settings.clone());
            }
        }
        has_tasks |=
            spoken.has_experimental_tasks() && declared["tasks"]["requests"]["tools"]["call"].is_object();
    }
    if !extensions.is_empty() {
        all["extensions"] = extensions.into();
    }
    if has_tasks && features.has_experimental_tasks() {
        all["tasks"] = json!({ "cancel": {}, "requests": { "tools": { "call": {} } } });
    }
    all
}

/// The capabilities of every server that is up, or will be in a moment, and the revision it speaks.
fn declared(host: &Host) -> Vec<(Value, Revision)> {
    let of = |status: &toolbay_host::UpstreamStatus| {
        if status.state.is_down() {
            return None;
        }
        let declared = serde_json::from_str(status.catalog.capabilities.as_deref()?).ok()?;
        Some((declared, status.revision?))
    };
    host.servers().iter().filter_map(|server| of(&server.status().borrow())).collect()
}
