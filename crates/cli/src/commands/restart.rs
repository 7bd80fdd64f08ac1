//! `toolbay restart`: servers of the running hub, anew.

use toolbay_control::method;

use super::orders::{Goal, give};
use crate::{args::ServerNamesArgs, context::Context, error::CliError};

pub(crate) async fn run(context: &Context, args: &ServerNamesArgs) -> Result<(), CliError> {
    give(context, args, method::RESTART, Goal::Up).await
}
