//! Requests of our own to a server.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use tokio::sync::{mpsc, oneshot};
use toolbay_protocol::{ObjectBuilder, Response, Revision};
use toolbay_translate::ClientIdentity;

use crate::{CallError, HubChain, call::CallOutcome};

/// Sends requests of our own on the current connection.
#[derive(Debug, Clone)]
pub(crate) struct Requester {
    commands: mpsc::Sender<RequesterCommand>,
    ids: Arc<AtomicU64>,
    /// Through which hubs the server is reached.
    pub(crate) chain: Option<HubChain>,
    /// Who we are to the server.
    pub(crate) identity: Arc<ClientIdentity>,
    /// Whether we stand between the server and clients of all kinds, whose capabilities are not known yet.
    pub(crate) is_hub: bool,
}

/// A message of our own that the connection sends.
#[derive(Debug)]
pub(crate) enum RequesterCommand {
    Request {
        id: u64,
        method: &'static str,
        params: Option<String>,
        reply: oneshot::Sender<CallOutcome>,
    },
    Notify {
        method: &'static str,
    },
    /// Ends a request of our own.
    Cancel {
        id: u64,
    },
}

/// A request of our own in flight.
#[derive(Debug)]
pub(crate) struct OwnRequest {
    pub(crate) id: u64,
    pub(crate) response: oneshot::Receiver<CallOutcome>,
}

/// Why a request of our own got no response.
#[derive(Debug)]
pub(crate) enum NoResponse {
    /// The connection is gone; its end says why.
    Gone,
    /// Something came, but no message.
    Failed(CallError),
}

impl Requester {
    /// `ids` are shared with the calls of clients.
    pub(crate) fn new(
        ids: Arc<AtomicU64>,
        chain: Option<HubChain>,
        client: Option<Arc<ClientIdentity>>,
    ) -> (Self, mpsc::Receiver<RequesterCommand>) {
        let (commands, queue) = mpsc::channel(8);
        let is_hub = client.is_none();
        let identity = client.unwrap_or_else(|| Arc::new(hub_identity()));
        (Self { commands, ids, chain, identity, is_hub }, queue)
    }

    /// Sends a request and returns where its response arrives, or `None` when the connection is gone.
    pub(crate) async fn send_request(
        &self,
        method: &'static str,
        params: Option<String>,
    ) -> Option<OwnRequest> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let (reply, response) = oneshot::channel();
        self.commands.send(RequesterCommand::Request { id, method, params, reply }).await.ok()?;
        Some(OwnRequest { id, response })
    }

    pub(crate) async fn request(
        &self,
        method: &'static str,
        params: Option<String>,
    ) -> Result<Box<Response>, NoResponse> {
        let request = self.send_request(method, params).await.ok_or(NoResponse::Gone)?;
        match request.response.await {
            Ok(Ok(response)) => Ok(response.response),
            Ok(Err(error)) => Err(NoResponse::Failed(error)),
            Err(_) => Err(NoResponse::Gone),
        }
    }

    pub(crate) async fn notify(&self, method: &'static str) {
        // When the connection is gone, the loop that owns it knows already (R015); the same holds below.
        let _ = self.commands.send(RequesterCommand::Notify { method }).await;
    }

    /// Ends a request of our own that is still open.
    pub(crate) async fn cancel(&self, id: u64) {
        let _ = self.commands.send(RequesterCommand::Cancel { id }).await;
    }
}

/// Who a hub is to servers. Each request of a client brings the identity and the capabilities of that client.
fn hub_identity() -> ClientIdentity {
    let info = concat!(r#"{"name":"toolbay","version":""#, env!("CARGO_PKG_VERSION"), "\"}");
    ClientIdentity::new(Revision::LATEST, info, "{}")
}

impl Requester {
    /// `params` of a request of our own: what the revision wants in `_meta`, then the fields of `more`.
    pub(crate) fn our_params(&self, revision: Revision, more: ObjectBuilder) -> Option<String> {
        params(&self.identity, None, revision, more)
    }

    /// As [`Requester::our_params`], and asks a hub for the hubs behind it.
    pub(crate) fn params_through(&self, revision: Revision, more: ObjectBuilder) -> Option<String> {
        params(&self.identity, self.chain.as_ref(), revision, more)
    }
}

fn params(
    us: &ClientIdentity,
    chain: Option<&HubChain>,
    revision: Revision,
    more: ObjectBuilder,
) -> Option<String> {
    let mut meta = ObjectBuilder::new();
    if revision.features().has_request_meta() {
        meta = us.fields().iter().fold(meta, |meta, (key, value)| meta.raw(key, value));
    }
    if let Some(chain) = chain {
        meta = chain.add_to(meta);
    }
    let mut params = ObjectBuilder::new();
    if !meta.is_empty() {
        params = params.raw("_meta", &meta.finish());
    }
    let params = params.fields_of(&more.finish());
    (!params.is_empty()).then(|| params.finish())
}
