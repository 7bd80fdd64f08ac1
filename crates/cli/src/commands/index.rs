//! `toolbay index`: the index of a folder.

use crate::{args::IndexArgs, code::folder, context::Context, error::CliError};

pub(crate) async fn run(_context: &Context, args: &IndexArgs) -> Result<(), CliError> {
    let _root = folder(args.path.as_deref())?;
    Err(CliError::Code { why: "there is no index yet".to_owned() })
}
