//! A client of one exact revision, over any transport.
//!
//! It speaks raw JSON-RPC of its revision, responds to server requests during a call, and keeps all messages.
//! What no client of its revision should ever see fails the request in which it is seen.

mod changes;
mod exchange;
mod http;
mod link;
mod mirrored;
mod responses;

use std::{collections::VecDeque, fmt, net::SocketAddr, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value, json};
use toolbay_protocol::{Revision, meta};

pub use changes::Subscriptions;
pub use exchange::Exchange;
use http::HttpLink;
use link::{Link, Started};
pub use responses::{ClientResponse, accepting, declining, refusing};

use super::{
    Lines, TIMEOUT,
    lines::{SseLines, WebSocketLines},
};

/// How often a client of a modern revision retries with input before it gives up.
const MOST_ROUNDS: usize = 10;

/// Responds to server requests: from method and parameters to the response.
pub type Respond = Box<dyn FnMut(&str, &Value) -> ClientResponse + Send>;

/// A client that has introduced itself.
pub struct RevisionClient {
    revision: Revision,
    capabilities: Value,
    respond: Respond,
    is_lenient: bool,
    /// Sent with each request of the modern revision.
    level: Option<String>,
    link: Link,
    next_id: u64,
    /// Notifications of changes that were not taken yet.
    changes: VecDeque<Value>,
    /// The request that keeps a subscription of a modern revision open.
    subscription: Option<Started>,
    /// The server's description of itself.
    pub introduction: Value,
}

/// What is to be known before a client is opened.
pub struct Profile {
    revision: Revision,
    capabilities: Value,
    respond: Respond,
    timeout: Duration,
    is_lenient: bool,
}

/// A request that was sent and not waited for.
#[derive(Debug)]
pub struct Pending(Started);

impl Profile {
    /// A client that can do all that its revision knows, and answers everything as `name`.
    pub fn new(revision: Revision, name: &str) -> Self {
        Self {
            revision,
            capabilities: responses::capabilities(revision),
            respond: accepting(name),
            timeout: TIMEOUT,
            is_lenient: false,
        }
    }

    /// Declares these capabilities instead.
    pub fn capabilities(mut self, capabilities: Value) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Sets how it responds to server requests.
    pub fn respond(mut self, respond: Respond) -> Self {
        self.respond = respond;
        self
    }

    /// How long it waits for anything.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Takes a result without a type for a complete one, as clients must; a server must not send such.
    pub fn lenient(mut self) -> Self {
        self.is_lenient = true;
        self
    }

    /// Opens the client over HTTP.
    pub fn over_http(self, address: SocketAddr) -> Result<RevisionClient> {
        let link = HttpLink::new(address, self.revision, self.timeout);
        self.open(Link::Http(Box::new(link)))
    }

    /// Opens the client over HTTP+SSE of 2024-11-05.
    pub fn over_sse(self, address: SocketAddr) -> Result<RevisionClient> {
        let lines = SseLines::open(address, self.timeout)?;
        self.over(lines)
    }

    /// Opens the client over a WebSocket.
    pub fn over_web_socket(self, address: SocketAddr) -> Result<RevisionClient> {
        let lines = WebSocketLines::open(address, self.timeout)?;
        self.over(lines)
    }

    /// Opens the client where messages follow one another: on the pipes of a program, on a socket.
    pub fn over(self, lines: impl Lines + 'static) -> Result<RevisionClient> {
        let timeout = self.timeout;
        self.open(Link::Lines { lines: Box::new(lines), timeout })
    }

    fn open(self, link: Link) -> Result<RevisionClient> {
        let Self { revision, capabilities, respond, is_lenient, .. } = self;
        let mut client = RevisionClient {
            revision,
            capabilities,
            respond,
            is_lenient,
            level: None,
            link,
            next_id: 0,
            changes: VecDeque::new(),
            subscription: None,
            introduction: Value::Null,
        };
        client.introduce().with_context(|| format!("the introduction of a client of {revision}"))?;
        Ok(client)
    }
}

