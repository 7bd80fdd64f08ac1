//! Translation of requests to the revision of a server.

use bytes::Bytes;
use smallvec::SmallVec;
use toolbay_protocol::{
    Fields, MethodCall, ObjectBuilder, Request, RequestId, Revision, Rope, Span, Splice, meta, method,
};

use crate::{
    meta::{ClientIdentity, MODERN_ONLY, rebuild},
    revisions,
};

/// What changes of a request besides its revision.
#[derive(Debug)]
pub struct RequestEdits<'a> {
    /// The id that the server sees, and its progress token.
    pub id: &'a RequestId,
    /// Values that the server knows under another text: names and URIs.
    pub renamed: &'a [(Span, Bytes)],
    /// Whether the server shall report progress, so that a long call shows activity.
    pub wants_progress: bool,
    /// Whether the server does this only as a task, where it knows the tasks of 2025-11-25.
    pub only_as_task: bool,
    /// Whether the hub awaits tasks on behalf of a client without tasks.
    pub awaits_tasks: bool,
}

/// A client's request as a server of revision `to` understands it.
pub fn request(
    request: &Request,
    change: &RequestEdits<'_>,
    from: Revision,
    to: Revision,
    client: &ClientIdentity,
) -> Rope {
    let call = &request.call;
    let mut splice = Splice::new(&call.text);
    splice.replace(request.id_span, change.id.as_raw());
    let unknown = revisions::unknown_params(call.method(), from, to);
    let cuts = match &call.params {
        Some(params) if !unknown.is_empty() => params.cuts(&call.text, &unknown),
        _ => SmallVec::new(),
    };
    for (span, new) in change.renamed {
        if !cuts.iter().any(|cut| cut.start <= span.start && span.end <= cut.end) {
            splice.replace(*span, new);
        }
    }
    let token = call.meta(meta::PROGRESS_TOKEN);
    let crosses = from.is_modern() != to.is_modern();
    let fields = if crosses && to.is_modern() { client.fields_where(change.awaits_tasks) } else { &[] };
    let mut add: SmallVec<[(&str, &str); 5]> =
        fields.iter().map(|(key, value)| (*key, value.as_str())).collect();
    if change.wants_progress || token.is_some() {
        add.push((meta::PROGRESS_TOKEN, change.id.as_raw()));
    }
    match (&call.meta, token) {
        (Some(fields), _) if crosses => {
            let drop: &[&str] = if to.is_modern() { &[] } else { &MODERN_ONLY };
            rebuild(call, fields, drop, &add, &mut splice);
            add.clear();
        }
        (_, Some(token)) => {
            splice.replace(token, change.id.as_raw());
            add.clear();
        }
        _ => {}
    }
    if change.only_as_task && change.awaits_tasks && from != to && to == Revision::V2025_11_25 {
        make_task(call, from, &mut splice);
    }
    edit_params(call, &cuts, &add, &mut splice);
    call.edited(splice)
}

/// Asks for the call of a tool as a task.
fn make_task(call: &MethodCall, from: Revision, splice: &mut Splice<'_>) {
    let Some(params) = call.params.as_ref().filter(|_| call.method() == method::TOOLS_CALL) else { return };
    let is_one = !from.is_modern() && call.param("task").is_some(); // else it was cut
    let name = params.find(&call.text, "name").filter(|_| !is_one);
    if let Some(name) = name.map(|index| params.entries[index].key) {
        let before = Span { start: name.start - 1, end: name.start - 1 };
        splice.replace(before, "\"task\":{},");
    }
}

/// Cuts parameters and adds to `_meta`.
fn edit_params(call: &MethodCall, cuts: &[Span], add: &[(&str, &str)], splice: &mut Splice<'_>) {
    if let Some(params) = &call.params
        && !add.is_empty()
        && covers(cuts, params)
    {
        // What is inserted before a field ends with a comma, and here no field is left.
        let fields = add.iter().fold(ObjectBuilder::new(), |fields, (key, value)| fields.raw(key, value));
        splice.replace(params.span, ObjectBuilder::new().raw("_meta", &fields.finish()).finish());
        return;
    }
    for cut in cuts {
        splice.replace(*cut, "");
    }
    if !add.is_empty() {
        call.insert_meta(splice, add);
    }
}

/// Whether nothing is left of an object.
fn covers(cuts: &[Span], object: &Fields) -> bool {
    match (cuts, object.entries.first(), object.entries.last()) {
        ([cut], Some(first), Some(last)) => cut.start < first.key.start && cut.end == last.value.end,
        _ => false,
    }
}
