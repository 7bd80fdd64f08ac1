//! The methods of the control API, over any host.

use std::{fmt, path::PathBuf, sync::Arc};

use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;
use toolbay_host::{
    CallError, Caller, CallerId, CatalogKind, ClientIdentity, Host, HostRequest, LogFilter, Routed,
    ServerError, ServerHandle, list_page,
};
use toolbay_protocol::{
    ErrorCode, ErrorObject, Notification, Request, Revision, Rope, error, method as mcp, result,
};

use crate::{
    HubHandle, HubStatus, LogEntry, LogPage, MessageEntry, MessagePage, Note, Reason, ServerSnapshot,
    error::Details,
    messages::{PAGE, WantedMessages},
    method,
    pending::{PendingEntry, PendingPage},
    snapshot::ProfileSnapshot,
};

/// What a host does not know about its hub.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// Its configuration.
    pub config: Option<PathBuf>,
    /// Where clients reach it.
    pub url: Option<String>,
    /// The folder that it serves, where nothing is configured.
    pub folder: Option<PathBuf>,
    /// Servers that it could offer, and how each is enabled.
    pub off: Vec<Note>,
    /// What servers say of themselves when the status is read.
    pub remarks: Remarks,
}

/// Notes that are made when the status is read, such as what is left of a quota.
#[derive(Clone)]
pub struct Remarks(Arc<dyn Fn() -> Vec<Note> + Send + Sync>);

impl Remarks {
    /// Notes that `make` returns.
    pub fn new(make: impl Fn() -> Vec<Note> + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }
}

impl Default for Remarks {
    fn default() -> Self {
        Self::new(Vec::new)
    }
}

impl fmt::Debug for Remarks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remarks").finish_non_exhaustive()
    }
}

/// Responds to requests. Clones are cheap and mean the same hub.
#[derive(Debug, Clone)]
pub struct Api {
    host: Host,
    about: Arc<About>,
    /// The process around it, if it is one that others find.
    hub: Option<HubHandle>,
    caller: Caller,
    /// What the profiles and rules of the hub mean for the owner; without it, there are none.
    policy: Option<Arc<dyn HubPolicy>>,
    /// The profile of the caller.
    profile: Option<Arc<str>>,
}

/// The profiles and rules of a hub, for its owner.
pub trait HubPolicy: fmt::Debug + Send + Sync {
    /// What the owner sees with a profile, or without.
    ///
    /// # Errors
    ///
    /// A message, if there is no such profile.
    fn view(&self, profile: Option<&str>) -> Result<Host, String>;

    /// The profiles.
    fn profiles(&self) -> Vec<ProfileSnapshot>;

    /// What would happen to a call, and why.
    ///
    /// # Errors
    ///
    /// A message, if that cannot be said.
    fn explain(&self, call: &CallToExplain) -> Result<serde_json::Value, String>;

    /// The calls that wait for the owner, the oldest first.
    fn pending(&self) -> Vec<PendingEntry>;

    /// Decides about a call that waits; returns whether it did.
    fn decide(&self, id: u64, is_allowed: bool) -> bool;
}

#[derive(Debug, Default, Deserialize)]
struct Awaited {
    tool: Option<String>,
    prompt: Option<String>,
    uri: Option<String>,
}

/// The result of [`method::OWNERS`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Owners {
    pub(crate) owners: Vec<Option<String>>,
}

