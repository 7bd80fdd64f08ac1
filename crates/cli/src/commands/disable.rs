//! `toolbay disable`: a server may not run.

use toolbay_config::Edit;

use super::remove::change;
use crate::{
    app::{context::Context, error::CliError},
    args::EntryArgs,
};

pub(crate) fn run(context: &Context, args: &EntryArgs) -> Result<(), CliError> {
    change(context, args, Edit::Disable(&args.name), "disabled").map(|_| ())
}
