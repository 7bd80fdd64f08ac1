//! Who asks.

use std::{path::Path, sync::Arc};

use bytes::Bytes;
use toolbay_host::{Caller, CallerId, ClientIdentity, LogFilter};
use toolbay_protocol::{ErrorCode, ErrorObject, LogLevel, MethodCall, Revision, Span, decode_string, meta};
use toolbay_translate::{ClientCapabilities, declares_tasks};

use crate::{request::call::may_ask, session::Session};

/// What a client may say of itself: its name and what it can do.
const MAX_IDENTITY: usize = 16 * 1024;

/// The sender of one request.
#[derive(Debug, Clone)]
pub(crate) struct RequestClient {
    /// The revision it speaks.
    pub(crate) revision: Revision,
    /// Its session, if it has one.
    pub(crate) session: Option<Arc<Session>>,
    pub(crate) identity: Arc<ClientIdentity>,
    /// Tells its calls from those of others.
    owner: CallerId,
    /// Whether it hears what is said before an answer.
    hears_events: bool,
    /// Which log messages it wants.
    pub(crate) logs: LogFilter,
    /// Whether its requests have headers.
    pub(crate) is_on_http: bool,
    /// Its project, where `toolbay stdio` named it.
    root: Option<Arc<Path>>,
}

impl RequestClient {
    /// A client with a session.
    pub(crate) fn of_session(session: Arc<Session>) -> Self {
        let (identity, logs) = session.identity();
        Self {
            revision: session.revision,
            identity,
            owner: session.caller,
            session: Some(session),
            hears_events: true,
            logs,
            is_on_http: false,
            root: None,
        }
    }

    /// A client that never shook hands and says nothing about itself.
    pub(crate) fn unknown(revision: Revision) -> Self {
        let identity = Arc::new(identity(revision, None, None));
        Self {
            revision,
            session: None,
            identity,
            owner: CallerId::new(),
            hears_events: true,
            logs: LogFilter::Nothing,
            is_on_http: false,
            root: None,
        }
    }

    /// A client that says everything with each request.
    pub(crate) fn of_request(revision: Revision, call: &MethodCall) -> Self {
        let text = |key| call.meta(key).map(|span| call.text.slice(span.range()));
        let identity = identity(revision, text(meta::CLIENT_INFO), text(meta::CLIENT_CAPABILITIES));
        let level = log_level(call);
        let logs = level.map_or(LogFilter::Nothing, LogFilter::AtLeast);
        let identity = if level.is_some() { identity.at_level(level) } else { identity };
        Self {
            revision,
            session: None,
            identity: Arc::new(identity),
            owner: CallerId::new(),
            hears_events: true,
            logs,
            is_on_http: false,
            root: None,
        }
    }

    /// The same client where only the answer reaches it.
    pub(crate) fn without_events(self) -> Self {
        Self { hears_events: false, ..self }
    }

    /// The same client, whose requests have headers.
    pub(crate) fn on_http(self) -> Self {
        Self { is_on_http: true, ..self }
    }

    /// The same client, which works in this project.
    pub(crate) fn in_project(self, root: Option<Arc<Path>>) -> Self {
        Self { root, ..self }
    }

    /// The same client, known to be the one behind `owner`.
    pub(crate) fn owned_by(self, owner: CallerId) -> Self {
        Self { owner, ..self }
    }

    /// On whose behalf it acts. Who may reach a loopback address acts on behalf of its owner.
    pub(crate) fn principal(&self) -> &'static str {
        "local"
    }

    /// Whether it can be asked something before it gets its answer.
    fn can_be_asked(&self) -> bool {
        let reachable = match &self.session {
            Some(_) => self.hears_events,
            None => self.revision.features().has_input_required(),
        };
        reachable && self.identity.capabilities() != "{}"
    }

    /// Whether it can answer that question.
    pub(crate) fn can_answer(&self, method: &str, params: Option<&str>) -> bool {
        self.can_be_asked() && self.abilities().supports(method, params)
    }

    /// What it says it can be asked.
    pub(crate) fn abilities(&self) -> ClientCapabilities {
        ClientCapabilities::parse(self.identity.capabilities(), self.revision)
    }

    /// Whether it says that it knows what to do with a task instead of a result.
    pub(crate) fn has_tasks(&self) -> bool {
        self.revision.features().has_task_extension() && declares_tasks(self.identity.capabilities())
    }

    /// Whether it wants log messages.
    pub(crate) fn wants_logs(&self) -> bool {
        self.logs != LogFilter::Nothing
    }

    /// As whom it sends a request with that method.
    pub(crate) fn caller(&self, method: &str) -> Caller {
        Caller {
            revision: self.revision,
            identity: self.identity.clone(),
            id: self.owner,
            accepts_server_requests: may_ask(method) && self.can_be_asked(),
            awaits_tasks: true,
            logs: self.logs,
            root: self.root.clone(),
        }
    }
}

/// The level that a request of the stateless era names, if it names one that there is.
pub(crate) fn log_level(call: &MethodCall) -> Option<LogLevel> {
    decode_string(call.bytes(call.meta(meta::LOG_LEVEL)?))?.parse().ok()
}

/// An identity from JSON texts; a client without a name is one of ours to servers that insist on one.
pub(crate) fn identity(
    revision: Revision,
    info: Option<Bytes>,
    capabilities: Option<Bytes>,
) -> ClientIdentity {
    const NAMELESS: Bytes = Bytes::from_static(br#"{"name":"toolbay","version":"0"}"#);
    const INCAPABLE: Bytes = Bytes::from_static(b"{}");
    let info = info.filter(|info| info != "{}").unwrap_or(NAMELESS);
    ClientIdentity::new(revision, info, capabilities.unwrap_or(INCAPABLE))
}

/// Refuses an identity that is too long: sessions and subscriptions keep it.
pub(crate) fn check_identity(info: Option<Span>, capabilities: Option<Span>) -> Result<(), ErrorObject> {
    let length = [info, capabilities].into_iter().flatten().map(|span| span.range().len()).sum::<usize>();
    if length <= MAX_IDENTITY {
        return Ok(());
    }
    let message = format!("client info and capabilities are {length} bytes long; {MAX_IDENTITY} are allowed");
    Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, message))
}

/// A session for a client that sent `initialize`.
pub(crate) fn open_session(call: &MethodCall) -> Result<Arc<Session>, ErrorObject> {
    let wanted = call.string_param("protocolVersion").ok_or_else(|| {
        ErrorObject::new(ErrorCode::INVALID_PARAMS, "`params.protocolVersion` is missing or not a string")
    })?;
    // A revision we do not know, or that has no handshake, is answered with the newest that has one.
    let revision = match wanted.parse::<Revision>() {
        Ok(revision) if revision.features().has_sessions() => revision,
        _ => Revision::LATEST_LEGACY,
    };
    check_identity(call.param("clientInfo"), call.param("capabilities"))?;
    let text = |name| call.param(name).map(|span| Bytes::copy_from_slice(call.bytes(span))); // outlives the request
    Ok(Session::new(revision, identity(revision, text("clientInfo"), text("capabilities"))))
}