#[derive(Debug, Deserialize)]
struct OwnersParams {
    method: String,
    names: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct WantedLogs {
    server: String,
    #[serde(default)]
    since: u64,
    #[serde(default)]
    follow: bool,
}

#[derive(Debug, Deserialize)]
struct Named {
    server: String,
}

/// The parameters of [`method::EXPLAIN`].
#[derive(Debug, Clone, Deserialize)]
pub struct CallToExplain {
    /// The name of the tool, as clients call it.
    pub tool: String,
    /// The arguments, as JSON text.
    pub arguments: String,
    /// Who calls.
    pub principal: String,
    /// With which profile.
    pub profile: Option<String>,
}

#[derive(Debug, Deserialize)]
struct PendingDecision {
    id: u64,
    allow: bool,
}

#[derive(Debug, Deserialize)]
struct After {
    after: u64,
}

impl Api {
    /// The API of a host.
    pub fn new(host: Host, about: About) -> Self {
        let info = concat!(r#"{"name":"toolbay-control","version":""#, env!("CARGO_PKG_VERSION"), "\"}");
        let identity = ClientIdentity::new(Revision::LATEST_LEGACY, info, "{}");
        let caller = Caller {
            revision: Revision::LATEST_LEGACY,
            identity: Arc::new(identity),
            id: CallerId::new(),
            accepts_server_requests: false,
            awaits_tasks: false,
            logs: LogFilter::Nothing,
            root: None,
        };
        Self { host, about: Arc::new(about), hub: None, caller, policy: None, profile: None }
    }

    /// The same API, of a hub with profiles and rules.
    pub fn with_policy(self, policy: Arc<dyn HubPolicy>) -> Self {
        Self { policy: Some(policy), ..self }
    }

    /// The same API, for a caller with a profile.
    pub fn with_profile(self, profile: Option<&str>) -> Self {
        Self { profile: profile.map(Into::into), ..self }
    }

    /// What the caller sees of the servers.
    fn seen(&self) -> Result<Host, ErrorObject> {
        match (&self.policy, &self.profile) {
            (None, None) => Ok(self.host.clone()),
            (Some(policy), profile) => policy.view(profile.as_deref()).map_err(|why| unknown_profile(&why)),
            (None, Some(_)) => Err(unknown_profile("this hub has no profiles")),
        }
    }

    /// The same API, of a hub that is a process of its own.
    pub fn of_hub(self, hub: HubHandle) -> Self {
        Self { hub: Some(hub), ..self }
    }

    /// The same API, for a caller who works in the directory that [`method::PROJECT`] names.
    pub(crate) fn in_project(self, notification: &Notification) -> Self {
        let root = notification.string_param("root").map(|root| PathBuf::from(root.into_owned()));
        let root = root.filter(|root| root.is_absolute()).map(Into::into);
        let profile = notification.string_param("profile").map(|profile| profile.as_ref().into());
        Self { caller: Caller { root, ..self.caller }, profile, ..self }
    }

    pub(crate) fn hub(&self) -> Option<&HubHandle> {
        self.hub.as_ref()
    }

    /// The host behind it.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The status of the hub and its servers.
    pub fn snapshot(&self) -> HubStatus {
        let About { config, url, folder, off, remarks } = (*self.about).clone();
        let unset_variables = self.hub.as_ref().map(HubHandle::unset_variables).unwrap_or_default();
        let mut status = HubStatus { config, url, folder, unset_variables, ..HubStatus::of(&self.host) };
        // Servers may have been added and removed since.
        let exists = |note: &Note| status.servers.iter().any(|server| server.name == note.server);
        let off = off.into_iter().filter(|note| !exists(note));
        let notes: Vec<Note> = off.chain((remarks.0)().into_iter().filter(exists)).collect();
        status.notes.extend(notes);
        status.profiles = self.policy.as_ref().map(|policy| policy.profiles()).unwrap_or_default();
        status.notes.extend(self.hub.as_ref().map(HubHandle::notes).unwrap_or_default());
        status.exposure = self.hub.as_ref().and_then(HubHandle::exposure);
        status
    }

    /// Responds to a request, on one line. Dropping the future cancels what it started.
    pub async fn respond(&self, request: Box<Request>) -> Rope {
        let id = request.id.clone();
        let answered = match request.call.method() {
            method::STATUS => Ok(json(&self.snapshot())),
            method::READY => self.ready(&request).await,
            method::LOGS => self.logs(&request).await,
            method::WATCH => self.watch().await,
            method::MESSAGES => self.messages(&request).await,
            method::RESTART => self.restart(&request).await,
            method::START => self.start(&request).await,
            method::STOP => self.stop(&request).await,
            method::EVENTS => self.events(&request).await,
            method::OWNERS => self.owners(&request),
            method::HUB => self.known_hub().map(|hub| json(&hub.snapshot())),
            method::DRAIN => self.drain().await,
            method::SHUT_DOWN => self.shut_down(),
            method::PENDING => Ok(json(&PendingPage { pending: self.pending() })),
            method::DECIDE => self.decide(&request),
            method::EXPLAIN => self.explain(&request),
            mcp::TOOLS_LIST => self.list(CatalogKind::Tools, &request),
            mcp::RESOURCES_LIST => self.list(CatalogKind::Resources, &request),
            mcp::RESOURCE_TEMPLATES_LIST => self.list(CatalogKind::ResourceTemplates, &request),
            mcp::PROMPTS_LIST => self.list(CatalogKind::Prompts, &request),
            _ => return self.dispatch(request).await,
        };
        match answered {
            Ok(text) => result(&id, &text).into(),
            Err(why) => error(Some(&id), &why).into(),
        }
    }

    async fn dispatch(&self, request: Box<Request>) -> Rope {
        let id = request.id.clone();
        let absent = request.call.string_param("name").map(std::borrow::Cow::into_owned);
        let host_request =
            HostRequest { request: request.into(), caller: self.caller.clone(), events: None, resumes: None };
        let seen = match self.seen() {
            Ok(seen) => seen,
            Err(why) => return error(Some(&id), &why).into(),
        };
        let why = match seen.dispatch(host_request) {
            Routed::Answered(text) => return result(&id, &text).into(),
            Routed::Refused(why) => {
                let absence = absent.and_then(|name| seen.absence(&name));
                match absence {
                    // The hint is part of the message already.
                    Some(_) => detailed(why, Reason::NotReady, None),
                    None => detailed(why, Reason::Unknown, None),
                }
            }
            Routed::Denied(denial) => denied(&denial.to_string()),
            Routed::Ask(asked) => denied(&format!(
                "rule `{}` wants a person to allow this call; make it with `toolbay call`",
                asked.rule.name
            )),
            Routed::Sent(call) => match call.await {
                Ok(answer) => match answer.response.error() {
                    // Wrapped, so that no server can pass off its data as that of the hub.
                    Some(why) => detailed(why, Reason::Failed, None),
                    None => return answer.response.edited(answer.response.with_id(&id)),
                },
                Err(why) => failed(&why),
            },
        };
        error(Some(&id), &why).into()
    }

    fn list(&self, kind: CatalogKind, request: &Request) -> Result<String, ErrorObject> {
        let table = self.seen()?.table();
        let cursor = request.call.string_param("cursor");
        let Some((page, next)) = table.page(kind, cursor.as_deref()) else {
            return Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, "the list has changed; start again"));
        };
        Ok(list_page(kind.field(), page, next.as_deref()).finish())
    }

