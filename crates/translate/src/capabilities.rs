//! Capabilities: which server requests a client supports, and what the hub declares.

use toolbay_protocol::{Revision, meta, method};

use crate::{
    json::{Object, changed},
    server_request::{ElicitationMode, wants_tools},
};

/// What the hub declares to a legacy server: it passes every kind of server request on.
///
/// Which client will get a server request is not known yet; what it supports is checked for each. Roots declare no
/// changes, because modern revisions have no notification for them.
pub const HUB_CAPABILITIES: &str = r#"{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}"#;

/// Which server requests a client supports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientCapabilities {
    form: bool,
    url: bool,
    sampling: bool,
    sampling_tools: bool,
    roots: bool,
}

impl ClientCapabilities {
    /// Reads what a client declared (JSON text) by the rules of its revision. What is no object declares nothing.
    pub fn parse(capabilities_json: &str, revision: Revision) -> Self {
        let Some(declared) = Object::parse(capabilities_json) else { return Self::default() };
        let inside = |name| declared.get(name).and_then(Object::parse);
        let has_modes = revision >= Revision::V2025_11_25;
        // A client that declares it supports it, even in a revision that does not have it yet.
        let elicitation = inside("elicitation");
        let mode = |name| has_modes && elicitation.as_ref().is_some_and(|modes| modes.has_object(name));
        let url = mode("url");
        let sampling = inside("sampling");
        Self {
            // To name no mode is to mean forms, which once were all there was.
            form: elicitation.is_some() && (!url || mode("form")),
            url,
            sampling: sampling.is_some(),
            sampling_tools: has_modes && sampling.is_some_and(|sampling| sampling.has_object("tools")),
            roots: inside("roots").is_some(),
        }
    }

    /// Whether the client supports this server request.
    pub fn supports(&self, method: &str, params: Option<&str>) -> bool {
        let params = params.and_then(Object::parse);
        match method {
            method::ELICIT => match params.as_ref().map_or(ElicitationMode::Form, ElicitationMode::of) {
                ElicitationMode::Form => self.form,
                ElicitationMode::Url => self.url,
                ElicitationMode::Unknown => false,
            },
            method::SAMPLE => {
                self.sampling && (self.sampling_tools || !params.is_some_and(|params| wants_tools(&params)))
            }
            method::ROOTS_LIST => self.roots,
            _ => false,
        }
    }
}

/// Whether a modern client that declares this (JSON text) takes a task instead of a result.
pub fn declares_tasks(client_capabilities: &str) -> bool {
    let declared = Object::parse(client_capabilities);
    let extensions =
        declared.as_ref().and_then(|declared| declared.get("extensions")).and_then(Object::parse);
    extensions.is_some_and(|extensions| extensions.has_object(meta::TASKS_EXTENSION))
}

/// Capabilities (JSON text) that say so, too.
pub(crate) fn with_tasks(capabilities: &str) -> String {
    let mut declared = Object::parse(capabilities).unwrap_or_default();
    let mut extensions = declared.get("extensions").and_then(Object::parse).unwrap_or_default();
    extensions.set(meta::TASKS_EXTENSION, "{}");
    let extensions = extensions.text();
    declared.set("extensions", extensions);
    declared.text()
}

/// The capabilities of a legacy client (JSON text), as a modern server gets them.
///
/// What the hub cannot pass on is left out, everything else stays: extensions and what we do not know included.
pub fn capabilities_for_server(client_capabilities: &str, from: Revision) -> String {
    if from.is_modern() {
        return client_capabilities.to_owned();
    }
    let Some(mut declared) = Object::parse(client_capabilities) else { return "{}".to_owned() };
    declared.remove("tasks");
    let mut leave_out = |capability: &str, names: &[&str]| {
        declared.change(capability, |inside| {
            changed(inside, |inside| names.iter().for_each(|name| inside.remove(name)))
        });
    };
    leave_out("roots", &["listChanged"]);
    if from < Revision::V2025_11_25 {
        // Meant something else, if anything, before there were modes and tools.
        leave_out("elicitation", &["form", "url"]);
        leave_out("sampling", &["tools", "context"]);
    }
    declared.changed_text().unwrap_or_else(|| client_capabilities.to_owned())
}
