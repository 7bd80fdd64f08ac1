//! The servers while they start: a table that is redrawn in place on a terminal, else a line per change.

use std::{collections::HashMap, time::Duration};

use toolbay_control::{ServerSnapshot, ServerState};
use toolbay_host::{Host, HostEvents, ServerStatus};
use toolbay_protocol::ObjectBuilder;

use crate::term::{
    output::{Output, size, to_stderr},
    screen::Redraw,
    status_view::{Times, View, key, line},
};

/// Changes that come together are drawn together.
const TOGETHER: Duration = Duration::from_millis(60);
/// How often running times are redrawn without a change.
const TICK: Duration = Duration::from_millis(500);

/// Shows servers as they come up.
#[derive(Debug)]
pub(crate) struct StartupTable<'a> {
    out: &'a Output,
    host: Host,
    events: HostEvents,
    /// The last line about each server.
    said: HashMap<String, String>,
    table: Redraw,
    form: StartupView,
    /// The only servers that are shown, if not all are.
    only: Option<Vec<String>>,
}

/// How changes are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StartupView {
    /// A table on stderr that is redrawn in place.
    Table,
    /// A line on stderr for each change.
    Lines,
    /// A JSON object on stdout for each change.
    Events,
    Nothing,
}

impl<'a> StartupTable<'a> {
    pub(crate) fn new(host: &Host, out: &'a Output) -> Self {
        let form = match () {
            () if out.is_quiet() => StartupView::Nothing,
            () if out.stderr_is_terminal => StartupView::Table,
            () => StartupView::Lines,
        };
        let (host, events) = (host.clone(), host.events());
        Self { out, host, events, said: HashMap::new(), table: Redraw::default(), form, only: None }
    }

    /// As [`StartupTable::new`], with only those servers that are starting now.
    pub(crate) fn of_starting(host: &Host, out: &'a Output) -> Self {
        let board = Self::new(host, out);
        let is_starting = |status: &ServerStatus| ServerState::from(&status.state) == ServerState::Starting;
        let starting = host.statuses().into_iter().filter(is_starting);
        let only = starting.map(|status| status.name.as_str().to_owned()).collect();
        Self { only: Some(only), ..board }
    }

    /// As [`StartupTable::new`]; with `--json`, changes are data.
    pub(crate) fn with_events(host: &Host, out: &'a Output) -> Self {
        let board = Self::new(host, out);
        if out.json { Self { form: StartupView::Events, ..board } } else { board }
    }

    /// Shows changes for ever. On a terminal the table is finished once all servers are settled.
    pub(crate) async fn follow(&mut self) {
        if self.form == StartupView::Nothing {
            return std::future::pending().await;
        }
        loop {
            let snapshots = self.look();
            self.show(&snapshots);
            if snapshots.iter().all(|server| server.state != ServerState::Starting) {
                self.finish();
            }
            let is_table = self.form == StartupView::Table;
            tokio::select! {
                _ = self.events.next() => tokio::time::sleep(TOGETHER).await,
                () = tokio::time::sleep(TICK), if is_table => {}
            }
        }
    }

    /// Shows the current state. A table stays as it is from here on; later changes are lines below it.
    pub(crate) fn finish(&mut self) {
        let snapshots = self.look();
        self.show(&snapshots);
        if self.form == StartupView::Table {
            for server in &snapshots {
                self.said.insert(server.name.clone(), key(server));
            }
            self.form = StartupView::Lines;
        }
    }

    fn show(&mut self, snapshots: &[ServerSnapshot]) {
        match self.form {
            StartupView::Table => self.draw(snapshots),
            StartupView::Lines | StartupView::Events => self.tell(snapshots),
            StartupView::Nothing => {}
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
            if self.form == StartupView::Events {
                // Output that is not read is no reason to stop serving.
                let _ = self
                    .out
                    .json_fields(ObjectBuilder::new().string("event", "server").value("server", server));
                continue;
            }
            self.out.note(&line(server, self.out.paint_status));
        }
    }
}
