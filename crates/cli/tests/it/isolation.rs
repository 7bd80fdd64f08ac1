//! Many clients of all revisions at once, all with the same ids and progress tokens: no client gets a message of another.

use std::{
    net::SocketAddr,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use toolbay_protocol::Revision;
use toolbay_testkit::harness::{
    ClientResponse, Hub, Profile, Programs, RevisionClient, Setup, WebServer, accepting, wait_until,
};

const CLIENTS: usize = 200;
const CALLS: usize = 100;
/// Servers on pipes. `shared` is for questions where nothing says whom a question is for. It gets processes of its own
/// for clients that would meet, so what one call leaves there is not for the next to find.
const SERVERS: [(&str, Revision); 3] =
    [("old", Revision::V2025_06_18), ("new", Revision::LATEST), ("shared", Revision::LATEST_LEGACY)];
/// A server with sessions over HTTP.
const WEB: (&str, Revision) = ("web", Revision::LATEST_LEGACY);
/// Every so many clients, one goes to `shared` as well.
const AT_SHARED: usize = 8;

#[test]
fn f18_clients_with_the_same_ids_do_not_interfere() -> Result<()> {
    let scene = Scene::new()?;
    let address = scene.hub.address();
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let client = thread::Builder::new().stack_size(256 * 1024);
                let answered = scene.answered.clone();
                client.spawn_scoped(scope, move || Visitor::open(address, number, answered)?.stay())
            })
            .collect::<Result<_, _>>()?;
        clients.into_iter().enumerate().try_for_each(|(number, client)| {
            client.join().expect("it returns its failures").with_context(|| format!("client {number}"))
        })
    })?;
    ensure!(scene.answered.load(Ordering::Relaxed) > 0, "`shared` never got an answer");
    for (server, _) in SERVERS.into_iter().chain([WEB]) {
        scene.hub.wait_until(server, "has no calls", |server| server["counts"]["in_flight"] == 0)?;
    }
    Ok(())
}

struct Scene {
    hub: Hub,
    /// Questions of `shared` that reached the right client and were answered.
    answered: Arc<AtomicUsize>,
    _web: WebServer,
    _folder: TempDir,
}

impl Scene {
    fn new() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("toolbay-").tempdir()?;
        let programs = Programs::beside(Path::new(env!("CARGO_BIN_EXE_toolbay")))?;
        let web =
            WebServer::run(&programs.path("toolbay-test-server"), &["--revision", WEB.1.as_str()], "--http")?;
        let mut setup = Setup::new(programs, folder.path()).remote(WEB.0, web.url());
        for (name, revision) in SERVERS {
            let flags = ["--revision", revision.as_str()];
            setup = setup.server(name, "toolbay-test-server", &flags, json!({}));
        }
        let hub = setup.start()?;
        for (name, _) in SERVERS.into_iter().chain([WEB]) {
            hub.wait_for(name, "ready")?;
        }
        Ok(Self { hub, answered: Arc::default(), _web: web, _folder: folder })
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // Shown only when the test fails.
        eprintln!("the hub said:\n{}", self.hub.stderr());
    }
}

/// One client, with what it does.
struct Visitor {
    client: RevisionClient,
    number: usize,
    /// What every question must have in it, while one is expected.
    expected: Arc<Mutex<Option<String>>>,
    /// Questions that were for somebody else.
    foreign: Arc<Mutex<Vec<Value>>>,
    answered: Arc<AtomicUsize>,
}

impl Visitor {
    fn open(address: SocketAddr, number: usize, answered: Arc<AtomicUsize>) -> Result<Self> {
        let revision = Revision::ALL[number % Revision::ALL.len()];
        let (expected, foreign) = (Arc::new(Mutex::new(None)), Arc::new(Mutex::new(Vec::new())));
        let (own, strange) = (expected.clone(), foreign.clone());
        let mut answer = accepting(&format!("visitor-{number}"));
        let profile = Profile::new(revision, "visitor").respond(Box::new(move |method, params| {
            let own: Option<String> = own.lock().expect("nobody panics").clone();
            let text = params.to_string();
            if own.is_none_or(|own| method != "roots/list" && !text.contains(&own)) {
                strange.lock().expect("nobody panics").push(json!({ "method": method, "params": params }));
                return ClientResponse::Error { code: -1, message: "not my question".to_owned() };
            }
            answer(method, params)
        }));
        let mut client = profile.over_http(address)?;
        client.set_level("notice")?;
        Ok(Self { client, number, expected, foreign, answered })
    }

