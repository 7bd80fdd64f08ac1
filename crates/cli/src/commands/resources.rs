//! `toolbay resources`: what can be read.

use toolbay_host::CatalogKind;
use toolbay_protocol::model::{Resource, ResourceTemplate};

use super::listing::{self, Offer};
use crate::{
    app::{context::Context, error::CliError, session},
    args::ListArgs,
};

pub(crate) async fn run(context: &Context, args: &ListArgs) -> Result<(), CliError> {
    session::with(context, args.needs(), async |session| {
        session.ready_to_list(args.wait).await?;
        listing::check_server(session, args).await?;
        let resources = session.client.list(CatalogKind::Resources).await?;
        let templates = session.client.list(CatalogKind::ResourceTemplates).await?;
        let mut resources: Vec<Offer> = resources.into_iter().filter_map(resource).collect();
        let mut templates: Vec<Offer> = templates.into_iter().filter_map(template).collect();
        listing::find_owners(session, CatalogKind::Resources, &mut resources).await?;
        listing::find_owners(session, CatalogKind::ResourceTemplates, &mut templates).await?;
        args.filter(&mut resources);
        args.filter(&mut templates);
        let out = &context.out;
        if out.json {
            let all = |offers: &[Offer]| {
                offers.iter().map(|offer| offer.json.as_str()).collect::<Vec<_>>().join(",")
            };
            return Ok(out.json_fields(&format!(
                "\"resources\":[{}],\"resourceTemplates\":[{}]",
                all(&resources),
                all(&templates)
            ))?);
        }
        resources.extend(templates);
        listing::print(context, args, "resource", &resources)
    })
    .await
}

fn resource(json: String) -> Option<Offer> {
    let resource = Resource::parse(json.clone().into()).ok()?;
    let about = resource.description().or(resource.title()).or(resource.name());
    Some(offer(resource.uri(), about.as_deref(), json.clone()))
}

fn template(json: String) -> Option<Offer> {
    let template = ResourceTemplate::parse(json.clone().into()).ok()?;
    let about = template.description().or(template.title());
    Some(offer(template.uri_template(), about.as_deref(), json.clone()))
}

fn offer(uri: &str, about: Option<&str>, json: String) -> Offer {
    Offer {
        server: None,
        name: uri.to_owned(),
        parameters: String::new(),
        description: about.unwrap_or_default().to_owned(),
        json,
    }
}
