//! Texts of settings that contain secrets.
//!
//! A configuration is checked, compared, hashed and shown without the values of secrets: in their places are the references, as
//! written. [`ServerConfig::with_secrets`] puts the values in when a server is started, and what it returns is used for that alone.

use std::{collections::BTreeSet, fmt};

use http::{HeaderName, HeaderValue};
use toolbay_protocol::SecretName;

use crate::{BuiltIn, REDACTED, ServerConfig, ServerEndpoint, format::remote::check_remote};

/// A text that contains secrets, and where it belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretField {
    /// Where it belongs.
    pub place: SecretPlace,
    pub(crate) text: SecretText,
}

/// A place in the settings of a server that may contain secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretPlace {
    /// An argument, by its number from 0.
    Argument(usize),
    /// A variable of the environment.
    Variable(String),
    /// The URL.
    Url,
    /// A header.
    Header(HeaderName),
    /// A password in `oauth`, by its key.
    OAuth(String),
    /// A setting of a built-in server, as a JSON pointer.
    Setting(String),
}

/// A text that is complete but for its secrets.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct SecretText(pub(crate) Vec<SecretPart>);

#[derive(Clone, PartialEq, Eq)]
pub(crate) enum SecretPart {
    Text(String),
    Secret(SecretName),
}

impl SecretText {
    /// The secrets in it.
    pub(crate) fn names(&self) -> impl Iterator<Item = &SecretName> {
        self.0.iter().filter_map(|part| match part {
            SecretPart::Secret(name) => Some(name),
            SecretPart::Text(_) => None,
        })
    }

    /// The text with references in place of secrets.
    pub(crate) fn with_references(&self) -> String {
        let part = |part: &SecretPart| match part {
            SecretPart::Text(text) => text.clone(),
            SecretPart::Secret(name) => reference(name),
        };
        self.0.iter().map(part).collect()
    }

    fn with_values<'a>(&'a self, value_of: &impl Fn(&SecretName) -> &'a str) -> String {
        let part = |part: &'a SecretPart| match part {
            SecretPart::Text(text) => text.as_str(),
            SecretPart::Secret(name) => value_of(name),
        };
        self.0.iter().map(part).collect()
    }
}

/// How a secret is referred to.
pub(crate) fn reference(name: &SecretName) -> String {
    format!("${{secret:{name}}}")
}

/// The rest of the text may be a secret, too.
impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |part: &SecretPart| match part {
            SecretPart::Text(_) => REDACTED.to_owned(),
            SecretPart::Secret(name) => reference(name),
        };
        f.write_str(&self.0.iter().map(part).collect::<String>())
    }
}

impl ServerConfig {
    /// The secrets that the server needs.
    pub fn secret_names(&self) -> BTreeSet<&SecretName> {
        self.secrets.iter().flat_map(|field| field.text.names()).collect()
    }

    /// The same server with the values of its secrets, to be started with; never to be stored or shown.
    ///
    /// # Errors
    ///
    /// If a value cannot be where it belongs. The message names the place and does not contain the value.
    pub fn with_secrets<'a>(&'a self, value_of: impl Fn(&SecretName) -> &'a str) -> Result<Self, String> {
        let mut server = Self { secrets: Vec::new(), ..self.clone() };
        for SecretField { place, text } in &self.secrets {
            let names: Vec<String> = text.names().map(|name| format!("`{name}`")).collect();
            let names = names.join(", ");
            put(&mut server.endpoint, place, text.with_values(&value_of))
                .map_err(|why| format!("cannot use secret {names} in {place}: {why}"))?;
        }
        Ok(server)
    }
}

fn put(endpoint: &mut ServerEndpoint, place: &SecretPlace, value: String) -> Result<(), &'static str> {
    const MISPLACED: &str = "there is no such place";
    match (endpoint, place) {
        (ServerEndpoint::Command(command), SecretPlace::Argument(index)) => {
            *command.args.get_mut(*index).ok_or(MISPLACED)? = value;
        }
        (ServerEndpoint::Command(command), SecretPlace::Variable(name)) => {
            command.env.insert(name.clone(), value);
        }
        (ServerEndpoint::Url(remote), SecretPlace::Url) => {
            // The reason could quote a part of the value.
            let checked = check_remote(&value, Some(remote.transport.name()), &Default::default())
                .map_err(|_| "the URL is not valid with it")?;
            remote.url = checked.url;
        }
        (ServerEndpoint::Url(remote), SecretPlace::Header(name)) => {
            let mut value = HeaderValue::from_str(&value)
                .map_err(|_| "it contains characters that are not allowed in a header")?;
            value.set_sensitive(true);
            remote.headers.insert(name.clone(), value);
        }
        (ServerEndpoint::Url(remote), SecretPlace::OAuth(key)) => {
            remote.oauth.put_secret(key, value).ok_or(MISPLACED)?;
        }
        (ServerEndpoint::BuiltIn(built_in), SecretPlace::Setting(pointer)) => {
            HeaderValue::from_str(&value)
                .map_err(|_| "it contains characters that are not allowed in a header")?;
            let mut settings = serde_json::to_value(&*built_in).unwrap_or_default();
            *settings.pointer_mut(pointer).ok_or(MISPLACED)? = value.into();
            *built_in = serde_json::from_value::<BuiltIn>(settings).map_err(|_| MISPLACED)?;
        }
        _ => return Err(MISPLACED),
    }
    Ok(())
}

impl fmt::Display for SecretPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument(_) => f.write_str("`args`"),
            Self::Variable(name) => write!(f, "the variable `{name}`"),
            Self::Url => f.write_str("`url`"),
            Self::Header(name) => write!(f, "the header `{name}`"),
            Self::OAuth(key) => write!(f, "`oauth.{key}`"),
            Self::Setting(pointer) => write!(f, "`{}`", pointer.trim_start_matches('/').replace('/', ".")),
        }
    }
}
