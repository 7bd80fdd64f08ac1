//! The rounds: in each, every target once for every cell, one after the other. Each round begins with another target, so
//! that a machine that is slower for a moment is not slower for the same one every time.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::process::{self, CpuTimes};
use super::start::Running;
use super::targets::{Address, BASE, TOOLBAY};
use super::{Options, Places};

const IDLE_SESSIONS: u32 = 2_000;

/// One size of payload at one number of calls in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) payload: usize,
    pub(super) in_flight: usize,
}

/// What one run of the load generator brought.
pub(super) struct Sample {
    target: &'static str,
    cell: Cell,
    round: usize,
    /// The load generator's own report.
    report: Value,
    cpu_us: f64,
    echo_cpu_us: f64,
    rss_kib: u64,
}

/// Medians over the rounds; ratios are to the base within the same round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Summary {
    pub(super) calls_per_s: f64,
    pub(super) calls_ratio: f64,
    pub(super) p50_us: f64,
    pub(super) p50_ratio: f64,
    pub(super) p99_us: f64,
    pub(super) cpu_us: f64,
    pub(super) echo_cpu_us: f64,
    pub(super) rss_kib: f64,
}

/// How a target fared in a cell.
pub(super) enum Outcome {
    Measured(Summary),
    Stalled,
    /// Nothing but errors.
    Failed,
    /// Not one answer within the window, and no error either.
    TooSlow,
    Missing,
}

#[derive(Default)]
pub(super) struct Results {
    samples: Vec<Sample>,
    notes: Vec<String>,
}

impl Cell {
    pub(super) fn all(quick: bool) -> Vec<Self> {
        const KB64: usize = 64 << 10;
        const MB: usize = 1 << 20;
        let cell = |(payload, in_flight)| Self { payload, in_flight };
        if quick {
            return [(100, 1), (100, 64), (KB64, 32), (MB, 32)].map(cell).to_vec();
        }
        [100, KB64, MB]
            .into_iter()
            .flat_map(|payload| [1, 32, 64].map(|in_flight| cell((payload, in_flight))))
            .collect()
    }

    /// How long to measure: large payloads longer, so that slow targets answer at all.
    fn seconds(self, quick: bool) -> u32 {
        match (quick, self.payload > 1 << 17) {
            (true, false) => 1,
            (true, true) | (false, false) => 2,
            (false, true) => 4,
        }
    }
}

pub(super) fn rounds(
    running: &mut [Running],
    places: &Places,
    echo: u32,
    cells: &[Cell],
    options: &Options,
) -> Results {
    let mut results = Results::default();
    for round in 0..options.rounds {
        for cell in cells {
            eprintln!(
                "round {} of {}: {} B, {} in flight",
                round + 1,
                options.rounds,
                cell.payload,
                cell.in_flight
            );
            for index in 0..running.len() {
                let first = round % running.len();
                let target = &mut running[(first + index) % running.len()];
                // What failed once is not worth its ten seconds again.
                if results.has_failed(target.target.name, *cell) {
                    continue;
                }
                results.add(target, measure(target, places, echo, *cell, options.quick), *cell, round);
                let failed = results.has_failed(target.target.name, *cell);
                if failed && let Err(error) = target.restart(places) {
                    let note = format!("{}: cannot be started again, {error:#}", target.target.name);
                    results.notes.push(note);
                }
            }
        }
    }
    results
}

struct Measured {
    report: Value,
    cpu_us: f64,
    echo_cpu_us: f64,
    rss_kib: u64,
}

