//! The same calls, directly to a server and through the hub: what arrives is the same to the byte, except for what
//! ARCHITECTURE.md lists under "What the hub changes in messages".
//!
//! Each case runs over every front (HTTP with and without a session, stdio with and without a handshake) against a
//! server of either revision. Texts of values are compared, never trees: `1.0` is not `1`.

mod cases;
mod definitions;
mod peers;
mod raw;

use std::path::Path;

use anyhow::{Context, Result, ensure};
use toolbay_testkit::harness::{Programs, Setup};

use peers::{Front, Peer};
use raw::{field, fields, one_line};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RevisionKind {
    Legacy,
    Modern,
}

/// What a request of the stateless revision carries in `_meta`.
const MODERN_META: &str = concat!(
    r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientInfo":{"name":"test","version":"0"},"#,
    r#""io.modelcontextprotocol/clientCapabilities":{},"#
);
/// Fields of `_meta` that differ between revisions, or that are ours towards the server.
const META_THAT_CHANGES: [&str; 5] = [
    "progressToken",
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities",
    "io.modelcontextprotocol/logLevel",
];
/// Fields of a result that one revision has and the other has not.
const RESULT_THAT_CHANGES: [&str; 3] = ["resultType", "ttlMs", "cacheScope"];

const FRONTS: [Front; 4] = [
    Front::Http(RevisionKind::Legacy),
    Front::Http(RevisionKind::Modern),
    Front::Stdio(RevisionKind::Legacy),
    Front::Stdio(RevisionKind::Modern),
];

/// Runs `compare` for each front and each revision of the server, with the server itself and the way through the hub.
fn everywhere(compare: impl Fn(&mut Pair) -> Result<()>) -> Result<()> {
    let programs = Programs::beside(Path::new(env!("CARGO_BIN_EXE_toolbay")))?;
    for server in [RevisionKind::Legacy, RevisionKind::Modern] {
        let flags = ["--revisions", if server == RevisionKind::Legacy { "legacy" } else { "modern" }];
        for front in FRONTS {
            let folder = tempfile::Builder::new().prefix("toolbay-").tempdir()?;
            let mut tuning = serde_json::json!({ "probe_timeout": "10s" });
            if server == RevisionKind::Modern {
                // What is looked at and found to be right is not changed either.
                tuning["validate_output"] = "warn".into();
            }
            let setup = Setup::new(programs.clone(), folder.path());
            let setup = setup.server("s", "toolbay-test-server", &flags, tuning);
            let direct = Peer::direct(programs.pipe("toolbay-test-server", &flags)?, server)?;
            let mut pair = Pair { server, direct, through: Peer::through(setup, front, "s__mirror")? };
            compare(&mut pair).with_context(|| format!("{front:?}, {server:?} server"))?;
        }
    }
    Ok(())
}

/// A server, and the same server behind the hub.
struct Pair {
    server: RevisionKind,
    direct: Peer,
    through: Peer,
}

impl Pair {
    fn is_bridged(&self) -> bool {
        self.server != self.through.revision()
    }

    /// Sends the same request both ways; gives both results as they were written.
    ///
    /// `NAME` stands for the name of the tool or prompt, `META` for what the revision puts into `_meta`.
    fn ask(&mut self, id: &str, method: &str, name: &str, params: &str) -> Result<(String, String)> {
        let direct = self.direct.ask(id, method, name, params)?;
        let through = self.through.ask(id, method, &format!("s__{name}"), params)?;
        for answer in [&direct, &through] {
            ensure!(field(answer, "id")? == Some(id.to_owned()), "asked as {id}, answered {answer}");
        }
        let result = |answer: &str| {
            field(answer, "result")?.with_context(|| format!("{method} {name}: no result: {answer}"))
        };
        Ok((result(&direct)?, result(&through)?))
    }
}

#[test]
fn arguments_and_unknown_fields_reach_the_server_as_they_were_written() -> Result<()> {
    everywhere(|pair| {
        for (number, params) in cases::params().iter().enumerate() {
            let id = cases::IDS[number % cases::IDS.len()];
            let (direct, through) = pair.ask(id, "tools/call", "mirror", params)?;
            let (direct, through) = (mirrored(&direct)?, mirrored(&through)?);
            same_params(&direct, &through, pair.is_bridged()).with_context(|| one_line(params))?;
        }
        Ok(())
    })
}

/// The `params` that arrived, out of the result of the tool `mirror`.
fn mirrored(result: &str) -> Result<String> {
    let result: serde_json::Value = serde_json::from_str(result)?;
    let text = result["content"][0]["text"].as_str();
    Ok(text.with_context(|| format!("not what `mirror` answers: {result}"))?.to_owned())
}

