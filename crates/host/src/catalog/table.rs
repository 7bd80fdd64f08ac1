//! The table: lists to show, and routes to follow.

use std::{
    any::Any,
    borrow::Cow,
    collections::{HashMap, HashSet},
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use toolbay_config::{ServerOptions, ToolOptions, Validate};
use toolbay_policy::ToolRules;
use toolbay_protocol::{
    Rope, ServerName, Splice, Tier, decode_string, encode_string,
    header_params::{HeaderParam, header_params, without_annotations},
    model::{Prompt, Resource, ResourceTemplate, Tool, list_items},
};
use toolbay_schema::SchemaView;
use toolbay_upstream::{Catalog, CatalogKind, ServerHandle, Timeouts};

use super::{
    naming::{Naming, exposed, origin, qualified_uri, shortened, similar, slug_of, split_qualified},
    output_rules::OutputRules,
    pages::ListPages,
    quarantine::{
        AcceptedTool, CheckedTool, Quarantined, check_description, check_name, check_tool, has_tasks,
        needs_task,
    },
    uri_template::UriTemplate,
    user_interaction,
    validate::Validator,
};

/// One server's part of the table.
#[derive(Debug, Clone)]
pub struct ServerPart {
    /// Who to call.
    pub server: ServerHandle,
    /// The prefix of its names.
    pub slug: String,
    /// What it offers now.
    pub catalog: Arc<Catalog>,
    /// How it is treated.
    pub tuning: Arc<ServerOptions>,
    /// Whether the catalogue is one that was kept: what is wrong in it was left out then.
    pub is_kept: bool,
    /// What is left to decide about calls of tools, by their definitions.
    pub rules: HashMap<Bytes, Arc<ToolRules>>,
    /// Whether its resources and prompts are there, too.
    pub has_resources: bool,
}

/// Where a call to a name goes.
#[derive(Debug, Clone)]
pub struct Route {
    /// Who owns the name.
    pub server: ServerHandle,
    /// The name as its server knows it, as a JSON string; none when it is the same.
    pub renamed: Option<Bytes>,
    /// Checks the arguments.
    pub validator: Option<Arc<Validator>>,
    /// What happens when they do not fit.
    pub validate: Validate,
    /// The parameters that clients on HTTP repeat in headers.
    pub mirrored: Arc<[HeaderParam]>,
    /// Whether the server does it only as a task.
    pub only_as_task: bool,
    /// How much a tool may change, by its annotations; a prompt changes nothing.
    pub tier: Tier,
    /// How long a call may take, where that differs from the server's other tools.
    pub timeouts: Option<Timeouts>,
    /// Its place among the listed tools or prompts.
    listed: usize,
    /// What is left to decide about each call, if something is.
    pub rules: Option<Arc<ToolRules>>,
    /// What is done with results, if anything.
    pub output: Option<Arc<OutputRules>>,
}

impl Route {
    /// The name that the server has for what clients call `name`.
    pub fn name_at_server<'a>(&'a self, name: &'a str) -> Option<Cow<'a, str>> {
        match &self.renamed {
            Some(renamed) => decode_string(renamed),
            None => Some(name.into()),
        }
    }
}

/// Where a resource is read.
#[derive(Debug, Clone)]
pub struct ResourceRoute {
    /// Who has it.
    pub server: ServerHandle,
    /// The URI as the server knows it; nothing when it is the same.
    pub renamed: Option<Bytes>,
}

/// A tool of the list.
#[derive(Debug, Clone)]
pub struct ListedTool {
    /// The name under which clients see it.
    pub name: String,
    /// The name that its server gives it.
    pub bare_name: String,
    /// The configured name of its server.
    pub server: ServerName,
    /// Its definition, as it stands in the list.
    pub definition: Bytes,
    /// The same for clients that must refuse a bad `x-mcp-header`, where it is another.
    definition_on_http: Option<Bytes>,
}

impl ListedTool {
    /// Its definition, taken apart.
    pub fn tool(&self) -> Option<Tool> {
        Tool::parse(self.definition.clone()).ok()
    }

    /// Its definition for a client, which may be one that must refuse a bad `x-mcp-header`.
    pub fn definition_on(&self, is_on_http: bool) -> &Bytes {
        self.definition_on_http.as_ref().filter(|_| is_on_http).unwrap_or(&self.definition)
    }
}

/// Everything all servers offer, at one moment.
#[derive(Debug, Default)]
pub struct RouteTable {
    /// One version per kind; a list that changed has another.
    versions: [u64; 4],
    lists: [ListPages; 4],
    /// The list of tools for clients that must refuse a bad `x-mcp-header`, where it is another.
    tools_on_http: Option<ListPages>,
    counts: [usize; 4],
    tools: HashMap<String, Route>,
    /// The tools of the list, in its order.
    listed_tools: Vec<ListedTool>,
    /// What others made of the listed tools. The table that takes the place of this one has it, too, while they are the same.
    derived: Arc<OnceLock<Arc<dyn Any + Send + Sync>>>,
    prompts: HashMap<String, Route>,
    resources: HashMap<String, ResourceRoute>,
    templates: Vec<(UriTemplate, String, ResourceRoute)>,
    /// Scheme and authority of every listed URI, with its servers.
    origins: HashMap<String, Vec<ServerHandle>>,
    slugs: HashMap<String, ServerHandle>,
    /// The prefixes of servers without resources: their URIs lead nowhere.
    without_resources: HashSet<String>,
    /// What was found out about each tool, by its text: checking one anew costs more than all else.
    checked: HashMap<Bytes, CheckedTool>,
    /// The same of the table before, while this one is made.
    known: HashMap<Bytes, CheckedTool>,
    /// How many tools of a server are not offered, where some are not.
    withheld: HashMap<ServerName, usize>,
    /// Whether results of some tools are cut.
    limits_results: bool,
    /// Names that are shorter than those of tools, for clients that need that; made when first needed.
    short_names: OnceLock<HashMap<String, String>>,
    /// Offers that were set aside.
    pub quarantined: Vec<Quarantined>,
    /// What people should know about the offers of servers.
    pub(crate) remarks: Vec<(ServerHandle, String)>,
}

/// An offer under the name that clients see.
struct NamedItem {
    name: String,
    bare: String,
    route: Route,
    text: Rope,
    /// For clients on HTTP, where that is another.
    text_on_http: Option<Rope>,
}

/// Offers that have a name of their own.
struct Entered {
    routes: HashMap<String, Route>,
    listed: Vec<NamedItem>,
}

impl RouteTable {
    /// Makes the table. `offers` stand in the order of the configuration.
    pub fn new(offers: &[ServerPart], naming: Naming, versions: [u64; 4]) -> Self {
        Self { versions, ..Self::default() }.made(offers, naming)
    }

    /// A table without offers that knows what this one has found out about tools.
    pub(crate) fn without_offers(&self) -> Self {
        Self { versions: self.versions, checked: self.checked.clone(), ..Self::default() }
    }

    fn made(self, offers: &[ServerPart], naming: Naming) -> Self {
        let mut table = self;
        let (mut tools, mut prompts) = (Vec::new(), Vec::new());
        let mut listed: [Vec<Rope>; 4] = Default::default();
        for offer in offers {
            let slug = &offer.slug;
            table.slugs.insert(slug.clone(), offer.server.clone());
            if !offer.has_resources {
                table.without_resources.insert(slug.clone());
            }
            let notes = offer.catalog.notes.iter().map(|note| (offer.server.clone(), note.clone()));
            table.remarks.extend(notes);
            table.take_tools(offer, slug, naming, &mut tools);
            table.take_prompts(offer, slug, naming, &mut prompts);
            table.take_resources(offer, slug, &mut listed[CatalogKind::Resources as usize]);
            table.take_templates(offer, &mut listed[CatalogKind::ResourceTemplates as usize]);
        }
        let has_others = tools.iter().any(|tool| tool.text_on_http.is_some());
        let tools = table.enter("tool", tools, naming);
        table.tools = tools.routes;
        let has_limit = |route: &Route| route.output.as_ref().is_some_and(|rules| rules.max_result.is_some());
        table.limits_results = table.tools.values().any(has_limit);
        table.tools_on_http = has_others.then(|| {
            let texts =
                tools.listed.iter().map(|tool| tool.text_on_http.as_ref().unwrap_or(&tool.text).clone());
            ListPages::new(texts)
        });
        let prompts = table.enter("prompt", prompts, naming);
        table.prompts = prompts.routes;
        listed[CatalogKind::Tools as usize] = tools.listed.iter().map(|tool| tool.text.clone()).collect();
        listed[CatalogKind::Prompts as usize] =
            prompts.listed.into_iter().map(|prompt| prompt.text).collect();
        table.templates.sort_by_key(|(template, ..)| std::cmp::Reverse(template.literal_len));
        table.counts = [0, 1, 2, 3].map(|kind| listed[kind].len());
        table.lists = listed.map(|list| ListPages::new(list.into_iter()));
        let definitions = table.lists[CatalogKind::Tools as usize].items();
        let listed_tool = |(tool, definition): (NamedItem, &Bytes)| ListedTool {
            name: tool.name,
            bare_name: tool.bare,
            server: tool.route.server.name().clone(),
            definition: definition.clone(),
            definition_on_http: tool.text_on_http.map(Rope::into_bytes),
        };
        table.listed_tools = tools.listed.into_iter().zip(definitions).map(listed_tool).collect();
        table
    }

    /// Makes the table that takes the place of this one: lists that are the same keep their versions, the others get new
    /// ones. Says which.
    ///
    /// `checked` is what was found out meanwhile about tools that this table does not know.
    pub(crate) fn next(
        &self,
        offers: &[ServerPart],
        naming: Naming,
        checked: Vec<(Bytes, CheckedTool)>,
    ) -> (Self, Vec<CatalogKind>) {
        let mut known = self.checked.clone();
        known.extend(checked);
        let known = Self { versions: self.versions, known, ..Self::default() };
        let mut next = known.made(offers, naming);
        next.known = HashMap::new();
        let changed = next.differs_from(self);
        for kind in &changed {
            next.versions[*kind as usize] += 1;
        }
        if !changed.contains(&CatalogKind::Tools) {
            next.derived = self.derived.clone();
        }
        (next, changed)
    }

    fn differs_from(&self, before: &Self) -> Vec<CatalogKind> {
        let is_other = |kind: &CatalogKind| {
            let same_on_http = *kind != CatalogKind::Tools || self.tools_on_http == before.tools_on_http;
            self.lists[*kind as usize] != before.lists[*kind as usize] || !same_on_http
        };
        CatalogKind::ALL.into_iter().filter(is_other).collect()
    }

    /// A page of a list as a JSON array, and the cursor of the next; nothing for a cursor that is not ours.
    pub fn page(&self, kind: CatalogKind, cursor: Option<&str>) -> Option<(&Bytes, Option<String>)> {
        self.lists[kind as usize].get(cursor, self.version(kind))
    }

    /// As [`RouteTable::page`], for a client that must refuse tools whose `x-mcp-header` is against the rules: those stand
    /// there without it.
    pub fn page_on_http(&self, kind: CatalogKind, cursor: Option<&str>) -> Option<(&Bytes, Option<String>)> {
        match &self.tools_on_http {
            Some(tools) if kind == CatalogKind::Tools => tools.get(cursor, self.version(kind)),
            _ => self.page(kind, cursor),
        }
    }

    /// Which version of a list this is; 0 only before any server came up.
    pub fn version(&self, kind: CatalogKind) -> u64 {
        self.versions[kind as usize]
    }

    /// How many items of a kind there are.
    pub fn count(&self, kind: CatalogKind) -> usize {
        self.counts[kind as usize]
    }

    /// The tools of the list, in its order.
    pub fn listed_tools(&self) -> &[ListedTool] {
        &self.listed_tools
    }

    /// A tool of the list, found by any of the names under which it can be called.
    pub fn listed_tool(&self, name: &str) -> Option<&ListedTool> {
        self.listed_tools.get(self.tools.get(name)?.listed)
    }

    /// What was made of the listed tools, if it was made.
    pub fn tools_derived<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.derived.get().cloned()?.downcast().ok()
    }

    /// Keeps what was made of the listed tools for as long as they stay the same; returns what is kept.
    pub fn set_tools_derived<T: Any + Send + Sync>(&self, made: Arc<T>) -> Arc<T> {
        let kept = self.derived.get_or_init(|| made.clone()).clone();
        kept.downcast().unwrap_or(made)
    }

    /// How many bytes the definitions of the tools have, as they stand in the list: of one server, or of all.
    pub fn tool_bytes(&self, server: Option<&str>) -> usize {
        let counts = |tool: &&ListedTool| server.is_none_or(|server| tool.server.as_str() == server);
        self.listed_tools.iter().filter(counts).map(|tool| tool.definition.len()).sum()
    }

    /// The name of a tool for clients, found by its server and the name that the server has for it.
    pub fn tool_name(&self, server: &str, tool: &str) -> Option<&str> {
        let of_server = self.tools.iter().filter(|(_, route)| route.server.name().as_str() == server);
        let mut names = of_server.filter(|(name, route)| route.name_at_server(name).as_deref() == Some(tool));
        names.next().map(|(name, _)| name.as_str())
    }

    /// What was found out about a tool, by its text.
    pub(crate) fn checked(&self, tool: &Bytes) -> Option<&CheckedTool> {
        self.checked.get(tool)
    }

    /// What people should know about the offers of servers: what was left out or is not checked, and why.
    pub fn notes(&self) -> impl Iterator<Item = (&ServerName, &str)> {
        self.remarks.iter().map(|(server, note)| (server.name(), note.as_str()))
    }

    /// How many tools of a server are not offered: set aside, or filtered out.
    pub(crate) fn withheld_tools(&self, server: &str) -> usize {
        let mut withheld = self.withheld.iter();
        withheld.find(|(name, _)| name.as_str() == server).map_or(0, |(_, count)| *count)
    }

    /// Where a tool is.
    pub fn tool(&self, name: &str) -> Option<&Route> {
        self.tools.get(name)
    }

    /// The name under which clients see a tool, found by its server and the name that the server uses.
    pub fn tool_of(&self, server: &str, name: &str) -> Option<&str> {
        let raw = encode_string(name);
        let is_it = |(exposed, route): &(&String, &Route)| {
            let is_called_so = route.renamed.as_ref().map_or(*exposed == name, |renamed| *renamed == raw);
            route.server.name().as_str() == server && is_called_so
        };
        self.tools.iter().find(is_it).map(|(exposed, _)| exposed.as_str())
    }

    /// Where a tool is whose name is too long for some clients, by the name that they see; with its own name.
    pub(crate) fn tool_by_short_name(&self, name: &str) -> Option<(&str, &Route)> {
        let short = self.short_names.get_or_init(|| {
            let long = self.tools.keys().map(|name| (shortened(name), name.clone()));
            long.filter(|(short, name)| short != name && !self.tools.contains_key(short)).collect()
        });
        self.tools.get_key_value(short.get(name)?).map(|(name, route)| (name.as_str(), route))
    }

    /// Whether results of some tools are cut.
    pub fn limits_results(&self) -> bool {
        self.limits_results
    }

    /// A page of tools as a client with this view sees it. The same, unless there is something that it would reject.
    pub fn in_view(&self, page: &Bytes, view: SchemaView) -> Bytes {
        let Ok(items) = list_items(page) else { return page.clone() };
        let seen: Vec<Option<Bytes>> = items.iter().map(|item| self.tool_in_view(item, view)).collect();
        if seen.iter().all(Option::is_none) {
            return page.clone();
        }
        let items = seen.into_iter().zip(items).map(|(seen, item)| seen.unwrap_or(item).into());
        ListPages::one(items)
    }

    /// A tool as a client with this view sees it, if it is another.
    fn tool_in_view(&self, item: &Bytes, view: SchemaView) -> Option<Bytes> {
        let tool = Tool::parse(item.clone()).ok()?;
        let mut text = None;
        // What headers repeat is named as in the schema.
        if self.tool(tool.name()).is_some_and(|route| route.mirrored.is_empty())
            && let Some(schema) = tool.input_schema().filter(|schema| view.may_repair(schema.as_bytes()))
            && let Some(repaired) = serde_json::from_str(schema).ok().and_then(|schema| view.repair(&schema))
        {
            text = Some(tool.item().with_field("inputSchema", &repaired.text).into_bytes());
        }
        let short = shortened(tool.name());
        if view.short_names && short != tool.name() && self.tool_by_short_name(&short).is_some() {
            let tool = Tool::parse(text.unwrap_or_else(|| item.clone())).ok()?;
            text = Some(tool.item().with_string(Tool::KEY, &short).into_bytes());
        }
        text
    }

    /// Where a prompt is.
    pub fn prompt(&self, name: &str) -> Option<&Route> {
        self.prompts.get(name)
    }

    /// Known names that look like `name`, for people who mistyped it.
    pub fn similar_tools(&self, name: &str) -> Vec<&str> {
        similar(name, self.tools.keys())
    }

    /// As [`RouteTable::similar_tools`].
    pub fn similar_prompts(&self, name: &str) -> Vec<&str> {
        similar(name, self.prompts.keys())
    }

    /// Where a resource is: at the server that a qualified URI names, else by its exact URI, else by the template with most literal characters, else at the only
    /// server with that scheme and authority; else the servers that could have it.
    pub fn resource(&self, uri: &str) -> Result<ResourceRoute, Vec<ServerName>> {
        // First, so that no server can list the qualified URI of another.
        if let Some((slug, raw)) = split_qualified(uri)
            && let Some(server) = self.slugs.get(slug).filter(|_| !self.without_resources.contains(slug))
        {
            return Ok(ResourceRoute { server: server.clone(), renamed: Some(encode_string(raw).into()) });
        }
        if let Some(route) = self.resources.get(uri) {
            return Ok(route.clone());
        }
        if let Some((.., route)) = self.templates.iter().find(|(template, ..)| template.matches(uri)) {
            return Ok(route.clone());
        }
        let candidates = self.origins.get(origin(uri)).map_or(&[][..], Vec::as_slice);
        match candidates {
            [only] => Ok(ResourceRoute { server: only.clone(), renamed: None }),
            many => Err(many.iter().map(|server| server.name().clone()).collect()),
        }
    }

    /// Where a template is completed.
    pub fn template(&self, uri_template: &str) -> Option<&ResourceRoute> {
        let found = self.templates.iter().find(|(_, text, _)| text == uri_template);
        found.map(|(.., route)| route)
    }

    fn take_tools(&mut self, offer: &ServerPart, slug: &str, naming: Naming, tools: &mut Vec<NamedItem>) {
        let has_tasks = has_tasks(offer.catalog.capabilities.as_deref());
        for text in offer.catalog.list(CatalogKind::Tools) {
            let checked = Tool::parse(text.clone())
                .map_err(|error| error.to_string())
                .and_then(|tool| Ok((self.check(offer, &tool)?, tool)))
                .and_then(|(fit, tool)| match fit.text().cloned().map(Tool::parse).transpose() {
                    Ok(repaired) => Ok((repaired.unwrap_or(tool), fit)),
                    Err(error) => Err(error.to_string()),
                });
            match checked {
                Ok((tool, _)) if !offer.tuning.tools.passes(tool.name()) => {
                    self.withhold(offer.server.name())
                }
                Ok((tool, fit)) => {
                    let rules = offer.rules.get(text).cloned();
                    let name = exposed_name(slug, tool.name(), naming);
                    let mut text = renamed_text(tool.item(), Tool::KEY, tool.name(), &name);
                    if rules.as_ref().is_some_and(|rules| rules.always_asks()) {
                        text = user_interaction::with_hint(text.into_bytes());
                    }
                    let mut route = route(offer, tool.name(), &name, Some(fit.validator.clone()));
                    let notes = fit.notes.iter().map(|note| (offer.server.clone(), note.clone()));
                    self.remarks.extend(notes);
                    route.rules = rules;
                    route.only_as_task = has_tasks && needs_task(&tool);
                    route.tier = Tier::of(&tool);
                    route.timeouts =
                        offer.tuning.tool.get(tool.name()).map(|tuning| timeouts(offer, *tuning));
                    route.output = OutputRules::of(offer, &tool);
                    let mut text_on_http = None;
                    match header_params(tool.input_schema().unwrap_or_default()) {
                        Ok(params) => route.mirrored = params.into(),
                        Err(why) => {
                            text_on_http = without_headers(text.clone().into_bytes());
                            let note = format!("tool `{}`: {why}; offered on HTTP without it", tool.name());
                            self.remarks.push((offer.server.clone(), note));
                        }
                    }
                    tools.push(NamedItem { text, text_on_http, route, bare: tool.name().to_owned(), name });
                }
                Err(reason) => {
                    self.withhold(offer.server.name());
                    self.set_aside(offer, "tool", text, reason);
                }
            }
        }
    }

    fn check(&mut self, offer: &ServerPart, tool: &Tool) -> CheckedTool {
        let text = tool.item().text();
        let checked = match self.known.get(text).or_else(|| self.checked.get(text)) {
            Some(known) => known.clone(),
            None => match tool.input_schema().filter(|_| offer.is_kept) {
                // It was valid when it was cached, and is the same text: a list of hundreds is there at once.
                Some(schema) => Ok(Arc::new(AcceptedTool::known(tool, schema))),
                None => check_tool(tool, true),
            },
        };
        self.checked.insert(text.clone(), checked.clone());
        checked
    }

    fn take_prompts(&mut self, offer: &ServerPart, slug: &str, naming: Naming, prompts: &mut Vec<NamedItem>) {
        for text in offer.catalog.list(CatalogKind::Prompts) {
            let checked = Prompt::parse(text.clone()).map_err(|error| error.to_string()).and_then(|prompt| {
                check_name(prompt.name())?;
                check_description(prompt.description().as_deref())?;
                Ok(prompt)
            });
            match checked {
                Ok(prompt) => {
                    let name = exposed_name(slug, prompt.name(), naming);
                    prompts.push(NamedItem {
                        text: renamed_text(prompt.item(), Prompt::KEY, prompt.name(), &name),
                        route: route(offer, prompt.name(), &name, None),
                        text_on_http: None,
                        bare: prompt.name().to_owned(),
                        name,
                    });
                }
                Err(reason) => self.set_aside(offer, "prompt", text, reason),
            }
        }
    }

    fn take_resources(&mut self, offer: &ServerPart, slug: &str, listed: &mut Vec<Rope>) {
        for text in offer.catalog.list(CatalogKind::Resources) {
            let resource = match Resource::parse(text.clone()) {
                Ok(resource) => resource,
                Err(error) => {
                    self.set_aside(offer, "resource", text, error.to_string());
                    continue;
                }
            };
            self.note_origin(resource.uri(), &offer.server);
            let taken = self.resources.get(resource.uri());
            if taken.is_some_and(|route| route.server.name() == offer.server.name()) {
                continue; // listed twice by one server
            }
            let uri =
                if taken.is_some() { qualified_uri(slug, resource.uri()) } else { resource.uri().to_owned() };
            let renamed = (uri != resource.uri()).then(|| Bytes::from(encode_string(resource.uri())));
            listed.push(renamed_text(resource.item(), Resource::KEY, resource.uri(), &uri));
            self.resources.insert(uri, ResourceRoute { server: offer.server.clone(), renamed });
        }
    }

    fn take_templates(&mut self, offer: &ServerPart, listed: &mut Vec<Rope>) {
        for text in offer.catalog.list(CatalogKind::ResourceTemplates) {
            match ResourceTemplate::parse(text.clone()) {
                Ok(template) => {
                    let uri = template.uri_template();
                    self.note_origin(uri, &offer.server);
                    let route = ResourceRoute { server: offer.server.clone(), renamed: None };
                    self.templates.push((UriTemplate::new(uri), uri.to_owned(), route));
                    listed.push(text.clone().into());
                }
                Err(error) => self.set_aside(offer, "resource template", text, error.to_string()),
            }
        }
    }

    /// Makes names unique: what stays is listed.
    fn enter(&mut self, kind: &'static str, named: Vec<NamedItem>, naming: Naming) -> Entered {
        let (mut uses, mut bare_uses) = (HashMap::new(), HashMap::new());
        for item in &named {
            *uses.entry(item.name.clone()).or_insert(0_usize) += 1;
            *bare_uses.entry(item.bare.clone()).or_insert(0_usize) += 1;
        }
        let mut entered = Entered { routes: HashMap::new(), listed: Vec::new() };
        for mut item in named {
            if uses[item.name.as_str()] == 1 {
                item.route.listed = entered.listed.len();
                entered.routes.insert(item.name.clone(), item.route.clone());
                entered.listed.push(item);
            } else {
                if kind == "tool" {
                    self.withhold(item.route.server.name());
                }
                self.quarantined.push(Quarantined {
                    server: item.route.server.name().clone(),
                    kind,
                    name: item.bare,
                    reason: "another one has the same name, so neither is offered".to_owned(),
                });
            }
        }
        if naming == Naming::PrefixAndAlias {
            // What begins like a name of a server is that server's, even while it is not up.
            let is_foreign = |bare: &str| slug_of(bare).is_some_and(|slug| self.slugs.contains_key(slug));
            for item in &entered.listed {
                if bare_uses[item.bare.as_str()] == 1 && !is_foreign(&item.bare) {
                    entered.routes.entry(item.bare.clone()).or_insert_with(|| item.route.as_alias());
                }
            }
        }
        entered
    }

    fn withhold(&mut self, server: &ServerName) {
        *self.withheld.entry(server.clone()).or_default() += 1;
    }

    fn note_origin(&mut self, uri: &str, server: &ServerHandle) {
        let servers = self.origins.entry(origin(uri).to_owned()).or_default();
        if !servers.iter().any(|known| known.name() == server.name()) {
            servers.push(server.clone());
        }
    }

    fn set_aside(&mut self, offer: &ServerPart, kind: &'static str, text: &Bytes, reason: String) {
        let name = toolbay_protocol::model::Item::parse(text.clone()).ok();
        let name = name.and_then(|item| item.string("name").map(|name| name.chars().take(128).collect()));
        let name = name.unwrap_or_else(|| String::from_utf8_lossy(&text[..text.len().min(60)]).into_owned());
        self.quarantined.push(Quarantined { server: offer.server.name().clone(), kind, name, reason });
    }
}

