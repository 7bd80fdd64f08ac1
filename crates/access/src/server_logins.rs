//! Logins of principals at servers, for people whose browsers are elsewhere.
//!
//! A principal that calls a server which requires a login gets the link of a page of the hub. The page says who gets access to
//! what, and then sends the browser to the authorization server of that server, which sends it back to the hub.
//!
//! The principal could send the link to another person, whose account it would get access to. So the page names the principal,
//! nothing goes on before the person agrees, and the response counts only from the browser in which the person agreed: a
//! link to the authorization server itself is of no use to anyone else.

use std::{
    collections::HashMap,
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use parking_lot::Mutex;
use toolbay_oauth::{Credential, NoRandomNumbers, RedirectInbox};
use url::{Url, form_urlencoded};

use crate::{
    principal::Principal,
    proxy::{
        response::{self, escape},
        signature::{BrowserKey, Cookies, SignaturePurpose},
    },
    public_url::PublicUrl,
};

/// Below it are the pages of logins.
const PAGES: &str = "/server-login/";
/// Where browsers come back to.
const CALLBACK: &str = "/server-login/callback";
/// How long a link is valid, and how long a person may take.
const PAGE_TIME: Duration = Duration::from_secs(600);
/// How many links may be valid at a time.
const MAX_PAGES: usize = 1000;

/// The pages of logins at servers.
pub struct ServerLogins {
    base: String,
    inbox: Arc<RedirectInbox>,
    key: BrowserKey,
    cookies: Cookies,
    /// By their ids, which cannot be guessed.
    pages: Mutex<HashMap<String, LoginPage>>,
}

/// A login that waits for a person.
struct LoginPage {
    server: String,
    principal: Principal,
    authorization_url: String,
    /// The `state` of the login, by which its response is known.
    state: String,
    expires: Instant,
}

impl ServerLogins {
    /// The longest body of a request, in bytes.
    pub const MAX_BODY: usize = 4096;

    /// Pages of a hub at `public_url`.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn new(public_url: &PublicUrl) -> Result<Self, NoRandomNumbers> {
        let base = public_url.base();
        Ok(Self {
            inbox: Arc::new(RedirectInbox::new(format!("{base}{CALLBACK}"))),
            key: BrowserKey::new()?,
            cookies: Cookies::new(&base),
            pages: Mutex::default(),
            base,
        })
    }

    /// Where the responses of the logins come in.
    pub fn inbox(&self) -> &Arc<RedirectInbox> {
        &self.inbox
    }

    /// Makes a link for a principal to a login at a server. The same login has the same link.
    ///
    /// # Errors
    /// If there are too many. The text is for people.
    pub fn link(
        &self,
        server: &str,
        principal: &Principal,
        authorization_url: &str,
    ) -> Result<String, &'static str> {
        const NO_STATE: &str = "the login cannot be told apart from others";
        let url = Url::parse(authorization_url).map_err(|_| NO_STATE)?;
        let state = url.query_pairs().find(|(name, _)| name == "state").ok_or(NO_STATE)?.1.into_owned();
        let mut pages = self.pages.lock();
        pages.retain(|_, page| page.expires > Instant::now());
        let known = pages.iter().find(|(_, page)| page.state == state && page.principal == *principal);
        if let Some((id, _)) = known {
            return Ok(format!("{}{PAGES}{id}", self.base));
        }
        if pages.len() >= MAX_PAGES {
            return Err("too many logins are waiting for their users; try again later");
        }
        let id = Credential::random().map_err(|_| "the system has no random numbers")?.expose().to_owned();
        let link = format!("{}{PAGES}{id}", self.base);
        let page = LoginPage {
            server: server.to_owned(),
            principal: principal.clone(),
            authorization_url: authorization_url.to_owned(),
            state,
            expires: Instant::now() + PAGE_TIME,
        };
        pages.insert(id, page);
        Ok(link)
    }

    /// Whether a path is one of these pages. Such requests need no token.
    pub fn serves(&self, path: &str) -> bool {
        path.starts_with(PAGES)
    }

    /// Answers a request of a browser to one of its paths.
    pub fn respond(&self, request: &Request<Bytes>) -> Response<Bytes> {
        let path = request.uri().path();
        match (path, request.method()) {
            (CALLBACK, &Method::GET) => {
                self.come_back(request.headers(), request.uri().query().unwrap_or_default())
            }
            (_, &Method::GET) => self.page(path),
            (CALLBACK, _) => not_allowed("GET"),
            (_, &Method::POST) => self.agree(path, request.headers(), request.body()),
            _ => not_allowed("GET, POST"),
        }
    }

    /// The page that says who gets access to what.
    fn page(&self, path: &str) -> Response<Bytes> {
        let id = path.strip_prefix(PAGES).unwrap_or_default();
        let pages = self.pages.lock();
        let Some(page) = pages.get(id).filter(|page| page.expires > Instant::now()) else {
            return gone();
        };
        let at = Url::parse(&page.authorization_url).ok();
        let at = at.as_ref().and_then(Url::host_str).unwrap_or_default();
        // Only the browser that got this page can send its form.
        let Ok(nonce) = Credential::random() else { return unavailable() };
        let form = self.key.sign(SignaturePurpose::ServerLogin, &(id, nonce.expose()), PAGE_TIME.as_secs());
        let body = format!(
            "<p>A user of this hub is about to get access to your account at another service.</p>\n\
             <dl>\n<dt>User of this hub</dt><dd>{principal}</dd>\n<dt>Gets access to</dt><dd>{server}</dd>\n\
             <dt>You log in at</dt><dd>{at}</dd>\n</dl>\n\
             <p class=\"note\">Go on only if this user is you, and if you have just asked for this login. Whoever sent you this \
             link would act in your name otherwise.</p>\n\
             <form method=\"post\" action=\"{action}\">\n<input type=\"hidden\" name=\"form\" value=\"{form}\">\n\
             <button class=\"allow\">This is me: log in</button>\n</form>",
            principal = escape(page.principal.as_str()),
            server = escape(&page.server),
            at = escape(at),
            action = escape(&format!("{}{PAGES}{id}", self.base)),
        );
        let mut response = response::page(StatusCode::OK, "Log in to a server", &body);
        let cookie = self.key.sign(SignaturePurpose::ServerLogin, &nonce.expose(), PAGE_TIME.as_secs());
        self.cookies.set(&mut response, "server-login", &cookie, PAGE_TIME.as_secs());
        response
    }

    /// Sends the browser of a person who agreed to the authorization server.
    fn agree(&self, path: &str, headers: &HeaderMap, body: &Bytes) -> Response<Bytes> {
        let id = path.strip_prefix(PAGES).unwrap_or_default();
        let form = form_urlencoded::parse(body).find(|(name, _)| name == "form");
        let form: Option<(String, String)> =
            form.and_then(|(_, form)| self.key.open(SignaturePurpose::ServerLogin, &form));
        let of_browser = self.of_browser(headers);
        let is_own_form = form.is_some_and(|(of, nonce)| of == id && of_browser.as_deref() == Some(&*nonce));
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let is_own_page = text("sec-fetch-site").is_none_or(|site| site == "same-origin");
        if !is_own_form || !is_own_page {
            let body = "<p>This form was not sent from the page of this login. Open the link again.</p>";
            return response::page(StatusCode::FORBIDDEN, "Not allowed", body);
        }
        let pages = self.pages.lock();
        let Some(page) = pages.get(id).filter(|page| page.expires > Instant::now()) else {
            return gone();
        };
        // From now on, this browser is the one whose response counts.
        let cookie = self.key.sign(SignaturePurpose::ServerLogin, &page.state, PAGE_TIME.as_secs());
        let mut response = response::go_on(&page.authorization_url, "Log in to a server");
        self.cookies.set(&mut response, "server-login", &cookie, PAGE_TIME.as_secs());
        response
    }

    /// Takes the response that a browser brings back.
    fn come_back(&self, headers: &HeaderMap, query: &str) -> Response<Bytes> {
        let state = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "state");
        let is_same_browser =
            state.is_some_and(|(_, state)| self.of_browser(headers).as_deref() == Some(&*state));
        if !is_same_browser {
            let body = "<p>The login was begun in another browser, or too long ago. Begin it again with the link of your client.</p>";
            return response::page(StatusCode::FORBIDDEN, "Not logged in", body);
        }
        let mut response = match self.inbox.deliver(query) {
            true => {
                let body = "<p>The hub has received the response. You can close this window.</p>";
                response::page(StatusCode::OK, "Back at the hub", body)
            }
            false => gone(),
        };
        self.cookies.set(&mut response, "server-login", "", 0);
        response
    }

    /// What was signed for this browser last.
    fn of_browser(&self, headers: &HeaderMap) -> Option<String> {
        self.key.open(SignaturePurpose::ServerLogin, &self.cookies.get(headers, "server-login")?)
    }
}

