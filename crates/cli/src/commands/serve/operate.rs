//! Running a hub, in a terminal or in the background.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime},
};

use tokio_util::sync::CancellationToken;
use toolbay_access::{Authenticator as _, HubTokens, proxy::AuthorizationProxy};
use toolbay_config::AuthSection;
use toolbay_control::{
    About, Api, ClientSnapshot, ExposureSnapshot, HubHandle, HubPresence, HubSnapshot, Listener, Note,
    Remarks, millis,
};
use toolbay_gateway::{ClientTransport, ConnectedClient, ExposureReport, Gateway, GatewayOptions};
use toolbay_host::{Host, shim};

use super::{listeners::Listeners, warn};
use crate::{
    app::{
        audit::HubAudit,
        context::Context,
        hub::{self, HubPlan},
        owner_policy::OwnerPolicy,
        principals::identity_notes,
        reload::follow,
        shared_hub::{build, naming_text},
    },
    configured::{files::Configuration, unset::UnsetVariables},
    term::startup_table::StartupTable,
};

/// How long running requests may take after a signal to stop.
const DRAIN: Duration = Duration::from_secs(5);
/// How long a hub in the background waits at least for the client that started it.
const FIRST_CLIENT: Duration = Duration::from_secs(10);
/// How often a hub without clients checks whether it is still unused.
const LOOK: Duration = Duration::from_secs(1);
/// Time for those who had connected when the socket was removed to be let in.
const BACKLOG: Duration = Duration::from_millis(30);

/// Everything that a hub needs to run.
#[derive(Debug)]
pub(in crate::commands) struct Operation {
    pub(in crate::commands) plan: HubPlan,
    pub(in crate::commands) listeners: Listeners,
    /// The control socket at which commands find it.
    pub(in crate::commands) control: Option<Listener>,
    pub(in crate::commands) gateway: GatewayOptions,
    /// Tokens of clients, whose file is followed.
    pub(in crate::commands) tokens: Option<Arc<HubTokens>>,
    /// The log in which calls are recorded.
    pub(in crate::commands) audit: HubAudit,
    pub(in crate::commands) lifetime: Lifetime,
}

/// What decides when a hub ends.
#[derive(Debug, Clone)]
pub(in crate::commands) enum Lifetime {
    /// The process that started it.
    Foreground,
    /// Its clients: it ends some time after the last one left.
    Background { linger: Duration, log: PathBuf },
}

/// Runs a hub until it is stopped or no longer needed.
pub(in crate::commands) async fn operate(context: &Context, operation: Operation) {
    let Operation { mut plan, mut listeners, control, gateway, tokens, audit, lifetime } = operation;
    // Every client takes a file descriptor, and some systems allow 1,024 of them by default.
    if let Err(error) = shim::raise_file_limit() {
        tracing::warn!(%error, "cannot raise the limit of open files, which limits clients and servers");
    }
    let urls = listeners.urls();
    if let Some(control) = &control {
        match control.mcp_socket() {
            Ok(socket) => listeners.sockets.push(socket),
            Err(error) => warn(context, &error, "`toolbay stdio` will not find this hub"),
        }
    }
    let host = plan.start(context);
    let proxy = gateway.authorization_proxy.clone();
    let gateway = Gateway::new(host.clone(), gateway);
    let hub = handle(context, &plan, &urls, control.as_ref(), &gateway, &lifetime);
    let hub = {
        let (host, tokens, has_issuer) = (host.clone(), tokens.clone(), plan.auth != AuthSection::Absent);
        let has_principals = move || has_issuer || tokens.as_ref().is_some_and(|tokens| tokens.is_in_use());
        let names = gateway.clone();
        hub.with_notes(move || {
            let mut notes = if has_principals() { identity_notes(&host) } else { Vec::new() };
            notes.extend(taken_names(&names));
            notes.extend(audit.notes());
            notes
        })
    };
    let hub = hub.with_exposure({
        let gateway = gateway.clone();
        move || exposure_snapshot(gateway.exposure())
    });
    let about = About {
        config: plan.config.clone(),
        url: urls.first().cloned(),
        folder: plan.folder.clone(),
        off: plan.off_notes(),
        remarks: Remarks::new({
            let quotas = plan.quotas.clone();
            move || quotas.notes()
        }),
    };
    let policy = Arc::new(OwnerPolicy::new(gateway.clone(), urls.first().cloned()));
    let api = Api::new(host.clone(), about).of_hub(hub.clone()).with_policy(policy);
    let mut board = StartupTable::with_events(&host, &context.out);
    let presence = control.as_ref().map(Listener::presence);
    let mut unset = UnsetVariables::new(context, &plan.identity.files);
    let configuration = plan.configuration.take();
    // Only clients on HTTP have tokens.
    if let Some(tokens) = tokens.filter(|_| !urls.is_empty()) {
        host.tasks().spawn(tokens.follow(hub.stop.clone()));
    }
    tokio::select! {
        // Ends with the signal to stop, once running requests are answered.
        () = listeners.serve_hub(&gateway, &hub.drain, &hub.released, &hub.stop) => {}
        () = drain_timeout(&hub.stop) => tracing::info!("some requests were not answered in time"),
        () = until_unneeded(&lifetime, &hub, &gateway, &host, presence) => {}
        () = board.follow() => {}
        () = follow_if_any(context, configuration, &host, Some(&gateway)) => {}
        () = unset.follow(&gateway, &hub) => {}
        () = serve_control(control, api, hub.stop.clone()) => {}
        () = maintain(proxy, hub.stop.clone()) => {}
    }
    context.out.note("stopping");
    hub::stop(&host).await;
}

