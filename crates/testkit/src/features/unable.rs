//! A client that declares nothing.

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::{FeatureContext, Support};
use crate::harness::Profile;

/// It gets no server requests; the server gets an error, and its tools fail with it.
pub(super) fn unable(place: &mut FeatureContext<'_>) -> Result<Support> {
    let revision = place.client.revision();
    let mut client = (place.open)(Profile::new(revision, "nobody").capabilities(json!({})))?;
    for tool in ["elicit", "elicit_several", "sample", "list_roots"] {
        let exchange = client.call(&place.named(tool), json!({}))?;
        let (code, message) = exchange.failure().context(tool)?;
        ensure!(exchange.server_requests.is_empty(), "{tool}: {exchange:?}");
        let is_new = code == -32021;
        ensure!(!is_new || revision.is_modern(), "{tool}: {code} is no code of {revision}: {message}");
    }
    ensure!(client.text(&place.named("echo"), json!({ "text": "still here" }))? == "still here");
    Ok(Support::Works)
}
