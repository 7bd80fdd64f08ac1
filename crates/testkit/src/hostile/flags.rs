//! The command line of the hostile server.

use std::{path::PathBuf, time::Duration};

/// How the hostile server is called.
pub const USAGE: &str = "\
usage: toolbay-hostile [FLAG]...
start:
  --start-delay-ms N          reads nothing for N ms
  --never-initialize          reads, but never answers anything
  --exit-at-start CODE        two lines on stderr, then exits
  --bad-initialize KIND       types | version | empty | null | error | string-id
  --discover KIND             error (default, -32601) | ok | silent | exit
  --spawn-log FILE            appends `<ms since 1970> <pid>` at each start
  --received FILE             appends each received line
stop:
  --ignore-sigterm            SIGTERM is ignored
  --ignore-eof                goes on after the end of stdin
  --grandchildren             starts three sleepers: plain, setsid, daemon (double fork)
  --pid-file FILE             where each sleeper appends `<kind> <pid>`
pipes:
  --never-read-stdin          stops reading after notifications/initialized
  --stop-reading-after METHOD stops reading once METHOD was answered
  --close-stdout-after-init   closes stdout after notifications/initialized, and lives on
  --garbage                   banner, ANSI, [], 42, {bad and blank lines before each message
  --stderr-flood BYTES        or `forever`: writes that much to stderr at once
lists:
  --tools N                   lists exactly N tools: the behaviours first, then `tool_<n>`
  --tool-bytes B              pads each listed tool to B bytes
  --page-size P               tools per page
  --paging-loop               nextCursor runs in a circle
  --paging-endless            nextCursor is always new
  --big-schema                one more tool, with a schema of 100 KB
  --bad-schema                20 more tools, one with an invalid schema
  --endless-schemas           two more tools, whose schemas take for ever to check: references that double 60 times, and
                              2,300 alternatives for each item of a list
  --tools-file FILE           lists the `tool` of each object in a JSON array, as it is written there
WebSocket:
  --ws PORT                   listens there instead of reading stdin, and prints its URL to stderr; 0 is any port
  --ws-pings N                after notifications/initialized sends N pings and never reads again";

#[derive(Debug, Default)]
pub(super) struct Flags {
    pub(super) start_delay: Duration,
    pub(super) never_initialize: bool,
    pub(super) exit_at_start: Option<u8>,
    pub(super) bad_initialize: Option<String>,
    pub(super) discover: Discover,
    pub(super) spawn_log: Option<PathBuf>,
    pub(super) received: Option<PathBuf>,
    pub(super) ignore_sigterm: bool,
    pub(super) ignore_eof: bool,
    pub(super) grandchildren: bool,
    pub(super) pid_file: Option<PathBuf>,
    pub(super) stop_reading_after: Option<String>,
    pub(super) close_stdout_after_init: bool,
    pub(super) garbage: bool,
    pub(super) stderr_flood: Option<Amount>,
    pub(super) lists: Lists,
    pub(super) ws: Option<u16>,
    pub(super) ws_pings: Option<usize>,
}

/// How `tools/list` is answered.
#[derive(Debug, Default)]
pub(super) struct Lists {
    pub(super) tools: Option<usize>,
    pub(super) tool_bytes: usize,
    pub(super) page_size: Option<usize>,
    pub(super) paging: Paging,
    pub(super) big_schema: bool,
    pub(super) bad_schema: bool,
    pub(super) endless_schemas: bool,
    pub(super) tools_file: Option<PathBuf>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paging {
    #[default]
    Honest,
    Loop,
    Endless,
}

#[derive(Debug, Default, Clone, Copy)]
pub(super) enum Discover {
    #[default]
    Error,
    Ok,
    Silent,
    Exit,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Amount {
    Bytes(u64),
    Forever,
}

impl Flags {
    pub(super) fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut flags = Self::default();
        let mut rest = arguments.iter();
        while let Some(flag) = rest.next() {
            let mut value = || rest.next().ok_or_else(|| format!("{flag} wants a value"));
            match flag.as_str() {
                "--start-delay-ms" => flags.start_delay = Duration::from_millis(number(value()?)?),
                "--never-initialize" => flags.never_initialize = true,
                "--exit-at-start" => flags.exit_at_start = Some(number(value()?)?),
                "--bad-initialize" => flags.bad_initialize = Some(value()?.clone()),
                "--discover" => flags.discover = discover(value()?)?,
                "--spawn-log" => flags.spawn_log = Some(value()?.into()),
                "--received" => flags.received = Some(value()?.into()),
                "--ignore-sigterm" => flags.ignore_sigterm = true,
                "--ignore-eof" => flags.ignore_eof = true,
                "--grandchildren" => flags.grandchildren = true,
                "--pid-file" => flags.pid_file = Some(value()?.into()),
                "--never-read-stdin" => {
                    flags.stop_reading_after = Some("notifications/initialized".to_owned());
                }
                "--stop-reading-after" => flags.stop_reading_after = Some(value()?.clone()),
                "--close-stdout-after-init" => flags.close_stdout_after_init = true,
                "--garbage" => flags.garbage = true,
                "--stderr-flood" => flags.stderr_flood = Some(amount(value()?)?),
                "--tools" => flags.lists.tools = Some(number(value()?)?),
                "--tool-bytes" => flags.lists.tool_bytes = number(value()?)?,
                "--page-size" => flags.lists.page_size = Some(number(value()?)?),
                "--paging-loop" => flags.lists.paging = Paging::Loop,
                "--paging-endless" => flags.lists.paging = Paging::Endless,
                "--big-schema" => flags.lists.big_schema = true,
                "--bad-schema" => flags.lists.bad_schema = true,
                "--endless-schemas" => flags.lists.endless_schemas = true,
                "--tools-file" => flags.lists.tools_file = Some(value()?.into()),
                "--ws" => flags.ws = Some(number(value()?)?),
                "--ws-pings" => flags.ws_pings = Some(number(value()?)?),
                other => return Err(format!("unknown flag {other}")),
            }
        }
        Ok(flags)
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text} is not a number that fits"))
}

fn amount(text: &str) -> Result<Amount, String> {
    if text == "forever" { Ok(Amount::Forever) } else { number(text).map(Amount::Bytes) }
}

fn discover(text: &str) -> Result<Discover, String> {
    match text {
        "error" => Ok(Discover::Error),
        "ok" => Ok(Discover::Ok),
        "silent" => Ok(Discover::Silent),
        "exit" => Ok(Discover::Exit),
        other => Err(format!("--discover {other}: error, ok, silent or exit")),
    }
}
