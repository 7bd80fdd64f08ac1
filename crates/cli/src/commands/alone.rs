//! One server alone, on stdin and stdout or over HTTP: clients see it and nothing of a hub.

use std::{net::SocketAddr, sync::Arc};

use serde_json::{Value, json};
use tokio_util::task::TaskTracker;
use toolbay_config::Listen;
use toolbay_gateway::{Gateway, GatewayIdentity, GatewayOptions};
use toolbay_host::{Host, HostOptions, InProcess, Naming};
use toolbay_protocol::{ErrorObject, Message, Revision, ServerName, error};
use toolbay_transport::{
    Connection, Incoming,
    stdio::{MAX_MESSAGE, connect},
};

use super::{
    serve::{listeners::Listeners, operate::drain_timeout},
    stdio::{FLUSH, stdin, stdout},
};
use crate::{
    app::{context::Context, error::CliError, hub, secrets},
    args::{ServeArgs, ServingArgs},
};

/// Serves a server until its client is gone or the process is told to stop.
pub(super) async fn serve(
    context: &Context,
    args: &ServingArgs,
    name: &str,
    server: InProcess,
) -> Result<(), CliError> {
    match args.http {
        None if args.access.is_given() => {
            Err(CliError::usage("--allow-origin and --allow-local-users require --http"))
        }
        None => on_stdio(context, &server).await,
        Some(address) => on_http(context, args, address, name, server).await,
    }
}

async fn on_stdio(context: &Context, server: &InProcess) -> Result<(), CliError> {
    let (tasks, of_server) = (TaskTracker::new(), TaskTracker::new());
    let client = connect(stdin()?, stdout()?, MAX_MESSAGE, &tasks);
    tokio::select! {
        () = join(client, server(&of_server)) => {}
        () = context.stop.cancelled() => {}
    }
    for tasks in [tasks, of_server] {
        tasks.close();
        // A client that does not read its answers does not get them.
        let _ = tokio::time::timeout(FLUSH, tasks.wait()).await;
    }
    Ok(())
}

/// Passes messages on in both directions, until the server has answered everything that the client sent.
async fn join(client: Connection, server: Connection) {
    let Connection { outgoing: to_client, incoming: mut from_client } = client;
    let Connection { outgoing: to_server, incoming: mut from_server } = server;
    let refuse = to_client.clone();
    let requests = async move {
        while let Some(message) = from_client.recv().await {
            let passed_on = match message {
                Incoming::Message(message) => to_server.send(message.into()).await,
                Incoming::Refused(refusal) => {
                    let why = ErrorObject::new(refusal.why.code(), refusal.why.to_string());
                    refuse.send(error(refusal.id.as_ref(), &why).into()).await
                }
                Incoming::About(..) | Incoming::Failed { .. } | Incoming::Lost { .. } => Ok(()),
            };
            if passed_on.is_err() {
                return;
            }
        }
        // The server sees the end of its input, and ends with its last response.
        drop(to_server);
        std::future::pending().await
    };
    let responses = async move {
        while let Some(message) = from_server.recv().await {
            if let Incoming::Message(message) = message
                && to_client.send(message.into()).await.is_err()
            {
                return;
            }
        }
    };
    tokio::select! {
        () = requests => {}
        () = responses => {}
    }
}

/// Uses the listeners of a hub, for their checks and limits.
async fn on_http(
    context: &Context,
    args: &ServingArgs,
    address: SocketAddr,
    name: &str,
    server: InProcess,
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
    let identity = identity(&server).await?;
    let options = HostOptions { naming: Naming::None, ..HostOptions::default() };
    let host = Host::start(&[], vec![(ServerName::new(name), server)], &options);
    host.settled().await;
    greet(context, name, &listeners)?;
    let options = GatewayOptions {
        public_names: args.public_name.clone(),
        allowed_origins: args.access.allow_origin.clone(),
        local_users: args.access.local_users(),
        authenticators: token.into_iter().map(|token| Arc::new(token) as _).collect(),
        identity: Some(identity),
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

/// What the server says about itself.
async fn identity(server: &InProcess) -> Result<GatewayIdentity, CliError> {
    let params = json!({
        "protocolVersion": Revision::LATEST_LEGACY.as_str(),
        "capabilities": {},
        "clientInfo": { "name": "toolbay", "version": env!("CARGO_PKG_VERSION") },
    });
    let mut about = request(server, "initialize", &params).await?;
    let server_info = about["serverInfo"].take();
    let health = json!({
        "status": "ok", "service": server_info["name"], "version": server_info["version"], "mode": "http",
    });
    Ok(GatewayIdentity {
        server_info,
        capabilities: about["capabilities"].take(),
        instructions: about["instructions"].as_str().map(str::to_owned),
        health,
    })
}

/// Sends one request to a server in this process, and returns the result.
async fn request(server: &InProcess, method: &str, params: &Value) -> Result<Value, CliError> {
    let tasks = TaskTracker::new();
    let mut connection = server(&tasks);
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let unanswered = || CliError::BadResult { why: format!("the server did not answer `{method}`") };
    connection.outgoing.send(request.to_string().into()).await.map_err(|_| unanswered())?;
    match connection.incoming.recv().await {
        Some(Incoming::Message(message @ Message::Response(_))) => {
            let mut response: Value = serde_json::from_slice(message.text()).unwrap_or_default();
            match response["error"]["message"].as_str() {
                Some(why) => Err(CliError::BadResult { why: why.to_owned() }),
                None => Ok(response["result"].take()),
            }
        }
        _ => Err(unanswered()),
    }
}

fn greet(context: &Context, name: &str, listeners: &Listeners) -> Result<(), CliError> {
    let out = &context.out;
    for url in listeners.urls() {
        if out.json {
            out.json_object(&json!({ "event": "listening", "url": url }))?;
        } else {
            out.note(&format!("The {name} server listens on {}", out.paint_status.bold(&url)));
        }
    }
    Ok(())
}
