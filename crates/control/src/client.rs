//! The client of the control API.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use futures_util::future::join_all;
use serde::de::DeserializeOwned;
use tokio::{io::AsyncWriteExt, net::UnixStream, time::timeout};
use toolbay_host::CatalogKind;
use toolbay_protocol::{Message, RequestId, Response, model::list_items, notification, request};

use crate::{
    Api, ControlError, HubAddress, HubSnapshot, HubStatus, Reason, SocketDirs, api::Owners, error::Details,
    lines::Lines, method, place::mcp_socket,
};

/// The longest response: whatever a hub may be configured to pass on, but not the whole memory.
const MAX_RESPONSE: usize = 1024 * 1024 * 1024;

/// How long a hub may take to respond; it does so from memory.
const HUB_TIMEOUT: Duration = Duration::from_secs(2);

/// A hub in another process or in this one.
#[derive(Debug, Clone)]
pub enum ControlClient {
    /// Behind its socket. Each request is a connection of its own, so dropping a request cancels it.
    Remote(PathBuf),
    /// In this process.
    Local(Api),
}

impl ControlClient {
    /// The running hub at `place`.
    ///
    /// # Errors
    ///
    /// [`ControlError::NoHub`] when there is none.
    pub async fn at(place: &HubAddress) -> Result<Self, ControlError> {
        for socket in place.sockets()? {
            match connect(&socket).await {
                Ok(_) => return Ok(Self::Remote(socket)),
                Err(ControlError::NoHub) => {}
                Err(error) => return Err(error),
            }
        }
        Err(ControlError::NoHub)
    }

    /// All running hubs of this user, in a fixed order. One that does not respond in time is left out.
    pub async fn all(dirs: &SocketDirs) -> Vec<(Self, HubSnapshot)> {
        let snapshots = dirs.sockets().into_iter().map(|socket| async {
            let client = Self::Remote(socket);
            let snapshot = timeout(HUB_TIMEOUT, client.hub()).await.ok()?.ok()?;
            Some((client, snapshot))
        });
        join_all(snapshots).await.into_iter().flatten().collect()
    }

    /// The hub as a process.
    pub async fn hub(&self) -> Result<HubSnapshot, ControlError> {
        self.request_as(method::HUB, None).await
    }

    /// Makes the hub give up its place to another; it ends when its clients are gone.
    pub async fn drain(&self) -> Result<(), ControlError> {
        self.request(method::DRAIN, None).await.map(drop)
    }

    /// Makes the hub end, without waiting for that.
    pub async fn shut_down(&self) -> Result<(), ControlError> {
        match self.request(method::SHUT_DOWN, None).await {
            Ok(_) | Err(ControlError::Gone) => Ok(()), // it may end before it answers
            Err(error) => Err(error),
        }
    }

    /// Connects to it as an MCP client: one message per line, both ways. Closing the sending half lets running requests
    /// finish; closing both cancels them. A hub that has no socket for that is none: [`ControlError::NoHub`].
    pub async fn attach(&self) -> Result<UnixStream, ControlError> {
        match self {
            Self::Remote(socket) => connect(&mcp_socket(socket)).await,
            Self::Local(_) => Err(ControlError::NoHub),
        }
    }

    /// Sends a request and returns the result as JSON text. `params` is JSON text too.
    pub async fn request(&self, method: &str, params: Option<&str>) -> Result<String, ControlError> {
        self.request_in(None, None, method, params).await
    }

