//! `toolbay tools`: what can be called.

mod detail;

use toolbay_host::CatalogKind;
use toolbay_protocol::model::Tool;

use super::listing::{self, Offer};
use crate::{
    app::{context::Context, error::CliError, session},
    args::ListArgs,
    schema::{parameters, signature},
};

pub(crate) async fn run(context: &Context, args: &ListArgs) -> Result<(), CliError> {
    session::with(context, args.needs(), async |session| {
        session.ready_to_list(args.wait).await?;
        listing::check_server(session, args).await?;
        let mut offers = offers(session.client.list(CatalogKind::Tools).await?);
        listing::find_owners(session, CatalogKind::Tools, &mut offers).await?;
        let one = args.pattern.as_ref().and_then(|name| named(&offers, name, args.server.as_deref()));
        if let Some(index) = one {
            let tool = offers.swap_remove(index);
            return detail::show(context, &tool);
        }
        args.filter(&mut offers);
        if context.out.json {
            let tools: Vec<&str> = offers.iter().map(|offer| offer.json.as_str()).collect();
            return Ok(context.out.json_fields(&format!("\"tools\":[{}]", tools.join(",")))?);
        }
        listing::print(context, args, "tool", &offers)
    })
    .await
}

fn offers(tools: Vec<String>) -> Vec<Offer> {
    let offer = |json: String| {
        let tool = Tool::parse(json.clone().into()).ok()?;
        Some(Offer {
            server: None,
            name: tool.name().to_owned(),
            parameters: signature(&parameters(tool.input_schema().unwrap_or("{}"))),
            description: tool.description().unwrap_or_default().into_owned(),
            json,
        })
    };
    tools.into_iter().filter_map(offer).collect()
}

/// The tool that somebody named, in full or as its server does where only one is called so.
fn named(offers: &[Offer], name: &str, server: Option<&str>) -> Option<usize> {
    let is_asked = |offer: &Offer| server.is_none() || offer.server.as_deref() == server;
    let bare = |offer: &Offer| offer.name.split_once("__").is_some_and(|(_, bare)| bare == name);
    if let Some(index) = offers.iter().position(|offer| offer.name == name && is_asked(offer)) {
        return Some(index);
    }
    let mut found = offers.iter().enumerate().filter(|(_, offer)| bare(offer) && is_asked(offer));
    let (index, _) = found.next()?;
    found.next().is_none().then_some(index)
}