impl RevisionClient {
    fn introduce(&mut self) -> Result<()> {
        if self.revision.is_modern() {
            self.introduction = self.result("server/discover", json!({}))?;
            let versions = &self.introduction["supportedVersions"];
            let offered = versions.as_array().is_some_and(|all| all.contains(&self.revision.as_str().into()));
            ensure!(offered, "it speaks {versions}");
            return Ok(());
        }
        let params = json!({ "protocolVersion": self.revision.as_str(), "capabilities": self.capabilities,
            "clientInfo": { "name": "revision-client", "version": "0" } });
        self.introduction = self.result("initialize", params)?;
        let agreed = &self.introduction["protocolVersion"];
        ensure!(agreed == self.revision.as_str(), "it wants to speak {agreed}");
        self.notify("notifications/initialized", Value::Null)
    }

    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Changes how it responds to server requests.
    pub fn set_respond(&mut self, respond: Respond) {
        self.respond = respond;
    }

    /// Asks for log messages from this level on, as its revision does.
    pub fn set_level(&mut self, level: &str) -> Result<()> {
        if self.revision.is_modern() {
            self.level = Some(level.to_owned());
            return Ok(());
        }
        self.result("logging/setLevel", json!({ "level": level })).map(drop)
    }

    /// Sends a request and tells all that happened until its answer.
    pub fn request(&mut self, method: &str, params: Value) -> Result<Exchange> {
        let mut talk = Exchange::default();
        let mut params = params;
        for _ in 0..MOST_ROUNDS {
            let message = self.message(method, params.clone());
            self.exchange(&message, &mut talk).with_context(|| format!("{method} {params}"))?;
            if talk.response["result"]["resultType"] != "input_required" {
                return Ok(talk);
            }
            self.come_back(&mut params, &mut talk)?;
        }
        bail!("{method}: no end after {MOST_ROUNDS} rounds: {talk:?}")
    }

    /// Sends a request that succeeds, and gives its result.
    pub fn result(&mut self, method: &str, params: Value) -> Result<Value> {
        let mut talk = self.request(method, params)?;
        ensure!(talk.response.get("result").is_some(), "{method} failed: {}", talk.response);
        Ok(talk.response["result"].take())
    }

    /// Calls a tool and tells all that happened.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Result<Exchange> {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// Calls a tool that succeeds, and gives its text.
    pub fn text(&mut self, tool: &str, arguments: Value) -> Result<String> {
        self.call(tool, arguments)?.text().with_context(|| tool.to_owned())
    }

    /// All items of a list: `tools`, `resources`, `prompts` or `resourceTemplates`.
    pub fn list(&mut self, field: &str) -> Result<Vec<Value>> {
        let method = if field == "resourceTemplates" { "resources/templates" } else { field };
        let mut all = Vec::new();
        let mut params = json!({});
        loop {
            let mut result = self.result(&format!("{method}/list"), params.clone())?;
            let Value::Array(items) = result[field].take() else { bail!("no list of {field}: {result}") };
            all.extend(items);
            match result.get("nextCursor") {
                Some(cursor) => params["cursor"] = cursor.clone(),
                None => break,
            }
        }
        if let ("tools", Link::Http(link)) = (field, &mut self.link) {
            link.mirrored.learn(&all);
        }
        Ok(all)
    }

    /// Sends a request and waits for nothing.
    pub fn start(&mut self, method: &str, params: Value) -> Result<Pending> {
        let message = self.message(method, params);
        Ok(Pending(self.link.start(&message)?))
    }

    /// The next message about a request that was not waited for. Nothing else may be expected meanwhile.
    pub fn next_message_of(&mut self, pending: &mut Pending) -> Result<Value> {
        match pending.0.connection.as_mut() {
            Some(connection) => http::next_event(connection),
            None => self.next_heard(),
        }
    }

