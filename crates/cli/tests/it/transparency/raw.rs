//! Texts of JSON values.

use anyhow::Result;
use toolbay_protocol::Scanner;

/// The fields of an object in their order: key between its quotes, value, both as they were written.
pub(super) fn fields(object: &str) -> Result<Vec<(String, String)>> {
    let mut fields = Vec::new();
    Scanner::new(object.as_bytes()).object(|scanner, key| {
        let value = scanner.value()?;
        fields.push((object[key.range()].to_owned(), object[value.range()].to_owned()));
        Ok(())
    })?;
    Ok(fields)
}

/// The value of one field as it was written.
pub(super) fn field(object: &str, name: &str) -> Result<Option<String>> {
    Ok(fields(object)?.into_iter().find(|(key, _)| key == name).map(|(_, value)| value))
}

/// Line breaks between tokens, which no message on stdio may have, as blanks.
pub(super) fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}
