//! `toolbay inspect`: the messages that pass the running hub.

use std::time::Duration;

use serde::Serialize;
use serde_json::{json, value::RawValue};
use toolbay_control::{MessageEntry, MessagePage, method};
use toolbay_host::capture::{Direction, Hop, MessageKind};
use toolbay_protocol::Message;

use crate::{
    app::{
        context::Context,
        error::CliError,
        session::{self, Session},
    },
    args::InspectArgs,
    term::{
        style::{clean, clean_line, cut, width},
        time::rfc3339,
    },
};

/// How often the hub is polled until it captures messages.
const LOOK: Duration = Duration::from_millis(10);
/// The width of lines where that of the terminal is unknown.
const COLUMNS: usize = 160;

pub(crate) async fn run(context: &Context, args: &InspectArgs) -> Result<(), CliError> {
    session::with_running(context, async |session| {
        let inspection = Inspection { context, session, server: args.server.as_deref() };
        if !args.follow {
            return inspection.show_kept().await;
        }
        tokio::select! {
            // The request is answered only when the hub ends.
            done = session.client.request(method::WATCH, None) => Ok(done.map(drop)?),
            done = inspection.follow() => done,
        }
    })
    .await
}

struct Inspection<'a> {
    context: &'a Context,
    session: &'a Session<'a>,
    server: Option<&'a str>,
}

impl Inspection<'_> {
    /// Shows the captured messages.
    async fn show_kept(&self) -> Result<(), CliError> {
        let mut page = self.page(None, false).await?;
        if !page.is_watched {
            self.context.out.note(
                "nothing to show: messages are kept only while they are watched; run `toolbay inspect -f`",
            );
        }
        while !page.messages.is_empty() {
            self.show(&page)?;
            page = self.page(Some(page.next), false).await?;
        }
        Ok(())
    }

    /// Shows messages as they pass, for ever.
    async fn follow(&self) -> Result<(), CliError> {
        while !self.page(None, false).await?.is_watched {
            tokio::time::sleep(LOOK).await;
        }
        self.context.out.note("watching the messages of the hub; press Ctrl-C to stop");
        let mut since = None;
        loop {
            let page = self.page(since, true).await?;
            self.show(&page)?;
            since = Some(page.next);
        }
    }

    async fn page(&self, since: Option<u64>, follow: bool) -> Result<MessagePage, CliError> {
        let params = json!({ "since": since, "follow": follow, "server": self.server }).to_string();
        Ok(self.session.client.request_as(method::MESSAGES, Some(&params)).await?)
    }

    fn show(&self, page: &MessagePage) -> Result<(), CliError> {
        let out = &self.context.out;
        if page.missed > 0 {
            out.warn(&format!("{} messages passed faster than they could be shown", page.missed));
        }
        for message in &page.messages {
            if out.json {
                out.json_object(&Shown::of(message))?;
            } else {
                out.data(&line(message, out.columns.unwrap_or(COLUMNS)))?;
            }
        }
        Ok(())
    }
}

/// A message as programs see it.
#[derive(Serialize)]
struct Shown<'a> {
    number: u64,
    time: String,
    hop: Hop,
    direction: Direction,
    client: Option<&'a str>,
    server: Option<&'a str>,
    kind: MessageKind,
    method: Option<&'a str>,
    id: Option<&'a RawValue>,
    paired_id: Option<&'a RawValue>,
    duration_ms: Option<f64>,
    size: usize,
    /// The message, if it is JSON and whole.
    message: Option<Box<RawValue>>,
    /// Else the part that was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

impl<'a> Shown<'a> {
    fn of(entry: &'a MessageEntry) -> Self {
        let raw = |id: &'a Option<String>| id.as_deref().and_then(|id| serde_json::from_str(id).ok());
        // Line breaks in JSON are between tokens only.
        let message = RawValue::from_string(entry.text.replace(['\n', '\r'], " ")).ok();
        Self {
            number: entry.number,
            time: rfc3339(entry.time()),
            hop: entry.hop,
            direction: entry.direction,
            client: entry.client.as_deref(),
            server: entry.server.as_deref(),
            kind: entry.kind,
            method: entry.method.as_deref(),
            id: raw(&entry.id),
            paired_id: raw(&entry.paired_id),
            duration_ms: entry.duration_us.map(|time| time as f64 / 1000.0),
            size: entry.size,
            text: message.is_none().then_some(&entry.text),
            message,
        }
    }
}

