//! `toolbay prompts` and `prompt`: listing prompts, and getting one.

use serde_json::{Value, json};
use toolbay_control::ControlError;
use toolbay_host::CatalogKind;
use toolbay_protocol::{
    ObjectBuilder, method,
    model::{GetPromptResult, Prompt},
};

use super::{
    call::{complete, refusal::explain},
    listing::{self, Offer},
};
use crate::{
    app::{
        context::Context,
        error::CliError,
        session::{self, Needs},
    },
    args::{ListArgs, PromptArgs, tool_arguments},
    term::style::clean,
};

/// `toolbay prompts`: lists the prompts.
pub(crate) async fn run(context: &Context, args: &ListArgs) -> Result<(), CliError> {
    session::with(context, args.needs(), async |session| {
        session.ready_to_list(args.wait).await?;
        listing::check_server(session, args).await?;
        let prompts = session.list(CatalogKind::Prompts).await?;
        let mut offers: Vec<Offer> = prompts.into_iter().filter_map(offer).collect();
        listing::find_owners(session, CatalogKind::Prompts, &mut offers).await?;
        args.filter(&mut offers);
        if context.out.json {
            let prompts: Vec<&str> = offers.iter().map(|offer| offer.json.as_str()).collect();
            return Ok(context.out.json_fields(ObjectBuilder::new().array("prompts", prompts))?);
        }
        listing::print(context, args, "prompt", &offers)
    })
    .await
}

fn offer(json: String) -> Option<Offer> {
    let prompt = Prompt::parse(json.clone().into()).ok()?;
    Some(Offer {
        server: None,
        name: prompt.name().to_owned(),
        parameters: parameters(&prompt),
        description: prompt.description().unwrap_or_default().into_owned(),
        json: json.clone(),
    })
}

/// `(a, b?)`; arguments of prompts are always text.
fn parameters(prompt: &Prompt) -> String {
    let parameters: Vec<Value> =
        prompt.item().raw("arguments").and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let written = parameters.iter().filter_map(|parameter| {
        let name = parameter.get("name").and_then(Value::as_str)?;
        let is_required = parameter.get("required").and_then(Value::as_bool) == Some(true);
        Some(format!("{name}{}", if is_required { "" } else { "?" }))
    });
    format!("({})", written.collect::<Vec<_>>().join(", "))
}

/// `toolbay prompt`: one prompt, with its arguments filled in.
pub(crate) async fn get(context: &Context, args: &PromptArgs) -> Result<(), CliError> {
    session::with(context, Needs::Owner(&args.name), async |session| {
        let name = &args.name;
        let arguments = tool_arguments::of_prompt(&args.arguments)?;
        session.ready(Some(&json!({ "prompt": name }).to_string())).await?;
        let params = ObjectBuilder::new().string("name", name).raw("arguments", &arguments).finish();
        let text = match session.request(method::PROMPTS_GET, &params).await {
            Err(ControlError::Answered { error, .. }) => {
                let texts = session.list(CatalogKind::Prompts).await?;
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
        return Ok(out.json_fields(ObjectBuilder::new().string("prompt", name).raw("result", text))?);
    }
    let result: GetPromptResult =
        serde_json::from_str(text).map_err(|error| CliError::BadResult { why: error.to_string() })?;
    for message in &result.messages {
        let text = message.content.to_text();
        out.data(&format!("{}: {}\n", out.paint.bold(&clean(&message.role)), clean(&text).trim_end()))?;
    }
    Ok(())
}
