//! `toolbay add-json`: a server as others write it.

use std::io::Read;

use serde_json::Value;

use crate::{args::AddJsonArgs, context::Context, error::CliError, put::put};

pub(crate) async fn run(context: &Context, args: &AddJsonArgs) -> Result<(), CliError> {
    let text = match args.entry.as_str() {
        "-" => {
            let mut text = String::new();
            std::io::stdin().lock().read_to_string(&mut text)?;
            text
        }
        text => text.to_owned(),
    };
    let entry: Value =
        serde_json::from_str(&text).map_err(|error| bad(format!("this is no JSON: {error}")))?;
    if !entry.is_object() {
        return Err(bad("an entry is a JSON object".to_owned()));
    }
    put(context, &args.put, &args.name, &entry).await
}

fn bad(message: String) -> CliError {
    let hint = r#"for example '{"command": "npx", "args": ["-y", "x@1.2.3"]}' or '{"url": "https://…"}'"#;
    CliError::Usage { message, hint: Some(hint.to_owned()) }
}
