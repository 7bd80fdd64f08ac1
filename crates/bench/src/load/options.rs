//! The options of the load generator.

use std::time::Duration;

use anyhow::{Context, bail, ensure};

pub(super) const USAGE: &str = "usage: toolbay-load (--url http://HOST:PORT/PATH, ending in /sse for HTTP+SSE, or ws://… | --stdio) --tool NAME --payload BYTES \
     --in-flight N --seconds S [--warmup S] [--modern] [--arguments JSON with \"@\" for the payload] [--wrapped] \
     [--idle-sessions N [--listening]] [-- command…]";

/// Where the calls go.
#[derive(Debug, Clone)]
pub enum Target {
    Http(Url),
    /// `ws://…`, or `http://…/sse`.
    LongLived(String),
    Stdio(Vec<String>),
}

/// The parts of `http://authority/path`.
#[derive(Debug, Clone)]
pub struct Url {
    pub(super) authority: String,
    pub(super) path: String,
}

/// The arguments of `toolbay-load`.
#[derive(Debug, Clone)]
pub struct Options {
    pub(super) target: Target,
    pub(super) tool: String,
    /// JSON in which the string `"@"` stands for the payload.
    pub(super) arguments: String,
    pub(super) payload: usize,
    pub(super) in_flight: usize,
    pub(super) window: Duration,
    pub(super) warmup: Duration,
    /// Speak revision 2026-07-28: no `initialize`, everything in `_meta` and headers.
    pub(super) modern: bool,
    /// The payload may be part of a longer text, as with gateways that wrap results.
    pub(super) wrapped: bool,
    /// Instead of any load: open so many legacy sessions and leave them.
    pub(super) idle_sessions: Option<usize>,
    /// Each of them keeps a stream open, and meanwhile `tools/list` is measured; with `modern` each is a subscription.
    pub(super) listening: bool,
}

impl Options {
    /// Reads the command line, without the program's name.
    pub fn parse(args: impl IntoIterator<Item = String>) -> anyhow::Result<Self> {
        let mut args = args.into_iter();
        let mut url = None;
        let mut stdio = false;
        let mut command = Vec::new();
        let mut options = Self {
            target: Target::Stdio(Vec::new()),
            tool: "echo".to_owned(),
            arguments: r#"{"payload":"@"}"#.to_owned(),
            payload: 100,
            in_flight: 1,
            window: Duration::from_secs(1),
            warmup: Duration::ZERO,
            modern: false,
            wrapped: false,
            idle_sessions: None,
            listening: false,
        };
        while let Some(arg) = args.next() {
            let mut value = || args.next().with_context(|| format!("{arg} takes a value"));
            match arg.as_str() {
                "--url" => url = Some(value()?),
                "--stdio" => stdio = true,
                "--tool" => options.tool = value()?,
                "--arguments" => options.arguments = value()?,
                "--payload" => options.payload = value()?.parse()?,
                "--in-flight" => options.in_flight = value()?.parse()?,
                "--seconds" => options.window = Duration::try_from_secs_f64(value()?.parse()?)?,
                "--warmup" => options.warmup = Duration::try_from_secs_f64(value()?.parse()?)?,
                "--modern" => options.modern = true,
                "--wrapped" => options.wrapped = true,
                "--listening" => options.listening = true,
                "--idle-sessions" => options.idle_sessions = Some(value()?.parse()?),
                "--" => command = args.by_ref().collect(),
                _ => bail!("unknown argument `{arg}`\n{USAGE}"),
            }
        }
        options.target = match (url, stdio) {
            (Some(url), false) if url.starts_with("ws://") || url.ends_with("/sse") => Target::LongLived(url),
            (Some(url), false) => Target::Http(Url::parse(&url)?),
            (None, true) if !command.is_empty() => Target::Stdio(command),
            _ => bail!("{USAGE}"),
        };
        ensure!(options.arguments.contains(r#""@""#), "--arguments must hold \"@\" for the payload");
        ensure!((1..=4096).contains(&options.in_flight), "--in-flight must be between 1 and 4096");
        Ok(options)
    }

    pub(super) fn revision(&self) -> &'static str {
        if self.modern { "2026-07-28" } else { "2025-11-25" }
    }
}

impl Url {
    fn parse(text: &str) -> anyhow::Result<Self> {
        let rest = text.strip_prefix("http://").context("only http:// and ws:// are spoken")?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        Ok(Self { authority: authority.to_owned(), path: format!("/{path}") })
    }
}
