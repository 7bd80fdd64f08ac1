//! Decoding of binary content.

use ::base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

/// Accepts what servers send: some leave bits of the last character set.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);

/// Decodes base64, padded or not, in one line or several; `None` if it is not base64.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    LENIENT.decode(text.trim_end_matches('=').replace(['\r', '\n'], "")).ok()
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn what_is_encoded_comes_back() {
        for (text, bytes) in [
            ("", Some(&b""[..])),
            ("Zm9vYg==", Some(b"foob")),
            ("Zm9vYmE", Some(b"fooba")),
            ("Zm9v\r\nYmE=", Some(b"fooba")),
            ("Zm9vYh", Some(b"foob")),
            ("A", None),
            ("a*", None),
        ] {
            assert_eq!(decode(text).as_deref(), bytes, "{text}");
        }
    }
}
