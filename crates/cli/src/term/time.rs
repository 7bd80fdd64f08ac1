//! Formats of times and durations.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The last second of the year 9999. RFC 3339 has four digits for a year.
const LAST_SECOND: Duration = Duration::from_secs(253_402_300_799);

/// Formats a time as `2026-07-28T12:34:56.789Z`.
pub(crate) fn rfc3339(time: SystemTime) -> String {
    humantime::format_rfc3339_millis(time.clamp(UNIX_EPOCH, UNIX_EPOCH + LAST_SECOND)).to_string()
}

/// `0.4 s`, `12 s`, `3 min`, `5 h`, `4 d`.
pub(crate) fn short(time: Duration) -> String {
    match time.as_secs() {
        0..=9 => format!("{:.1} s", time.as_secs_f32()),
        10..=119 => format!("{} s", time.as_secs()),
        120..=7_199 => format!("{} min", time.as_secs() / 60),
        7_200..=172_799 => format!("{} h", time.as_secs() / 3600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_827_696, "2000-02-29T12:34:56.000Z"),
            (1_785_196_800, "2026-07-28T00:00:00.000Z"),
            (1 << 40, "9999-12-31T23:59:59.000Z"),
        ] {
            assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }
}