fn measure(
    running: &Running,
    places: &Places,
    echo: u32,
    cell: Cell,
    quick: bool,
) -> anyhow::Result<Measured> {
    let mut command = Command::new(places.program("toolbay-load"));
    let seconds = cell.seconds(quick);
    command.args(["--payload", &cell.payload.to_string(), "--in-flight", &cell.in_flight.to_string()]);
    command.args(["--seconds", &seconds.to_string(), "--warmup", "0.3"]).args(running.target.load_args);
    match &running.address {
        Address::Url(url) => command.args(["--url", url]),
        Address::Command(server) => command.args(["--stdio", "--"]).args(server),
    };
    places.isolate(&mut command)?;
    let mut load = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let root = running.pid().unwrap_or(load.id());
    // The load generator starts some targets, and what stands in front of others.
    let roots = [root, load.id(), echo];
    let (mut start, mut stop, mut errors, mut rss_kib) = (None, None, String::new(), 0);
    for line in BufReader::new(load.stderr.take().context("no stderr")?).lines() {
        match line?.as_str() {
            "start" => start = Some(CpuTimes::read(&roots)),
            "stop" => {
                stop = Some(CpuTimes::read(&roots));
                rss_kib = process::tree_rss_kib(root);
            }
            other => errors.push_str(other),
        }
    }
    let mut output = String::new();
    load.stdout.take().context("no stdout")?.read_to_string(&mut output)?;
    load.wait()?;
    ensure!(!output.is_empty(), "{errors}");
    let report: Value = serde_json::from_str(&output)?;
    let calls = report["calls"].as_f64().unwrap_or(0.0).max(1.0);
    let spent = start.zip(stop).map(|(start, stop)| start.until(&stop));
    let per_call = |seconds: Option<f64>| seconds.map_or(0.0, |seconds| seconds * 1e6 / calls);
    Ok(Measured {
        report,
        cpu_us: per_call(spent.map(|spent| spent.proxy)),
        echo_cpu_us: per_call(spent.map(|spent| spent.echo)),
        rss_kib,
    })
}

