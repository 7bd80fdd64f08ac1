//! The tables, made for reading in a terminal.

use super::measure::{Cell, Outcome, Results};
use super::start::Running;

pub(super) fn print(running: &[Running], results: &Results) {
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

pub(super) fn mib(kib: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52 KiB")]
    let kib = kib as f64;
    kib / 1024.0
}
