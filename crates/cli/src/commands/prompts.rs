//! `toolbay prompts`: which prompts there are.

use serde_json::Value;
use toolbay_host::Kind;
use toolbay_protocol::view::Prompt;

use super::tools::{print, row};
use crate::{context::Context, error::CliError, session};

pub(crate) async fn run(context: &Context) -> Result<(), CliError> {
    session::with(context, async |session| {
        session.ready(None).await?;
        let prompts = session.client.list(Kind::Prompts).await?;
        let out = &context.out;
        if out.json {
            return Ok(out.json_fields(&format!("\"prompts\":[{}]", prompts.join(",")))?);
        }
        let rows: Vec<_> = prompts
            .into_iter()
            .filter_map(|text| Prompt::parse(text.into()).ok())
            .map(|prompt| {
                let usage = format!("{}{}", prompt.name(), parameters(&prompt));
                row(&usage, prompt.description().as_deref())
            })
            .collect();
        print(context, &rows, "no prompts")
    })
    .await
}

/// ` a=… [b=…]`.
fn parameters(prompt: &Prompt) -> String {
    let parameters: Vec<Value> =
        prompt.item().raw("arguments").and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let mut text = String::new();
    for parameter in &parameters {
        let Some(name) = parameter.get("name").and_then(Value::as_str) else { continue };
        let is_required = parameter.get("required").and_then(Value::as_bool) == Some(true);
        text.push_str(&if is_required { format!(" {name}=…") } else { format!(" [{name}=…]") });
    }
    text
}
