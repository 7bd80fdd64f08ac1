//! Detecting the revision of a server, and the handshake.
//!
//! The specification wants clients of both kinds of revisions to probe with `server/discover` first and to take anything but
//! a modern response for a legacy server. Some servers never respond to unknown methods, so after a while `initialize` is
//! sent as well; whichever is answered first with a result decides. Over HTTP every request is answered, if only with a
//! status, so there the probe alone decides.

mod self_description;

use std::time::Duration;

use tokio::time::timeout;
use toolbay_protocol::{
    ErrorObject, ObjectBuilder, Response, Revision, decode_string, meta, method, model::Item,
};
use toolbay_translate::HUB_CAPABILITIES;
use toolbay_transport::http::client::HttpError;

use crate::{
    CacheHints, CallError, Catalog, Failure, HubsBehind, RevisionPolicy,
    connection::requester::{NoResponse, Requester},
    status::Phase,
};

/// The identity of a server. Texts are JSON as the server wrote them.
#[derive(Debug)]
pub(crate) struct ServerIdentity {
    pub(crate) revision: Revision,
    pub(crate) server_info: Option<String>,
    pub(crate) capabilities: Option<String>,
    pub(crate) instructions: Option<String>,
    /// Why it is spoken to in that revision, for people.
    pub(crate) because: String,
    /// How long all that may be kept, if the server says so.
    pub(crate) hints: Option<CacheHints>,
    /// The hubs that the server consists of.
    pub(crate) hubs: HubsBehind,
    /// What of it was cut, and why.
    pub(crate) notes: Vec<String>,
}

impl ServerIdentity {
    /// Puts it into the catalog, in the place of what was there.
    pub(crate) fn store(&self, catalog: &mut Catalog) {
        catalog.server_info.clone_from(&self.server_info);
        catalog.capabilities.clone_from(&self.capabilities);
        catalog.instructions.clone_from(&self.instructions);
        catalog.identity = self.hints;
        catalog.hubs.clone_from(&self.hubs);
        catalog.notes.clone_from(&self.notes);
    }
}

/// Learns who the server is. Without a response to the probe within `probe`, `initialize` is sent as well.
pub(crate) async fn identify(
    peer: &Requester,
    revision_policy: RevisionPolicy,
    probe: Duration,
) -> Result<ServerIdentity, Failure> {
    let identity = identity_of(peer, revision_policy, probe).await?;
    match peer.chain.as_ref().and_then(|chain| chain.refusal(&identity.hubs)) {
        Some(reason) => Err(Failure::Cycle { reason }),
        None => Ok(identity),
    }
}

async fn identity_of(
    peer: &Requester,
    revision_policy: RevisionPolicy,
    probe: Duration,
) -> Result<ServerIdentity, Failure> {
    match revision_policy {
        RevisionPolicy::Legacy => {
            initialize(peer, "as configured, learned before, or because of its transport").await
        }
        RevisionPolicy::Modern => match discover(peer).await? {
            Discovered::Modern(identity) => Ok(identity),
            Discovered::Legacy(reason) => Err(Failure::Handshake { reason }),
        },
        RevisionPolicy::Auto => {
            let discovery = discover(peer);
            tokio::pin!(discovery);
            match timeout(probe, &mut discovery).await {
                Ok(found) => match found? {
                    Discovered::Modern(identity) => Ok(identity),
                    Discovered::Legacy(reason) => initialize(peer, &reason).await,
                },
                Err(_) => {
                    let handshake = initialize(peer, "no response to `server/discover`");
                    tokio::pin!(handshake);
                    tokio::select! {
                        biased;
                        found = &mut discovery => match found? {
                            Discovered::Modern(identity) => Ok(identity),
                            Discovered::Legacy(_) => handshake.await,
                        },
                        done = &mut handshake => done,
                    }
                }
            }
        }
    }
}

/// Requests the identity of a modern server again.
pub(crate) async fn identify_again(peer: &Requester) -> Option<ServerIdentity> {
    match discover(peer).await {
        Ok(Discovered::Modern(identity)) => Some(identity),
        Ok(Discovered::Legacy(_)) | Err(_) => None,
    }
}

enum Discovered {
    Modern(ServerIdentity),
    /// It does not know modern revisions; how that shows.
    Legacy(String),
}

