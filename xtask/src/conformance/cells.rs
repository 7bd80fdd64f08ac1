//! What is run: which scenarios, against which server, on which way.

/// One run of the suite.
#[derive(Debug)]
pub(super) struct Cell {
    pub(super) name: &'static str,
    pub(super) play: Play,
    /// What may fail: a file in `tests/conformance`.
    pub(super) baseline: &'static str,
}

/// Which side the suite is on.
#[derive(Debug, Clone, Copy)]
pub(super) enum Play {
    /// It is the client of a server.
    Server(ServerPlay),
    /// It is the server of a hub.
    Client(ClientPlay),
    /// It is a client of the authorization proxy of a hub.
    AuthorizationServer,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ServerPlay {
    pub(super) suite: Suite,
    pub(super) server: Server,
    pub(super) way: Way,
    /// The revision that clients are made to insist on.
    pub(super) forced: Option<&'static str>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ClientPlay {
    /// That of the server.
    pub(super) revision: &'static str,
    /// That of the client in front of the hub.
    pub(super) front: &'static str,
    pub(super) scenarios: &'static [&'static str],
}

/// Which scenarios.
#[derive(Debug, Clone, Copy)]
pub(super) enum Suite {
    /// All of one revision, and how many those are.
    Revision(&'static str, usize),
    /// Those of the tasks extension, which belongs to no revision.
    Tasks,
}

/// The server of a cell.
#[derive(Debug, Clone, Copy)]
pub(super) enum Server {
    /// The fixture, with the revisions that it supports.
    Fixture(&'static str),
    /// The same on the official TypeScript SDK, on stdio alone.
    TypeScript(&'static str),
}

/// How the suite reaches it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Way {
    /// Over HTTP, with nothing in between.
    Direct,
    /// Through the hub, which names its tools like this.
    Hub(Upstream, &'static str),
}

/// How the hub reaches it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Upstream {
    /// As its child.
    Stdio,
    /// By its URL.
    Http,
}

pub(super) const TASKS: [&str; 10] = [
    "tasks-capability-negotiation",
    "tasks-dispatch-and-envelope",
    "tasks-lifecycle",
    "tasks-mrtr-composition",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-request-state-removal",
    "tasks-required-task-error",
    "tasks-status-notifications",
    "tasks-wire-fields",
];

/// What a server of each revision asks of a client, but for authorisation.
const OF_CLIENTS_JUNE_2025: &[&str] = &["initialize", "tools_call"];
const OF_CLIENTS_NOVEMBER_2025: &[&str] = &[
    "elicitation-sep1034-client-defaults",
    "initialize",
    "json-schema-2020-12-preservation",
    "sse-retry",
    "tools_call",
];
const OF_CLIENTS_JULY_2026: &[&str] = &[
    "http-custom-headers",
    "http-invalid-tool-headers",
    "http-standard-headers",
    "json-schema-2020-12-preservation",
    "json-schema-ref-no-deref",
    "request-metadata",
    "sep-2322-client-request-state",
    "tools_call",
];

/// What protected servers ask of a client.
const AUTHORIZATION_JULY_2026: &[&str] = &[
    "auth/authorization-server-migration",
    "auth/basic-cimd",
    "auth/iss-normalized",
    "auth/iss-not-advertised",
    "auth/iss-supported",
    "auth/iss-supported-missing",
    "auth/iss-unexpected",
    "auth/iss-wrong-issuer",
    "auth/metadata-default",
    "auth/metadata-issuer-mismatch",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/offline-access-not-supported",
    "auth/offline-access-scope",
    "auth/pre-registration",
    "auth/resource-mismatch",
    "auth/scope-from-scopes-supported",
    "auth/scope-from-www-authenticate",
    "auth/scope-omitted-when-undefined",
    "auth/scope-retry-limit",
    "auth/scope-step-up",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-none",
    "auth/token-endpoint-auth-post",
];
const AUTHORIZATION_EXTENSIONS: &[&str] = &[
    "auth/client-credentials-basic",
    "auth/client-credentials-jwt",
    "auth/dpop",
    "auth/dpop-nonce",
    "auth/enterprise-managed-authorization",
    "auth/wif-jwt-bearer",
];
const AUTHORIZATION_MARCH_2025: &[&str] =
    &["auth/2025-03-26-oauth-endpoint-fallback", "auth/2025-03-26-oauth-metadata-backcompat"];

/// Those in which the server or its authorization server does wrong, and the client must give up.
const MUST_REFUSE: &[&str] = &[
    "auth/iss-normalized",
    "auth/iss-supported-missing",
    "auth/iss-unexpected",
    "auth/iss-wrong-issuer",
    "auth/metadata-issuer-mismatch",
    "auth/resource-mismatch",
    "auth/scope-retry-limit",
];

const JUNE_2025: Suite = Suite::Revision("2025-06-18", 27);
const NOVEMBER_2025: Suite = Suite::Revision("2025-11-25", 33);
const JULY_2026: Suite = Suite::Revision("2026-07-28", 40);

const LEGACY: Server = Server::Fixture("legacy");
const MODERN: Server = Server::Fixture("modern");
const BOTH: Server = Server::Fixture("both");

pub(super) const CELLS: &[Cell] = &[
    // The fixture itself, so that what fails further down is not its fault.
    Cell::direct("direct/2025-06-18", JUNE_2025, BOTH),
    Cell::direct("direct/2025-11-25", NOVEMBER_2025, BOTH),
    Cell::direct("direct/2026-07-28", JULY_2026, BOTH),
    Cell::direct("direct/tasks", Suite::Tasks, BOTH),
    Cell::direct("direct/legacy/2025-11-25", NOVEMBER_2025, LEGACY),
    Cell::direct("direct/modern/2026-07-28", JULY_2026, MODERN),
    Cell::direct("direct/forced/2024-11-05", JUNE_2025, LEGACY).forced("2024-11-05"),
    // A server that supports all revisions, through the hub.
    Cell::hub("hub/2025-06-18", JUNE_2025, BOTH),
    Cell::hub("hub/2025-11-25", NOVEMBER_2025, BOTH),
    Cell::hub("hub/2026-07-28", JULY_2026, BOTH),
    Cell::hub("hub/tasks", Suite::Tasks, BOTH),
    // Client and server of the same kind of revision.
    Cell::hub("hub/legacy/2025-06-18", JUNE_2025, LEGACY),
    Cell::hub("hub/legacy/2025-11-25", NOVEMBER_2025, LEGACY),
    Cell::hub("hub/modern/2026-07-28", JULY_2026, MODERN),
    // Client and server of different kinds of revisions, which cannot connect without the hub.
    Cell::hub("cross/legacy/2026-07-28", JULY_2026, LEGACY).expecting("legacy-server.yml"),
    Cell::hub("cross/modern/2025-06-18", JUNE_2025, MODERN),
    Cell::hub("cross/modern/2025-11-25", NOVEMBER_2025, MODERN),
    // The same with a server that the hub finds at a URL.
    Cell::url("url/legacy/2025-11-25", NOVEMBER_2025, LEGACY),
    Cell::url("url/modern/2026-07-28", JULY_2026, MODERN),
    Cell::url("url/both/tasks", Suite::Tasks, BOTH),
    Cell::url("url/cross/legacy/2026-07-28", JULY_2026, LEGACY).expecting("legacy-server.yml"),
    Cell::url("url/cross/modern/2025-11-25", NOVEMBER_2025, MODERN),
    // A server on the other official SDK.
    Cell::hub("typescript/2025-11-25", NOVEMBER_2025, Server::TypeScript("both")),
    Cell::hub("typescript/2026-07-28", JULY_2026, Server::TypeScript("both")),
    Cell::hub("typescript/legacy/2026-07-28", JULY_2026, Server::TypeScript("legacy"))
        .expecting("legacy-server.yml"),
    Cell::hub("typescript/modern/2025-11-25", NOVEMBER_2025, Server::TypeScript("modern")),
    // Clients of revisions that the suite itself does not speak.
    Cell::hub("forced/2024-11-05", JUNE_2025, BOTH).forced("2024-11-05").expecting("forced-2024-11-05.yml"),
    Cell::hub("forced/2025-03-26", JUNE_2025, BOTH).forced("2025-03-26"),
    Cell::hub("forced/2025-06-18", JUNE_2025, BOTH).forced("2025-06-18"),
    // Names with a prefix in lists, and without one in calls.
    Cell::prefixed("prefix+alias/2025-11-25", NOVEMBER_2025, BOTH),
    Cell::prefixed("prefix+alias/2026-07-28", JULY_2026, BOTH),
    // The hub as a client of the suite's own servers.
    Cell::client("client/2025-06-18", "2025-06-18", "2025-06-18", OF_CLIENTS_JUNE_2025),
    Cell::client("client/2025-11-25", "2025-11-25", "2025-11-25", OF_CLIENTS_NOVEMBER_2025),
    Cell::client("client/2026-07-28", "2026-07-28", "2026-07-28", OF_CLIENTS_JULY_2026),
    Cell::client("client/cross/2025-11-25", "2025-11-25", "2026-07-28", OF_CLIENTS_NOVEMBER_2025),
    Cell::client("client/cross/2026-07-28", "2026-07-28", "2025-11-25", OF_CLIENTS_JULY_2026),
    // The OAuth client at the suite's protected servers, without a hub.
    Cell::client("auth/2025-03-26", "2025-03-26", "2025-11-25", AUTHORIZATION_MARCH_2025),
    Cell::client("auth/2026-07-28", "2026-07-28", "2026-07-28", AUTHORIZATION_JULY_2026),
    Cell::client("auth/extensions", "", "2025-11-25", AUTHORIZATION_EXTENSIONS),
    // The hub as an authorization server.
    Cell { name: "authorization-server", play: Play::AuthorizationServer, baseline: "none.yml" },
];

/// The scenarios of authorization servers, which the suite always runs together.
const OF_AUTHORIZATION_SERVERS: [&str; 2] =
    ["authorization-server-metadata-endpoint", "authorization-code-grant"];

impl Cell {
    const fn new(name: &'static str, suite: Suite, server: Server, way: Way) -> Self {
        let play = Play::Server(ServerPlay { suite, server, way, forced: None });
        Self { name, play, baseline: "none.yml" }
    }

