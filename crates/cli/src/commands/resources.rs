//! `toolbay resources` and `read`: listing resources, and reading one.

use serde_json::json;
use toolbay_control::{ControlError, Reason};
use toolbay_host::CatalogKind;
use toolbay_protocol::{
    ObjectBuilder, method,
    model::{ReadResourceResult, Resource, ResourceTemplate},
};

use super::{
    call::complete,
    listing::{self, Offer},
};
use crate::{
    app::{
        base64,
        context::Context,
        error::CliError,
        session::{self, Needs},
    },
    args::{ListArgs, ReadArgs},
    term::style::clean,
};

/// `toolbay resources`: lists the resources.
pub(crate) async fn run(context: &Context, args: &ListArgs) -> Result<(), CliError> {
    session::with(context, args.needs(), async |session| {
        session.ready_to_list(args.wait).await?;
        listing::check_server(session, args).await?;
        let resources = session.list(CatalogKind::Resources).await?;
        let templates = session.list(CatalogKind::ResourceTemplates).await?;
        let mut resources: Vec<Offer> = resources.into_iter().filter_map(resource).collect();
        let mut templates: Vec<Offer> = templates.into_iter().filter_map(template).collect();
        listing::find_owners(session, CatalogKind::Resources, &mut resources).await?;
        listing::find_owners(session, CatalogKind::ResourceTemplates, &mut templates).await?;
        args.filter(&mut resources);
        args.filter(&mut templates);
        let out = &context.out;
        if out.json {
            let object = ObjectBuilder::new()
                .array("resources", resources.iter().map(|offer| offer.json.as_str()))
                .array("resourceTemplates", templates.iter().map(|offer| offer.json.as_str()));
            return Ok(out.json_fields(object)?);
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

/// `toolbay read`: the content of one resource.
pub(crate) async fn read(context: &Context, args: &ReadArgs) -> Result<(), CliError> {
    session::with(context, Needs::Catalogs, async |session| {
        let uri = &args.uri;
        let params = json!({ "uri": uri }).to_string();
        session.ready(Some(&params)).await?;
        let text = match session.request(method::RESOURCES_READ, &params).await {
            Err(ControlError::Answered { error, reason: Reason::Unknown, hint }) => {
                let texts = session.list(CatalogKind::Resources).await?;
                let known: Vec<Resource> =
                    texts.into_iter().filter_map(|text| Resource::parse(text.into()).ok()).collect();
                return Err(match session.unknown("resource", uri, known.iter().map(Resource::uri)).await {
                    // The hub knows better: which servers could have it.
                    CliError::Unknown { similar, .. } if similar.is_empty() => {
                        ControlError::Answered { error, reason: Reason::Unknown, hint }.into()
                    }
                    unknown => unknown,
                });
            }
            result => result?,
        };
        complete(uri, &text)?;
        show(context, uri, &text)
    })
    .await
}

/// Text for a terminal is made harmless; into a file or a pipe everything goes as it is, binary parts decoded.
fn show(context: &Context, uri: &str, text: &str) -> Result<(), CliError> {
    let out = &context.out;
    if out.json {
        return Ok(out.json_fields(ObjectBuilder::new().string("uri", uri).raw("result", text))?);
    }
    let result: ReadResourceResult =
        serde_json::from_str(text).map_err(|error| CliError::BadResult { why: error.to_string() })?;
    for part in &result.contents {
        match &part.blob {
            _ if out.stdout_is_terminal => out.data(&format!("{}\n", clean(&part.to_text()).trim_end()))?,
            Some(blob) => match base64::decode(blob) {
                Some(bytes) => out.bytes(&bytes)?,
                None => return Err(CliError::BadResult { why: "its `blob` is not valid base64".to_owned() }),
            },
            None => out.data(part.text.as_deref().unwrap_or(""))?,
        }
    }
    Ok(())
}
