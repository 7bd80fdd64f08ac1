//! The hub behind `toolbay stdio`: the shared one, or one in this process.

use std::{sync::Arc, time::Duration};

use tokio::{io::split, net::UnixStream, task::spawn_blocking};
use tokio_util::task::TaskTracker;
use toolbay_config::watch_files;
use toolbay_gateway::{ATTACH, Attach, Gateway, GatewayOptions};
use toolbay_host::Host;
use toolbay_policy::Exposure;
use toolbay_protocol::notification;
use toolbay_transport::stdio::{MAX_MESSAGE, connect};

use super::{super::serve::exposure_options, BoxReader, BoxWriter};
use crate::{
    app::{code_mode, context::Context, default_servers::usual_folder, error::CliError, hub::HubPlan},
    configured::{
        files::{Configuration, Identity},
        unset,
    },
};

/// The capacity of the pipe to and from a hub in this process.
const PIPE: usize = 256 * 1024;

/// A hub that is connected.
pub(super) struct HubLink {
    pub(super) reader: BoxReader,
    /// The sending half, until the client closes its input.
    pub(super) writer: Option<BoxWriter>,
    /// The hub, where it is in this process.
    pub(super) host: Option<Host>,
}

impl HubLink {
    /// The hub that clients share.
    pub(super) fn to(hub: UnixStream) -> Self {
        let (reader, writer) = hub.into_split();
        Self { reader: Box::new(reader), writer: Some(Box::new(writer)), host: None }
    }

    /// Starts a hub in this process, for when there is no other.
    pub(super) fn alone(context: &Context, plan: &HubPlan) -> Result<Self, CliError> {
        let options = GatewayOptions {
            exposure: exposure_options(&plan.hub, None),
            code: code_mode::runner(context, &plan.hub),
            ..plan.gateway_options(context)?
        };
        let host = plan.start(context);
        // Which tools the client is listed is part of its introduction.
        let gateway = Gateway::new(host.clone(), options);
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let (reader, writer) = split(theirs);
        let tasks = TaskTracker::new();
        let wire = connect(reader, writer, MAX_MESSAGE, &tasks);
        let stop = context.stop.clone();
        host.tasks().spawn(serve(gateway, wire, stop, tasks));
        let (reader, writer) = split(ours);
        Ok(Self { reader: Box::new(reader), writer: Some(Box::new(writer)), host: Some(host) })
    }
}

async fn serve(
    gateway: Arc<Gateway>,
    wire: toolbay_transport::Connection,
    stop: tokio_util::sync::CancellationToken,
    tasks: TaskTracker,
) {
    gateway.serve_connection(wire, stop).await;
    tasks.close();
    let _ = tokio::time::timeout(Duration::from_secs(2), tasks.wait()).await;
}

/// The line with which the client is introduced to a hub.
pub(super) fn introduction(context: &Context, exposure: Option<Exposure>) -> Result<Vec<u8>, CliError> {
    let attach = Attach {
        root: std::env::current_dir().ok().and_then(|here| usual_folder(context.env.home.as_deref(), &here)),
        version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        profile: context.args.global.profile.as_ref().map(ToString::to_string),
        variables: unset::names(context),
        exposure: exposure.map(|exposure| exposure.as_str().to_owned()),
    };
    let params = serde_json::to_string(&attach).map_err(std::io::Error::other)?;
    Ok(notification(ATTACH, Some(&params)).to_vec())
}

/// Nothing is read again while a client waits for its first answers.
const FIRST_LOOK: Duration = Duration::from_millis(500);

/// Resolves when a client of the hub `current` belongs to another one.
pub(super) async fn ends(context: &Context, current: Identity) {
    if !current.is_explicit {
        tokio::time::sleep(FIRST_LOOK).await;
        if let Ok(configuration) = Configuration::find(context) {
            return differs(configuration, current, &context.tasks).await;
        }
    }
    std::future::pending().await
}

/// Resolves when the files mean another hub than `current`. They are read on a thread for that: a network file system may never
/// answer.
async fn differs(mut configuration: Configuration, current: Identity, tasks: &TaskTracker) {
    let mut watch = watch_files(&configuration.paths(), tasks);
    loop {
        // Read after the watch has begun, so that no change is missed.
        let read = spawn_blocking(move || {
            let reading = configuration.read();
            let identity = configuration.identity(&reading);
            (configuration, identity)
        });
        let Ok((back, identity)) = read.await else {
            return std::future::pending().await; // the runtime ends, and this with it
        };
        if identity != current {
            return;
        }
        configuration = back;
        watch.changed().await;
    }
}
