//! What a server says when it refuses a request: `WWW-Authenticate`.

use http::{HeaderMap, header::WWW_AUTHENTICATE};

use crate::scope::Scopes;

/// The longest header that is read.
const MAX_HEADER: usize = 16 * 1024;

/// What the challenges `Bearer` and `DPoP` of a response say together. Other schemes are not ours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Challenge {
    /// Whether there is a challenge `DPoP`.
    pub wants_dpop: bool,
    /// Whether there is a challenge `Bearer`.
    pub wants_bearer: bool,
    /// Where the metadata of the resource is.
    pub resource_metadata: Option<String>,
    /// What the request needs.
    pub scope: Option<Scopes>,
    /// `invalid_token`, `insufficient_scope`, `use_dpop_nonce`.
    pub error: Option<String>,
}

impl Challenge {
    /// Reads the headers of a response. Without a usable challenge, everything is empty.
    pub fn of(headers: &HeaderMap) -> Self {
        let mut found = Self::default();
        for value in headers.get_all(WWW_AUTHENTICATE) {
            if let Ok(text) = str::from_utf8(value.as_bytes())
                && text.len() <= MAX_HEADER
            {
                found.read(text);
            }
        }
        found
    }

    /// Whether the token is valid, but does not suffice.
    pub fn is_insufficient_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }

    /// Whether a proof must contain the nonce that came along.
    pub fn is_nonce_required(&self) -> bool {
        self.error.as_deref() == Some("use_dpop_nonce")
    }

    fn read(&mut self, text: &str) {
        let mut rest = Parser(text);
        let mut is_ours = false;
        while let Some(part) = rest.next_part() {
            match part {
                Part::Scheme(scheme) => {
                    let (bearer, dpop) =
                        (scheme.eq_ignore_ascii_case("bearer"), scheme.eq_ignore_ascii_case("dpop"));
                    self.wants_bearer |= bearer;
                    self.wants_dpop |= dpop;
                    is_ours = bearer || dpop;
                }
                Part::Parameter(name, value) if is_ours => self.set(name, value),
                Part::Parameter(..) => {}
            }
        }
    }

    /// The first challenge that says something counts.
    fn set(&mut self, name: &str, value: String) {
        match name.to_ascii_lowercase().as_str() {
            "resource_metadata" => drop(self.resource_metadata.get_or_insert(value)),
            "scope" => drop(self.scope.get_or_insert_with(|| Scopes::parse(&value))),
            "error" => drop(self.error.get_or_insert(value)),
            _ => {}
        }
    }
}

enum Part<'a> {
    Scheme(&'a str),
    Parameter(&'a str, String),
}

/// Reads a list of challenges. Commas separate parameters and challenges alike: a word with `=` behind it is a parameter.
struct Parser<'a>(&'a str);

impl<'a> Parser<'a> {
    fn next_part(&mut self) -> Option<Part<'a>> {
        self.0 = self.0.trim_start_matches([' ', '\t', ',']);
        let end = self.0.find([' ', '\t', ',', '=']).unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(end);
        let behind = rest.trim_start_matches([' ', '\t']);
        let Some(value) = behind.strip_prefix('=') else {
            self.0 = rest;
            return (!word.is_empty()).then_some(Part::Scheme(word));
        };
        self.0 = value.trim_start_matches([' ', '\t']);
        let value = if self.0.starts_with('"') { self.quoted() } else { self.token() };
        Some(Part::Parameter(word, value))
    }

    fn token(&mut self) -> String {
        let end = self.0.find([' ', '\t', ',']).unwrap_or(self.0.len());
        let (token, rest) = self.0.split_at(end);
        self.0 = rest;
        token.to_owned()
    }

    fn quoted(&mut self) -> String {
        let mut value = String::new();
        let mut characters = self.0.char_indices().skip(1);
        while let Some((index, character)) = characters.next() {
            match character {
                '"' => {
                    self.0 = &self.0[index + 1..];
                    return value;
                }
                '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
                _ => value.push(character),
            }
        }
        self.0 = "";
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(headers: &[&str]) -> Challenge {
        let pairs = headers.iter().map(|value| (WWW_AUTHENTICATE, value.parse().unwrap()));
        Challenge::of(&pairs.collect())
    }

    #[test]
    fn parameters_are_found_however_they_are_written() {
        for header in [
            r#"Bearer resource_metadata="https://h/m", scope="a b", error="insufficient_scope""#,
            r#"bearer  Error = insufficient_scope ,RESOURCE_METADATA="https://h/m",scope="b a""#,
            r#"Basic realm="x, Bearer error=\"no\"", Bearer scope="a b",error="insufficient_scope",resource_metadata="https://h/m""#,
            r#"Negotiate abc==, Bearer resource_metadata="https:\/\/h/m", error=insufficient_scope, scope="a b""#,
        ] {
            let challenge = read(&[header]);
            assert_eq!(challenge.resource_metadata.as_deref(), Some("https://h/m"), "{header}");
            assert_eq!(challenge.scope, Some(Scopes::parse("a b")), "{header}");
            assert!(challenge.is_insufficient_scope() && challenge.wants_bearer, "{header}");
            assert!(!challenge.wants_dpop, "{header}");
        }
    }

    #[test]
    fn several_challenges_count_together_and_others_not_at_all() {
        let challenge = read(&[
            r#"DPoP algs="ES256", error="use_dpop_nonce""#,
            r#"Bearer error="invalid_token", scope="a""#,
            r#"Digest scope="z", resource_metadata="https://evil""#,
        ]);
        assert!(challenge.wants_dpop && challenge.wants_bearer && challenge.is_nonce_required());
        assert_eq!(challenge.scope, Some(Scopes::parse("a")));
        assert_eq!(challenge.resource_metadata, None);
    }

    #[test]
    fn nonsense_is_no_challenge() {
        for header in ["", ",,,", "=", "\"", "Bearer scope=\"never closed", "Bearer =,=,=", "Bearer \\\""] {
            assert_eq!(read(&[header]).resource_metadata, None, "{header}");
        }
    }
}