    fn owners(&self, request: &Request) -> Result<String, ErrorObject> {
        let wanted: OwnersParams = params(request)?;
        let table = self.seen()?.table();
        let owner = |name: &String| -> Option<String> {
            let server = match wanted.method.as_str() {
                mcp::TOOLS_LIST => table.tool(name)?.server.name().clone(),
                mcp::PROMPTS_LIST => table.prompt(name)?.server.name().clone(),
                mcp::RESOURCES_LIST => table.resource(name).ok()?.server.name().clone(),
                mcp::RESOURCE_TEMPLATES_LIST => table.template(name)?.server.name().clone(),
                _ => return None,
            };
            Some(server.as_str().to_owned())
        };
        let owners: Vec<Option<String>> = wanted.names.iter().map(owner).collect();
        Ok(json(&Owners { owners }))
    }

    fn pending(&self) -> Vec<PendingEntry> {
        self.policy.as_ref().map(|policy| policy.pending()).unwrap_or_default()
    }

    fn explain(&self, request: &Request) -> Result<String, ErrorObject> {
        let call: CallToExplain = params(request)?;
        let policy = self.policy.as_ref().ok_or_else(|| unknown_profile("this hub has no rules"))?;
        policy.explain(&call).map(|explained| explained.to_string()).map_err(|why| unknown_profile(&why))
    }

    fn decide(&self, request: &Request) -> Result<String, ErrorObject> {
        let PendingDecision { id, allow } = params(request)?;
        if self.policy.as_ref().is_some_and(|policy| policy.decide(id, allow)) {
            return Ok("{}".to_owned());
        }
        let message = format!("no call {id} waits; it may have been decided or be too old");
        Err(detailed(ErrorObject::new(ErrorCode::INVALID_PARAMS, message), Reason::Unknown, None))
    }

