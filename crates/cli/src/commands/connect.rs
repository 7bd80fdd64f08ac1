//! `toolbay connect`: a server at a URL on stdin and stdout, for clients that only support stdio.

use std::time::Duration;

use serde_json::{Value, json};
use toolbay_gateway::GatewayOptions;
use toolbay_host::{Failure, ServerState, ServerStatus};

use super::stdio;
use crate::{
    app::{
        context::Context,
        cycle,
        error::CliError,
        hub::{self, HubPlan},
        secrets::first_line,
    },
    args::{ConnectArgs, pairs},
};

pub(crate) async fn run(context: &Context, args: &ConnectArgs) -> Result<(), CliError> {
    let plan = HubPlan::of_entry(context, "remote", &entry(args)?)?;
    cycle::refuse(&plan.chain)?;
    let host = plan.start(context);
    // A client that asks for the tools right away shall get them, not an empty list.
    host.settled().await;
    let cycle = host.statuses().into_iter().find_map(|server| match server.state.failure()?.as_ref() {
        Failure::Cycle { reason } => Some(reason.clone()),
        _ => None,
    });
    if let Some(reason) = cycle {
        hub::stop(&host).await;
        return Err(CliError::usage(format!("cannot connect to the server at {}: {reason}", args.url)));
    }
    let is_protected = |server: ServerStatus| matches!(server.state, ServerState::LoginRequired { .. });
    if host.statuses().into_iter().any(is_protected) {
        context.out.warn(&format!(
            "the server requires a login; run `toolbay add NAME {}` and `toolbay login NAME`, which counts here, too",
            args.url
        ));
    }
    let options = GatewayOptions {
        task_key: context.env.task_key(),
        first_list_wait: Duration::ZERO,
        ..GatewayOptions::default()
    };
    stdio::offer(context, host, options).await
}

/// The arguments as an entry of a configuration, so that they are checked as one.
fn entry(args: &ConnectArgs) -> Result<Value, CliError> {
    let mut headers = pairs::headers(&args.header)?;
    if let Some(file) = &args.token_file {
        headers.insert("Authorization".to_owned(), format!("Bearer {}", first_line(file)?).into());
    }
    let mut entry = json!({ "url": args.url, "headers": headers });
    if let Some(transport) = &args.transport {
        entry["type"] = transport.as_str().into();
    }
    Ok(entry)
}
