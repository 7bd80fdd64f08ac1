//! `toolbay policy test`: explains what the rules decide about a call.

use serde_json::{Value, json};
use toolbay_control::method;

use crate::{
    app::{
        context::Context,
        error::CliError,
        session::{self, Needs},
    },
    args::PolicyTestArgs,
    term::style::clean_line,
};

pub(crate) async fn test(context: &Context, args: &PolicyTestArgs) -> Result<(), CliError> {
    session::with(context, Needs::Owner(&args.tool), async |session| {
        session.ready(Some(&json!({ "tool": args.tool }).to_string())).await?;
        let params = json!({
            "tool": args.tool,
            "arguments": args.arguments,
            "principal": args.principal,
            "profile": session.profile(),
        });
        let explained: Value = session.client.request_as(method::EXPLAIN, Some(&params.to_string())).await?;
        if context.out.json {
            return Ok(context.out.json_object(&explained)?);
        }
        Ok(context.out.data(&text(args, &explained))?)
    })
    .await
}

fn text(args: &PolicyTestArgs, explained: &Value) -> String {
    let word = |key: &str| clean_line(explained[key].as_str().unwrap_or_default());
    let mut lines = vec![
        format!("{}: {}", clean_line(&args.tool), word("decision")),
        format!("tool `{}` of server `{}`, tier `{}`", word("tool"), word("server"), word("tier")),
    ];
    for (index, passed) in explained["passed"].as_array().into_iter().flatten().enumerate() {
        let part = |key: &str| clean_line(passed[key].as_str().unwrap_or_default());
        lines.push(format!("{}. `{}` does not match: {}", index + 1, part("rule"), part("why")));
    }
    let number = lines.len() - 1;
    lines.push(match (explained["unclear"].as_str(), explained["rule"].as_str()) {
        _ if explained["in_profile"] == false => "the profile does not have the tool".to_owned(),
        (Some(why), _) => format!("rules look at the arguments, but {}", clean_line(why)),
        (None, Some(rule)) => format!("{number}. `{}` decides: {}", clean_line(rule), word("decision")),
        (None, None) => "no rule matches, so the call is made".to_owned(),
    });
    if let Some(reason) = explained["reason"].as_str() {
        lines.push(format!("reason: {}", clean_line(reason)));
    }
    if explained["hidden"] == true {
        lines.push("the tool is not listed, and a call is answered as if it did not exist".to_owned());
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}
