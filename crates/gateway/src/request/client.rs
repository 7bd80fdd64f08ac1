//! The client that sent a request.

use std::{path::Path, sync::Arc};

use bytes::Bytes;
use toolbay_access::Access;
use toolbay_host::{Caller, CallerId, ClientIdentity, Host, LogFilter, SchemaView};
use toolbay_policy::Exposure;
use toolbay_protocol::{
    ErrorCode, ErrorObject, LogLevel, MethodCall, Revision, Span, decode_string, meta, model::Item,
};
use toolbay_translate::{ClientCapabilities, declares_tasks};

use crate::{
    gateway::{Gateway, SchemaViewSetting},
    request::call::may_require_input,
    session::Session,
};

/// How long client info and capabilities may be together.
const MAX_IDENTITY: usize = 16 * 1024;

/// The sender of one request.
#[derive(Debug, Clone)]
pub(crate) struct RequestClient {
    /// The revision it speaks.
    pub(crate) revision: Revision,
    /// As whom it calls, and what that allows.
    pub(crate) access: Arc<Access>,
    /// What it sees of the servers.
    pub(crate) host: Host,
    /// Its session, if it has one.
    pub(crate) session: Option<Arc<Session>>,
    pub(crate) identity: Arc<ClientIdentity>,
    /// Distinguishes its calls from those of other clients.
    caller: CallerId,
    /// Whether it receives notifications and server requests before the response.
    hears_events: bool,
    /// Which log messages it wants.
    pub(crate) logs: LogFilter,
    /// Whether its requests have headers.
    pub(crate) is_on_http: bool,
    /// Its project, where `toolbay stdio` named it.
    root: Option<Arc<Path>>,
    /// Which tools it is listed, where its connection says so.
    pub(crate) exposure: Option<Exposure>,
    /// Whether its requests are made by code that it sent: nothing of them can wait for another request of the client.
    pub(crate) is_in_code: bool,
}

impl RequestClient {
    /// A client with a session.
    pub(crate) fn of_session(gateway: &Gateway, session: Arc<Session>, access: Arc<Access>) -> Self {
        let (identity, logs) = session.identity();
        let access = session.access_in(access);
        Self {
            revision: session.revision,
            host: gateway.host_for(&access),
            access,
            identity,
            caller: session.caller,
            session: Some(session),
            hears_events: true,
            logs,
            is_on_http: false,
            root: None,
            exposure: None,
            is_in_code: false,
        }
    }

    /// A client that sent neither `initialize` nor its identity.
    pub(crate) fn unknown(gateway: &Gateway, revision: Revision, access: Arc<Access>) -> Self {
        let identity = Arc::new(identity(revision, None, None));
        Self {
            revision,
            host: gateway.host_for(&access),
            access,
            session: None,
            identity,
            caller: CallerId::new(),
            hears_events: true,
            logs: LogFilter::Nothing,
            is_on_http: false,
            root: None,
            exposure: None,
            is_in_code: false,
        }
    }

    /// A modern client, which describes itself in every request.
    pub(crate) fn of_request(gateway: &Gateway, call: &MethodCall, access: Arc<Access>) -> Self {
        let revision = Revision::LATEST;
        let text = |key| call.meta(key).map(|span| call.text.slice(span.range()));
        let identity = identity(revision, text(meta::CLIENT_INFO), text(meta::CLIENT_CAPABILITIES));
        let level = log_level(call);
        let logs = level.map_or(LogFilter::Nothing, LogFilter::AtLeast);
        let identity = if level.is_some() { identity.at_level(level) } else { identity };
        let access = gateway.access_of_client(access, identity.info());
        Self {
            revision,
            host: gateway.host_for(&access),
            access,
            session: None,
            identity: Arc::new(identity),
            caller: CallerId::new(),
            hears_events: true,
            logs,
            is_on_http: false,
            root: None,
            exposure: None,
            is_in_code: false,
        }
    }

    /// The same client, where only the response reaches it.
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

    /// The same client, which is listed these tools.
    pub(crate) fn with_exposure(self, exposure: Option<Exposure>) -> Self {
        Self { exposure, ..self }
    }

    /// The same client, where code that it sent makes its requests.
    pub(crate) fn in_code(self) -> Self {
        Self { is_in_code: true, ..self }
    }

    /// The same client, with the id of its connection.
    pub(crate) fn with_caller(self, caller: CallerId) -> Self {
        Self { caller, ..self }
    }

    /// How it is known to need schemas of tools.
    pub(crate) fn schema_view(&self, gateway: &Gateway) -> Option<SchemaView> {
        match gateway.options.schema_view {
            // Lists of modern clients depend on the endpoint, the token and the profile alone.
            SchemaViewSetting::Auto if !self.revision.features().has_sessions() => None,
            SchemaViewSetting::Auto => {
                let info = Item::parse(Bytes::copy_from_slice(self.identity.info().as_bytes())).ok()?;
                SchemaView::of_client(&info.string("name")?)
            }
            SchemaViewSetting::Off => None,
            SchemaViewSetting::Always(view) => Some(view),
        }
    }

    /// Who calls, for what belongs to a principal.
    pub(crate) fn principal(&self) -> &str {
        self.access.principal.as_str()
    }

    /// Whether servers can send it requests before they respond.
    fn can_receive_server_requests(&self) -> bool {
        let reachable = match &self.session {
            Some(_) => self.hears_events,
            None => self.revision.features().has_input_required(),
        };
        reachable && self.identity.capabilities() != "{}"
    }

    /// Whether it supports that server request.
    pub(crate) fn supports(&self, method: &str, params: Option<&str>) -> bool {
        self.can_receive_server_requests() && self.capabilities().supports(method, params)
    }

    /// Which server requests it declares to support.
    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities::parse(self.identity.capabilities(), self.revision)
    }

    /// Whether it declares the tasks extension.
    pub(crate) fn has_tasks(&self) -> bool {
        !self.is_in_code
            && self.revision.features().has_task_extension()
            && declares_tasks(self.identity.capabilities())
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
            id: self.caller,
            accepts_server_requests: may_require_input(method) && self.can_receive_server_requests(),
            awaits_tasks: true,
            logs: self.logs,
            root: self.root.clone(),
        }
    }
}

/// The log level in `_meta` of a modern request, if it is a known one.
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
pub(crate) fn open_session(call: &MethodCall, access: Arc<Access>) -> Result<Arc<Session>, ErrorObject> {
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
    Ok(Session::new(revision, identity(revision, text("clientInfo"), text("capabilities")), access))
}
