//! What each tool does wrong.

use std::{thread, time::Duration};

use serde_json::json;

use super::{
    flags::Amount, flood, message::ParsedRequest, message::notification, peer::Peer, raw_answers,
    sleep_forever,
};

/// All tools, with what they do.
pub(super) const BEHAVIOURS: &[(&str, &str)] = &[
    ("ok", "answers `ok`, or the argument `text`"),
    ("crash", "a line on stderr (`text`), then exits with `code` (7) in mid-call"),
    ("answer_then_crash", "answers, then exits with `code` (7)"),
    ("half_answer", "writes half of its answer, then exits with `code` (7)"),
    ("hang", "never answers"),
    ("late", "answers after `ms` (1000), cancelled or not"),
    ("progress", "reports `steps` (3) times, every `every_ms` (100), then answers"),
    ("big_line", "its answer is one line of `bytes` (1 MiB); `id_last` puts the id at the end"),
    ("many_blocks", "its answer has `count` (10000) content blocks of text"),
    ("big_structured", "its answer has structured content with `rows` (100000) rows"),
    ("endless_line", "its answer never ends"),
    ("invalid_utf8", "its answer is not UTF-8"),
    ("split_utf8", "its answer arrives in two parts, split inside a character, `ms` (50) apart"),
    ("close_stdout", "closes stdout without an answer, and lives on"),
    ("stop_reading", "answers, and never reads stdin again"),
    ("list_changed_storm", "`count` (10000) times list_changed, then answers"),
    ("duplicate_answer", "answers `first`, then `second`, with one id"),
    ("unknown_id_answer", "answers a request that nobody made, then its own"),
    ("string_id_answer", "answers `wrong` with its id as a string, then `right` with the id"),
    ("unknown_notification", "sends a notification that nobody knows, then answers"),
    ("extra_fields", "answers with unknown fields and odd numbers"),
    ("stderr_flood", "writes `bytes` (10 MB) to stderr, then answers"),
    ("null_result", "answers with the result null"),
    ("error_without_message", "answers with an error that has a code only"),
    ("two_envelopes_one_line", "answers `first` and `second` on one line"),
    ("duplicate_keys", "its answer has id and result twice"),
    ("wrong_jsonrpc", "its answer claims JSON-RPC 1.0"),
    ("no_jsonrpc", "its answer claims nothing"),
    ("result_and_error", "its answer is both"),
    ("batch_answer", "its answer is in an array"),
    ("ask_ping", "sends `ping` to the client, answers with what comes back within `ms` (10000)"),
    ("ask_roots", "the same with `roots/list`"),
    ("ask_unknown", "the same with `hostile/unknown`"),
];

/// Runs a tool to its bad end.
pub(super) fn call(peer: &Peer, request: &ParsedRequest) {
    let output = &peer.output;
    match request.params["name"].as_str().unwrap_or_default() {
        "ok" => output.line(&request.text(request.arguments()["text"].as_str().unwrap_or("ok"))),
        "crash" => {
            eprintln!("{}", request.arguments()["text"].as_str().unwrap_or("about to crash"));
            exit(request);
        }
        "answer_then_crash" => {
            output.line(&request.text("ok"));
            exit(request);
        }
        "half_answer" => {
            let answer = request.text("only half of this is ever written");
            output.pieces(&[&answer.as_bytes()[..answer.len() / 2]], || ());
            exit(request);
        }
        "hang" => sleep_forever(),
        "late" => {
            pause(request.number("ms", 1000));
            output.line(&request.text("late"));
        }
        "progress" => progress(peer, request),
        "close_stdout" => output.close(),
        "list_changed_storm" => {
            let change = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n";
            let storm = change.repeat(request.number("count", 10_000) as usize);
            output.pieces(&[storm.as_bytes()], || ());
            output.line(&request.text("ok"));
        }
        "unknown_notification" => {
            output.line(&notification("notifications/hostile/unknown", &json!({"deep": {"x": [1, 2.0]}})));
            output.line(&request.text("ok"));
        }
        "stderr_flood" => {
            flood::stderr(Amount::Bytes(request.number("bytes", 10_000_000)));
            output.line(&request.text("ok"));
        }
        "ask_ping" => ask(peer, request, "ping"),
        "ask_roots" => ask(peer, request, "roots/list"),
        "ask_unknown" => ask(peer, request, "hostile/unknown"),
        name if raw_answers::write(name, output, request) => {}
        name if is_filler(name) || peer.flags.lists.tools_file.is_some() => output.line(&request.text(name)),
        name => output.line(&request.error(-32602, &format!("Unknown tool: {name}"))),
    }
}

/// Tools that only make lists long.
fn is_filler(name: &str) -> bool {
    ["tool_", "plain_", "big_schema", "bad_schema"].iter().any(|prefix| name.starts_with(prefix))
}

fn progress(peer: &Peer, request: &ParsedRequest) {
    let steps = request.number("steps", 3);
    for step in 1..=steps {
        pause(request.number("every_ms", 100));
        if let Some(token) = request.params["_meta"].get("progressToken") {
            let params = json!({"progressToken": token, "progress": step, "total": steps});
            peer.output.line(&notification("notifications/progress", &params));
        }
    }
    peer.output.line(&request.text("done"));
}

fn ask(peer: &Peer, request: &ParsedRequest, method: &str) {
    let timeout = Duration::from_millis(request.number("ms", 10_000));
    let id = format!("hostile-{}", request.id.trim_matches('"'));
    let answer = peer.questions.ask(&peer.output, &id, method, timeout);
    peer.output.line(&request.text(answer.as_deref().unwrap_or("no answer")));
}

fn exit(request: &ParsedRequest) -> ! {
    std::process::exit(i32::try_from(request.number("code", 7)).unwrap_or(7))
}

fn pause(ms: u64) {
    thread::sleep(Duration::from_millis(ms));
}
