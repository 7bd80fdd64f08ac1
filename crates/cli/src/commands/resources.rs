//! `toolbay resources`: what can be read.

use toolbay_host::Kind;
use toolbay_protocol::view::{Resource, ResourceTemplate};

use super::tools::{print, row};
use crate::{context::Context, error::CliError, session};

pub(crate) async fn run(context: &Context) -> Result<(), CliError> {
    session::with(context, async |session| {
        session.ready(None).await?;
        let resources = session.client.list(Kind::Resources).await?;
        let templates = session.client.list(Kind::ResourceTemplates).await?;
        let out = &context.out;
        if out.json {
            return Ok(out.json_fields(&format!(
                "\"resources\":[{}],\"resourceTemplates\":[{}]",
                resources.join(","),
                templates.join(",")
            ))?);
        }
        let mut rows = Vec::new();
        for resource in resources.into_iter().filter_map(|text| Resource::parse(text.into()).ok()) {
            let about = resource.description().or(resource.title()).or(resource.name());
            rows.push(row(resource.uri(), about.as_deref()));
        }
        for template in templates.into_iter().filter_map(|text| ResourceTemplate::parse(text.into()).ok()) {
            let about = template.description().or(template.title());
            rows.push(row(template.uri_template(), about.as_deref()));
        }
        print(context, &rows, "no resources")
    })
    .await
}
