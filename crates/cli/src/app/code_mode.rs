//! Code mode, where this build has it.

use std::sync::Arc;

use toolbay_code::{CodeOptions, CodeRunner};
use toolbay_config::{HubFile, SandboxLevel};
use toolbay_sandbox::{Function, Level};

use super::context::Context;

/// The functions of this program that run in sandboxes.
pub(crate) fn functions() -> Vec<Function> {
    #[cfg(feature = "code")]
    return vec![toolbay_code::function()];
    #[cfg(not(feature = "code"))]
    Vec::new()
}

/// What runs the code of models, if that is wanted.
pub(crate) fn runner(context: &Context, hub: &HubFile) -> Option<Arc<CodeRunner>> {
    if !hub.code_mode.unwrap_or(false) {
        return None;
    }
    if functions().is_empty() {
        context.out.warn("`code_mode` has no effect: this build has no code mode (the Cargo feature `code`)");
        return None;
    }
    let sandbox = match hub.code_sandbox.unwrap_or_default() {
        SandboxLevel::Full => Level::Full,
        SandboxLevel::Partial => Level::Partial,
        SandboxLevel::None => Level::None,
    };
    let options = CodeOptions { sandbox, ..CodeOptions::default() };
    Some(Arc::new(CodeRunner::new(options, context.tasks.clone())))
}
