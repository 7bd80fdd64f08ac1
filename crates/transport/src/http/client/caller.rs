//! Sending requests to one origin, and to no other.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri,
    header::{LOCATION, USER_AGENT},
};
use http_body_util::Full;
use hyper::body::Incoming as Arriving;

use super::{
    NoAnswer, Target,
    failure::reason,
    pool::Pool,
    target::{over_http, resolve, same_origin, shown},
};

/// How often a request may be sent on within its origin.
const MAX_REDIRECTS: usize = 3;
const OURSELVES: &str = concat!("toolbay/", env!("CARGO_PKG_VERSION"));

/// Calls one URL, with the headers that were configured for it.
pub(crate) struct Caller {
    pool: Pool,
    headers: HeaderMap,
    /// Where the server really is, once it told us.
    url: Mutex<Uri>,
}

impl Caller {
    pub(crate) fn new(pool: Pool, target: &Target) -> Self {
        Self { pool, headers: target.headers.clone(), url: Mutex::new(target.url.clone()) }
    }

    /// Calls another URL of the same server in the same way.
    pub(crate) fn at(&self, url: Uri) -> Self {
        Self { pool: self.pool.clone(), headers: self.headers.clone(), url: Mutex::new(url) }
    }

    /// Where the server is.
    pub(crate) fn url(&self) -> Uri {
        self.url.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Where the server is, as people may see it.
    pub(crate) fn shown(&self) -> Arc<str> {
        shown(&self.url())
    }

    /// Sends a request, and sends it on where the server says so, but never to another origin.
    pub(crate) async fn send(
        &self,
        method: Method,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Arriving>, NoAnswer> {
        headers.insert(USER_AGENT, HeaderValue::from_static(OURSELVES));
        for (name, value) in &self.headers {
            headers.insert(name, value.clone());
        }
        for _ in 0..=MAX_REDIRECTS {
            let url = self.url();
            let mut request = Request::new(Full::new(body.clone()));
            *request.method_mut() = method.clone();
            *request.uri_mut() = over_http(&url);
            request.headers_mut().clone_from(&headers);
            let response = match self.pool.request(request).await {
                Ok(response) => response,
                Err(error) if error.is_connect() => {
                    return Err(NoAnswer::Unreachable { url: shown(&url), reason: reason(&error) });
                }
                Err(error) => return Err(NoAnswer::Broken { url: shown(&url), reason: reason(&error) }),
            };
            let Some(next) = redirection(&over_http(&url), &response)? else { return Ok(response) };
            *self.url.lock().unwrap_or_else(PoisonError::into_inner) = next;
        }
        let (url, status) = (self.shown(), StatusCode::TEMPORARY_REDIRECT);
        Err(NoAnswer::Redirected { to: url.to_string(), url, status, why: "again and again" })
    }
}

/// Where a request is to be sent instead.
fn redirection(url: &Uri, response: &Response<Arriving>) -> Result<Option<Uri>, NoAnswer> {
    let status = response.status();
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let Some(location) = location.filter(|_| status.is_redirection()) else { return Ok(None) };
    let refuse = |to: String, why| Err(NoAnswer::Redirected { url: shown(url), status, to, why });
    let Some(to) = resolve(url, location) else { return refuse("nowhere".to_owned(), "which is no URL") };
    if !same_origin(url, &to) {
        return refuse(
            shown(&to).to_string(),
            "which is another origin; name it in the configuration if it is right",
        );
    }
    match status {
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => Ok(Some(to)),
        _ => refuse(shown(&to).to_string(), "which is not meant for a POST; use that URL"),
    }
}
