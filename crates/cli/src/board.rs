//! The servers as they come up: a table that is drawn anew in place on a terminal, else a line per change.

use std::{collections::HashMap, time::Duration};

use toolbay_control::ServerSnapshot;
use toolbay_host::{EventStream, Host};

use crate::{
    output::{Output, size, to_stderr},
    redraw::Redraw,
    server_view::{Times, View, key, line},
};

/// Changes that come together are drawn together.
const TOGETHER: Duration = Duration::from_millis(60);
/// Without a change, how often running times are drawn anew.
const TICK: Duration = Duration::from_millis(500);

/// Shows servers as they come up.
#[derive(Debug)]
pub(crate) struct Board<'a> {
    out: &'a Output,
    host: Host,
    events: EventStream,
    /// What was last said about each server.
    said: HashMap<String, String>,
    table: Redraw,
    form: Form,
    /// The only servers that are shown, if not all are.
    only: Option<Vec<String>>,
}

/// How changes are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A table on stderr that is drawn anew in place.
    Table,
    /// A line on stderr for each change.
    Lines,
    /// A JSON object on stdout for each change.
    Events,
    Nothing,
}

impl<'a> Board<'a> {
    pub(crate) fn new(host: &Host, out: &'a Output) -> Self {
        let form = match () {
            () if out.is_quiet() => Form::Nothing,
            () if out.stderr_is_terminal => Form::Table,
            () => Form::Lines,
        };
        let (host, events) = (host.clone(), host.events());
        Self { out, host, events, said: HashMap::new(), table: Redraw::default(), form, only: None }
    }

    /// As [`Board::new`], of those servers alone that are on their way up now.
    pub(crate) fn of_starting(host: &Host, out: &'a Output) -> Self {
        let board = Self::new(host, out);
        let starting = host.statuses().into_iter().filter(|status| status.state.word() == "starting");
        let only = starting.map(|status| status.name.as_str().to_owned()).collect();
        Self { only: Some(only), ..board }
    }

    /// As [`Board::new`]; with `--json`, changes are data.
    pub(crate) fn with_events(host: &Host, out: &'a Output) -> Self {
        let board = Self::new(host, out);
        if out.json { Self { form: Form::Events, ..board } } else { board }
    }

    /// Shows changes for ever. On a terminal the table is finished once all servers are settled.
    pub(crate) async fn follow(&mut self) {
        if self.form == Form::Nothing {
            return std::future::pending().await;
        }
        loop {
            let snapshots = self.look();
            self.show(&snapshots);
            if snapshots.iter().all(|server| server.state != "starting") {
                self.finish();
            }
            let is_table = self.form == Form::Table;
            tokio::select! {
                _ = self.events.next() => tokio::time::sleep(TOGETHER).await,
                () = tokio::time::sleep(TICK), if is_table => {}
            }
        }
    }

    /// Shows how things stand now. A table stays as it is from here on; later changes are lines below it.
    pub(crate) fn finish(&mut self) {
        let snapshots = self.look();
        self.show(&snapshots);
        if self.form == Form::Table {
            for server in &snapshots {
                self.said.insert(server.name.clone(), key(server));
            }
            self.form = Form::Lines;
        }
    }

    fn show(&mut self, snapshots: &[ServerSnapshot]) {
        match self.form {
            Form::Table => self.draw(snapshots),
            Form::Lines | Form::Events => self.tell(snapshots),
            Form::Nothing => {}
        }
    }

    fn look(&self) -> Vec<ServerSnapshot> {
        let mut statuses = self.host.statuses();
        if let Some(only) = &self.only {
            statuses.retain(|status| only.iter().any(|name| name == status.name.as_str()));
        }
        statuses.iter().map(ServerSnapshot::of).collect()
    }

    fn draw(&mut self, snapshots: &[ServerSnapshot]) {
        let columns = size(std::io::stderr()).map(|size| size.columns);
        let view = View { columns, ..View::new(self.out.paint_status, Times::Start) };
        if let Some(text) = self.table.with(view.table(&snapshots.iter().collect::<Vec<_>>())) {
            to_stderr(&text);
        }
    }

    fn tell(&mut self, snapshots: &[ServerSnapshot]) {
        for server in snapshots {
            let key = key(server);
            if self.said.get(&server.name) == Some(&key) {
                continue;
            }
            self.said.insert(server.name.clone(), key);
            if self.form == Form::Events {
                let fields = serde_json::to_string(server).unwrap_or_default();
                // Nobody reading is no reason to stop serving.
                let _ = self.out.json_fields(&format!("\"event\":\"server\",\"server\":{fields}"));
                continue;
            }
            self.out.note(&line(server, self.out.paint_status));
        }
    }
}
