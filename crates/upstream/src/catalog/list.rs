//! Listing what a server offers, page by page.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use bytes::Bytes;
use toolbay_protocol::{
    ErrorCode, ObjectBuilder, Revision, decode_string,
    header_params::{HeaderParam, header_params},
    model::{Tool, list_items},
};

use crate::{
    CacheHints, Catalog, CatalogKind, HubsBehind,
    connection::{
        handshake::ServerIdentity,
        requester::{NoResponse, Requester},
    },
};

const MAX_PAGES: usize = 100;
const MAX_ITEMS: usize = 2048;
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// Lists everything that a server says it has.
pub(crate) async fn catalog(peer: &Requester, identity: &ServerIdentity) -> Catalog {
    let mut catalog = Catalog::default();
    identity.store(&mut catalog);
    for kind in declared(identity.capabilities.as_deref()) {
        let listed = list(peer, kind, identity.revision, !identity.hubs.is_empty()).await;
        listed.store(kind, &mut catalog);
    }
    catalog
}

/// Whose changes a server with these capabilities announces.
pub(crate) fn announced(capabilities: Option<&str>) -> [bool; 4] {
    let declared: serde_json::Value =
        capabilities.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    CatalogKind::ALL.map(|kind| declared[kind.capability()]["listChanged"] == true)
}

/// The kinds of lists that a server declares. One that declares nothing at all is asked for tools.
pub(crate) fn declared(capabilities: Option<&str>) -> Vec<CatalogKind> {
    let capabilities: serde_json::Map<String, serde_json::Value> =
        capabilities.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let declares = |kind: &CatalogKind| capabilities.contains_key(kind.capability());
    let kinds: Vec<CatalogKind> = CatalogKind::ALL.into_iter().filter(declares).collect();
    if kinds.is_empty() { vec![CatalogKind::Tools] } else { kinds }
}

/// What one kind of list came to.
#[derive(Debug, Default)]
pub(crate) struct ListResult {
    items: Vec<Bytes>,
    /// What its pages say together about keeping them.
    hints: Option<CacheHints>,
    problem: Option<String>,
    /// Nothing was learned at all: keep what is known.
    failed: bool,
    /// The hubs that the server consists of now, if it is one.
    hubs: Option<HubsBehind>,
}

impl ListResult {
    /// Nothing came in time.
    pub(crate) fn no_response(after: Duration) -> Self {
        broken(Self::default(), format!("no response within {} s", after.as_secs_f32()))
    }

    /// Puts it into the catalog, in the place of what was there.
    pub(crate) fn store(self, kind: CatalogKind, catalog: &mut Catalog) {
        let prefix = format!("{}: ", kind.list_method());
        catalog.problems.retain(|problem| !problem.starts_with(&prefix));
        catalog.problems.extend(self.problem.map(|problem| prefix + &problem));
        if let Some(hubs) = self.hubs {
            catalog.hubs = hubs;
        }
        if !self.failed {
            catalog.set(kind, self.items, self.hints);
        }
    }
}

/// All pages of one kind, as far as our limits allow. A hub is asked for the hubs behind it, too: some may have joined.
pub(crate) async fn list(
    peer: &Requester,
    kind: CatalogKind,
    revision: Revision,
    is_hub: bool,
) -> ListResult {
    let mut listed = ListResult::default();
    let mut seen = HashSet::new();
    let mut known = HashSet::new();
    let mut cursor: Option<String> = None;
    let mut bytes = 0;
    for _ in 0..MAX_PAGES {
        let more = match &cursor {
            Some(cursor) => ObjectBuilder::new().string("cursor", cursor),
            None => ObjectBuilder::new(),
        };
        let params =
            if is_hub { peer.params_through(revision, more) } else { peer.our_params(revision, more) };
        let response = match peer.request(kind.list_method(), params).await {
            Ok(response) => response,
            Err(NoResponse::Gone) => return ListResult { failed: true, ..listed },
            Err(NoResponse::Failed(error)) => return broken(listed, error.to_string()),
        };
        if let Some(error) = response.error() {
            // Templates are often not implemented by servers that have resources.
            if kind == CatalogKind::ResourceTemplates && error.code == ErrorCode::METHOD_NOT_FOUND {
                return listed;
            }
            return broken(listed, format!("error {}: {}", error.code, error.message));
        }
        if let Some(chain) = peer.chain.as_ref().filter(|_| is_hub) {
            let hubs = listed.hubs.insert(HubsBehind::of(&response));
            if let Some(reason) = chain.refusal(hubs) {
                // Not a failure: else what it listed before would stay.
                return ListResult { items: Vec::new(), problem: Some(reason), ..listed };
            }
        }
        if revision.features().has_cache_hints() {
            let page_hints = CacheHints::of(&response);
            listed.hints = Some(listed.hints.map_or(page_hints, |hints| hints.and(page_hints)));
        }
        let Some(span) = response.result_field(kind.field()) else {
            return broken(listed, format!("the result has no `{}`", kind.field()));
        };
        let Ok(items) = list_items(&response.text.slice(span.range())) else {
            return broken(listed, format!("`{}` is not an array", kind.field()));
        };
        for item in items {
            bytes += item.len();
            if listed.items.len() == MAX_ITEMS || bytes > MAX_BYTES {
                listed.problem =
                    Some(format!("more than {MAX_ITEMS} items or {MAX_BYTES} bytes; the rest is omitted"));
                return listed;
            }
            // A copy, so that one item does not keep the whole page in memory.
            let item = Bytes::copy_from_slice(&item);
            // Pages may overlap: what stands twice, to the byte, is one item.
            if known.insert(item.clone()) {
                listed.items.push(item);
            }
        }
        cursor = response
            .result_field("nextCursor")
            .and_then(|span| decode_string(&response.text[span.range()]).map(std::borrow::Cow::into_owned));
        match &cursor {
            None => return listed,
            Some(next) if !seen.insert(next.clone()) => {
                listed.problem = Some(format!("the cursor {next:?} was repeated"));
                return listed;
            }
            Some(_) => {}
        }
    }
    listed.problem = Some(format!("more than {MAX_PAGES} pages; the rest is omitted"));
    listed
}

fn broken(listed: ListResult, problem: String) -> ListResult {
    let failed = listed.items.is_empty();
    ListResult { problem: Some(problem), failed, ..listed }
}

/// What a list of tools comes to where arguments are repeated in headers.
#[derive(Debug, Default)]
pub(crate) struct SortedTools {
    pub(crate) tools: Vec<Bytes>,
    pub(crate) rules: HashMap<String, Vec<HeaderParam>>,
    /// Tools that are left out, and why.
    pub(crate) problems: Vec<String>,
}

/// Sorts tools. As the specification wants it, one whose annotations are wrong is left out.
pub(crate) fn sort(tools: &[Bytes]) -> SortedTools {
    let mut sorted = SortedTools::default();
    for text in tools {
        // What is no tool is for others to judge.
        let tool = Tool::parse(text.clone()).ok();
        let schema = tool.as_ref().and_then(|tool| Some((tool.name(), tool.input_schema()?)));
        match schema.map(|(name, schema)| (name, header_params(schema))) {
            Some((name, Err(reason))) => {
                sorted.problems.push(format!("the tool `{name}` is not offered: {reason}"));
                continue;
            }
            Some((name, Ok(params))) if !params.is_empty() => {
                sorted.rules.insert(name.to_owned(), params);
            }
            _ => {}
        }
        sorted.tools.push(text.clone());
    }
    sorted
}
