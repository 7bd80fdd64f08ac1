//! `toolbay stdio`: the hub as a server on stdin and stdout.

mod relay;
pub(super) mod streams;

use std::time::Duration;

use tokio_util::task::TaskTracker;
use toolbay_control::{About, Api};
use toolbay_gateway::{Gateway, GatewayOptions};
use toolbay_host::Host;
use toolbay_transport::stdio::{MAX_MESSAGE, connect};

use self::{
    relay::{relay, running_hub},
    streams::{stdin, stdout},
};
use super::serve::{control, follow_if_any, serve_control};
use crate::{
    args::StdioArgs,
    context::Context,
    cycle,
    error::CliError,
    hub::{self, Plan},
};

/// How long the last answers may take to be written.
pub(super) const FLUSH: Duration = Duration::from_secs(2);

pub(crate) async fn run(context: &Context, args: &StdioArgs) -> Result<(), CliError> {
    // So that many clients share one set of servers.
    if !args.alone
        && let Some(hub) = running_hub(context).await?
    {
        return relay(context, hub).await;
    }
    let mut plan = Plan::read(context)?;
    cycle::refuse(&plan.chain)?;
    let host = plan.start(context);
    let api =
        Api::new(host.clone(), About { config: plan.config.clone(), url: None, folder: plan.folder.clone() });
    let control = control(context, &plan);
    let configuration = plan.configuration.take();
    tokio::select! {
        done = offer(context, host.clone(), plan.hub.first_list_wait()) => done,
        () = follow_if_any(context, configuration, &host) => Ok(()),
        () = serve_control(control, api, context) => Ok(()),
    }
}

/// Offers a host on stdin and stdout, and stops it at the end.
pub(super) async fn offer(context: &Context, host: Host, first_list_wait: Duration) -> Result<(), CliError> {
    let options =
        GatewayOptions { task_key: context.env.task_key(), first_list_wait, ..GatewayOptions::default() };
    let gateway = Gateway::new(host.clone(), options);
    let tasks = TaskTracker::new();
    let wire = connect(stdin()?, stdout()?, MAX_MESSAGE, &tasks);
    gateway.serve_wire(wire, context.stop.clone()).await;
    tasks.close();
    // A client that does not read its answers does not get them.
    let _ = tokio::time::timeout(FLUSH, tasks.wait()).await;
    hub::stop(&host).await;
    Ok(())
}
