//! `toolbay codebase`: the codebase server of one folder, alone.

use std::{net::SocketAddr, sync::Arc};

use serde_json::json;
use tokio_util::task::TaskTracker;
use toolbay_builtin::codebase::{CodebaseIdentity, codebase};
use toolbay_config::Listen;
use toolbay_gateway::{Gateway, GatewayOptions};
use toolbay_host::{Host, HostOptions, Naming};
use toolbay_protocol::ServerName;
use toolbay_server::{Server, in_process, serve};
use toolbay_transport::stdio::{MAX_MESSAGE, connect};

use super::{
    serve::{listeners::Listeners, operate::drain_timeout},
    stdio::{FLUSH, stdin, stdout},
};
use crate::{
    app::{
        codebases::{OpenTrees, folder, show_secrets},
        context::Context,
        error::CliError,
        hub, secrets,
    },
    args::{CodebaseArgs, ServeArgs},
};

pub(crate) async fn run(context: &Context, args: &CodebaseArgs) -> Result<(), CliError> {
    let folder = folder(args.path.as_deref())?;
    let tree = OpenTrees::new(context).tree(&folder, show_secrets(args.secrets), None);
    let face = CodebaseIdentity { s3_errors: args.s3_errors, ..CodebaseIdentity::ALONE };
    let server = codebase(tree, face);
    match args.http {
        None if args.access.is_given() => {
            Err(CliError::usage("--allow-origin and --allow-local-users require --http"))
        }
        None => on_stdio(context, server).await,
        Some(address) => on_http(context, args, address, server).await,
    }
}

async fn on_stdio(context: &Context, server: Arc<dyn Server>) -> Result<(), CliError> {
    let tasks = TaskTracker::new();
    let wire = connect(stdin()?, stdout()?, MAX_MESSAGE, &tasks);
    tokio::select! {
        () = serve(wire, server) => {}
        () = context.stop.cancelled() => {}
    }
    tasks.close();
    // A client that does not read its answers does not get them.
    let _ = tokio::time::timeout(FLUSH, tasks.wait()).await;
    Ok(())
}

/// Uses the listeners of a hub, for their checks and limits; clients see the server alone.
async fn on_http(
    context: &Context,
    args: &CodebaseArgs,
    address: SocketAddr,
    server: Arc<dyn Server>,
) -> Result<(), CliError> {
    let token = args.token_file.as_deref().map(secrets::token).transpose()?;
    let listeners = Listeners::open(&ServeArgs {
        listen: vec![Listen::Http(address)],
        allow_unauthenticated: args.allow_unauthenticated,
        token_file: args.token_file.clone(),
        public_name: args.public_name.clone(),
        ..ServeArgs::default()
    })
    .await?;
    let face = face(&*server);
    let options = HostOptions { naming: Naming::None, ..HostOptions::default() };
    let host = Host::start(&[], vec![(ServerName::new("codebase"), in_process(server))], &options);
    host.settled().await;
    greet(context, &listeners)?;
    let options = GatewayOptions {
        public_names: args.public_name.clone(),
        allowed_origins: args.access.allow_origin.clone(),
        local_users: args.access.local_users(),
        token,
        identity: Some(face),
        ..GatewayOptions::default()
    };
    let gateway = Gateway::new(host.clone(), options);
    tokio::select! {
        () = listeners.serve(&gateway, &context.stop) => {}
        () = drain_timeout(&context.stop) => {}
    }
    hub::stop(&host).await;
    Ok(())
}

fn face(server: &dyn Server) -> toolbay_gateway::GatewayIdentity {
    let version = env!("CARGO_PKG_VERSION");
    toolbay_gateway::GatewayIdentity {
        server_info: json!({ "name": server.name(), "version": version }),
        capabilities: json!({ "resources": {}, "tools": {} }),
        instructions: server.instructions().map(str::to_owned),
        health: json!({ "status": "ok", "service": server.name(), "version": version, "mode": "http" }),
    }
}

fn greet(context: &Context, listeners: &Listeners) -> Result<(), CliError> {
    let out = &context.out;
    for url in listeners.urls() {
        if out.json {
            out.json_object(&json!({ "event": "listening", "url": url }))?;
        } else {
            out.note(&format!("The codebase server listens on {}", out.paint_status.bold(&url)));
        }
    }
    Ok(())
}
