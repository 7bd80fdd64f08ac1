//! `toolbay config schema`: for editors that complete and check `toolbay.toml`.

use crate::app::{context::Context, error::CliError};

/// The schema is JSON already, and its own version: nothing is added to it.
pub(super) fn run(context: &Context) -> Result<(), CliError> {
    let text = serde_json::to_string_pretty(&toolbay_config::schema()).map_err(std::io::Error::other)?;
    Ok(context.out.data(&format!("{text}\n"))?)
}
