//! `toolbay serve`: the hub over HTTP and on sockets.

pub(super) mod doors;

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use toolbay_control::{About, Api, ControlError, Listener};
use toolbay_gateway::{Gateway, GatewayOptions};
use toolbay_host::{Host, shim};

use self::doors::Doors;
use crate::{
    args::ServeArgs,
    board::Board,
    configuration::Configuration,
    context::Context,
    cycle,
    error::CliError,
    follow::follow,
    hub::{self, Plan},
    secrets,
    style::clean_line,
};

/// How long running requests may take once we are told to stop.
const DRAIN: Duration = Duration::from_secs(5);

pub(crate) async fn run(context: &Context, args: &ServeArgs) -> Result<(), CliError> {
    let mut plan = Plan::read(context)?;
    cycle::refuse(&plan.chain)?;
    let args = args.or(&plan.hub)?;
    let token = args.token_file.as_deref().map(secrets::token).transpose()?;
    // Every client takes a file, and some systems allow 1,024 of them unless asked.
    if let Err(error) = shim::raise_file_limit() {
        tracing::warn!(%error, "cannot raise the limit of open files, which limits clients and servers");
    }
    // Before any server is started: a second hub by mistake must not start everything twice.
    let mut doors = Doors::open(&args).await?;
    let urls = doors.urls();

    let host = plan.start(context);
    let about =
        About { config: plan.config.clone(), url: urls.first().cloned(), folder: plan.folder.clone() };
    let api = Api::new(host.clone(), about);
    greet(context, &plan, &urls, &doors)?;
    let control = control(context, &plan);
    if let Some(control) = &control {
        match control.mcp_socket() {
            Ok(socket) => doors.sockets.push(socket),
            Err(error) => warn(context, &error, "`toolbay stdio` will not find this hub"),
        }
    }

    let options = GatewayOptions {
        public_names: args.public_name,
        local_users: args.access.local_users(),
        allowed_origins: args.access.allow_origin,
        token,
        task_key: context.env.task_key(),
        first_list_wait: plan.hub.first_list_wait(),
        ..GatewayOptions::default()
    };
    let gateway = Gateway::new(host.clone(), options);
    let stop = &context.stop;
    let mut board = Board::with_events(&host, &context.out);
    let configuration = plan.configuration.take();
    tokio::select! {
        // Ends with the signal to stop, once running requests are answered.
        () = doors.serve(&gateway, stop) => {}
        () = patience(stop) => tracing::info!("some requests were not answered in time"),
        () = board.follow() => {}
        () = follow_if_any(context, configuration, &host) => {}
        () = serve_control(control, api, context) => {}
    }
    context.out.note("stopping");
    hub::stop(&host).await;
    Ok(())
}

/// Follows the configuration, where there are files; never ends.
pub(super) async fn follow_if_any(context: &Context, configuration: Option<Configuration>, host: &Host) {
    match configuration {
        Some(configuration) => follow(context, configuration, host).await,
        None => std::future::pending().await,
    }
}

/// Ends some time after the signal to stop.
pub(super) async fn patience(stop: &CancellationToken) {
    stop.cancelled().await;
    tokio::time::sleep(DRAIN).await;
}

/// The control socket, if we can have it: a hub without one serves its clients all the same.
pub(super) fn control(context: &Context, plan: &Plan) -> Option<Listener> {
    let place = context.env.socket_dir().place(plan.config.as_deref());
    match Listener::bind(&place) {
        Ok(listener) => Some(listener),
        Err(ControlError::Taken) => {
            tracing::info!("another hub with this configuration runs already; commands will reach that one");
            None
        }
        Err(error) => {
            warn(context, &error, "other commands will not find this hub");
            None
        }
    }
}

fn warn(context: &Context, error: &ControlError, consequence: &str) {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    context.out.warn(&format!("{error}{}; {consequence}", cause.unwrap_or_default()));
}

/// Answers commands until the hub stops; never ends before that.
pub(super) async fn serve_control(control: Option<Listener>, api: Api, context: &Context) {
    if let Some(control) = control {
        control.serve(api, context.stop.clone()).await;
    }
    std::future::pending().await
}

fn greet(context: &Context, plan: &Plan, urls: &[String], doors: &Doors) -> Result<(), CliError> {
    let out = &context.out;
    if out.json {
        for url in urls {
            let url = serde_json::Value::from(url.as_str());
            out.json_fields(&format!("\"event\":\"listening\",\"url\":{url}"))?;
        }
        return Ok(());
    }
    let sockets = doors.sockets.iter().map(|socket| socket.path().display().to_string());
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
            Some(folder) => out.note(&format!(
                "No servers are configured; there are `codebase`, to search and read {}, and `hub`, which tells about this one.",
                clean_line(&folder.display().to_string())
            )),
            None => out.note(
                "No servers are configured; there is only the server `hub`, which tells about this one. \
                 Started in the folder of a project, there is `codebase` too, to search and read it.",
            ),
        }
    }
    match plan.config.as_ref().filter(|_| !pending.is_empty()) {
        Some(file) => {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            out.note(&format!(
                "There is a {name} here, with servers that wait for your approval: {}.\n\
                 To look at them and approve: toolbay approve. To run them this once: toolbay serve --config {name}",
                pending.join(", ")
            ));
        }
        None => out.note(
            "To add a first server, for example: toolbay add time -- uvx mcp-server-time\n\
             With a file that you have: toolbay serve --config mcp.json, or take its servers over: toolbay import mcp.json",
        ),
    }
    Ok(())
}
