//! `toolbay start`: servers of the running hub, up.

use toolbay_control::method;

use super::orders::{Goal, give};
use crate::{args::ServerNamesArgs, context::Context, error::CliError};

pub(crate) async fn run(context: &Context, args: &ServerNamesArgs) -> Result<(), CliError> {
    give(context, args, method::START, Goal::Up).await
}
