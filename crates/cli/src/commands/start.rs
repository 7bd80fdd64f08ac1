//! `toolbay start`: servers of the running hub, up.

use toolbay_control::method;

use super::server_commands::{Goal, give};
use crate::{
    app::{context::Context, error::CliError},
    args::ServerNamesArgs,
};

pub(crate) async fn run(context: &Context, args: &ServerNamesArgs) -> Result<(), CliError> {
    give(context, args, method::START, Goal::Up).await
}
