//! Expanding the texts of one server.

use toolbay_protocol::SecretName;

use crate::{
    ReadFiles, SecretField, SecretPlace, Variables,
    model::secret_text::{SecretText, reference},
    template::{MissingValue, Template, variables::Missing},
};

/// In the place of a URL that is not known yet.
const UNKNOWN_URL: &str = "http://unknown.invalid/";

/// Expands the texts of a server. Collects variables without a value, and texts that contain secrets.
pub(crate) struct Expansion<'a> {
    pub(crate) variables: &'a Variables,
    pub(crate) missing: Vec<Missing>,
    pub(crate) secrets: Vec<SecretField>,
}

impl<'a> Expansion<'a> {
    pub(crate) fn new(variables: &'a Variables) -> Self {
        Self { variables, missing: Vec::new(), secrets: Vec::new() }
    }

    /// Expands the text of `key`, which must not contain secrets: it is shown, or decides what runs.
    pub(crate) fn plain(&mut self, key: &str, text: &Template) -> Result<String, String> {
        match text.secrets().next() {
            None => Ok(text.expand(self.variables, &mut self.missing).with_references()),
            Some(name) => Err(misplaced(key, name)),
        }
    }

    /// Expands a text that may contain secrets. In their place are references.
    pub(crate) fn secret(&mut self, place: SecretPlace, text: &Template) -> String {
        let text = text.expand(self.variables, &mut self.missing);
        self.take(place, text)
    }

    /// As [`Self::secret`], or none where it is to be left out because a variable has no value.
    pub(crate) fn optional(&mut self, place: SecretPlace, text: &Template) -> Option<String> {
        let before = self.missing.len();
        let text = text.expand(self.variables, &mut self.missing);
        let is_left_out = |it: &Missing| matches!(it.lack, MissingValue::LeavesOut | MissingValue::IsFine);
        let is_kept = !self.missing[before..].iter().any(is_left_out);
        is_kept.then(|| self.take(place, text))
    }

    /// Expands a URL. As long as a file or a secret that decides where it leads is not known, the result is a placeholder.
    pub(crate) fn url(&mut self, text: &Template) -> String {
        if self.variables.files == ReadFiles::Never && text.files().next().is_some() {
            return UNKNOWN_URL.to_owned();
        }
        let has_secrets = text.secrets().next().is_some();
        let url = self.secret(SecretPlace::Url, text);
        match has_secrets && url.parse::<http::Uri>().is_err() {
            true => UNKNOWN_URL.to_owned(),
            false => url,
        }
    }

    fn take(&mut self, place: SecretPlace, text: SecretText) -> String {
        let shown = text.with_references();
        if text.names().next().is_some() {
            self.secrets.push(SecretField { place, text });
        }
        shown
    }
}

/// Why a secret cannot be in a text.
pub(crate) fn misplaced(key: &str, name: &SecretName) -> String {
    format!(
        "`{key}` cannot contain `{}`; secrets can be in `env`, `headers`, `url` and `api_key`",
        reference(name)
    )
}
