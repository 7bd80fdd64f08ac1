//! Standing between a client on stdin and stdout and a hub that runs already.

use tokio::{
    io::{self, AsyncWriteExt},
    net::UnixStream,
};
use toolbay_control::{Client, ControlError};

use super::streams::{stdin, stdout};
use crate::{context::Context, error::CliError, session};

/// The running hub whose servers are wanted; nothing when there is none.
pub(super) async fn running_hub(context: &Context) -> Result<Option<UnixStream>, CliError> {
    let attached = match session::running(context).await {
        Ok(client) if is_about_elsewhere(context, &client).await => return Ok(None),
        Ok(client) => client.attach().await.map_err(CliError::from),
        Err(error) => Err(error),
    };
    match attached {
        Ok(hub) => Ok(Some(hub)),
        Err(CliError::Control(ControlError::NoHub)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a hub is there only for the code of another folder than ours: nothing is configured, neither there nor here.
async fn is_about_elsewhere(context: &Context, hub: &Client) -> bool {
    let Ok(snapshot) = hub.snapshot().await else { return false };
    let Some(folder) = snapshot.folder else { return false };
    let here = std::env::current_dir().ok();
    context.args.global.config.is_none() && snapshot.config.is_none() && here != Some(folder)
}

/// Hands on what the client and the hub say, as it is, until the client closes its end and has its answers.
pub(super) async fn relay(context: &Context, hub: UnixStream) -> Result<(), CliError> {
    let (mut from_hub, mut to_hub) = hub.into_split();
    let (mut input, mut output) = (stdin()?, stdout()?);
    let asks = async {
        io::copy(&mut input, &mut to_hub).await?;
        to_hub.shutdown().await
    };
    let answers = io::copy(&mut from_hub, &mut output);
    tokio::pin!(asks, answers);
    tokio::select! {
        asked = &mut asks => {
            // A hub that went away meanwhile has no more answers.
            if asked.is_ok() {
                tokio::select! {
                    _ = &mut answers => {}
                    () = context.stop.cancelled() => {}
                }
            }
            Ok(())
        }
        answered = &mut answers => match answered {
            Ok(_) => Err(ControlError::Gone.into()),
            Err(_) => Ok(()), // nobody reads any more
        },
        () = context.stop.cancelled() => Ok(()),
    }
}
