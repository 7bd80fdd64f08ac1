//! Much at once.

use anyhow::{Result, anyhow, ensure};
use serde_json::json;

use super::{FeatureContext, Support};

/// More than any buffer on the way holds.
const BIG: usize = 2 * 1024 * 1024;
const MANY: usize = 64;

pub(super) fn big(place: &mut FeatureContext<'_>) -> Result<Support> {
    let text = "\u{1F980} \"\\\n".repeat(BIG / 8);
    // Too long for an error message.
    let echo =
        place.text("echo", json!({ "text": text })).map_err(|error| anyhow!("{}", error.root_cause()))?;
    ensure!(echo == text, "the echo is another text");
    Ok(Support::Works)
}

pub(super) fn many(place: &mut FeatureContext<'_>) -> Result<Support> {
    let text = |index: usize| format!("{} {index}", place.tag);
    let name = place.named("echo");
    let mut pending = Vec::new();
    for index in 0..MANY {
        let params = json!({ "name": name, "arguments": { "text": text(index) } });
        pending.push(place.client.start("tools/call", params)?);
    }
    for (index, answer) in place.client.responses(pending)?.iter().enumerate() {
        ensure!(answer["result"]["content"][0]["text"] == text(index).as_str(), "call {index}: {answer}");
    }
    Ok(Support::Works)
}
