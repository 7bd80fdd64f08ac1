//! Many servers as one.
//!
//! A [`Host`] starts the configured servers, keeps a [`RouteTable`] of everything they offer under names of our own, and
//! sends calls to the server that owns a name. The table is rebuilt whenever a catalog changes and swapped in whole:
//! readers never wait, and never see half of a change.
//!
//! This is the engine of the hub and of agents; programs of others use it through `toolbay_agent`.
//!
//! # Invariants
//!
//! - Routing is an exact table made when lists arrive, never a split of a string; it knows no transport and no revision.
//! - One failing server takes nothing from the others: not their tools, not their time.
//! - Calls of this program go through [`Host::dispatch`], as all others.

#![forbid(unsafe_code)]

mod catalog;
mod events;
mod host;
mod reconcile;
mod router;
mod servers;
mod subscriptions;
mod view;

pub use catalog::{
    CatalogReview, CatalogSource, HiddenItem, ListPages, ListedTool, Naming, OutputCheck, OutputRules,
    Quarantined, ResourceRoute, ReviewedCatalog, Route, RouteTable, ServerPart, Validator, list_page,
    qualified_uri, slugs,
};
pub use events::{ConfigProblem, HostChange, HostChanges, HostEvent, HostEventKind, HostEvents};
pub use host::{Connector, Host, HostOptions, InProcess};
pub use reconcile::{ApplyReport, ServerError, ServerStatus};
pub use router::{ConsentRequest, HostRequest, RequestTarget, Resume, Routed, Unavailable, failed_result};
pub use servers::auth::{AuthenticationError, Authorizers};
pub use servers::launch::{connect_options, refusing, server_endpoint, server_settings};
pub use servers::secrets::{SecretFuture, SecretLookup, completion};
pub use servers::state::ServerState;
pub use subscriptions::ResourceWatch;
pub use toolbay_config::{Problem, SecretPlace, ServerConfig, ServerOptions};
pub use toolbay_protocol::{ErrorCode, LogLevel, Revision, ServerName};
pub use toolbay_schema::SchemaView;
pub use toolbay_transport::{Connection, memory};
pub use toolbay_upstream::{
    CacheHints, CallError, CallEvent, CallEventSender, CallEvents, CallResponse, CallUpdate, Caller,
    CallerId, Catalog, CatalogKind, ClientIdentity, ClientReply, Counts, Endpoint, Failure, Hint, HubChain,
    HubsBehind, InFlight, Incomplete, LogFilter, LogLine, LogRing, LogSource, MAX_HUBS, PathSender,
    PendingPath, Phase, ResourceSubscription, RunningCall, ServerHandle, ServerRequest, Shim, UpstreamState,
    UpstreamStatus, capture, custom, events, shim,
};
pub use view::{OwnConnections, ServerInView, ToolInView, ViewPolicy};
