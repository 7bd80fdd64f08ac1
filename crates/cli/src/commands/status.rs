//! `toolbay status`: how the hub and its servers are.

use toolbay_control::Client;

use crate::{board::server_lines, context::Context, error::CliError, session, style::clean};

pub(crate) async fn run(context: &Context) -> Result<(), CliError> {
    session::with(context, async |session| {
        if matches!(session.client, Client::Local(_)) {
            session.ready(None).await?;
        }
        let snapshot = session.client.snapshot().await?;
        let out = &context.out;
        if out.json {
            return Ok(out.json_object(&snapshot)?);
        }
        let mut head = format!("Toolbay {}", clean(&snapshot.version));
        if matches!(session.client, Client::Remote(_)) {
            head.push_str(&format!(", process {}", snapshot.pid));
        }
        for part in [snapshot.url.clone(), snapshot.config.map(|config| config.display().to_string())] {
            head.push_str(&part.map(|part| format!(", {}", clean(&part))).unwrap_or_default());
        }
        out.data(&format!("{head}\n"))?;
        for line in server_lines(&snapshot.servers, &[], out.paint) {
            out.data(&format!("{line}\n"))?;
        }
        for set_aside in &snapshot.quarantined {
            let value: serde_json::Value = serde_json::from_str(set_aside.get()).unwrap_or_default();
            let part = |key: &str| clean(value[key].as_str().unwrap_or("?")).into_owned();
            let (server, kind, name) = (part("server"), part("kind"), part("name"));
            out.data(&format!("{server}: the {kind} `{name}` is not offered: {}\n", part("reason")))?;
        }
        Ok(())
    })
    .await
}