fn same_params(direct: &str, through: &str, bridged: bool) -> Result<()> {
    let but_meta = |params: &str| -> Result<Vec<(String, String)>> {
        Ok(fields(params)?.into_iter().filter(|(key, _)| key != "_meta").collect())
    };
    ensure!(but_meta(direct)? == but_meta(through)?, "\ndirect:  {direct}\nthrough: {through}");
    let meta = |params: &str| -> Result<Vec<(String, String)>> {
        let meta = field(params, "_meta")?.unwrap_or_else(|| "{}".to_owned());
        Ok(fields(&meta)?.into_iter().filter(|(key, _)| !META_THAT_CHANGES.contains(&key.as_str())).collect())
    };
    ensure!(meta(direct)? == meta(through)?, "_meta\ndirect:  {direct}\nthrough: {through}");
    let has_token = |params: &str| -> Result<Option<String>> {
        field(&field(params, "_meta")?.unwrap_or_else(|| "{}".to_owned()), "progressToken")
    };
    // With a token from the client nothing is added: then even the white space is the same.
    if !bridged && let (Some(ours), Some(theirs)) = (has_token(through)?, has_token(direct)?) {
        let masked =
            through.replacen(&format!("\"progressToken\":{ours}"), &format!("\"progressToken\":{theirs}"), 1);
        ensure!(direct == masked, "white space\ndirect:  {direct}\nthrough: {through}");
    }
    Ok(())
}

#[test]
fn results_reach_the_client_as_they_were_written() -> Result<()> {
    everywhere(|pair| {
        for result in cases::results() {
            let result = match pair.server {
                RevisionKind::Modern => result.replacen("RESULT_TYPE", r#""resultType":"complete","#, 1),
                RevisionKind::Legacy => result.replacen("RESULT_TYPE", "", 1),
            };
            let json = serde_json::Value::from(result.as_str()).to_string();
            let params =
                format!(r#"{{"name":"NAME","arguments":{{"json":{json}}},"_meta":{{META"a/b":1}}}}"#);
            let (direct, through) = pair.ask("1", "tools/call", "raw", &params)?;
            ensure!(direct == one_line(&result), "the server wrote {direct} for {result}");
            same_result(&direct, &through, pair.is_bridged())?;
        }
        Ok(())
    })
}

fn same_result(direct: &str, through: &str, bridged: bool) -> Result<()> {
    if !bridged {
        ensure!(direct == through, "\ndirect:  {direct}\nthrough: {through}");
        return Ok(());
    }
    let kept = |result: &str| -> Result<Vec<(String, String)>> {
        Ok(fields(result)?
            .into_iter()
            .filter(|(key, _)| !RESULT_THAT_CHANGES.contains(&key.as_str()))
            .collect())
    };
    ensure!(kept(direct)? == kept(through)?, "\ndirect:  {direct}\nthrough: {through}");
    Ok(())
}

#[test]
fn prompts_and_resources_are_the_same_too() -> Result<()> {
    everywhere(|pair| {
        let odd = r#""zz":{"a":1.0,"b":[1e400]},"_meta":{META"x/y":-0}"#;
        let greet = format!(r#"{{"arguments":{{"name":"\u00e9 \/ \ud83d\ude00"}},"name":"NAME",{odd}}}"#);
        let readme = format!(r#"{{"uri":"test:\/\/readme",{odd}}}"#);
        let user = format!(r#"{{"uri":"test://user/4\u0032",{odd}}}"#);
        for (method, name, params) in
            [("prompts/get", "greet", greet), ("resources/read", "", readme), ("resources/read", "", user)]
        {
            let (direct, through) = pair.ask("\"p\"", method, name, &params)?;
            same_result(&direct, &through, pair.is_bridged()).with_context(|| params.clone())?;
        }
        Ok(())
    })
}

#[test]
fn tools_are_listed_as_they_were_written_but_for_their_names() -> Result<()> {
    everywhere(|pair| {
        let (direct, through) = pair.ask("7", "tools/list", "", r#"{"_meta":{META"a/b":1}}"#)?;
        let unprefixed = |item: &String| item.replacen("\"name\":\"s__", "\"name\":\"", 1);
        let (direct, through) =
            (tools(&direct)?, tools(&through)?.iter().map(unprefixed).collect::<Vec<_>>());
        ensure!(direct == through, "\ndirect:  {direct:?}\nthrough: {through:?}");
        Ok(())
    })
}

/// The tools of a list, each as it was written.
fn tools(result: &str) -> Result<Vec<String>> {
    let list = field(result, "tools")?.context("no tools")?;
    let list: Vec<Box<serde_json::value::RawValue>> = serde_json::from_str(&list)?;
    Ok(list.iter().map(|item| item.get().to_owned()).collect())
}

#[test]
fn progress_arrives_as_it_was_written_under_the_clients_own_token() -> Result<()> {
    everywhere(|pair| {
        let params = r#"{"name":"NAME","arguments":{"ms":30,"progress_ms":10},"_meta":{META"progressToken":"my\u0020token"}}"#;
        let (direct, through) = pair.ask("9", "tools/call", "sleep", params)?;
        same_result(&direct, &through, pair.is_bridged())?;
        let (direct, through) = (pair.direct.take_notifications(), pair.through.take_notifications());
        ensure!(direct.len() == 3, "{direct:?}");
        ensure!(direct == through, "\ndirect:  {direct:?}\nthrough: {through:?}");
        Ok(())
    })
}
