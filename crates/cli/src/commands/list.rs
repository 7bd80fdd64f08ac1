//! `toolbay list`: every configured server, and where it stands.

use serde_json::{Value, json};
use toolbay_config::Standing;

use crate::{
    context::Context,
    error::CliError,
    style::clean_line,
    survey::{Survey, scope, short_path, standing},
    table::{Cell, Look, print},
    wording::target,
};

pub(crate) async fn run(context: &Context) -> Result<(), CliError> {
    let survey = Survey::read(context)?;
    let states = survey.states(context).await;
    let servers = &survey.reading.merged.servers;
    let state = |name: &str| states.get(name).map(|server| server.state.as_str());
    if context.out.json {
        let servers: Vec<Value> = servers
            .iter()
            .map(|placed| {
                let mut server = survey.json(placed);
                server["state"] = json!(state(placed.server.name.as_str()));
                server
            })
            .collect();
        return Ok(context.out.json_object(&json!({ "servers": servers }))?);
    }
    let head = ["NAME", "STANDING", "STATE", "TRANSPORT", "SCOPE", "FILE", "COMMAND OR URL"];
    let mut rows = vec![head.map(|text| Cell::new(text, Look::Dim)).to_vec()];
    for placed in servers {
        let (name, normalised) = (placed.server.name.as_str(), survey.normalised(placed));
        let look = match placed.server.standing {
            Standing::Enabled => Look::Good,
            Standing::Disabled => Look::Dim,
            Standing::Pending => Look::Busy,
        };
        rows.push(vec![
            Cell::new(clean_line(name), Look::Bold),
            Cell::new(standing(placed.server.standing), look),
            state(name).unwrap_or("–").into(),
            normalised["transport"].as_str().unwrap_or_default().into(),
            scope(placed.file.scope).into(),
            short_path(context, &placed.file.path).into(),
            target(&normalised).into(),
        ]);
    }
    if servers.is_empty() {
        rows.clear();
    }
    print(context, &rows, "no servers; add one with `toolbay add NAME -- COMMAND` or `toolbay import`")?;
    let waits = servers.iter().any(|placed| placed.server.standing == Standing::Pending);
    if waits {
        context.out.note("what needs approval came with this project; see `toolbay approve`");
    }
    Ok(())
}