    async fn ready(&self, request: &Request) -> Result<String, ErrorObject> {
        let awaited: Awaited = params(request)?;
        let Awaited { tool, prompt, uri } = &awaited;
        let named = [(tool, mcp::TOOLS_CALL), (prompt, mcp::PROMPTS_GET), (uri, mcp::RESOURCES_READ)];
        match named.into_iter().find_map(|(name, method)| Some((method, name.as_deref()?))) {
            Some((method, name)) => {
                if let Some(arrival) = self.host.arrival_of(method, name) {
                    arrival.await;
                }
            }
            None => self.host.settled().await,
        }
        Ok("{}".to_owned())
    }

    async fn logs(&self, request: &Request) -> Result<String, ErrorObject> {
        let wanted: WantedLogs = params(request)?;
        let server = self.server(&wanted.server)?;
        let mut arrived = server.log().subscribe();
        if wanted.follow {
            // The ring exists as long as the server's handle, which we hold.
            let _ = arrived.wait_for(|next| *next > wanted.since).await;
        }
        let lines: Vec<LogEntry> = server.log().since(wanted.since).into_iter().map(LogEntry::from).collect();
        let next = lines.last().map_or(wanted.since, |line| line.seq + 1);
        Ok(json(&LogPage { lines, next }))
    }

    async fn watch(&self) -> Result<String, ErrorObject> {
        let _watching = self.host.capture().watch();
        std::future::pending().await
    }

    async fn messages(&self, request: &Request) -> Result<String, ErrorObject> {
        let WantedMessages { since: wanted, follow, server } = params(request)?;
        if let Some(server) = &server {
            self.server(server)?;
        }
        let capture = self.host.capture();
        let _watching = follow.then(|| capture.watch());
        let mut arrived = capture.next();
        let (mut next, mut missed) = (wanted.unwrap_or(0), 0);
        loop {
            let mut captured = capture.since(next, PAGE);
            if let (Some(_), Some(first)) = (wanted, captured.first()) {
                missed += first.number - next;
            }
            let had_any = !captured.is_empty();
            next = captured.last().map_or(next, |last| last.number + 1);
            captured.retain(|message| server.is_none() || message.server.as_deref() == server.as_deref());
            if !captured.is_empty() || !follow && !had_any {
                let is_watched = capture.is_watched();
                // Hiding secrets in long messages takes a while.
                let hidden = spawn_blocking(move || captured.into_iter().map(MessageEntry::from).collect());
                let messages = hidden.await.unwrap_or_default();
                return Ok(json(&MessagePage { messages, next, missed, is_watched }));
            }
            if !had_any {
                // The sender exists as long as the host, which we hold.
                let _ = arrived.wait_for(|number| *number > next).await;
            }
        }
    }

    /// Waits for the new process, too: until it is up, or known not to be, which takes no longer than its start timeout allows.
    async fn restart(&self, request: &Request) -> Result<String, ErrorObject> {
        let name = self.named(request)?;
        self.host.restart_server(&name).await.map_err(refused)?;
        self.host.wait_for(&name).await.map_err(refused)?;
        self.server_snapshot(&name)
    }

    /// Waits until it is up, or known not to be.
    async fn start(&self, request: &Request) -> Result<String, ErrorObject> {
        let name = self.named(request)?;
        self.host.start_server(&name).await.map_err(refused)?;
        self.host.wait_for(&name).await.map_err(refused)?;
        self.server_snapshot(&name)
    }

    async fn stop(&self, request: &Request) -> Result<String, ErrorObject> {
        let name = self.named(request)?;
        self.host.stop_server(&name).await.map_err(refused)?;
        self.server_snapshot(&name)
    }

    async fn events(&self, request: &Request) -> Result<String, ErrorObject> {
        let wanted: After = params(request)?;
        let mut events = self.host.events();
        // Listened before looked, so that nothing falls between. Another number, even a lower one, means news: the hub may
        // be another than the one before.
        if self.host.revision() == wanted.after {
            let _ = events.next().await;
        }
        Ok(json(&self.snapshot()))
    }