/// Bytes of resident memory that an idle legacy session costs the hub.
pub(super) fn idle_sessions(running: &mut [Running], places: &Places) -> Option<f64> {
    let hub = running.iter_mut().find(|running| running.target.name == TOOLBAY)?;
    hub.restart(places).ok()?;
    let open = |hub: &Running, count: u32| {
        let Address::Url(url) = &hub.address else { return false };
        let mut load = Command::new(places.program("toolbay-load"));
        load.args(["--url", url, "--idle-sessions", &count.to_string()]).stdout(Stdio::null());
        load.status().is_ok_and(|status| status.success())
    };
    // The first ones pay for what is allocated once.
    let pid = hub.pid()?;
    if !open(hub, 50) {
        return None;
    }
    let before = process::rss_kib(pid);
    if !open(hub, IDLE_SESSIONS) {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52 bytes")]
    let bytes = process::rss_kib(pid).saturating_sub(before) as f64 * 1024.0;
    Some(bytes / f64::from(IDLE_SESSIONS))
}

impl Results {
    fn add(&mut self, running: &Running, measured: anyhow::Result<Measured>, cell: Cell, round: usize) {
        let target = running.target.name;
        let place = format!("{target}, {} B, {} in flight", cell.payload, cell.in_flight);
        let measured = measured.unwrap_or_else(|error| {
            let report = json!({"calls": 0, "first_error": format!("{error:#}")});
            Measured { report, cpu_us: 0.0, echo_cpu_us: 0.0, rss_kib: 0 }
        });
        if measured.report["stalled"] == true {
            self.notes.push(format!(
                "{place}: stalled, no answer for 10 s (the echo server does not read while it writes)"
            ));
        }
        if let Some(error) = measured.report["first_error"].as_str() {
            let error: String =
                error.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(160).collect();
            self.notes.push(format!("{place}: {} errors, first: {error}", measured.report["errors"]));
        }
        let Measured { report, cpu_us, echo_cpu_us, rss_kib } = measured;
        self.samples.push(Sample { target, cell, round, report, cpu_us, echo_cpu_us, rss_kib });
    }

    fn has_failed(&self, target: &str, cell: Cell) -> bool {
        matches!(self.outcome(target, cell), Outcome::Stalled | Outcome::Failed)
    }

    pub(super) fn outcome(&self, target: &str, cell: Cell) -> Outcome {
        let samples: Vec<&Sample> = self.of(target, cell).collect();
        if samples.is_empty() {
            return Outcome::Missing;
        }
        if samples.iter().any(|sample| sample.report["stalled"] == true) {
            return Outcome::Stalled;
        }
        let samples: Vec<&Sample> =
            samples.into_iter().filter(|sample| sample.report["calls"] != 0).collect();
        if samples.is_empty() {
            return if self.of(target, cell).any(|sample| sample.report["errors"] != 0) {
                Outcome::Failed
            } else {
                Outcome::TooSlow
            };
        }
        let number = |key: &str| {
            median(samples.iter().filter_map(|sample| sample.report[key].as_f64())).unwrap_or(0.0)
        };
        let ratio =
            |key: &str| self.ratio(target, BASE, cell, |sample| sample.report[key].as_f64()).unwrap_or(0.0);
        let of = |pick: fn(&Sample) -> f64| median(samples.iter().map(|sample| pick(sample))).unwrap_or(0.0);
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52 KiB")]
        let rss_kib = of(|sample| sample.rss_kib as f64);
        Outcome::Measured(Summary {
            calls_per_s: number("calls_per_s"),
            calls_ratio: ratio("calls_per_s"),
            p50_us: number("p50_us"),
            p50_ratio: ratio("p50_us"),
            p99_us: number("p99_us"),
            cpu_us: of(|sample| sample.cpu_us),
            echo_cpu_us: of(|sample| sample.echo_cpu_us),
            rss_kib,
        })
    }

    /// The median of what `pick` finds in `target`'s samples over what it finds in `other`'s, round by round.
    pub(super) fn ratio(
        &self,
        target: &str,
        other: &str,
        cell: Cell,
        pick: impl Fn(&Sample) -> Option<f64>,
    ) -> Option<f64> {
        self.by_round(&[target, other], cell, |samples| Some(pick(samples[0])? / pick(samples[1])?))
    }

    /// The median of `figure` over those rounds in which all `targets` were measured.
    pub(super) fn by_round(
        &self,
        targets: &[&str],
        cell: Cell,
        figure: impl Fn(&[&Sample]) -> Option<f64>,
    ) -> Option<f64> {
        let rounds = self.samples.iter().map(|sample| sample.round).max()?;
        let figures = (0..=rounds).filter_map(|round| {
            let in_round = |name: &&str| self.of(name, cell).find(|sample| sample.round == round);
            figure(&targets.iter().map(in_round).collect::<Option<Vec<_>>>()?)
        });
        median(figures.filter(|figure| figure.is_finite()))
    }

    pub(super) fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for sample in &self.samples {
            if !cells.contains(&sample.cell) {
                cells.push(sample.cell);
            }
        }
        cells
    }

    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        self.notes.iter().cloned()
    }

    pub(super) fn to_json(&self) -> Vec<Value> {
        let samples = self.samples.iter().map(|sample| {
            json!({
                "target": sample.target, "payload": sample.cell.payload, "in_flight": sample.cell.in_flight,
                "round": sample.round, "report": sample.report, "cpu_us_per_call": sample.cpu_us,
                "echo_cpu_us_per_call": sample.echo_cpu_us, "rss_kib": sample.rss_kib,
            })
        });
        samples.collect()
    }

    fn of(&self, target: &str, cell: Cell) -> impl Iterator<Item = &Sample> {
        self.samples.iter().filter(move |sample| sample.target == target && sample.cell == cell)
    }
}

impl Sample {
    pub(super) fn calls_per_s(&self) -> Option<f64> {
        self.report["calls_per_s"].as_f64()
    }

    pub(super) fn cpu_us(&self) -> Option<f64> {
        (self.cpu_us > 0.0).then_some(self.cpu_us)
    }

    pub(super) fn p50_us(&self) -> Option<f64> {
        self.report["p50_us"].as_f64()
    }
}

pub fn median(figures: impl Iterator<Item = f64>) -> Option<f64> {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_unstable_by(f64::total_cmp);
    let middle = figures.len() / 2;
    match figures.len() {
        0 => None,
        even if even % 2 == 0 => Some(f64::midpoint(figures[middle - 1], figures[middle])),
        _ => Some(figures[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_is_the_middle() {
        for (figures, middle) in [
            (vec![], None),
            (vec![3.0], Some(3.0)),
            (vec![9.0, 1.0, 2.0], Some(2.0)),
            (vec![4.0, 1.0], Some(2.5)),
        ] {
            assert_eq!(median(figures.into_iter()), middle);
        }
    }
}
