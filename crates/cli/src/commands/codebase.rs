//! `toolbay codebase`: the codebase server of one folder, alone.

use toolbay_builtin::codebase::{CodebaseIdentity, codebase};
use toolbay_server::in_process;

use super::alone;
use crate::{
    app::{
        codebases::{OpenTrees, folder, show_secrets},
        context::Context,
        error::CliError,
    },
    args::CodebaseArgs,
};

pub(crate) async fn run(context: &Context, args: &CodebaseArgs) -> Result<(), CliError> {
    let folder = folder(args.path.as_deref())?;
    let tree = OpenTrees::new(context).tree(&folder, show_secrets(args.secrets), None);
    let identity = CodebaseIdentity { s3_errors: args.s3_errors, ..CodebaseIdentity::ALONE };
    alone::serve(context, &args.serving, "codebase", in_process(codebase(tree, identity))).await
}