impl Route {
    /// The same route under the server's own name.
    fn as_alias(&self) -> Self {
        Self { renamed: None, ..self.clone() }
    }
}

fn exposed_name(slug: &str, name: &str, naming: Naming) -> String {
    match naming {
        Naming::None => name.to_owned(),
        Naming::Prefix | Naming::PrefixAndAlias => exposed(slug, name),
    }
}

fn route(offer: &ServerPart, raw: &str, name: &str, validator: Option<Arc<Validator>>) -> Route {
    Route {
        server: offer.server.clone(),
        renamed: (raw != name).then(|| encode_string(raw).into()),
        validator,
        validate: offer.tuning.validate,
        mirrored: Arc::default(),
        only_as_task: false,
        tier: Tier::Read,
        timeouts: None,
        listed: 0,
        rules: None,
        output: None,
    }
}

fn timeouts(offer: &ServerPart, tuning: ToolOptions) -> Timeouts {
    let usual = offer.server.timeouts();
    Timeouts {
        idle: tuning.idle_timeout.unwrap_or(usual.idle),
        total: tuning.total_timeout.unwrap_or(usual.total),
        ..usual
    }
}

fn renamed_text(item: &toolbay_protocol::model::Item, key: &str, raw: &str, name: &str) -> Rope {
    if raw == name { item.text().clone().into() } else { item.with_string(key, name) }
}

/// A tool without `x-mcp-header`. Only clients on HTTP care for it, and they must refuse a tool that has it wrong; the
/// server does not need it, or it would have been refused as a server on HTTP.
fn without_headers(tool: Bytes) -> Option<Rope> {
    let tool = Tool::parse(tool).ok()?;
    let span = tool.item().span("inputSchema")?;
    let schema = without_annotations(&tool.item().text().slice(span.range()));
    let mut splice = Splice::new(tool.item().text());
    splice.replace(span, schema.into_bytes());
    Some(splice.finish())
}
