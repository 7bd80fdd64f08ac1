//! `toolbay prompts`: which prompts there are.

use serde_json::Value;
use toolbay_host::CatalogKind;
use toolbay_protocol::model::Prompt;

use super::listing::{self, Offer};
use crate::{
    app::{context::Context, error::CliError, session},
    args::ListArgs,
};

pub(crate) async fn run(context: &Context, args: &ListArgs) -> Result<(), CliError> {
    session::with(context, args.needs(), async |session| {
        session.ready_to_list(args.wait).await?;
        listing::check_server(session, args).await?;
        let prompts = session.client.list(CatalogKind::Prompts).await?;
        let mut offers: Vec<Offer> = prompts.into_iter().filter_map(offer).collect();
        listing::find_owners(session, CatalogKind::Prompts, &mut offers).await?;
        args.filter(&mut offers);
        if context.out.json {
            let prompts: Vec<&str> = offers.iter().map(|offer| offer.json.as_str()).collect();
            return Ok(context.out.json_fields(&format!("\"prompts\":[{}]", prompts.join(",")))?);
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
