//! Responses of the proxy: JSON, pages, redirects.

use std::{fmt::Write as _, sync::LazyLock};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use url::Url;

/// A response with JSON that no cache keeps.
pub(crate) fn json(status: StatusCode, value: &Value) -> Response<Bytes> {
    let mut response = with_body(status, "application/json", value.to_string());
    response.headers_mut().insert(header::PRAGMA, HeaderValue::from_static("no-cache"));
    response
}

/// An error as RFC 6749 5.2 says.
pub(crate) fn error(status: StatusCode, code: &str, description: &str) -> Response<Bytes> {
    json(status, &json!({ "error": code, "error_description": description }))
}

/// A limit is reached; the client may try again.
pub(crate) fn too_many(description: &str) -> Response<Bytes> {
    let mut response = error(StatusCode::TOO_MANY_REQUESTS, "temporarily_unavailable", description);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("30"));
    response
}

/// Sends a browser elsewhere, with GET.
pub(crate) fn see_other(location: &str) -> Response<Bytes> {
    match HeaderValue::from_str(location) {
        Ok(value) => {
            let mut response = with_body(StatusCode::SEE_OTHER, "text/plain", String::new());
            response.headers_mut().insert(header::LOCATION, value);
            response
        }
        Err(_) => {
            page(StatusCode::BAD_REQUEST, "Login failed", "<p>The address to continue at is not valid.</p>")
        }
    }
}

/// A page that sends a browser elsewhere.
///
/// Used after a form. Browsers apply `form-action` to every redirect that follows, and where the provider sends people is not
/// known, so a redirect would need a policy that allows everything.
pub(crate) fn go_on(location: &str, title: &str) -> Response<Bytes> {
    let url = escape(location);
    let refresh = format!("<meta http-equiv=\"refresh\" content=\"0; url={url}\">");
    html(StatusCode::OK, title, &refresh, &format!("<p><a href=\"{url}\">Continue</a></p>"))
}

/// A page. `body` is HTML; what others wrote must be escaped in it.
pub(crate) fn page(status: StatusCode, title: &str, body: &str) -> Response<Bytes> {
    html(status, title, "", body)
}

fn html(status: StatusCode, title: &str, head: &str, body: &str) -> Response<Bytes> {
    let title = escape(title);
    let text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n{head}\n<title>{title} – Toolbay</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n{body}\n</main>\n</body>\n</html>\n"
    );
    let mut response = with_body(status, "text/html; charset=utf-8", text);
    protect(response.headers_mut());
    response
}

/// No script, nothing from elsewhere, in no frame, forms to us alone.
fn protect(headers: &mut HeaderMap) {
    static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
        let hash = STANDARD.encode(Sha256::digest(STYLE));
        let policy = format!(
            "default-src 'none'; style-src 'sha256-{hash}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
        );
        HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
    });
    headers.insert(header::CONTENT_SECURITY_POLICY, POLICY.clone());
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    // With `no-referrer`, browsers would say `Origin: null` for our own form.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
}

fn with_body(status: StatusCode, kind: &'static str, text: String) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Adds parameters to a redirect URI, which may have some of its own.
pub(crate) fn with_parameters(redirect_uri: &str, parameters: &[(&str, &str)]) -> String {
    match Url::parse(redirect_uri) {
        Ok(mut url) => {
            url.query_pairs_mut().extend_pairs(parameters);
            url.into()
        }
        Err(_) => redirect_uri.to_owned(), // it was valid when it was registered
    }
}

/// A text in HTML, as an element's content or a quoted attribute. Characters that change how others are shown become visible.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ if is_deceptive(character) => {
                let _ = write!(escaped, "[U+{:04X}]", u32::from(character)); // a `String` takes everything
            }
            _ => escaped.push(character),
        }
    }
    escaped
}

fn is_deceptive(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{e0000}'..='\u{e007f}')
}

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{margin:0;font:1.0625rem/1.5 system-ui,sans-serif;background:Canvas;color:CanvasText}\
main{max-width:34rem;margin:0 auto;padding:2rem 1.25rem}\
h1{font-size:1.5rem;line-height:1.25;margin:0 0 1rem}\
dl{margin:1.25rem 0;border:1px solid #8886;border-radius:.5rem;padding:.25rem 1rem}\
dt{font-size:.875rem;opacity:.8;margin-top:.75rem}\
dd{margin:0 0 .75rem;overflow-wrap:anywhere;font-weight:600}\
dd ul{margin:0;padding-left:1.25rem}\
.note{border-left:.25rem solid #b45309;padding:.25rem 0 .25rem .875rem;margin:1.25rem 0}\
form{display:flex;flex-wrap:wrap;gap:.75rem;margin-top:1.5rem}\
button{flex:1 1 9rem;font:inherit;font-weight:600;min-height:3rem;padding:.5rem 1rem;border-radius:.5rem;border:1px solid #8889;cursor:pointer;background:ButtonFace;color:ButtonText}\
button.allow{background:#1d4ed8;border-color:#1d4ed8;color:#fff}\
button:focus-visible,a:focus-visible{outline:3px solid #f59e0b;outline-offset:2px}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_stays_text() {
        assert_eq!(escape("<b a='x' b=\"y\">&"), "&lt;b a=&#39;x&#39; b=&quot;y&quot;&gt;&amp;");
        assert_eq!(escape("a\u{202e}b\u{200b}\n"), "a[U+202E]b[U+200B][U+000A]");
    }

    #[test]
    fn parameters_join_those_of_the_redirect_uri() {
        let url = with_parameters("https://c.example/cb?x=1", &[("code", "a b"), ("iss", "https://h")]);
        assert_eq!(url, "https://c.example/cb?x=1&code=a+b&iss=https%3A%2F%2Fh");
    }
}