    async fn drain(&self) -> Result<String, ErrorObject> {
        let hub = self.known_hub()?;
        hub.drain.cancel();
        hub.released.cancelled().await;
        Ok("{}".to_owned())
    }

    fn shut_down(&self) -> Result<String, ErrorObject> {
        self.known_hub()?.stop.cancel();
        Ok("{}".to_owned())
    }

    fn known_hub(&self) -> Result<&HubHandle, ErrorObject> {
        let why = || ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, "this hub is not shared");
        self.hub.as_ref().ok_or_else(why)
    }

    /// The server that a request names, if there is one.
    fn named(&self, request: &Request) -> Result<String, ErrorObject> {
        let wanted: Named = params(request)?;
        self.server(&wanted.server)?;
        Ok(wanted.server)
    }

    fn server_snapshot(&self, name: &str) -> Result<String, ErrorObject> {
        let status = self.host.status(name).ok_or_else(|| refused(ServerError::Unknown(name.to_owned())))?;
        Ok(json(&ServerSnapshot::of(&status)))
    }

    fn server(&self, name: &str) -> Result<ServerHandle, ErrorObject> {
        self.host.server(name).ok_or_else(|| {
            let problems = self.host.config_problems();
            if let Some(broken) = problems.iter().find(|problem| problem.server.as_deref() == Some(name)) {
                let why = format!("server `{name}` is not configured correctly: {}", broken.message);
                let hint = "fix its entry; changes are applied within a second".to_owned();
                return detailed(
                    ErrorObject::new(ErrorCode::INVALID_PARAMS, why),
                    Reason::NotReady,
                    Some(hint),
                );
            }
            let servers = self.host.servers();
            let known: Vec<&str> = servers.iter().map(|server| server.name().as_str()).collect();
            let hint = format!("there are: {}", known.join(", "));
            let why = ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("no server named `{name}`"));
            detailed(why, Reason::Unknown, Some(hint))
        })
    }
}

fn params<'a, T: Deserialize<'a> + 'a>(request: &'a Request) -> Result<T, ErrorObject> {
    serde_json::from_str(request.call.params_text().unwrap_or("{}"))
        .map_err(|why| ErrorObject::new(ErrorCode::INVALID_PARAMS, why.to_string()))
}

fn refused(why: ServerError) -> ErrorObject {
    let (reason, hint) = match &why {
        ServerError::Unknown(_) => (Reason::Unknown, None),
        ServerError::Disabled(server) => {
            (Reason::NotReady, Some(format!("enable it with `toolbay enable {server}`")))
        }
        ServerError::Pending(server) => {
            (Reason::Denied, Some(format!("review it with `toolbay approve {server}`")))
        }
    };
    detailed(ErrorObject::new(ErrorCode::INVALID_PARAMS, why.to_string()), reason, hint)
}

fn failed(why: &CallError) -> ErrorObject {
    let reason = match why {
        CallError::Down { .. } | CallError::Stopped { .. } | CallError::NotReady { .. } => Reason::NotReady,
        CallError::Died { .. }
        | CallError::Idle { .. }
        | CallError::TooLong { .. }
        | CallError::Busy { .. }
        | CallError::Full { .. }
        | CallError::BadAnswer { .. }
        | CallError::NoAnswer { .. } => Reason::Failed,
    };
    let error = ErrorObject::new(ErrorCode::INTERNAL_ERROR, why.to_string());
    detailed(error, reason, why.hint())
}

fn unknown_profile(why: &str) -> ErrorObject {
    detailed(ErrorObject::new(ErrorCode::INVALID_REQUEST, why), Reason::Unknown, None)
}

/// An error for a call that is not allowed.
fn denied(message: &str) -> ErrorObject {
    detailed(ErrorObject::new(ErrorCode::INVALID_REQUEST, message), Reason::Denied, None)
}

fn detailed(mut error: ErrorObject, reason: Reason, hint: Option<String>) -> ErrorObject {
    let data = error.data.take();
    error.with_data(&Details { reason, hint, data })
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("plain data always serialises")
}
