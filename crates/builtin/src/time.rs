//! The server `time`: the current time, and conversions between time zones.
//!
//! The contract is that of `mcp-server-time`. The time zones are in the program, so that those of the system are not needed.

use std::sync::Arc;

use jiff::{Timestamp, Zoned, civil, tz::TimeZone};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::task::TaskTracker;
use toolbay_server::{
    Annotations, Tool, ToolContext, ToolError, ToolOutput, ToolResult, ToolServer, Toolset, in_process,
};
use toolbay_transport::Connection;

/// Makes the server connectable. Models are told to use `local` where the user names no time zone: that of the system,
/// unless it is given.
pub fn time(local: Option<&str>) -> Arc<dyn Fn(&TaskTracker) -> Connection + Send + Sync> {
    let system = TimeZone::system();
    let local = local.or(system.iana_name()).unwrap_or("UTC").to_owned();
    in_process(Arc::new(ToolServer::new("mcp-time", Clock, tools(&local))))
}

#[derive(Debug)]
struct Clock;

fn tools(local: &str) -> Toolset<Clock> {
    let with_local = |schema: &mut Value| {
        for argument in ["timezone", "source_timezone", "target_timezone"] {
            if let Some(description) = schema.pointer_mut(&format!("/properties/{argument}/description"))
                && let Some(text) = description.as_str()
            {
                *description = text.replace("{local}", local).into();
            }
        }
    };
    Toolset::new([
        Tool::new("get_current_time", get_current_time)
            .title("Current time")
            .description("Get current time in a specific timezone")
            .edit_input_schema(with_local)
            .output::<Time>()
            .annotations(Annotations::READ_ONLY),
        Tool::new("convert_time", convert_time)
            .title("Convert time")
            .description("Convert time between timezones")
            .edit_input_schema(with_local)
            .output::<Conversion>()
            .annotations(Annotations::READ_ONLY),
    ])
}

#[derive(Deserialize, JsonSchema)]
struct Current {
    /// IANA timezone name (e.g., 'America/New_York', 'Europe/London'). Use '{local}' as local timezone if no timezone provided by the user.
    timezone: String,
}

#[derive(Deserialize, JsonSchema)]
struct Convert {
    /// Source IANA timezone name (e.g., 'America/New_York', 'Europe/London'). Use '{local}' as local timezone if no source timezone provided by the user.
    source_timezone: String,
    /// Time to convert in 24-hour format (HH:MM)
    time: String,
    /// Target IANA timezone name (e.g., 'Asia/Tokyo', 'America/Los_Angeles'). Use '{local}' as local timezone if no target timezone provided by the user.
    target_timezone: String,
}

/// A point in time, as seen in a time zone.
#[derive(Serialize, JsonSchema)]
struct Time {
    timezone: String,
    /// ISO 8601, with the offset from UTC
    datetime: String,
    day_of_week: String,
    is_dst: bool,
}

#[derive(Serialize, JsonSchema)]
struct Conversion {
    source: Time,
    target: Time,
    /// Hours that the target is ahead: `+5.5h`
    time_difference: String,
}

async fn get_current_time(_: Arc<Clock>, arguments: Current, _: ToolContext) -> ToolResult {
    let zone = zone("timezone", &arguments.timezone).map_err(|reason| failed("get_current_time", &reason))?;
    let now = Timestamp::now().to_zoned(zone);
    Ok(pretty(&Time::new(arguments.timezone, &now)))
}

async fn convert_time(_: Arc<Clock>, arguments: Convert, _: ToolContext) -> ToolResult {
    let conversion = convert(Timestamp::now(), &arguments);
    Ok(pretty(&conversion.map_err(|reason| failed("convert_time", &reason))?))
}

fn convert(now: Timestamp, arguments: &Convert) -> Result<Conversion, String> {
    let from = zone("source_timezone", &arguments.source_timezone)?;
    let to = zone("target_timezone", &arguments.target_timezone)?;
    let time = civil::Time::strptime("%H:%M", &arguments.time)
        .map_err(|_| "Invalid time format. Expected HH:MM [24-hour format]")?;
    let today = now.to_zoned(from.clone()).date();
    let source = today.to_datetime(time).to_zoned(from).map_err(|error| error.to_string())?;
    // When the clocks go back, the first of two equal times is meant; when they go forward, some do not exist.
    if source.time() != time {
        return Err(format!(
            "Invalid time: {} does not exist in {} on {today} (skipped by a clock change)",
            arguments.time, arguments.source_timezone
        ));
    }
    let target = source.with_time_zone(to);
    let difference = target.offset().seconds() - source.offset().seconds();
    Ok(Conversion {
        source: Time::new(arguments.source_timezone.clone(), &source),
        target: Time::new(arguments.target_timezone.clone(), &target),
        time_difference: hours(difference),
    })
}

