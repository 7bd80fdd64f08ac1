//! Durations in files: `"500ms"`, `"2s"`, `"1.5s"`, `"10m"`, or a number of seconds.
//!
//! Not parsed by `humantime`: it reads `10M` as ten months, rejects `".5s"` and `"0.0001h"`, and panics on
//! `"18446744073709551615s 1000ms"`, which a file of a project may contain.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serializer, de::Error};

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Seconds(f64),
    Text(String),
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let (number, unit) = match Written::deserialize(deserializer)? {
        Written::Seconds(seconds) => (seconds, 1.0),
        Written::Text(text) => {
            let text = text.trim();
            let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
            let unit = match &text[split..] {
                "ms" => 0.001,
                "s" | "" => 1.0,
                "m" | "min" => 60.0,
                "h" => 3600.0,
                other => {
                    return Err(D::Error::custom(format!("unknown unit `{other}`; use ms, s, m or h")));
                }
            };
            let number: f64 = text[..split]
                .trim()
                .parse()
                .map_err(|_| D::Error::custom(format!("`{text}` is not a duration; for example: \"2s\"")))?;
            (number, unit)
        }
    };
    Duration::try_from_secs_f64(number * unit)
        .map(Some)
        .map_err(|_| D::Error::custom("a duration must be positive and finite"))
}

/// Writes a duration that reads back as the same.
pub(crate) fn serialize<S: Serializer>(duration: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    match duration {
        Some(duration) => to.serialize_str(&text(*duration)),
        None => to.serialize_none(),
    }
}

/// A duration as text that reads back as the same: milliseconds, or whole seconds.
pub(crate) fn text(duration: Duration) -> String {
    match duration.subsec_nanos() {
        0 => format!("{}s", duration.as_secs()),
        _ => format!("{}ms", duration.as_secs_f64() * 1000.0),
    }
}
