//! The steps between neighbouring revisions.
//!
//! Each is what one revision changed of the one before, as far as it concerns a message that passes through the hub.
//! Going from one revision to another means to take every step between them, in order. Most revisions only added what
//! older readers overlook, so most of a step's directions are empty.

mod v2025_03_26;
mod v2025_06_18;
mod v2025_11_25;
pub(crate) mod v2026_07_28;

use bytes::Bytes;
use smallvec::SmallVec;
use toolbay_protocol::{Message, Outcome, Response, Revision, Splice};

use crate::{json::Object, server_request::UnsupportedServerRequest};

/// What a revision changed of the one before.
pub(crate) trait RevisionStep: Sync {
    /// Parameters of a request that a server of the older revision does not know.
    fn params_unknown_to_older(&self, _method: &str) -> &'static [&'static str] {
        &[]
    }

    /// Parameters of a request that a server of the newer revision does not know any more.
    fn params_unknown_to_newer(&self, _method: &str) -> &'static [&'static str] {
        &[]
    }

    /// A server's response as a client of the older revision understands it, if something inside must change.
    fn response_for_older(&self, _response: &Response, _asked: &str) -> Option<Bytes> {
        None
    }

    /// A server's response as a client of the newer revision understands it, if something inside must change.
    fn response_for_newer(&self, _response: &Response, _asked: &str) -> Option<Bytes> {
        None
    }

    /// A server request as a client of the older revision understands it.
    fn server_request_for_older(
        &self,
        _method: &str,
        _params: &mut Object<'_>,
        _elicitation_id: &str,
    ) -> Result<(), UnsupportedServerRequest> {
        Ok(())
    }

    /// A server request as a client of the newer revision understands it.
    fn server_request_for_newer(&self, _method: &str, _params: &mut Object<'_>) {}

    /// A client's response to a server request as a server of the older revision understands it.
    fn client_response_for_older(&self, _method: &str, _answer: &mut Object<'_>) {}

    /// A tool's definition as a client of the older revision can read it.
    fn tool_for_older(&self, _tool: &mut Object<'_>) {}
}

/// Each step with the revision that it leads to, oldest first.
const STEPS: [(Revision, &dyn RevisionStep); 4] = [
    (Revision::V2025_03_26, &v2025_03_26::Changes),
    (Revision::V2025_06_18, &v2025_06_18::Changes),
    (Revision::V2025_11_25, &v2025_11_25::Changes),
    (Revision::V2026_07_28, &v2026_07_28::Changes),
];

/// The steps from a revision down to an older one, none if it is not older.
pub(crate) fn down(from: Revision, to: Revision) -> impl Iterator<Item = &'static dyn RevisionStep> {
    up(to, from).rev()
}

/// The steps from a revision up to a newer one, none if it is not newer.
pub(crate) fn up(from: Revision, to: Revision) -> impl DoubleEndedIterator<Item = &'static dyn RevisionStep> {
    let between = move |(newer, step)| (from < newer && newer <= to).then_some(step);
    STEPS.into_iter().filter_map(between)
}

/// Parameters of a request that a server of revision `to` does not know.
pub(crate) fn unknown_params(method: &str, from: Revision, to: Revision) -> SmallVec<[&'static str; 4]> {
    let mut unknown = SmallVec::new();
    if from != to {
        down(from, to).for_each(|step| unknown.extend_from_slice(step.params_unknown_to_older(method)));
        up(from, to).for_each(|step| unknown.extend_from_slice(step.params_unknown_to_newer(method)));
    }
    unknown
}

/// A server's response as a client of revision `to` understands it, but for the fields that every modern response carries;
/// nothing if nothing changed.
pub(crate) fn response(
    response: &Response,
    method: &str,
    from: Revision,
    to: Revision,
) -> Option<Box<Response>> {
    if from == to {
        return None;
    }
    let mut now: Option<Box<Response>> = None;
    let mut take = |change: &dyn Fn(&Response) -> Option<Bytes>| {
        let changed = change(now.as_deref().unwrap_or(response));
        if let Some(Ok(Message::Response(changed))) = changed.map(Message::parse) {
            now = Some(changed);
        }
    };
    down(from, to).for_each(|step| take(&|response| step.response_for_older(response, method)));
    up(from, to).for_each(|step| take(&|response| step.response_for_newer(response, method)));
    now
}

/// A response with another result or error (JSON text) than it has, of the same kind.
fn with_outcome(response: &Response, new: &str) -> Bytes {
    let span = match &response.outcome {
        Outcome::Result { fields, .. } => fields.span,
        Outcome::Error { span } => *span,
    };
    let mut splice = Splice::new(&response.text);
    splice.replace(span, new);
    response.edited(splice).into_bytes()
}
