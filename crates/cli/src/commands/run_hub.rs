//! `toolbay __hub`: the hub in the background, which `toolbay stdio` starts for all clients of a configuration.

use std::time::Duration;

use toolbay_control::{ControlError, Listener};

use super::serve::{
    gateway_options,
    listeners::Listeners,
    operate::{Lifetime, Operation, operate},
};
use crate::{
    app::{context::Context, error::CliError, hub::HubPlan},
    args::{BackgroundArgs, ServeArgs},
};

/// How long an address may still be taken by the hub whose place this one takes.
const TAKEN: Duration = Duration::from_secs(2);
/// How often an address that is taken is tried again.
const RETRY: Duration = Duration::from_millis(50);

pub(crate) async fn run(context: &Context, args: &BackgroundArgs) -> Result<(), CliError> {
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
    let options = ServeArgs::default().or(&plan.hub)?;
    let gateway = gateway_options(context, &plan, &options)?;
    let doors = match open(&options).await {
        Ok(doors) => doors,
        Err(error) => {
            // Clients on stdio must not suffer from it.
            context.out.warn(&format!("{error}; this hub listens on its Unix sockets only"));
            Listeners::open_listed(&ServeArgs::default()).await?
        }
    };
    for url in doors.urls() {
        context.out.note(&format!("listens on {url}"));
    }
    let life = Lifetime::Background { linger: plan.hub.linger(), log: args.spec.log.clone() };
    operate(context, Operation { plan, doors, control: Some(control), gateway, life }).await;
    Ok(())
}

/// Opens what `[hub]` names; nothing unless it does.
async fn open(options: &ServeArgs) -> Result<Listeners, CliError> {
    let began = tokio::time::Instant::now();
    loop {
        match Listeners::open_listed(options).await {
            Err(CliError::Listen { .. }) if began.elapsed() < TAKEN => tokio::time::sleep(RETRY).await,
            done => return done,
        }
    }
}
