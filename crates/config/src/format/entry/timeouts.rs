//! Timeouts of other formats, each in its own unit.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::{
    Format,
    format::{Timeout, fields::EntryFields},
    model::duration,
};

/// The most that Cline and Roo know; more is a number of milliseconds, most likely.
const HOUR: f64 = 3600.0;

/// What a time of others bounds, in our own keys.
const CALL: &[&str] = &["idle_timeout", "total_timeout"];
const START: &[&str] = &["startup_timeout"];

/// Turns timeouts into ours. A value that cannot be meant is told and never fails an entry.
pub(super) fn read(
    fields: &mut EntryFields<'_>,
    format: Format,
    tuning: &mut Map<String, Value>,
    notes: &mut Vec<String>,
) {
    let (ours, unit) = match format.timeout() {
        Timeout::Milliseconds => (CALL, 0.001),
        Timeout::StartMilliseconds => (START, 0.001),
        Timeout::Seconds | Timeout::SecondsOfAnHour => (CALL, 1.0),
    };
    let mut found = Vec::new();
    if let Some(several) = fields.take_if("timeout", |node| node.entries().is_some()) {
        // Newer versions of opencode tell apart what the time is for.
        for (key, ours) in [("startup", START), ("request", CALL), ("execution", CALL)] {
            found.extend(several.get(key).map(|node| (key, ours, 0.001, node)));
        }
    } else {
        found.extend(fields.take(&["timeout"]).map(|(key, node)| (key, ours, unit, node)));
    }
    for (key, ours, unit) in [
        ("request_timeout_ms", CALL, 0.001),
        ("tool_timeout_sec", CALL, 1.0),
        ("startup_timeout_ms", START, 0.001),
        ("startup_timeout_sec", START, 1.0),
    ] {
        found.extend(fields.take(&[key]).map(|(key, node)| (key, ours, unit, node)));
    }
    for (key, ours, unit, node) in found {
        let Some(number) = node.number().filter(|number| *number > 0.0 && number.is_finite()) else {
            notes.push(format!("`{key}` must be a number above 0; the default is used"));
            continue;
        };
        let mut seconds = number * unit;
        if key == "timeout" && format.timeout() == Timeout::Milliseconds && number < 1000.0 {
            notes.push(format!(
                "`timeout` is in milliseconds, and {number} is implausibly short; the default is used"
            ));
            continue;
        }
        if key == "timeout" && format.timeout() == Timeout::SecondsOfAnHour && seconds > HOUR {
            notes.push(format!("`timeout` is in seconds, at most 3600; {number} is reduced to that"));
            seconds = HOUR;
        }
        match Duration::try_from_secs_f64(seconds) {
            Ok(time) => {
                let time = Value::String(duration::text(time));
                tuning.extend(ours.iter().map(|ours| ((*ours).to_owned(), time.clone())));
            }
            Err(_) => notes.push(format!("`{key}` is too large; the default is used")),
        }
    }
}
