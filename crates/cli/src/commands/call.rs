//! `toolbay call`: calls a tool.

mod connection;
mod form;
mod progress;
pub(super) mod refusal;

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use toolbay_control::{ControlClient, ControlError};
use toolbay_host::CatalogKind;
use toolbay_protocol::{
    ErrorObject, ObjectBuilder, method,
    model::{CallToolResult, Tool},
};

use self::{connection::HubConnection, progress::CallProgress};
use crate::{
    app::{
        base64,
        context::Context,
        error::CliError,
        session::{self, Needs, Session},
    },
    args::{CallArgs, tool_arguments},
    term::style::{clean, clean_line},
};

pub(crate) async fn run(context: &Context, args: &CallArgs) -> Result<(), CliError> {
    session::with(context, Needs::Owner(&args.tool), async |session| {
        let name = &args.tool;
        session.ready(Some(&json!({ "tool": name }).to_string())).await?;
        let tools = tools(session).await?;
        let arguments = match &args.args_json {
            Some(text) if text == "-" => tool_arguments::of_json(&read_stdin()?)?,
            Some(text) => tool_arguments::of_json(text)?,
            None => tool_arguments::of_tool(&args.arguments, &schema(&tools, name))?,
        };
        match send(context, session, name, &arguments).await? {
            Ok(result) => show(context, args, &result),
            Err(error) => {
                Err(refusal::explain(session, "tool", name, tools.iter().map(Tool::name), error).await)
            }
        }
    })
    .await
}

/// Calls the tool as any client does, with progress and server requests; without them where the hub has no socket for clients.
async fn send(
    context: &Context,
    session: &Session<'_>,
    name: &str,
    arguments: &str,
) -> Result<Result<String, ErrorObject>, CliError> {
    let params = ObjectBuilder::new().string("name", name).raw("arguments", arguments);
    let server = session.owner(CatalogKind::Tools, name).await?.unwrap_or_else(|| name.to_owned());
    note_other_folder(context, session, &server).await?;
    if let Some(mut connection) = HubConnection::open(context, session, &server).await? {
        let params = params.raw("_meta", r#"{"progressToken":1}"#).finish();
        let mut progress = CallProgress::new(context, name);
        return connection.ask(method::TOOLS_CALL, &params, &mut progress).await;
    }
    match session.request(method::TOOLS_CALL, &params.finish()).await {
        Err(ControlError::Answered { error, .. }) => Ok(Err(error)),
        result => Ok(Ok(result?)),
    }
}

/// Where the current directory is no project, the codebase of a hub without a configuration is that of the directory in which it was
/// started.
async fn note_other_folder(context: &Context, session: &Session<'_>, server: &str) -> Result<(), CliError> {
    if server != "codebase" || session.root.is_some() || !matches!(session.client, ControlClient::Remote(_)) {
        return Ok(());
    }
    if let Some(folder) = session.client.snapshot().await?.folder {
        context.out.note(&format!("the running hub searches {}", clean(&folder.display().to_string())));
    }
    Ok(())
}

fn show(context: &Context, args: &CallArgs, text: &str) -> Result<(), CliError> {
    let tool = &args.tool;
    complete(tool, text)?;
    let result: CallToolResult =
        serde_json::from_str(text).map_err(|error| CliError::BadResult { why: error.to_string() })?;
    let out = &context.out;
    if let Some(file) = args.output.as_deref().filter(|_| !result.is_error) {
        save(context, file, &result)?;
    }
    if out.json {
        out.json_fields(ObjectBuilder::new().string("tool", tool).raw("result", text))?;
    } else {
        let text = result.to_text();
        let text = if args.raw { text.into() } else { clean(&text) };
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        out.data(&format!("{text}{end}"))?;
    }
    if result.is_error { Err(CliError::Tool { tool: tool.clone() }) } else { Ok(()) }
}

/// Refuses a result that only requires input.
pub(super) fn complete(name: &str, result: &str) -> Result<(), CliError> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Kind {
        result_type: Option<String>,
    }
    match serde_json::from_str::<Kind>(result) {
        Ok(Kind { result_type: Some(kind) }) if kind == "input_required" => {
            Err(CliError::InputRequired { name: name.to_owned() })
        }
        _ => Ok(()),
    }
}

async fn tools(session: &Session<'_>) -> Result<Vec<Tool>, CliError> {
    let texts = session.list(CatalogKind::Tools).await?;
    Ok(texts.into_iter().filter_map(|text| Tool::parse(text.into()).ok()).collect())
}

/// The schema of a tool, also under the bare name that `--naming prefix+alias` allows.
fn schema(tools: &[Tool], name: &str) -> Value {
    let bare = |tool: &&Tool| tool.name().split_once("__").is_some_and(|(_, bare)| bare == name);
    let tool = tools.iter().find(|tool| tool.name() == name).or_else(|| tools.iter().find(bare));
    tool.and_then(Tool::input_schema).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

fn read_stdin() -> Result<String, CliError> {
    let mut text = String::new();
    std::io::stdin().lock().read_to_string(&mut text)?;
    Ok(text)
}

/// Bytes in a result.
struct BinaryPart {
    bytes: Vec<u8>,
    media_type: String,
}

/// Saves binary content to `file`; several parts are numbered. A result of text alone is saved as text.
fn save(context: &Context, file: &Path, result: &CallToolResult) -> Result<(), CliError> {
    let mut parts = Vec::new();
    for block in &result.content {
        parts.extend(part(block.raw())?);
    }
    if parts.is_empty() {
        parts.push(BinaryPart { bytes: result.to_text().into_bytes(), media_type: "text/plain".to_owned() });
    }
    let is_one = parts.len() == 1;
    for (index, part) in parts.iter().enumerate() {
        let path = if is_one { file.to_owned() } else { numbered(file, index + 1) };
        fs::write(&path, &part.bytes).map_err(|source| CliError::Save { path: path.clone(), source })?;
        context.out.note(&format!(
            "saved {} ({}, {} bytes)",
            clean_line(&path.display().to_string()),
            clean_line(&part.media_type),
            part.bytes.len()
        ));
    }
    Ok(())
}

/// The bytes of a block, if it has any.
fn part(block: &str) -> Result<Option<BinaryPart>, CliError> {
    let block: Value = serde_json::from_str(block).unwrap_or_default();
    let (data, about) = match block["type"].as_str() {
        Some("image" | "audio") => (&block["data"], &block),
        Some("resource") => (&block["resource"]["blob"], &block["resource"]),
        _ => return Ok(None),
    };
    let Some(data) = data.as_str() else { return Ok(None) };
    let bytes = base64::decode(data)
        .ok_or_else(|| CliError::BadResult { why: "its data is not valid base64".to_owned() })?;
    let media_type = about["mimeType"].as_str().unwrap_or("application/octet-stream").to_owned();
    Ok(Some(BinaryPart { bytes, media_type }))
}

/// `out-2.png` for the second of `out.png`.
fn numbered(file: &Path, number: usize) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let extension = file.extension().map(|extension| format!(".{}", extension.to_string_lossy()));
    file.with_file_name(format!("{stem}-{number}{}", extension.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_files_are_numbered() {
        for (file, expected) in [("a/out.png", "a/out-2.png"), ("out", "out-2"), ("x.tar.gz", "x.tar-2.gz")] {
            assert_eq!(numbered(Path::new(file), 2), Path::new(expected));
        }
    }
}
