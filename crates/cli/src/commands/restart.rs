//! `toolbay restart`: a server of the running hub, anew.

use serde_json::json;
use toolbay_control::{ServerSnapshot, method};

use crate::{
    args::RestartArgs,
    board::{server_lines, trouble},
    context::Context,
    error::CliError,
    session,
};

pub(crate) async fn run(context: &Context, args: &RestartArgs) -> Result<(), CliError> {
    session::with_running(context, async |session| {
        let params = json!({ "server": args.server }).to_string();
        let server: ServerSnapshot = session.client.ask(method::RESTART, Some(&params)).await?;
        let out = &context.out;
        if out.json {
            out.json_fields(&format!("\"server\":{}", serde_json::to_string(&server).unwrap_or_default()))?;
        } else {
            for line in server_lines(std::slice::from_ref(&server), &[], out.paint) {
                out.data(&format!("{line}\n"))?;
            }
        }
        if server.is_up {
            return Ok(());
        }
        Err(CliError::NotReady { server: args.server.clone(), trouble: trouble(&server) })
    })
    .await
}
