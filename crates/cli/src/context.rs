//! What every command needs.

use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    args::{Colour, LowArgs},
    env::Env,
    error::CliError,
    output::Output,
    signals,
};

/// What every command needs.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) args: LowArgs,
    pub(crate) env: Env,
    pub(crate) out: Output,
    /// Cancelled by the first signal that wants us to end.
    pub(crate) stop: CancellationToken,
}

impl Context {
    /// Must be called on the runtime.
    pub(crate) fn new(args: LowArgs, env: Env) -> Result<Self, CliError> {
        let colour = match args.global.color {
            Colour::Always => Some(true),
            Colour::Never => Some(false),
            Colour::Auto if !env.allows_colour => Some(false),
            Colour::Auto => None,
        };
        let out = Output::new(args.global.json, args.global.quiet, colour);
        let stop = CancellationToken::new();
        signals::listen(stop.clone(), &TaskTracker::new())?;
        Ok(Self { args, env, out, stop })
    }
}
