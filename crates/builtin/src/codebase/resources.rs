//! The two resources. To add one, put it into [`list`] and [`read`].

use std::sync::Arc;

use serde_json::{Value, json};
use toolbay_protocol::{ErrorCode, ErrorObject, printable::error_chain};
use toolbay_search::codebase::Codebase;
use toolbay_server::{BlockingThreads, ToolContext, ToolError, unknown_resource};

use super::{CodeError, LazyCodebase, tree::parse_scope};

const SEARCH: &str = "codebase://search";
const FILES: &str = "codebase://files";

/// How many files a page has by default, and at most.
const PAGE: usize = 1000;
const MAX_PAGE: usize = 10_000;

/// The result of `resources/list`.
pub(super) fn list() -> Value {
    json!([
        {
            "uri": SEARCH,
            "name": "Code Search",
            "description": "Search the codebase",
            "mimeType": "application/json",
        },
        {
            "uri": FILES,
            "name": "List Files",
            "description": "List files in the codebase",
            "mimeType": "application/json",
        },
    ])
}

/// The result of `resources/templates/list`.
pub(super) fn templates() -> Value {
    json!([{
        "uriTemplate": "codebase://files{?after,limit}",
        "name": "List Files, by page",
        "description": "The files after a path, sorted by path; `next` in the result is the URI of the next page",
        "mimeType": "application/json",
    }])
}

/// Reads a resource: the result of `resources/read`.
pub(super) async fn read(
    codebase: &Arc<LazyCodebase>,
    threads: &BlockingThreads,
    uri: &str,
) -> Result<String, ErrorObject> {
    let (name, query) = uri.split_once('?').unwrap_or((uri, ""));
    match name {
        SEARCH if query.is_empty() => {
            Ok(contents(uri, r#"{"description": "Use the search_code tool to search the codebase"}"#))
        }
        FILES => {
            let page =
                Page::parse(query).map_err(|reason| ErrorObject::new(ErrorCode::INVALID_PARAMS, reason))?;
            let codebase = codebase.clone();
            let listed = threads
                .run(ToolContext::default(), move |_| files(&*codebase.get()?, &page))
                .await
                .unwrap_or_else(|error: ToolError| Err(CodeError::Failed(error.to_string())));
            match listed {
                Ok(listed) => Ok(contents(uri, &listed.to_string())),
                Err(error @ CodeError::InvalidArgument { .. }) => {
                    Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, error.to_string()))
                }
                Err(error) => {
                    Err(ErrorObject::new(ErrorCode::INTERNAL_ERROR, format!("Listing failed: {error}")))
                }
            }
        }
        _ => Err(unknown_resource(uri)),
    }
}

fn contents(uri: &str, text: &str) -> String {
    json!({ "contents": [{ "uri": uri, "mimeType": "application/json", "text": text }] }).to_string()
}

/// The page of the list of files that a URI asks for.
struct Page {
    after: Option<String>,
    limit: usize,
}

impl Page {
    fn parse(query: &str) -> Result<Self, String> {
        let mut page = Self { after: None, limit: PAGE };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("after", path)) => page.after = Some(decode(path)?),
                Some(("limit", limit)) => {
                    let limit = limit.parse().ok().filter(|limit| (1..=MAX_PAGE).contains(limit));
                    page.limit =
                        limit.ok_or_else(|| format!("`limit` must be a number from 1 to {MAX_PAGE}"))?;
                }
                _ => return Err(format!("`{pair}` is unknown; expected `after` or `limit`")),
            }
        }
        Ok(page)
    }
}

fn files(codebase: &Codebase, page: &Page) -> Result<Value, CodeError> {
    let files = codebase.files().map_err(|error| CodeError::Failed(error_chain(&error)))?;
    let after = parse_scope(codebase, "after", page.after.as_deref())?;
    let start = after.map_or(0, |after| files.partition_point(|file| file.path <= after));
    let rest = &files[start..];
    let shown = &rest[..page.limit.min(rest.len())];
    let listed: Vec<Value> = shown
        .iter()
        .map(|file| json!({ "path": file.path.to_str_lossy(), "size": file.stamp.size }))
        .collect();
    let mut listed = json!({ "files": listed, "total": files.len() });
    if let Some(last) = shown.last().filter(|_| shown.len() < rest.len()) {
        let after = encode(&last.path.to_str_lossy());
        listed["next"] = format!("{FILES}?after={after}&limit={}", page.limit).into();
    }
    Ok(listed)
}

fn encode(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(byte.into())
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn decode(text: &str) -> Result<String, String> {
    let bad = || format!("`{text}` is not percent-encoded text");
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let mut digit = || bytes.next().and_then(|byte| char::from(byte).to_digit(16));
        let (Some(high), Some(low)) = (digit(), digit()) else { return Err(bad()) };
        out.push((high * 16 + low) as u8);
    }
    String::from_utf8(out).map_err(|_| bad())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_round_trip_through_uris() {
        for path in ["src/main.rs", "a b/c&d=e?.txt", "ä/漢/%20", "+"] {
            assert_eq!(decode(&encode(path)).unwrap(), path);
            assert!(encode(path).is_ascii());
        }
        for bad in ["%", "%2", "%zz", "%ff"] {
            assert!(decode(bad).is_err(), "{bad}");
        }
    }
}
