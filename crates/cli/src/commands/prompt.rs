//! `toolbay prompt`: one prompt, filled in.

use serde_json::json;
use toolbay_control::ControlError;
use toolbay_host::CatalogKind;
use toolbay_protocol::{
    encode_string, method,
    model::{GetPromptResult, Prompt},
};

use super::call::{complete, refusal::explain};
use crate::{
    app::{
        context::Context,
        error::CliError,
        session::{self, Needs},
    },
    args::PromptArgs,
    arguments,
    term::style::clean,
};

pub(crate) async fn run(context: &Context, args: &PromptArgs) -> Result<(), CliError> {
    session::with(context, Needs::Owner(&args.name), async |session| {
        let name = &args.name;
        let arguments = arguments::of_prompt(&args.arguments)?;
        session.ready(Some(&json!({ "prompt": name }).to_string())).await?;
        let params = format!("{{\"name\":{},\"arguments\":{arguments}}}", encode_string(name));
        let text = match session.request(method::PROMPTS_GET, &params).await {
            Err(ControlError::Answered { error, .. }) => {
                let texts = session.client.list(CatalogKind::Prompts).await?;
                let known: Vec<Prompt> =
                    texts.into_iter().filter_map(|text| Prompt::parse(text.into()).ok()).collect();
                return Err(explain(session, "prompt", name, known.iter().map(Prompt::name), error).await);
            }
            result => result?,
        };
        complete(name, &text)?;
        show(context, name, &text)
    })
    .await
}

fn show(context: &Context, name: &str, text: &str) -> Result<(), CliError> {
    let out = &context.out;
    if out.json {
        return Ok(out.json_fields(&format!("\"prompt\":{},\"result\":{text}", encode_string(name)))?);
    }
    let result: GetPromptResult =
        serde_json::from_str(text).map_err(|error| CliError::BadResult { why: error.to_string() })?;
    for message in &result.messages {
        let said = message.content.to_text();
        out.data(&format!("{}: {}\n", out.paint.bold(&clean(&message.role)), clean(&said).trim_end()))?;
    }
    Ok(())
}
