//! `toolbay enable`: a server may run again.

use toolbay_config::{Edit, Permission};

use super::remove::change;
use crate::{
    app::{context::Context, error::CliError},
    args::EntryArgs,
    configured::report::ConfiguredServers,
};

pub(crate) fn run(context: &Context, args: &EntryArgs) -> Result<(), CliError> {
    change(context, args, Edit::Enable(&args.name), "enabled")?;
    let survey = ConfiguredServers::read_silently(context)?;
    if survey.find(&args.name).is_some_and(|placed| placed.server.permission == Permission::Pending) {
        context
            .out
            .note(&format!("it came with this project; approve it with `toolbay approve {}`", args.name));
    }
    Ok(())
}
