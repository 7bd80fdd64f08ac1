//! `toolbay read`: one resource.

use serde_json::json;
use toolbay_control::{ControlError, Reason};
use toolbay_host::CatalogKind;
use toolbay_protocol::{
    encode_string, method,
    model::{ReadResourceResult, Resource},
};

use super::call::complete;
use crate::{
    app::{
        context::Context,
        error::CliError,
        session::{self, Needs},
    },
    args::ReadArgs,
    base64,
    term::style::clean,
};

pub(crate) async fn run(context: &Context, args: &ReadArgs) -> Result<(), CliError> {
    session::with(context, Needs::Catalogs, async |session| {
        let uri = &args.uri;
        let params = json!({ "uri": uri }).to_string();
        session.ready(Some(&params)).await?;
        let text = match session.request(method::RESOURCES_READ, &params).await {
            Err(ControlError::Answered { error, reason: Reason::Unknown, hint }) => {
                let texts = session.client.list(CatalogKind::Resources).await?;
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
        return Ok(out.json_fields(&format!("\"uri\":{},\"result\":{text}", encode_string(uri)))?);
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
