//! `toolbay stop`: servers of the running hub, down until somebody starts them.

use toolbay_control::method;

use super::orders::{Goal, give};
use crate::{args::ServerNamesArgs, context::Context, error::CliError};

pub(crate) async fn run(context: &Context, args: &ServerNamesArgs) -> Result<(), CliError> {
    give(context, args, method::STOP, Goal::Down).await
}