    const fn direct(name: &'static str, suite: Suite, server: Server) -> Self {
        Self::new(name, suite, server, Way::Direct)
    }

    const fn hub(name: &'static str, suite: Suite, server: Server) -> Self {
        Self::new(name, suite, server, Way::Hub(Upstream::Stdio, "none"))
    }

    const fn url(name: &'static str, suite: Suite, server: Server) -> Self {
        Self::new(name, suite, server, Way::Hub(Upstream::Http, "none"))
    }

    const fn prefixed(name: &'static str, suite: Suite, server: Server) -> Self {
        Self::new(name, suite, server, Way::Hub(Upstream::Stdio, "prefix+alias"))
            .expecting("prefix-alias.yml")
    }

    const fn client(
        name: &'static str,
        revision: &'static str,
        front: &'static str,
        scenarios: &'static [&'static str],
    ) -> Self {
        Self { name, play: Play::Client(ClientPlay { revision, front, scenarios }), baseline: "none.yml" }
    }

    const fn forced(self, revision: &'static str) -> Self {
        let play = match self.play {
            Play::Server(play) => Play::Server(ServerPlay { forced: Some(revision), ..play }),
            play @ (Play::Client(_) | Play::AuthorizationServer) => play,
        };
        Self { play, ..self }
    }

