//! What we want to reach, and whether this run did.

use crate::scenarios::measure::{Cell, Outcome, Results, Sample, Summary};
use crate::scenarios::report::table::mib;
use crate::scenarios::start::Running;
use crate::scenarios::targets::{BASE, FORWARD, Kind, TOOLBAY};

const ONE: Cell = Cell { payload: 100, in_flight: 1 };
const MANY: Cell = Cell { payload: 100, in_flight: 64 };
const LARGE: Cell = Cell { payload: 1 << 20, in_flight: 32 };

pub(in crate::scenarios) fn print(running: &[Running], results: &Results, bytes_per_session: Option<f64>) {
    println!("\nGoals for {TOOLBAY}, HTTP front to stdio server, 100 B");
    let hub = running.iter().find(|running| running.target.name == TOOLBAY);
    let ours = measured(results, TOOLBAY, MANY);
    line(
        "calls/s, 64 in flight, to the echo server itself",
        ours.map(|ours| ours.calls_ratio),
        Goal::AtLeast(0.8),
        "×",
    );
    line("added p50, 1 in flight, to the bare forwarder's", added_p50(results), Goal::AtMost(1.5), "×");
    let peers: Vec<(&str, Summary)> = running
        .iter()
        .filter(|running| running.target.kind == Kind::Peer)
        .filter_map(|peer| Some((peer.target.name, measured(results, peer.target.name, MANY)?)))
        .collect();
    let fastest = peers.iter().max_by(|(_, a), (_, b)| a.calls_per_s.total_cmp(&b.calls_per_s));
    let leanest = peers.iter().min_by(|(_, a), (_, b)| a.cpu_us.total_cmp(&b.cpu_us));
    let faster = fastest.and_then(|(peer, _)| results.ratio(TOOLBAY, peer, MANY, Sample::calls_per_s));
    let leaner = leanest.and_then(|(peer, _)| results.ratio(TOOLBAY, peer, MANY, Sample::cpu_us));
    line("calls/s, 64 in flight, to the best peer", faster, Goal::AtLeast(3.0), "×");
    line("CPU per call, 64 in flight, to the best peer", leaner, Goal::AtMost(1.0 / 3.0), "×");
    let flows = match results.outcome(TOOLBAY, LARGE) {
        Outcome::Measured(of) => Some(of.calls_per_s),
        Outcome::Stalled | Outcome::Failed | Outcome::TooSlow => Some(0.0),
        Outcome::Missing => None,
    };
    line("no stall at 1 MB × 32 in flight", flows, Goal::AtLeast(f64::MIN_POSITIVE), " calls/s");
    let rss = hub.and_then(Running::idle_rss);
    line("RSS of the idle hub", rss.map(|rss| mib(rss.main)), Goal::AtMost(15.0), " MiB");
    line(
        "RSS of an idle legacy session",
        bytes_per_session.map(|bytes| bytes / 1024.0),
        Goal::AtMost(8.0),
        " KiB",
    );
    line("listening", hub.and_then(Running::start_ms).map(|start| start.0), Goal::AtMost(50.0), " ms");
}

#[derive(Clone, Copy)]
enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

fn line(what: &str, figure: Option<f64>, goal: Goal, unit: &str) {
    let (met, wanted) = match goal {
        Goal::AtLeast(least) if least < 0.01 => {
            (figure.is_some_and(|figure| figure >= least), "above 0".to_owned())
        }
        Goal::AtLeast(least) => {
            (figure.is_some_and(|figure| figure >= least), format!("at least {least:.2}{unit}"))
        }
        Goal::AtMost(most) => {
            (figure.is_some_and(|figure| figure <= most), format!("at most {most:.2}{unit}"))
        }
    };
    match figure {
        Some(figure) => {
            println!("  {} {what:<52}{figure:>10.2}{unit} ({wanted})", if met { '✓' } else { '✗' })
        }
        None => println!("  – {what:<52}not measured ({wanted})"),
    }
}

fn measured(results: &Results, target: &str, cell: Cell) -> Option<Summary> {
    match results.outcome(target, cell) {
        Outcome::Measured(summary) => Some(summary),
        Outcome::Stalled | Outcome::Failed | Outcome::TooSlow | Outcome::Missing => None,
    }
}

/// What the hub adds to the latency of the echo server without a hub, over what the forwarder adds.
fn added_p50(results: &Results) -> Option<f64> {
    results.by_round(&[TOOLBAY, FORWARD, BASE], ONE, |samples| {
        let [ours, forward, base] = [samples[0].p50_us()?, samples[1].p50_us()?, samples[2].p50_us()?];
        Some((ours - base) / (forward - base))
    })
}
