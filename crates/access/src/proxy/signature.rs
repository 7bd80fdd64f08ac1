//! What browsers keep for us, signed.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderValue, Response, header};
use ring::{hmac, rand::SystemRandom};
use serde::{Serialize, de::DeserializeOwned};
use toolbay_oauth::NoRandomNumbers;

use super::unix_time;

/// Signs what browsers keep for us. The key lives as long as the process: what was signed is valid for minutes or hours.
pub(crate) struct BrowserKey(hmac::Key);

impl std::fmt::Debug for BrowserKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BrowserKey")
    }
}

/// What a signed text is for. One is never taken for another.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SignaturePurpose {
    /// A request that a person is asked about, in the form of the consent page.
    Request,
    /// The cookie that belongs to that form.
    Consent,
    /// The cookie of a login that was begun.
    Login,
    /// The form and the cookie of a login at a server.
    ServerLogin,
    /// The cookie that says who logged in with this browser.
    User,
}

impl SignaturePurpose {
    fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Consent => "consent",
            Self::Login => "login",
            Self::ServerLogin => "server-login",
            Self::User => "user",
        }
    }
}

impl BrowserKey {
    pub(crate) fn new() -> Result<Self, NoRandomNumbers> {
        hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new()).map(Self).map_err(|_| NoRandomNumbers)
    }

    /// Signs a value that is valid for `seconds`.
    pub(crate) fn sign(&self, purpose: SignaturePurpose, value: &impl Serialize, seconds: u64) -> String {
        // Strings and numbers in structures: writing them cannot fail.
        let text = serde_json::to_vec(&(unix_time() + seconds, value)).unwrap_or_default();
        let tag = hmac::sign(&self.0, &Self::signed(purpose, &text));
        format!("{}.{}", URL_SAFE_NO_PAD.encode(&text), URL_SAFE_NO_PAD.encode(tag))
    }

    /// Returns a value that we signed for this purpose, unless it has expired.
    pub(crate) fn open<T: DeserializeOwned>(&self, purpose: SignaturePurpose, signed: &str) -> Option<T> {
        let (text, tag) = signed.split_once('.')?;
        let (text, tag) = (URL_SAFE_NO_PAD.decode(text).ok()?, URL_SAFE_NO_PAD.decode(tag).ok()?);
        hmac::verify(&self.0, &Self::signed(purpose, &text), &tag).ok()?;
        let (expires, value): (u64, T) = serde_json::from_slice(&text).ok()?;
        (unix_time() < expires).then_some(value)
    }

    fn signed(purpose: SignaturePurpose, text: &[u8]) -> Vec<u8> {
        [purpose.name().as_bytes(), b"\0", text].concat()
    }
}

/// The names and attributes of our cookies.
///
/// `__Host-` makes browsers take them only from this host over HTTPS. On a loopback address without TLS they could not be set
/// at all, so there the prefix and `Secure` are left out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cookies {
    is_secure: bool,
}

impl Cookies {
    pub(crate) fn new(public_url: &str) -> Self {
        Self { is_secure: public_url.starts_with("https://") }
    }

    fn name(self, name: &str) -> String {
        format!("{}toolbay-{name}", if self.is_secure { "__Host-" } else { "" })
    }

    /// Sets a cookie, for so many seconds; none removes it.
    pub(crate) fn set<T>(self, response: &mut Response<T>, name: &str, value: &str, seconds: u64) {
        let secure = if self.is_secure { "; Secure" } else { "" };
        let name = self.name(name);
        let cookie = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}");
        if let Ok(mut cookie) = HeaderValue::from_str(&cookie) {
            cookie.set_sensitive(true);
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
    }

    /// The value of a cookie. With two of the same name, neither counts.
    pub(crate) fn get(self, headers: &HeaderMap, name: &str) -> Option<String> {
        let name = self.name(name);
        let mut found = headers
            .get_all(header::COOKIE)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .filter(|(one, _)| *one == name)
            .map(|(_, value)| value.to_owned());
        let first = found.next()?;
        found.next().is_none().then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_signed_for_the_purpose_is_opened() {
        let key = BrowserKey::new().unwrap();
        let signed = key.sign(SignaturePurpose::Consent, &("a", 1), 60);
        assert_eq!(key.open::<(String, u32)>(SignaturePurpose::Consent, &signed), Some(("a".to_owned(), 1)));
        assert_eq!(key.open::<(String, u32)>(SignaturePurpose::Login, &signed), None);
        assert_eq!(
            BrowserKey::new().unwrap().open::<(String, u32)>(SignaturePurpose::Consent, &signed),
            None
        );
        let expired = key.sign(SignaturePurpose::Consent, &("a", 1), 0);
        assert_eq!(key.open::<(String, u32)>(SignaturePurpose::Consent, &expired), None);
        for at in 0..signed.len() {
            let mut changed = signed.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(key.open::<(String, u32)>(SignaturePurpose::Consent, &changed), None, "{at}");
        }
    }

    #[test]
    fn cookies_are_bound_to_the_host_wherever_there_is_tls() {
        let mut response = Response::new(());
        Cookies::new("https://hub.example").set(&mut response, "user", "x", 60);
        let cookie = response.headers()[header::SET_COOKIE].to_str().unwrap();
        assert_eq!(cookie, "__Host-toolbay-user=x; Path=/; HttpOnly; SameSite=Lax; Max-Age=60; Secure");
        let mut headers = HeaderMap::new();
        headers
            .insert(header::COOKIE, HeaderValue::from_static("a=b; toolbay-user=1; __Host-toolbay-user=2"));
        assert_eq!(Cookies::new("https://hub.example").get(&headers, "user").as_deref(), Some("2"));
        assert_eq!(Cookies::new("http://localhost:1").get(&headers, "user").as_deref(), Some("1"));
        headers.append(header::COOKIE, HeaderValue::from_static("toolbay-user=3"));
        assert_eq!(Cookies::new("http://localhost:1").get(&headers, "user"), None);
    }
}