    const fn expecting(self, baseline: &'static str) -> Self {
        Self { baseline, ..self }
    }

    /// How many scenarios there are.
    pub(super) fn scenarios(&self) -> usize {
        match self.play {
            Play::Server(play) => play.suite.scenarios(),
            Play::Client(play) => play.scenarios.len(),
            Play::AuthorizationServer => OF_AUTHORIZATION_SERVERS.len(),
        }
    }

    /// The cell in words.
    pub(super) fn about(&self) -> String {
        let about = match self.play {
            Play::Server(play) => play.about(),
            Play::Client(play) if play.scenarios[0].starts_with("auth/") => {
                format!("protected servers of the suite, {} scenarios, without a hub", play.scenarios.len())
            }
            Play::Client(ClientPlay { revision, front, .. }) => {
                format!("server of {revision} behind the hub, client of {front}")
            }
            Play::AuthorizationServer => {
                "authorization proxy of a hub, with a provider and a person's browser".to_owned()
            }
        };
        format!("{about}; {} may fail", self.baseline)
    }
}

impl ClientPlay {
    /// In how many scenarios the client must end with an error.
    pub(super) fn refusals(self) -> usize {
        self.scenarios.iter().filter(|scenario| MUST_REFUSE.contains(scenario)).count()
    }
}

impl ServerPlay {
    fn about(self) -> String {
        let scenarios = match self.suite {
            Suite::Revision(revision, _) => revision,
            Suite::Tasks => "tasks extension",
        };
        let server = match self.server {
            Server::Fixture(revisions) => format!("fixture of {revisions} revisions"),
            Server::TypeScript(revisions) => format!("TypeScript server of {revisions} revisions"),
        };
        let way = match self.way {
            Way::Direct => "directly".to_owned(),
            Way::Hub(Upstream::Stdio, naming) => format!("through the hub (naming {naming})"),
            Way::Hub(Upstream::Http, naming) => format!("at a URL through the hub (naming {naming})"),
        };
        let forced = self.forced.map(|revision| format!(", clients of {revision}")).unwrap_or_default();
        format!("{scenarios}: {server} {way}{forced}")
    }
}

impl Suite {
    fn scenarios(self) -> usize {
        match self {
            Self::Revision(_, scenarios) => scenarios,
            Self::Tasks => TASKS.len(),
        }
    }
}
