//! `toolbay serve`: the hub over HTTP and on sockets. `toolbay __hub`: the hub in the background.

pub(super) mod listeners;
pub(super) mod operate;

use std::{sync::Arc, time::Duration};

use toolbay_access::{Authenticator, HubTokens, ServerLogins};
use toolbay_config::{AuthSection, HubFile};
use toolbay_control::{ControlClient, ControlError, Listener};
use toolbay_gateway::{ClientExposure, ExposureOptions, GatewayOptions};
use toolbay_policy::Exposure;

use self::{
    listeners::Listeners,
    operate::{Lifetime, Operation, operate},
};
use crate::{
    app::{
        audit::HubAudit, code_mode, context::Context, cycle, error::CliError, hub::HubPlan, issuer,
        logins::Logins, principals::ServersOfPrincipals, secrets,
    },
    args::{BackgroundArgs, ServeArgs},
    term::style::clean_line,
};

pub(crate) async fn run(context: &Context, args: &ServeArgs) -> Result<(), CliError> {
    let plan = HubPlan::read(context)?;
    cycle::refuse(&plan.chain)?;
    let mut options = args.or(&plan.hub)?;
    options.has_issuer = issuer::checked(&plan.auth)?.is_some();
    let tokens = hub_tokens(context)?;
    options.has_hub_tokens = tokens.as_ref().is_some_and(|tokens| tokens.is_in_use());
    if !options.public_name.is_empty() {
        context.out.warn("`--public-name` and `public_name` are replaced by `--public-url` and `public_url`; they are still read");
    }
    let audit = HubAudit::open(context, &plan)?;
    let mut gateway = gateway_options(context, &plan, &options, tokens.as_ref())?;
    gateway.audit = audit.log.clone();
    // Before anything is opened or started: a second hub by mistake must not start everything twice.
    let control = if args.separate { None } else { take_place(context, &plan).await? };
    let listeners = Listeners::open(&options).await?;
    issuer::protect(context, &plan, &options, &listeners.addresses(), &mut gateway).await?;
    greet(context, &plan, &listeners)?;
    let lifetime = Lifetime::Foreground;
    operate(context, Operation { plan, listeners, control, gateway, tokens, audit, lifetime }).await;
    Ok(())
}

/// The tokens that this user has created for clients of hubs.
fn hub_tokens(context: &Context) -> Result<Option<Arc<HubTokens>>, CliError> {
    Ok(context.env.hub_tokens().map(|path| HubTokens::open(&path)).transpose()?)
}

/// The options of the gateway of a hub.
pub(super) fn gateway_options(
    context: &Context,
    plan: &HubPlan,
    args: &ServeArgs,
    tokens: Option<&Arc<HubTokens>>,
) -> Result<GatewayOptions, CliError> {
    let token = args.token_file.as_deref().map(secrets::token).transpose()?;
    let mut authenticators: Vec<Arc<dyn Authenticator>> = Vec::new();
    authenticators.extend(token.map(|token| Arc::new(token) as _));
    authenticators.extend(tokens.map(|tokens| tokens.clone() as _));
    let server_logins = args.public_url.as_ref().map(ServerLogins::new).transpose();
    let server_logins = server_logins.map_err(|error| CliError::usage(error.to_string()))?.map(Arc::new);
    Ok(GatewayOptions {
        public_url: args.public_url.clone(),
        public_names: args.public_name.clone(),
        local_users: args.access.local_users(),
        allowed_origins: args.access.allow_origin.clone(),
        authenticators,
        allow_unauthenticated: args.allow_unauthenticated && args.token_file.is_none() && !args.has_issuer,
        principal_servers: Some(ServersOfPrincipals::new(
            Logins::open(context).map(|logins| logins.with_secrets(plan.secrets(context))),
            server_logins.clone(),
        )),
        server_logins,
        exposure: exposure_options(&plan.hub, args.exposure),
        code: code_mode::runner(context, &plan.hub),
        ..plan.gateway_options(context)?
    })
}

/// Which tools clients are listed.
pub(super) fn exposure_options(hub: &HubFile, typed: Option<Exposure>) -> ExposureOptions {
    // The values were checked when the file was read.
    let mode = |text: &String| text.parse().unwrap_or_default();
    let client_mode = |text: &String| match text.as_str() {
        "defer" => ClientExposure::Defer,
        _ => ClientExposure::Mode(mode(text)),
    };
    let usual = ExposureOptions::default();
    ExposureOptions {
        mode: typed.or_else(|| hub.exposure.as_ref().map(mode)).unwrap_or(usual.mode),
        clients: hub
            .client_exposure
            .iter()
            .map(|(client, text)| (client.clone(), client_mode(text)))
            .collect(),
        always_listed: hub.always_listed.iter().filter_map(|pattern| pattern.parse().ok()).collect(),
        budget: hub.exposure_budget.unwrap_or(usual.budget),
    }
}

/// Binds the control socket. A hub in the background is replaced; a second one in the foreground is refused.
async fn take_place(context: &Context, plan: &HubPlan) -> Result<Option<Listener>, CliError> {
    let place = context.env.socket_dirs().place(&plan.identity.files);
    if let Ok(client) = ControlClient::at(&place).await
        && let Ok(running) = client.hub().await
    {
        if !running.background {
            return Err(CliError::Serving { pid: running.pid, url: running.urls.first().cloned() });
        }
        context.out.note(&format!("replacing the background hub (process {})", running.pid));
        client.drain().await?;
    }
    match Listener::bind(&place) {
        Ok(listener) => Ok(Some(listener)),
        Err(error) => {
            warn(context, &error, "other commands will not find this hub");
            Ok(None)
        }
    }
}