/// Formats a message.
fn line(entry: &MessageEntry, columns: usize) -> String {
    let hop = match (entry.hop, entry.direction) {
        (Hop::Client, Direction::Received) => "client → hub",
        (Hop::Client, Direction::Sent) => "hub → client",
        (Hop::Server, Direction::Received) => "server → hub",
        (Hop::Server, Direction::Sent) => "hub → server",
    };
    let time = rfc3339(entry.time());
    let peer = entry.server.as_deref().or(entry.client.as_deref()).unwrap_or("-");
    let method = entry.method.as_deref().unwrap_or(entry.kind.as_str());
    let mut text = format!("{} {hop:12}  {:12}  {}", &time[11..23], clean_line(peer), clean_line(method));
    if let Some(id) = &entry.id {
        text.push_str(&format!("  #{}", clean_line(id)));
    }
    if let Some(id) = &entry.paired_id {
        let other = if entry.hop == Hop::Client { "server" } else { "client" };
        text.push_str(&format!(" ({other} #{})", clean_line(id)));
    }
    if matches!(entry.kind, MessageKind::Error | MessageKind::Malformed) {
        text.push_str(&format!("  {}", entry.kind.as_str()));
    }
    if let Some(time) = entry.duration_us {
        text.push_str(&format!("  {}", duration(time)));
    }
    text.push_str(&format!("  {}", size(entry.size)));
    let room = columns.saturating_sub(width(&text) + 2);
    let body = clean(&body(entry, room)).replace(['\n', '\r', '\t'], " ");
    if room > 1 && !body.is_empty() {
        text.push_str(&format!("  {}", cut(&body, room)));
    }
    text.push('\n');
    text
}

/// The rest of a message that its line does not show: more than `room` of it, where there is more.
fn body(entry: &MessageEntry, room: usize) -> String {
    let text = match Message::parse(entry.text.clone().into()) {
        Ok(Message::Request(request)) => request.call.params_text().unwrap_or_default().to_owned(),
        Ok(Message::Notification(notification)) => notification.params_text().unwrap_or_default().to_owned(),
        Ok(Message::Response(response)) => match response.error() {
            Some(error) => format!("{} {}", error.code, error.message),
            None => response.result_text().unwrap_or_default().to_owned(),
        },
        Err(_) => entry.text.clone(),
    };
    text.chars().take(room * 4 + 64).collect()
}

fn duration(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..1_000_000 => format!("{} ms", micros / 1_000),
        _ => format!("{:.1} s", micros as f64 / 1e6),
    }
}

fn size(bytes: usize) -> String {
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> MessageEntry {
        MessageEntry {
            number: 3,
            time_ms: 1_785_196_800_123,
            hop: Hop::Server,
            direction: Direction::Received,
            client: Some("editor 1.0".to_owned()),
            server: Some("small".to_owned()),
            kind: MessageKind::Result,
            method: Some("tools/call".to_owned()),
            id: Some("17".to_owned()),
            paired_id: Some("\"a\"".to_owned()),
            duration_us: Some(6_200),
            size: text.len(),
            is_cut: false,
            text: text.to_owned(),
        }
    }

    #[test]
    fn a_line_fits_the_terminal() {
        let text =
            r#"{"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"text","text":"hello \u001b world"}]}}"#;
        let whole = line(&entry(text), 160);
        assert_eq!(
            whole,
            "00:00:00.123 server → hub  small         tools/call  #17 (client #\"a\")  6 ms  92 B  \
             {\"content\":[{\"type\":\"text\",\"text\":\"hello \\u001b world\"}]}\n"
        );
        let narrow = line(&entry(text), 100);
        assert!(narrow.ends_with("…\n") && width(narrow.trim_end()) <= 100, "{narrow}");
    }

    #[test]
    fn programs_see_a_message_whole_and_on_one_line() {
        let shown = serde_json::to_string(&Shown::of(&entry("{\n\"id\": 17, \"result\":{}}"))).unwrap();
        assert!(shown.contains(r#""message":{ "id": 17, "result":{}}"#) && !shown.contains('\n'), "{shown}");
        let broken = serde_json::to_string(&Shown::of(&entry("{\"id\""))).unwrap();
        assert!(broken.contains(r#""message":null,"text":"{\"id\"""#), "{broken}");
    }
}
