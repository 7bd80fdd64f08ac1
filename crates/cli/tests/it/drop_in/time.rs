//! `mcp-server-time`.

use std::{
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::json;

use super::{ARGUMENTS, Call, Comparison, Servers, call};

const SERVERS: Servers = Servers {
    page: "time",
    program: "python/bin/mcp-server-time",
    script: None,
    ours: &["time"],
    arguments: &["--local-timezone", "Europe/Berlin"],
    environment: &[],
    own_files: &[],
};

#[test]
fn time() {
    early_in_a_minute();
    let mut servers = Comparison::start(&SERVERS, |_| ()).masked(without_seconds);
    servers.tools();
    servers.calls(calls());
}

fn calls() -> Vec<Call> {
    let convert = |from: &str, time: &str, to: &str| {
        let arguments = json!({ "source_timezone": from, "time": time, "target_timezone": to });
        call("convert_time", arguments)
    };
    vec![
        call("get_current_time", json!({ "timezone": "UTC" })),
        call("get_current_time", json!({ "timezone": "Asia/Kathmandu" })),
        call("get_current_time", json!({ "timezone": "America/New_York" })),
        call("get_current_time", json!({ "timezone": "Mars/Olympus" })),
        call("get_current_time", json!({})).better(ARGUMENTS),
        convert("Europe/Berlin", "09:30", "America/New_York"),
        convert("UTC", "23:59", "Asia/Kathmandu"),
        convert("Asia/Tokyo", "00:00", "Pacific/Honolulu"),
        convert("UTC", "12:00", "Australia/Eucla"),
        convert("Europe/Berlin", "25:00", "UTC"),
        convert("Europe/Berlin", "9:5", "UTC"),
        convert("Europe/Berlin", "noon", "UTC"),
        convert("Nowhere", "12:00", "UTC"),
        convert("UTC", "12:00", "Nowhere"),
        call("convert_time", json!({ "time": "12:00" })).better(ARGUMENTS),
    ]
}

/// Both answer in the same minute, though not always in the same second.
fn without_seconds(answer: String) -> String {
    let mut parts = answer.split(':').map(str::to_owned).collect::<Vec<_>>();
    // In `…T09:30:07+01:00`, the seconds stand between two digits of minutes and the sign of the offset.
    for index in 1..parts.len() {
        let follows_minutes = parts[index - 1].bytes().all(|byte| byte.is_ascii_digit());
        if follows_minutes && parts[index].get(2..3).is_some_and(|sign| ["+", "-"].contains(&sign)) {
            parts[index].replace_range(..2, "SS");
        }
    }
    parts.join(":")
}

/// Waits for the next minute if this one is nearly over.
fn early_in_a_minute() {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() % 60;
    if seconds > 50 {
        thread::sleep(Duration::from_secs(61 - seconds));
    }
}