fn warn(context: &Context, error: &ControlError, consequence: &str) {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    context.out.warn(&format!("{error}{}; {consequence}", cause.unwrap_or_default()));
}

fn greet(context: &Context, plan: &HubPlan, listeners: &Listeners) -> Result<(), CliError> {
    let out = &context.out;
    let urls = listeners.urls();
    if out.json {
        for url in &urls {
            out.json_object(&serde_json::json!({ "event": "listening", "url": url }))?;
        }
        return Ok(());
    }
    let sockets = listeners.sockets.iter().map(|socket| socket.path().display().to_string());
    for place in urls.iter().cloned().chain(sockets) {
        out.note(&format!(
            "Toolbay {} listens on {}",
            env!("CARGO_PKG_VERSION"),
            out.paint_status.bold(&place)
        ));
    }
    let pending: Vec<&str> = plan.pending().map(|server| server.as_str()).collect();
    if !plan.tells_of_itself && pending.is_empty() {
        return Ok(());
    }
    if plan.tells_of_itself {
        match &plan.folder {
            Some(folder) if plan.offers_builtins() => out.note(&format!(
                "No servers are configured. Built-in servers for {}: `filesystem`, `text-editor`, `grep`, `memory`, `codebase` and `hub`.",
                clean_line(&folder.display().to_string())
            )),
            Some(folder) => out.note(&format!(
                "No servers are configured. Built-in servers: `codebase`, which searches and reads {}, and `hub`, which reports the hub's status.",
                clean_line(&folder.display().to_string())
            )),
            None => out.note(
                "No servers are configured. Built-in server: `hub`, which reports the hub's status. \
             Started in a project, the hub also offers `codebase`, which searches and reads it.",
            ),
        }
    }
    match plan.config.as_ref().filter(|_| !pending.is_empty()) {
        Some(file) => {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            out.note(&format!(
                "{name} in this directory defines servers that need your approval: {}.\n\
                 To review and approve them: toolbay approve. To run them once: toolbay serve --config {name}",
                pending.join(", ")
            ));
        }
        None => out.note(
            "Add a server, for example: toolbay add time -- uvx mcp-server-time\n\
             Use an existing file: toolbay serve --config mcp.json, or import its servers: toolbay import mcp.json",
        ),
    }
    Ok(())
}

/// How long an address may still be taken by the hub whose place this one takes.
const TAKEN: Duration = Duration::from_secs(2);
/// How often an address that is taken is tried again.
const RETRY: Duration = Duration::from_millis(50);

/// `toolbay __hub`: the hub that `toolbay stdio` starts in the background for all clients of a configuration.
pub(crate) async fn run_background(context: &Context, args: &BackgroundArgs) -> Result<(), CliError> {
    tracing::info!("Toolbay {} starts, process {}", env!("CARGO_PKG_VERSION"), std::process::id());
    let plan = HubPlan::read(context)?;
    let control = match Listener::bind(&context.env.socket_dirs().place(&plan.identity.files)) {
        Ok(control) => control,
        Err(ControlError::Taken) => {
            tracing::info!("another hub already serves this configuration");
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    let mut options = ServeArgs::default().or(&plan.hub)?;
    options.has_issuer = plan.auth != AuthSection::Absent;
    let tokens = hub_tokens(context).unwrap_or_else(|error| {
        // Clients on stdio must not suffer from it, and those on HTTP must not come in without a token.
        context.out.warn(&format!("{error}; this hub listens on its Unix sockets only"));
        options.listen.clear();
        None
    });
    options.has_hub_tokens = tokens.as_ref().is_some_and(|tokens| tokens.is_in_use());
    let audit = HubAudit::open(context, &plan)?;
    let mut gateway = gateway_options(context, &plan, &options, tokens.as_ref())?;
    gateway.audit = audit.log.clone();
    let opened = match open(&options).await {
        Ok(listeners) => {
            let addresses = listeners.addresses();
            let protected = issuer::protect(context, &plan, &options, &addresses, &mut gateway).await;
            protected.map(|()| listeners)
        }
        Err(error) => Err(error),
    };
    let listeners = match opened {
        Ok(listeners) => listeners,
        Err(error) => {
            // Clients on stdio must not suffer from it.
            context.out.warn(&format!("{error}; this hub listens on its Unix sockets only"));
            Listeners::open_listed(&ServeArgs::default()).await?
        }
    };
    for url in listeners.urls() {
        context.out.note(&format!("listens on {url}"));
    }
    let lifetime = Lifetime::Background { linger: plan.hub.linger(), log: args.spec.log.clone() };
    let control = Some(control);
    operate(context, Operation { plan, listeners, control, gateway, tokens, audit, lifetime }).await;
    Ok(())
}

/// Opens the listeners of `[hub]`, if there are any.
async fn open(options: &ServeArgs) -> Result<Listeners, CliError> {
    let began = tokio::time::Instant::now();
    loop {
        match Listeners::open_listed(options).await {
            Err(CliError::Listen { .. }) if began.elapsed() < TAKEN => tokio::time::sleep(RETRY).await,
            done => return done,
        }
    }
}
