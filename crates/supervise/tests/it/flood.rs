//! stderr in any amount.

use std::{fs, time::Instant};

use toolbay_supervise::LogRing;

use crate::support::*;

fn resident_mebibytes() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096 / (1 << 20)
}

#[tokio::test]
async fn two_hundred_megabytes_pass_and_the_last_lines_are_kept() {
    let before = resident_mebibytes();
    let start_time = Instant::now();
    let script = "yes 'one line of an ordinary length, as servers write them' | head -c 200M >&2; echo >&2; echo bye >&2; exit 4";
    let server = start(script, &shim(), grace(1, 1));
    assert_eq!(server.exit().await, "exit code 4");
    let took = start_time.elapsed();
    let ring = server.handle.stderr();
    let lines = ring.tail(usize::MAX);
    eprintln!(
        "200 MiB of stderr: {took:?}, {} lines kept, +{} MiB",
        lines.len(),
        resident_mebibytes() - before
    );
    assert!(lines.len() <= LogRing::MAX_LINES);
    assert_eq!(&*lines.last().unwrap().text, "bye");
    assert!(lines.iter().any(|line| line.text.contains("bytes left out")));
    assert!(took.as_secs() < 15, "{took:?}");
    server.end().await;
}

#[tokio::test]
async fn an_endless_flood_without_a_line_end_can_be_stopped() {
    let mut server = start("echo $$; exec cat /dev/zero >&2", &shim(), grace(50, 2_000));
    server.pids(1).await;
    server.handle.stop();
    assert_eq!(server.end().await, "killed by signal 15 (SIGTERM)");
}
