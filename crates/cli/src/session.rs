//! One command's time with a hub: a running one, or one of its own.

use toolbay_control::{About, Api, Client, ControlError, method};

use crate::{
    board::Board,
    context::Context,
    error::CliError,
    hub::{self, Plan, absolute},
    suggest::similar,
};

/// A hub to ask.
#[derive(Debug)]
pub(crate) struct Session<'a> {
    context: &'a Context,
    pub(crate) client: Client,
}

/// Finds a hub or starts one, lets `command` use it, and stops what was started, signals or not.
pub(crate) async fn with<T>(
    context: &Context,
    command: impl AsyncFnOnce(&Session<'_>) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let session = Session::open(context).await?;
    let result = tokio::select! {
        () = context.stop.cancelled() => Err(CliError::Interrupted),
        result = command(&session) => result,
    };
    if let Client::Local(api) = &session.client {
        hub::stop(api.host()).await;
    }
    result
}

/// As [`with`], but never starts a hub.
pub(crate) async fn with_running<T>(
    context: &Context,
    command: impl AsyncFnOnce(&Session<'_>) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let client = running(context).await.map_err(|error| match (&context.args.global.config, error) {
        (Some(config), CliError::Control(ControlError::NoHub)) => {
            CliError::NotRunning { config: config.clone() }
        }
        (_, error) => error,
    })?;
    let session = Session { context, client };
    tokio::select! {
        () = context.stop.cancelled() => Err(CliError::Interrupted),
        result = command(&session) => result,
    }
}

/// The running hub that is meant.
pub(crate) async fn running(context: &Context) -> Result<Client, CliError> {
    let dir = context.env.socket_dir();
    Ok(match &context.args.global.config {
        Some(config) => Client::at(&dir.place(Some(&absolute(config)?))).await?,
        None => Client::find(&dir).await?,
    })
}

impl<'a> Session<'a> {
    async fn open(context: &'a Context) -> Result<Self, CliError> {
        let client = match running(context).await {
            Err(error @ CliError::Control(ControlError::NoHub)) => {
                let plan = Plan::read(context)?;
                if plan.tells_of_itself {
                    return Err(error); // there is nothing to run
                }
                let host = plan.start(context);
                Client::Local(Api::new(host, About { config: plan.config, url: None, folder: None }))
            }
            found => found?,
        };
        Ok(Self { context, client })
    }

    /// Waits until what `awaited` names (JSON, see [`method::READY`]) is there, or all servers are settled; a hub of
    /// our own shows how that goes.
    pub(crate) async fn ready(&self, awaited: Option<&str>) -> Result<(), CliError> {
        let wait = self.client.request(method::READY, awaited);
        match &self.client {
            Client::Remote(_) => {
                wait.await?;
            }
            Client::Local(api) => {
                let mut board = Board::new(api.host(), &self.context.out);
                tokio::select! {
                    done = wait => { done?; }
                    () = board.follow() => {}
                }
                board.finish();
            }
        }
        Ok(())
    }

    /// The error for a name that no server offers.
    pub(crate) async fn unknown<'b>(
        &self,
        kind: &'static str,
        name: &str,
        known: impl IntoIterator<Item = &'b str>,
    ) -> CliError {
        let servers = self.client.snapshot().await.map(|snapshot| snapshot.servers).unwrap_or_default();
        let missing = servers.into_iter().filter(|server| !server.is_up);
        CliError::Unknown {
            kind,
            name: name.to_owned(),
            similar: similar(name, known),
            missing: missing.map(|server| server.name).collect(),
        }
    }
}
