//! Images, audio and other bytes of a result, in files.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use toolbay_protocol::model::CallToolResult;

use crate::{
    app::{context::Context, error::CliError},
    base64,
    term::style::clean_line,
};

/// Bytes in a result.
struct BinaryPart {
    bytes: Vec<u8>,
    media_type: String,
}

/// Saves what is not text in `file`; several parts are numbered. A result of text alone is saved as that.
pub(super) fn save(context: &Context, file: &Path, result: &CallToolResult) -> Result<(), CliError> {
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
