//! What a server offers.

mod disk;
pub(crate) mod freshness;
pub(crate) mod list;

use bytes::Bytes;
use toolbay_protocol::method;

use crate::{CacheHints, HubsBehind};

/// A kind of list of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CatalogKind {
    Tools,
    Resources,
    ResourceTemplates,
    Prompts,
}

impl CatalogKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Tools, Self::Resources, Self::ResourceTemplates, Self::Prompts];

    /// The method that lists it.
    pub fn list_method(self) -> &'static str {
        match self {
            Self::Tools => method::TOOLS_LIST,
            Self::Resources => method::RESOURCES_LIST,
            Self::ResourceTemplates => method::RESOURCE_TEMPLATES_LIST,
            Self::Prompts => method::PROMPTS_LIST,
        }
    }

    /// The field of the result that holds the list.
    pub fn field(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }

    /// The capability a server declares for it.
    pub fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources | Self::ResourceTemplates => "resources",
            Self::Prompts => "prompts",
        }
    }
}

/// The identity, capabilities and lists of a server. Texts are JSON as the server wrote them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Catalog {
    /// `serverInfo`.
    pub server_info: Option<String>,
    /// `capabilities`.
    pub capabilities: Option<String>,
    /// `instructions`, decoded.
    pub instructions: Option<String>,
    /// How long all that may be kept, if the server says so.
    pub(crate) identity: Option<CacheHints>,
    lists: [Vec<Bytes>; 4],
    hints: [Option<CacheHints>; 4],
    /// The hubs that it consists of, if it is one.
    pub hubs: HubsBehind,
    /// What could not be listed, and why.
    pub problems: Vec<String>,
    /// What of it was cut, and why.
    pub notes: Vec<String>,
}

impl Catalog {
    /// The items of one kind.
    pub fn list(&self, kind: CatalogKind) -> &[Bytes] {
        &self.lists[kind as usize]
    }

    /// How long that list may be kept, if the server says so.
    pub(crate) fn hints(&self, kind: CatalogKind) -> Option<CacheHints> {
        self.hints[kind as usize]
    }

    /// Puts other items in the place of a list; all else about it stays.
    pub fn replace(&mut self, kind: CatalogKind, items: Vec<Bytes>) {
        self.lists[kind as usize] = items;
    }

    pub(crate) fn set(&mut self, kind: CatalogKind, items: Vec<Bytes>, hints: Option<CacheHints>) {
        self.lists[kind as usize] = items;
        self.hints[kind as usize] = hints;
    }
}