    /// The answers to requests that were not waited for, in their order. Nothing else may be expected meanwhile.
    pub fn responses(&mut self, pending: Vec<Pending>) -> Result<Vec<Value>> {
        let mut early: Vec<Value> = Vec::new();
        let mut answers = Vec::new();
        for Pending(started) in pending {
            if let Some(mut connection) = started.connection {
                answers.push(http::answer(&mut connection)?);
                continue;
            }
            let mut known = early.iter().position(|answer| answer["id"] == started.id);
            while known.is_none() {
                early.push(self.next_heard()?);
                known = early.iter().position(|answer| answer["id"] == started.id);
            }
            answers.extend(known.map(|index| early.swap_remove(index)));
        }
        Ok(answers)
    }

    /// Cancels a request with the means of its revision and transport.
    pub fn cancel(&mut self, pending: Pending) -> Result<()> {
        let Pending(started) = pending;
        if self.revision.is_modern() && matches!(self.link, Link::Http(_)) {
            drop(started); // to close the stream is to cancel
            return Ok(());
        }
        self.notify(
            "notifications/cancelled",
            json!({ "requestId": started.id, "reason": "changed my mind" }),
        )
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) -> Result<()> {
        let mut message = json!({ "jsonrpc": "2.0", "method": method });
        if !params.is_null() {
            message["params"] = params;
        }
        self.link.post(&message)
    }

    /// A request with the next id.
    fn message(&mut self, method: &str, mut params: Value) -> Value {
        self.next_id += 1;
        if self.revision.is_modern() {
            let about = &mut params["_meta"];
            about[meta::PROTOCOL_VERSION] = self.revision.as_str().into();
            about[meta::CLIENT_INFO] = json!({ "name": "revision-client", "version": "0" });
            about[meta::CLIENT_CAPABILITIES] = self.capabilities.clone();
            if let Some(level) = &self.level {
                about[meta::LOG_LEVEL] = level.as_str().into();
            }
        }
        json!({ "jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params })
    }

    /// Sends a request and takes all messages until its response.
    fn exchange(&mut self, message: &Value, talk: &mut Exchange) -> Result<()> {
        let Self { link, respond, changes, capabilities, revision, .. } = self;
        let answer = link.exchange(message, &mut |heard| {
            talk.hear(heard, changes, |method, params| {
                responses::check(method, params, *revision, capabilities)?;
                ensure!(!revision.is_modern(), "a server request in a modern revision: {method}");
                Ok(respond(method, params))
            })
        })?;
        talk.response = answer;
        let has_type = talk.response["result"].get("resultType").is_some();
        if talk.response.get("result").is_some() && (has_type || !self.is_lenient) {
            ensure!(has_type == self.revision.is_modern(), "not of {}: {}", self.revision, talk.response);
        }
        Ok(())
    }

    /// Responds to the input requests of a result, and returns the parameters of the retry.
    fn come_back(&mut self, params: &mut Value, talk: &mut Exchange) -> Result<()> {
        talk.rounds += 1;
        let result = talk.response["result"].take();
        let questions = result["inputRequests"].as_object().cloned().unwrap_or_default();
        let state = result.get("requestState");
        ensure!(!questions.is_empty() || state.is_some(), "it asks for nothing: {result}");
        let mut answers = Map::new();
        for (key, question) in questions {
            let method = question["method"].as_str().with_context(|| format!("no question: {question}"))?;
            responses::check(method, &question["params"], self.revision, &self.capabilities)?;
            // Modern revisions have no other response.
            if let ClientResponse::Result(answer) = (self.respond)(method, &question["params"]) {
                answers.insert(key, answer);
            }
            talk.server_requests.push(question);
        }
        let retry = params.as_object_mut().context("parameters are an object")?;
        retry.remove("requestState");
        if let Some(state) = state {
            retry.insert("requestState".to_owned(), state.clone());
        }
        retry.insert("inputResponses".to_owned(), answers.into());
        Ok(())
    }
}

impl fmt::Debug for RevisionClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RevisionClient").field("revision", &self.revision).finish_non_exhaustive()
    }
}

impl fmt::Debug for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Profile").field("revision", &self.revision).finish_non_exhaustive()
    }
}