fn gone() -> Response<Bytes> {
    let body = "<p>This login has ended, or its link has expired. Call the tool again to get a new one.</p>";
    response::page(StatusCode::NOT_FOUND, "No such login", body)
}

fn unavailable() -> Response<Bytes> {
    response::page(StatusCode::SERVICE_UNAVAILABLE, "Not now", "<p>Try again later.</p>")
}

fn not_allowed(allow: &'static str) -> Response<Bytes> {
    let mut response = response::page(StatusCode::METHOD_NOT_ALLOWED, "Not allowed", "");
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allow));
    response
}

impl fmt::Debug for ServerLogins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerLogins").field("base", &self.base).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "https://as.example/authorize?state=s1&client_id=c";

    fn logins() -> ServerLogins {
        ServerLogins::new(&"https://hub.example".parse().unwrap()).unwrap()
    }

    fn send(logins: &ServerLogins, method: Method, url: &str, cookie: &str, body: &str) -> Response<Bytes> {
        let path = url.strip_prefix("https://hub.example").unwrap_or(url);
        let mut request = Request::new(Bytes::from(body.to_owned()));
        *request.method_mut() = method;
        *request.uri_mut() = path.parse().unwrap();
        if !cookie.is_empty() {
            request.headers_mut().insert(header::COOKIE, cookie.parse().unwrap());
        }
        logins.respond(&request)
    }

    fn cookie_of(response: &Response<Bytes>) -> String {
        let cookie = response.headers()[header::SET_COOKIE].to_str().unwrap();
        assert!(cookie.starts_with("__Host-") && cookie.contains("HttpOnly; SameSite=Lax"), "{cookie}");
        cookie.split(';').next().unwrap().to_owned()
    }

    fn form_of(response: &Response<Bytes>) -> String {
        let text = std::str::from_utf8(response.body()).unwrap();
        let form = text.split("name=\"form\" value=\"").nth(1).unwrap().split('"').next().unwrap();
        form_urlencoded::Serializer::new(String::new()).append_pair("form", form).finish()
    }

    #[test]
    fn a_person_agrees_and_comes_back() {
        let logins = logins();
        let ann = Principal::user("https://idp", "ann<b>");
        let link = logins.link("mail", &ann, URL).unwrap();
        assert_eq!(logins.link("mail", &ann, URL).unwrap(), link);
        let page = send(&logins, Method::GET, &link, "", "");
        let text = std::str::from_utf8(page.body()).unwrap();
        assert!(text.contains("ann&lt;b&gt;") && text.contains("mail") && text.contains("as.example"));
        assert!(!text.contains("state=s1"), "the page alone leads nowhere");
        assert_eq!(page.headers()[header::X_FRAME_OPTIONS], "DENY");
        let sent = send(&logins, Method::POST, &link, &cookie_of(&page), &form_of(&page));
        assert_eq!(sent.status(), 200);
        assert!(std::str::from_utf8(sent.body()).unwrap().contains("state=s1&amp;client_id=c"));
        // No login waits in this test, so the response is not taken; but it is from the right browser.
        let back =
            send(&logins, Method::GET, "/server-login/callback?state=s1&code=c", &cookie_of(&sent), "");
        assert_eq!(back.status(), 404);
    }

    #[test]
    fn nothing_goes_on_in_another_browser() {
        let logins = logins();
        let link = logins.link("mail", &Principal::hub_token("a"), URL).unwrap();
        let (page, other) =
            (send(&logins, Method::GET, &link, "", ""), send(&logins, Method::GET, &link, "", ""));
        // A form without the cookie of its page, or with that of another.
        for cookie in [String::new(), cookie_of(&other), "__Host-toolbay-server-login=x".to_owned()] {
            assert_eq!(send(&logins, Method::POST, &link, &cookie, &form_of(&page)).status(), 403);
        }
        assert_eq!(send(&logins, Method::POST, &link, &cookie_of(&page), "").status(), 403);
        // The form of another login.
        let second = logins.link("mail", &Principal::hub_token("b"), &URL.replace("s1", "s2")).unwrap();
        assert_eq!(send(&logins, Method::POST, &second, &cookie_of(&page), &form_of(&page)).status(), 403);
        // A response in a browser whose user did not agree, or agreed to something else.
        let callback = "/server-login/callback?state=s1&code=c";
        for cookie in [String::new(), cookie_of(&page)] {
            assert_eq!(send(&logins, Method::GET, callback, &cookie, "").status(), 403);
        }
        let sent = send(&logins, Method::POST, &link, &cookie_of(&page), &form_of(&page));
        let foreign = "/server-login/callback?state=s2&code=c";
        assert_eq!(send(&logins, Method::GET, foreign, &cookie_of(&sent), "").status(), 403);
    }

    #[test]
    fn links_are_unguessable_and_bounded() {
        let logins = logins();
        let principal = Principal::hub_token("a");
        assert_eq!(send(&logins, Method::GET, "/server-login/guess", "", "").status(), 404);
        assert_eq!(send(&logins, Method::DELETE, "/server-login/guess", "", "").status(), 405);
        for n in 0..MAX_PAGES {
            logins.link("mail", &principal, &URL.replace("s1", &n.to_string())).unwrap();
        }
        assert!(
            logins.link("mail", &principal, &URL.replace("s1", "one-more")).unwrap_err().contains("too many")
        );
        assert!(logins.link("mail", &principal, "https://as.example/authorize").is_err());
    }
}