async fn discover(peer: &Requester) -> Result<Discovered, Failure> {
    let result =
        peer.request(method::DISCOVER, peer.params_through(Revision::LATEST, ObjectBuilder::new())).await;
    let response = match result {
        // A legacy server may refuse with any status; one that requires a login requires it for `initialize`, too.
        Err(NoResponse::Failed(CallError::NoAnswer { why, .. }))
            if !why.is_unauthorized()
                && matches!(why, HttpError::Status { .. } | HttpError::ContentType { .. }) =>
        {
            return Ok(Discovered::Legacy(format!("no response to `{}`: {why}", method::DISCOVER)));
        }
        result => response_of(result)?,
    };
    if let Some(error) = response.error() {
        let speaks_legacy = has_legacy(&supported(&error));
        return if error.code.is_modern() && !speaks_legacy {
            Err(refused(method::DISCOVER, &error))
        } else {
            Ok(Discovered::Legacy(refusal(method::DISCOVER, &error)))
        };
    }
    let offered = response.result_field("supportedVersions").map(|span| response.raw(span));
    let offered: Vec<String> = offered.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    if !offered.iter().any(|version| version == Revision::LATEST.as_str()) {
        let reason = format!("it supports {offered:?}, none of which is a modern revision that we support");
        // One that names no version at all returns such results for any method.
        return if offered.is_empty() || has_legacy(&offered) {
            Ok(Discovered::Legacy(reason))
        } else {
            Err(Failure::Handshake { reason })
        };
    }
    let info = response.result_field("_meta").map(|span| response.text.slice(span.range()));
    let info = info
        .and_then(|text| Item::parse(text).ok())
        .and_then(|item| item.raw(meta::SERVER_INFO).map(str::to_owned));
    let because = format!("`{}` was answered", method::DISCOVER);
    Ok(Discovered::Modern(identity(&response, Revision::LATEST, info, because)))
}

/// The versions that an error names as spoken.
fn supported(error: &ErrorObject) -> Vec<String> {
    #[derive(serde::Deserialize)]
    struct Data {
        supported: Vec<String>,
    }
    let data = error.data.as_ref().and_then(|data| serde_json::from_str::<Data>(data.get()).ok());
    data.map(|data| data.supported).unwrap_or_default()
}

fn has_legacy(versions: &[String]) -> bool {
    versions
        .iter()
        .filter_map(|version| version.parse().ok())
        .any(|known: Revision| known.features().has_sessions())
}

async fn initialize(peer: &Requester, because: &str) -> Result<ServerIdentity, Failure> {
    let mut params = ObjectBuilder::new()
        .string("protocolVersion", Revision::LATEST_LEGACY.as_str())
        .raw("capabilities", if peer.is_hub { HUB_CAPABILITIES } else { peer.identity.capabilities() })
        .raw("clientInfo", peer.identity.info());
    if let Some(chain) = &peer.chain {
        params = params.raw("_meta", &chain.add_to(ObjectBuilder::new()).finish());
    }
    let response = response_of(peer.request(method::INITIALIZE, Some(params.finish())).await)?;
    if let Some(error) = response.error() {
        return Err(refused(method::INITIALIZE, &error));
    }
    let version = string_field(&response, "protocolVersion").unwrap_or_default();
    let revision: Revision = version.parse().map_err(|_| Failure::Handshake {
        reason: format!("it requires revision {version:?}, which is not supported"),
    })?;
    peer.notify(method::INITIALIZED).await;
    let info = response.result_field("serverInfo").map(|span| response.raw(span).to_owned());
    Ok(identity(&response, revision, info, because.to_owned()))
}

fn response_of(result: Result<Box<Response>, NoResponse>) -> Result<Box<Response>, Failure> {
    result.map_err(|none| match none {
        NoResponse::Gone => Failure::Closed { phase: Phase::Handshaking },
        NoResponse::Failed(CallError::NoAnswer { why, .. }) => Failure::Remote { why },
        NoResponse::Failed(error) => Failure::Handshake { reason: error.to_string() },
    })
}

fn identity(
    response: &Response,
    revision: Revision,
    server_info: Option<String>,
    because: String,
) -> ServerIdentity {
    let mut notes = Vec::new();
    let capabilities = response.result_field("capabilities").map(|span| response.raw(span).to_owned());
    let instructions = string_field(response, "instructions");
    ServerIdentity {
        revision,
        server_info: server_info.map(|text| self_description::server_info(text, &mut notes)),
        capabilities: capabilities.and_then(|text| self_description::capabilities(text, &mut notes)),
        instructions: instructions.map(|text| self_description::instructions(&text, &mut notes)),
        because,
        hints: revision.features().has_cache_hints().then(|| CacheHints::of(response)),
        hubs: HubsBehind::of(response),
        notes,
    }
}

fn string_field(response: &Response, name: &str) -> Option<String> {
    let span = response.result_field(name)?;
    decode_string(&response.text[span.range()]).map(std::borrow::Cow::into_owned)
}

fn refused(method: &str, error: &ErrorObject) -> Failure {
    Failure::Handshake { reason: refusal(method, error) }
}

fn refusal(method: &str, error: &ErrorObject) -> String {
    format!("`{method}` returned error {}: {}", error.code, error.message)
}