    /// As [`ControlClient::request`], for a caller who works in the directory `root` and has a profile. In this process, the API has
    /// the profile.
    pub async fn request_in(
        &self,
        root: Option<&Path>,
        profile: Option<&str>,
        method: &str,
        params: Option<&str>,
    ) -> Result<String, ControlError> {
        let id = RequestId::from(1);
        let text = request(&id, method, params);
        let line = match self {
            Self::Remote(socket) => {
                let mut stream = connect(socket).await?;
                let gone = |_| ControlError::Gone;
                let (reader, mut writer) = stream.split();
                let root = root.and_then(Path::to_str);
                if root.is_some() || profile.is_some() {
                    let params = serde_json::json!({ "root": root, "profile": profile }).to_string();
                    let project = notification(method::PROJECT, Some(&params));
                    writer.write_all(&project).await.map_err(gone)?;
                    writer.write_all(b"\n").await.map_err(gone)?;
                }
                writer.write_all(&text).await.map_err(gone)?;
                writer.write_all(b"\n").await.map_err(gone)?;
                Lines::new(reader, MAX_RESPONSE).next().await.map_err(gone)?.ok_or(ControlError::Gone)?
            }
            Self::Local(api) => match Message::parse(text) {
                Ok(Message::Request(request)) => api.respond(request).await.into_bytes(),
                Ok(_) => return Err(bad("the request is invalid")),
                Err(why) => return Err(bad(why)),
            },
        };
        match Message::parse(line) {
            Ok(Message::Response(response)) => outcome(&response),
            Ok(_) => Err(bad("it is not a response")),
            Err(why) => Err(bad(why)),
        }
    }

    /// As [`ControlClient::request`], for results that are plain data.
    pub async fn request_as<T: DeserializeOwned>(
        &self,
        method: &str,
        params: Option<&str>,
    ) -> Result<T, ControlError> {
        serde_json::from_str(&self.request(method, params).await?).map_err(bad)
    }

    /// The status of the hub and its servers.
    pub async fn snapshot(&self) -> Result<HubStatus, ControlError> {
        self.request_as(method::STATUS, None).await
    }

    /// All pages of a list, as a caller with a profile or without sees it; each item is JSON text as the server wrote it, but for its
    /// name.
    pub async fn list(&self, kind: CatalogKind, profile: Option<&str>) -> Result<Vec<String>, ControlError> {
        let mut items = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let params = cursor.map(|cursor| serde_json::json!({ "cursor": cursor }).to_string());
            let page = self.request_in(None, profile, kind.list_method(), params.as_deref()).await?;
            let page = toolbay_protocol::model::Item::parse(page.into()).map_err(bad)?;
            let list = page.raw(kind.field()).ok_or_else(|| bad("the list is missing"))?;
            let list = list_items(&bytes::Bytes::copy_from_slice(list.as_bytes())).map_err(bad)?;
            items.extend(list.iter().map(|item| String::from_utf8_lossy(item).into_owned()));
            cursor = page.string("nextCursor").map(std::borrow::Cow::into_owned);
            if cursor.is_none() {
                return Ok(items);
            }
        }
    }

    /// The servers that own `names` of a list, in the same order.
    pub async fn owners(
        &self,
        kind: CatalogKind,
        profile: Option<&str>,
        names: &[&str],
    ) -> Result<Vec<Option<String>>, ControlError> {
        let params = serde_json::json!({ "method": kind.list_method(), "names": names }).to_string();
        let text = self.request_in(None, profile, method::OWNERS, Some(&params)).await?;
        Ok(serde_json::from_str::<Owners>(&text).map_err(bad)?.owners)
    }
}

async fn connect(socket: &Path) -> Result<UnixStream, ControlError> {
    use std::io::ErrorKind::{ConnectionRefused, NotFound};
    UnixStream::connect(socket).await.map_err(|source| match source.kind() {
        NotFound | ConnectionRefused => ControlError::NoHub,
        _ => ControlError::Socket { path: socket.to_owned(), source },
    })
}

fn outcome(response: &Response) -> Result<String, ControlError> {
    if let Some(text) = response.result_text() {
        return Ok(text.to_owned());
    }
    let Some(mut error) = response.error() else { return Err(bad("it is neither result nor error")) };
    let details = error.data.take().and_then(|data| serde_json::from_str(data.get()).ok());
    let Details { reason, hint, data } =
        details.unwrap_or(Details { reason: Reason::Failed, hint: None, data: None });
    error.data = data;
    Err(ControlError::Answered { error, reason, hint })
}

fn bad(why: impl ToString) -> ControlError {
    ControlError::BadAnswer { why: why.to_string() }
}