/// Looks after the logins of the authorization proxy, if there is one. Never ends before the hub does.
async fn maintain(proxy: Option<Arc<AuthorizationProxy>>, stop: CancellationToken) {
    if let Some(proxy) = proxy {
        proxy.maintain(stop).await;
    }
    std::future::pending().await
}

/// The status of this hub for the control API, and the handle to end it.
fn handle(
    context: &Context,
    plan: &HubPlan,
    urls: &[String],
    control: Option<&Listener>,
    gateway: &Arc<Gateway>,
    lifetime: &Lifetime,
) -> HubHandle {
    let log = match lifetime {
        Lifetime::Foreground => None,
        Lifetime::Background { log, .. } => Some(log.clone()),
    };
    let pid = std::process::id();
    let known = HubSnapshot {
        build: build(),
        pid,
        background: matches!(lifetime, Lifetime::Background { .. }),
        started_ms: millis(SystemTime::now()),
        naming: naming_text(plan.naming(context)).to_owned(),
        config_files: plan.identity.files.clone(),
        urls: urls.to_vec(),
        socket: control.map(|control| control.path().to_owned()),
        log,
        memory_kib: None,
        servers_memory_kib: None,
        clients: Vec::new(),
        unset_variables: Vec::new(),
    };
    let gateway = gateway.clone();
    HubHandle::new(context.stop.clone(), move || HubSnapshot {
        clients: gateway.clients().into_iter().map(client_snapshot).collect(),
        ..known.clone()
    })
}

/// Notes on tools that have the name of a tool of the hub.
fn taken_names(gateway: &Gateway) -> Vec<Note> {
    let note = |(server, tool): (String, &'static str)| Note {
        server,
        text: format!(
            "its tool `{tool}` has the name of a tool of the hub; where that is listed, it is called with `call_tool`"
        ),
    };
    gateway.names_taken().into_iter().map(note).collect()
}

fn exposure_snapshot(report: ExposureReport) -> ExposureSnapshot {
    ExposureSnapshot {
        mode: report.mode.as_str().to_owned(),
        budget: report.budget,
        listed: report.listed,
        hidden: report.hidden,
        reason: report.reason,
        deferring_clients: report.deferring_clients,
    }
}

fn client_snapshot(client: ConnectedClient) -> ClientSnapshot {
    let transport = match client.transport {
        ClientTransport::Stdio => "stdio",
        ClientTransport::Unix => "unix",
        ClientTransport::Sse => "sse",
        ClientTransport::WebSocket => "websocket",
        ClientTransport::Http => "http",
    };
    ClientSnapshot {
        name: client.name,
        transport: transport.to_owned(),
        principal: client.principal.to_string(),
        pid: client.pid,
        root: client.root.as_deref().map(ToOwned::to_owned),
        since_ms: millis(client.since),
    }
}

/// Follows the configuration, where there are files; never ends.
pub(in crate::commands) async fn follow_if_any(
    context: &Context,
    configuration: Option<Configuration>,
    host: &Host,
    gateway: Option<&Gateway>,
) {
    match configuration {
        Some(configuration) => follow(context, configuration, host, gateway).await,
        None => std::future::pending().await,
    }
}

/// Ends some time after the signal to stop.
pub(in crate::commands) async fn drain_timeout(stop: &CancellationToken) {
    stop.cancelled().await;
    tokio::time::sleep(DRAIN).await;
}

/// Answers commands until the hub stops; never ends before that.
async fn serve_control(control: Option<Listener>, api: Api, stop: CancellationToken) {
    if let Some(control) = control {
        control.serve(api, stop).await;
    }
    std::future::pending().await
}

/// Resolves when the hub is no longer needed: it was replaced and its clients have left, or it has been without clients
/// for long enough.
async fn until_unneeded(
    lifetime: &Lifetime,
    hub: &HubHandle,
    gateway: &Gateway,
    host: &Host,
    presence: Option<HubPresence>,
) {
    let lingered = async {
        match (lifetime, presence) {
            (Lifetime::Background { linger, .. }, Some(presence)) => {
                linger_on(*linger, gateway, host, &presence).await;
            }
            _ => std::future::pending().await,
        }
    };
    tokio::select! {
        () = lingered => tracing::info!("no clients are connected any more"),
        () = hub.drain.cancelled() => tracing::info!("replaced by another hub"),
    }
    // Clients that have just connected are served to the end.
    hub.drain.cancel();
    hub.released.cancelled().await;
    tokio::time::sleep(BACKLOG).await;
    let mut count = gateway.client_count();
    while *count.borrow_and_update() > 0 || is_busy(host) {
        let _ = tokio::time::timeout(LOOK, count.changed()).await;
    }
}

/// Resolves when there was no client for `linger`, or when there is none and the socket of the hub is gone.
async fn linger_on(linger: Duration, gateway: &Gateway, host: &Host, presence: &HubPresence) {
    let mut count = gateway.client_count();
    let mut allowed = linger.max(FIRST_CLIENT);
    let mut unused = Duration::ZERO;
    while unused < allowed {
        if *count.borrow_and_update() > 0 {
            allowed = linger;
            unused = Duration::ZERO;
            let _ = count.changed().await; // the gateway outlives us
            continue;
        }
        let step = LOOK.min(allowed - unused);
        tokio::select! {
            _ = count.changed() => unused = Duration::ZERO,
            () = tokio::time::sleep(step) => unused += step,
        }
        if gateway.http_connections() > 0 || is_busy(host) {
            unused = Duration::ZERO;
        } else if !presence.is_there() && *count.borrow() == 0 {
            tracing::info!("the sockets of this hub were removed");
            return;
        }
    }
}

/// Whether any call is running.
fn is_busy(host: &Host) -> bool {
    host.statuses().iter().any(|status| status.counts.in_flight + status.counts.waiting > 0)
}
