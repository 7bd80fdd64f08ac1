//! The two resources. To add one, put it into [`list`] and [`read`].

use serde_json::{Value, json};
use toolbay_protocol::{ErrorCode, ErrorObject};
use toolbay_server::unknown_resource;

use super::{
    CodeError,
    output::{ToolAnswer, ToolOutcome},
    worker::{TreeWork, Workers},
};

const SEARCH: &str = "codebase://search";
const FILES: &str = "codebase://files";

/// How many files a page has unless said, and at most.
const PAGE: usize = 1000;
const MAX_PAGE: usize = 10_000;

/// As `resources/list` gives them.
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

/// As `resources/templates/list` gives them.
pub(super) fn templates() -> Value {
    json!([{
        "uriTemplate": "codebase://files{?after,limit}",
        "name": "List Files, by page",
        "description": "The files after a path, sorted by path; `next` in the result is the URI of the next page",
        "mimeType": "application/json",
    }])
}

/// Reads one: the fields of `resources/read`.
pub(super) async fn read(workers: &Workers, uri: &str) -> Result<String, ErrorObject> {
    let (name, query) = uri.split_once('?').unwrap_or((uri, ""));
    let outcome = match name {
        SEARCH if query.is_empty() => {
            return Ok(contents(
                uri,
                r#"{"description": "Use the search_code tool to search the codebase"}"#,
            ));
        }
        FILES => {
            let page = Page::read(query).map_err(|why| ErrorObject::new(ErrorCode::INVALID_PARAMS, why))?;
            workers.run(move |work| files(&page, &work).into()).await
        }
        _ => return Err(unknown_resource(uri)),
    };
    match outcome {
        ToolOutcome::Done(answer) => Ok(contents(uri, &answer.text)),
        ToolOutcome::Misfit(why) => Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, why)),
        ToolOutcome::Failed(why) => {
            Err(ErrorObject::new(ErrorCode::INTERNAL_ERROR, format!("Listing failed: {why}")))
        }
    }
}

fn contents(uri: &str, text: &str) -> String {
    json!({ "contents": [{ "uri": uri, "mimeType": "application/json", "text": text }] }).to_string()
}

/// Which page of the files is wanted.
struct Page {
    after: Option<String>,
    limit: usize,
}

impl Page {
    fn read(query: &str) -> Result<Self, String> {
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

fn files(page: &Page, work: &TreeWork) -> Result<ToolAnswer, CodeError> {
    let found = work.tree().files(page.after.as_deref(), page.limit)?;
    let mut listed = json!({ "files": found.files, "total": found.total });
    if let Some(last) = found.files.last().filter(|_| found.has_more) {
        listed["next"] = format!("{FILES}?after={}&limit={}", encode(&last.path), page.limit).into();
    }
    Ok(ToolAnswer { text: listed.to_string(), structured: Value::Null, more: None })
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
    fn any_path_survives_the_way_through_a_uri() {
        for path in ["src/main.rs", "a b/c&d=e?.txt", "ä/漢/%20", "+"] {
            assert_eq!(decode(&encode(path)).unwrap(), path);
            assert!(encode(path).is_ascii());
        }
        for bad in ["%", "%2", "%zz", "%ff"] {
            assert!(decode(bad).is_err(), "{bad}");
        }
    }
}
