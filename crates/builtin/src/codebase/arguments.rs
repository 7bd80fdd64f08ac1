//! Arguments of a call, taken one by one. What does not fit is said with a JSON pointer.

use serde_json::{Map, Value};

use super::CodeError;

/// The arguments of a call.
#[derive(Debug)]
pub(super) struct Arguments(Map<String, Value>);

impl Arguments {
    /// Reads a JSON object.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        match serde_json::from_str(text) {
            Ok(Value::Object(map)) => Ok(Self(map)),
            Ok(_) => Err("must be an object".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Refuses names that mean nothing: they are most likely mistyped.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), CodeError> {
        match self.0.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => Err(misfit(name, &format!("is unknown; expected one of: {}", known.join(", ")))),
        }
    }

    /// What is there; `null` is nothing.
    fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&str>, CodeError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(misfit(name, "must be a string")),
        }
    }

    pub(super) fn required_text(&self, name: &str) -> Result<&str, CodeError> {
        self.text(name)?.ok_or_else(|| misfit(name, "is missing"))
    }

    /// As [`Self::required_text`], with something in it.
    pub(super) fn query(&self) -> Result<&str, CodeError> {
        match self.required_text("query")? {
            "" => Err(misfit("query", "is empty")),
            query => Ok(query),
        }
    }

    /// A text, or a list of texts.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>, CodeError> {
        let wrong = || misfit(name, "must be a string or a list of strings");
        match self.get(name) {
            None => Ok(Vec::new()),
            Some(Value::String(text)) => Ok(vec![text.clone()]),
            Some(Value::Array(items)) => {
                items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
            }
            Some(_) => Err(wrong()),
        }
    }

    pub(super) fn required_texts(&self, name: &str) -> Result<Vec<String>, CodeError> {
        match self.get(name) {
            None => Err(misfit(name, "is missing")),
            Some(_) => self.texts(name),
        }
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool, CodeError> {
        match self.get(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(misfit(name, "must be a boolean")),
        }
    }

    /// One of some words.
    pub(super) fn choice<T: Copy>(&self, name: &str, choices: &[(&str, T)]) -> Result<Option<T>, CodeError> {
        let Some(word) = self.text(name)? else { return Ok(None) };
        let found = choices.iter().find(|(choice, _)| *choice == word);
        let words = || choices.iter().map(|(choice, _)| *choice).collect::<Vec<_>>().join(", ");
        found
            .map(|(_, value)| Some(*value))
            .ok_or_else(|| misfit(name, &format!("must be one of {}", words())))
    }

    /// A whole number between two others; `10.0` is one, too.
    pub(super) fn count(&self, name: &str, from: usize, to: usize) -> Result<Option<usize>, CodeError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let whole = value.as_f64().filter(|number| number.fract() == 0.0);
        let fits = whole.filter(|number| *number >= from as f64 && *number <= to as f64);
        let wanted = || match to {
            usize::MAX => format!("must be an integer of at least {from}"),
            _ => format!("must be an integer from {from} to {to}"),
        };
        fits.map(|number| Some(number as usize)).ok_or_else(|| misfit(name, &wanted()))
    }
}

/// An argument that does not fit.
pub(super) fn misfit(name: &str, why: &str) -> CodeError {
    CodeError::Misfit { argument: name.to_owned(), why: why.to_owned() }
}
