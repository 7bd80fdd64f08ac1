//! `toolbay config`: the files themselves.

mod check;
mod path;
mod schema;
mod show;

use crate::{
    app::{context::Context, error::CliError},
    args::ConfigCommand,
};

pub(crate) fn run(context: &Context, command: &ConfigCommand) -> Result<(), CliError> {
    match command {
        ConfigCommand::Check(args) => check::run(context, args),
        ConfigCommand::Show => show::run(context),
        ConfigCommand::Path(args) => path::run(context, args),
        ConfigCommand::Schema => schema::run(context),
    }
}
