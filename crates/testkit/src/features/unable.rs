//! A client that declares nothing.

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::{FeatureContext, Support};
use crate::harness::Profile;

/// It is never asked anything; the server is told so, and its tools say it.
pub(super) fn unable(place: &mut FeatureContext<'_>) -> Result<Support> {
    let revision = place.client.revision();
    let mut client = (place.open)(Profile::new(revision, "nobody").capabilities(json!({})))?;
    for tool in ["elicit", "elicit_several", "sample", "list_roots"] {
        let talk = client.call(&place.named(tool), json!({}))?;
        let (code, message) = talk.failure().context(tool)?;
        ensure!(talk.server_requests.is_empty(), "{tool}: {talk:?}");
        let is_new = code == -32021;
        ensure!(!is_new || revision.is_modern(), "{tool}: {code} is no code of {revision}: {message}");
    }
    ensure!(client.text(&place.named("echo"), json!({ "text": "still here" }))? == "still here");
    Ok(Support::Works)
}
