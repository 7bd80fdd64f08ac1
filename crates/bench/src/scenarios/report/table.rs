//! The tables, made for reading in a terminal.

use crate::scenarios::measure::{Cell, Outcome, Results, Sample};
use crate::scenarios::start::Running;
use crate::scenarios::targets::PAIRS;

pub(in crate::scenarios) fn print(running: &[Running], results: &Results) {
    for cell in results.cells() {
        print_cell(running, results, cell);
    }
    println!(
        "\nStart and memory           route        listening ms  answering ms  idle RSS MiB  with children"
    );
    for running in running {
        let (Some((listening, answering)), Some(rss)) = (running.start_ms(), running.idle_rss()) else {
            continue;
        };
        println!(
            "  {:<25}{:<13}{:>12.1}{:>14.1}{:>14.1}{:>15.1}",
            running.target.name,
            running.target.route,
            listening,
            answering,
            mib(rss.main),
            mib(rss.tree)
        );
    }
}

/// How targets that differ in one thing compare: medians of the ratios within each round.
pub(in crate::scenarios) fn print_pairs(results: &Results) {
    for (target, other) in PAIRS {
        let rows = results.cells().into_iter().filter_map(|cell| {
            let ratio = |pick: fn(&Sample) -> Option<f64>| results.ratio(target, other, cell, pick);
            Some((cell, ratio(Sample::calls_per_s)?, ratio(Sample::p50_us)?, ratio(Sample::cpu_us)?))
        });
        for (number, (cell, calls, p50, cpu)) in rows.enumerate() {
            if number == 0 {
                println!(
                    "\n{:<44}{:>10}{:>10}{:>10}",
                    format!("{target} to {other}"),
                    "calls/s",
                    "p50",
                    "CPU"
                );
            }
            let title = format!("{} B, {} in flight", cell.payload, cell.in_flight);
            println!("  {title:<42}{calls:>9.3}×{p50:>9.3}×{cpu:>9.3}×");
        }
    }
}

fn print_cell(running: &[Running], results: &Results, cell: Cell) {
    let title = format!("{} B, {} in flight", cell.payload, cell.in_flight);
    println!(
        "\n{title:<27}{:<12}{:>10}{:>8}{:>11}{:>8}{:>11}{:>10}{:>10}{:>9}",
        "route", "calls/s", "ratio", "p50 µs", "ratio", "p99 µs", "CPU µs", "echo CPU", "RSS MiB"
    );
    for running in running {
        print!("  {:<25}{:<12}", running.target.name, running.target.route);
        match results.outcome(running.target.name, cell) {
            Outcome::Measured(of) => println!(
                "{:>10.0}{:>8.3}{:>11.0}{:>8.2}{:>11.0}{:>10.1}{:>10.1}{:>9.1}",
                of.calls_per_s,
                of.calls_ratio,
                of.p50_us,
                of.p50_ratio,
                of.p99_us,
                of.cpu_us,
                of.echo_cpu_us,
                of.rss_kib / 1024.0
            ),
            Outcome::Stalled => println!("{:>10}", "stalled"),
            Outcome::Failed => println!("{:>10}", "failed"),
            Outcome::TooSlow => println!("{:>10}", "< 1"),
            Outcome::Missing => println!("{:>10}", "–"),
        }
    }
}

pub(in crate::scenarios) fn mib(kib: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52 KiB")]
    let kib = kib as f64;
    kib / 1024.0
}
