//! The page where a person consents, and the form on it.
//!
//! The form holds the request, signed, so nothing is kept until the person has decided. It counts only together with a cookie
//! that was set with the page, so no other site can send it in the name of the person.

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use sha2::{Digest, Sha256};
use toolbay_oauth::{Credential, NoRandomNumbers};

use super::{
    authorize::{AuthorizationRequest, Parameters, host},
    clients::{ProxyClient, RedirectKind},
    endpoints,
    response::{self, escape},
    settings::ProxySettings,
    signature::{BrowserKey, Cookies, SignaturePurpose},
};

/// How long a person may look at the page, in seconds.
const PAGE_TIME: u64 = 600;

/// What a person decided.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Allow,
    Deny,
}

/// What the consent page is made with.
#[derive(Debug)]
pub(super) struct Consent<'a> {
    pub(super) settings: &'a ProxySettings,
    pub(super) key: &'a BrowserKey,
    pub(super) cookies: Cookies,
}

impl Consent<'_> {
    /// The page that names the client, what it wants, and where the answer goes.
    pub(super) fn page(
        &self,
        headers: &HeaderMap,
        request: &AuthorizationRequest,
        client: &ProxyClient,
    ) -> Result<Response<Bytes>, NoRandomNumbers> {
        let name = cookie_name(&request.client_id);
        // A second page of the same client must not make the first one useless.
        let nonce = match self.nonce(headers, &request.client_id) {
            Some(nonce) => nonce,
            None => Credential::random()?.expose().to_owned(),
        };
        let form = self.key.sign(SignaturePurpose::Request, &(&nonce, request), PAGE_TIME);
        let cookie = self.key.sign(SignaturePurpose::Consent, &(&nonce, &request.client_id), PAGE_TIME);
        let title = format!("Allow {} to use this hub?", client.name);
        let mut page = response::page(StatusCode::OK, &title, &self.body(request, client, &form));
        self.cookies.set(&mut page, &name, &cookie, PAGE_TIME);
        Ok(page)
    }

    fn body(&self, request: &AuthorizationRequest, client: &ProxyClient, form: &str) -> String {
        let kind = RedirectKind::of(&request.redirect_uri, &self.settings.redirect_schemes);
        let is_local = kind != Ok(RedirectKind::Web);
        let who = match client.is_published() {
            true => format!("Described at {}", escape(&client.client_id)),
            false => "It registered itself. Its name is not verified.".to_owned(),
        };
        let target = escape(&host(&request.redirect_uri));
        let target = if is_local { format!("{target} (a program on your computer)") } else { target };
        let scopes = match request.scopes.is_empty() {
            true => "Everything that you may use at this hub".to_owned(),
            false => {
                let scopes = request.scopes.to_string();
                let items: String =
                    scopes.split(' ').map(|scope| format!("<li>{}</li>", escape(scope))).collect();
                format!("<ul>{items}</ul>")
            }
        };
        let warning = match is_local && client.is_local_only(&self.settings.redirect_schemes) {
            true => {
                "<p class=\"note\">Any program on your computer can pretend to be this one. Allow it only if you have just started \
                 a login there yourself.</p>\n"
            }
            false => "",
        };
        format!(
            "<p>A program asks to call the tools of this hub in your name. If you allow it, you log in at {provider} next.</p>\n\
             <dl>\n<dt>Program</dt><dd>{name}</dd>\n<dt>Identity</dt><dd>{who}</dd>\n\
             <dt>The answer is sent to</dt><dd>{target}</dd>\n<dt>Access to</dt><dd>{resource}</dd>\n\
             <dt>Scopes</dt><dd>{scopes}</dd>\n</dl>\n{warning}\
             <form method=\"post\" action=\"{action}\">\n<input type=\"hidden\" name=\"request\" value=\"{form}\">\n\
             <button class=\"allow\" name=\"decision\" value=\"allow\">Allow</button>\n\
             <button name=\"decision\" value=\"deny\">Deny</button>\n</form>",
            provider = escape(&host(&self.settings.provider.issuer)),
            name = escape(&client.name),
            resource = escape(&request.resource),
            action = escape(&format!("{}{}", self.settings.public_url, endpoints::CONSENT)),
        )
    }

    /// Reads the form, if it is one that we sent to this browser.
    pub(super) fn decision(
        &self,
        headers: &HeaderMap,
        form: &Parameters,
    ) -> Option<(AuthorizationRequest, Decision)> {
        if form.ambiguous().is_some() || !self.is_own_page(headers) {
            return None;
        }
        let (nonce, request): (String, AuthorizationRequest) =
            self.key.open(SignaturePurpose::Request, form.get("request")?)?;
        if self.nonce(headers, &request.client_id)? != nonce {
            return None;
        }
        match form.get("decision")? {
            "allow" => Some((request, Decision::Allow)),
            "deny" => Some((request, Decision::Deny)),
            _ => None,
        }
    }

    fn nonce(&self, headers: &HeaderMap, client_id: &str) -> Option<String> {
        let cookie = self.cookies.get(headers, &cookie_name(client_id))?;
        let (nonce, of): (String, String) = self.key.open(SignaturePurpose::Consent, &cookie)?;
        (of == client_id).then_some(nonce)
    }

    /// Whether browsers say that the form is on a page of ours. Old ones say nothing.
    fn is_own_page(&self, headers: &HeaderMap) -> bool {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let own = url::Url::parse(&self.settings.public_url).map(|url| url.origin().ascii_serialization());
        let is_own = text("origin").is_none_or(|origin| own.is_ok_and(|own| own == origin));
        is_own && text("sec-fetch-site").is_none_or(|site| site == "same-origin")
    }
}

/// Each client has a cookie of its own.
fn cookie_name(client_id: &str) -> String {
    named("consent", client_id)
}

/// The name of a cookie that belongs to something.
pub(super) fn named(kind: &str, of: &str) -> String {
    let hash = Sha256::digest(of);
    let suffix: String = hash.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    format!("{kind}-{suffix}")
}