    fn stay(mut self) -> Result<()> {
        for call in 0..CALLS {
            let text = format!("<visitor {} call {call}>", self.number);
            self.call(call + self.number, &text).with_context(|| text.clone())?;
            let foreign = self.foreign.lock().expect("nobody panics");
            ensure!(foreign.is_empty(), "{text}: questions of others: {foreign:?}");
        }
        Ok(())
    }

    fn call(&mut self, turn: usize, text: &str) -> Result<()> {
        let server = ["old", "new", "web"][turn % 3];
        let asking = ["new", "web"][turn % 20 / 10];
        match turn % 10 {
            0..=2 => self.echo(server, text),
            3 => self.log(server, text),
            4 | 5 => self.progress(server, text),
            6 => self.ask(asking, "sample", text),
            7 => self.roots(asking),
            8 if self.number.is_multiple_of(AT_SHARED) => self.ask("shared", "sample", text),
            8 if self.client.revision() >= Revision::V2025_06_18 => self.ask(asking, "elicit_rounds", text),
            8 => self.ask(asking, "sample", text),
            _ => self.cancel(server, text),
        }
    }

    fn echo(&mut self, server: &str, text: &str) -> Result<()> {
        let answer = self.client.text(&format!("{server}__echo"), json!({ "text": text }))?;
        ensure!(answer == text, "the answer is {answer}");
        Ok(())
    }

    /// How many steps there are tells whose progress it is.
    fn progress(&mut self, server: &str, text: &str) -> Result<()> {
        let steps = 1 + self.number % 7;
        let params = json!({ "name": format!("{server}__progress"), "_meta": { "progressToken": "p" },
            "arguments": { "steps": steps, "text": text } });
        let client = self.client.request("tools/call", params)?;
        ensure!(client.text()? == text, "{client:?}");
        let expected: Vec<Value> = (1..=steps)
            .map(|step| json!({ "progressToken": "p", "progress": step, "total": steps }))
            .collect();
        ensure!(client.progress == expected, "{client:?}");
        Ok(())
    }

    /// On pipes that others use as well nothing says whose log message one is: then it is nobody's.
    fn log(&mut self, server: &str, text: &str) -> Result<()> {
        let arguments = json!({ "count": 2, "level": "warning", "text": text });
        let client = self.client.call(&format!("{server}__log"), arguments)?;
        let own = |number| json!({ "level": "warning", "logger": "test", "data": { "number": number, "text": text } });
        let all = [own(1), own(2)];
        let is_right = match server {
            "web" => client.logs == all,
            _ => client.logs.iter().all(|log| all.contains(log)),
        };
        ensure!(client.text()? == "logged" && is_right, "{client:?}");
        Ok(())
    }

    fn ask(&mut self, server: &str, tool: &str, text: &str) -> Result<()> {
        *self.expected.lock().expect("nobody panics") = Some(text.to_owned());
        let client = self.client.call(&format!("{server}__{tool}"), json!({ "text": text, "rounds": 2 }))?;
        *self.expected.lock().expect("nobody panics") = None;
        let me = format!("visitor-{}", self.number);
        let expected = match tool {
            "sample" => format!("sampled for {me}"),
            _ => format!("name of {me} then name of {me}"),
        };
        match client.text() {
            Ok(answer) => {
                ensure!(answer == expected, "{client:?}");
                self.answered.fetch_add((server == "shared").into(), Ordering::Relaxed);
            }
            // Where nothing says whom a question is for, it is for nobody.
            Err(_) if server == "shared" => ensure!(client.failure()?.1.contains("refused"), "{client:?}"),
            Err(error) => bail!(error),
        }
        Ok(())
    }

    fn roots(&mut self, server: &str) -> Result<()> {
        *self.expected.lock().expect("nobody panics") = Some(String::new());
        let answer = self.client.text(&format!("{server}__list_roots"), json!({}))?;
        *self.expected.lock().expect("nobody panics") = None;
        ensure!(answer == format!("file:///visitor-{}", self.number), "the answer is {answer}");
        Ok(())
    }

    /// Cancels a call while others have calls with the same id.
    fn cancel(&mut self, server: &str, text: &str) -> Result<()> {
        let params = json!({ "name": format!("{server}__hang"), "arguments": { "key": text },
            "_meta": { "progressToken": "p" } });
        let mut pending = self.client.start("tools/call", params)?;
        let heard = self.client.next_message_of(&mut pending)?;
        ensure!(heard["method"] == "notifications/progress", "{heard}");
        self.client.cancel(pending)?;
        let tool = format!("{server}__fate");
        wait_until("it is cancelled", || {
            let fate: Value = serde_json::from_str(&self.client.text(&tool, json!({ "key": text }))?)?;
            if fate["fate"] == "cancelled" {
                return Ok(Some(()));
            }
            thread::sleep(Duration::from_millis(20));
            Ok(None)
        })
    }
}