/// `+9.0h` for whole hours, `+5.75h` otherwise.
fn hours(seconds: i32) -> String {
    let hours = f64::from(seconds) / 3600.0;
    if seconds % 3600 == 0 {
        return format!("{hours:+.1}h");
    }
    format!("{}h", format!("{hours:+.2}").trim_end_matches('0').trim_end_matches('.'))
}

/// The time zone of an argument, in upper or lower case.
fn zone(argument: &str, name: &str) -> Result<TimeZone, String> {
    if name.is_empty() {
        return Err(format!("Missing required argument: {argument}"));
    }
    TimeZone::get(name).map_err(|_| format!("Invalid timezone: 'No time zone found with key {name}'"))
}

/// A failure in the words of the contract.
fn failed(tool: &str, reason: &str) -> ToolError {
    ToolError::failed(format!("Error executing tool {tool}: {reason}"))
}

/// A structured result whose text is JSON for people, as in the contract.
fn pretty(value: &impl Serialize) -> ToolOutput {
    ToolOutput::text(serde_json::to_string_pretty(value).unwrap_or_default()).with_structured(value)
}

impl Time {
    fn new(timezone: String, time: &Zoned) -> Self {
        Self {
            timezone,
            datetime: time.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
            day_of_week: time.strftime("%A").to_string(),
            is_dst: time.time_zone().to_offset_info(time.timestamp()).dst().is_dst(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(at: &str, from: &str, time: &str, to: &str) -> Result<Conversion, String> {
        let arguments =
            Convert { source_timezone: from.into(), time: time.into(), target_timezone: to.into() };
        convert(at.parse().unwrap(), &arguments)
    }

    #[test]
    fn times_are_converted_between_zones() {
        for (at, from, time, to, expected, difference) in [
            (
                "2026-01-15T12:00:00Z",
                "Europe/Warsaw",
                "12:00",
                "America/New_York",
                "2026-01-15T06:00:00-05:00",
                "-6.0h",
            ),
            (
                "2026-07-15T12:00:00Z",
                "Etc/UTC",
                "09:30",
                "Asia/Kathmandu",
                "2026-07-15T15:15:00+05:45",
                "+5.75h",
            ),
            (
                "2026-07-15T12:00:00Z",
                "Asia/Tokyo",
                "00:30",
                "Asia/Kolkata",
                "2026-07-14T21:00:00+05:30",
                "-3.5h",
            ),
            // The clocks go forward from 02:00 to 03:00, and back from 03:00 to 02:00.
            (
                "2026-03-29T12:00:00Z",
                "Europe/Berlin",
                "03:00",
                "Etc/UTC",
                "2026-03-29T01:00:00+00:00",
                "-2.0h",
            ),
            (
                "2026-03-29T12:00:00Z",
                "Europe/Berlin",
                "01:59",
                "Etc/UTC",
                "2026-03-29T00:59:00+00:00",
                "-1.0h",
            ),
            (
                "2026-10-25T12:00:00Z",
                "Europe/Berlin",
                "02:30",
                "Etc/UTC",
                "2026-10-25T00:30:00+00:00",
                "-2.0h",
            ),
            // Daylight saving time of half an hour.
            (
                "2026-07-15T12:00:00Z",
                "Australia/Lord_Howe",
                "9:5",
                "Etc/UTC",
                "2026-07-14T22:35:00+00:00",
                "-10.5h",
            ),
        ] {
            let conversion = converted(at, from, time, to).unwrap();
            assert_eq!(
                (conversion.target.datetime.as_str(), conversion.time_difference.as_str()),
                (expected, difference)
            );
        }
        let summer = converted("2026-07-15T12:00:00Z", "Europe/Berlin", "12:00", "Etc/UTC").unwrap().source;
        assert!(summer.is_dst && summer.day_of_week == "Wednesday");
    }

    #[test]
    fn mistakes_are_worded_as_the_original_does() {
        let at = "2026-03-29T12:00:00Z";
        for (from, time, to, expected) in [
            ("Mars/X", "12:00", "UTC", "Invalid timezone: 'No time zone found with key Mars/X'"),
            ("", "12:00", "UTC", "Missing required argument: source_timezone"),
            ("UTC", "12:00", "", "Missing required argument: target_timezone"),
            ("UTC", "25:00", "UTC", "Invalid time format. Expected HH:MM [24-hour format]"),
            ("UTC", "12:00:00", "UTC", "Invalid time format. Expected HH:MM [24-hour format]"),
            ("UTC", "", "UTC", "Invalid time format. Expected HH:MM [24-hour format]"),
            (
                "Europe/Berlin",
                "02:30",
                "UTC",
                "Invalid time: 02:30 does not exist in Europe/Berlin on 2026-03-29 (skipped by a clock change)",
            ),
        ] {
            assert_eq!(converted(at, from, time, to).err().as_deref(), Some(expected));
        }
        assert!(converted(at, "europe/berlin", "12:00", "utc").is_ok(), "in lower case, too");
    }
}
