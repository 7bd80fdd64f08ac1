//! What a record costs: one at a time, and many that wait together.

use std::time::SystemTime;

use toolbay_audit::{AuditLog, AuditRecord, AuditSettings, CallOutcome, OnFailure, RecordKind, Recorded};

fn main() {
    divan::main();
}

fn record(call: u64) -> AuditRecord<'static> {
    AuditRecord {
        kind: RecordKind::End,
        call,
        time: SystemTime::now(),
        principal: "owner",
        client: Some("claude-code 2.1.0"),
        profile: None,
        method: "tools/call",
        server: Some("filesystem"),
        target: Some("filesystem__read_text_file"),
        own_name: Some("read_text_file"),
        rule: None,
        outcome: Some(CallOutcome::Success),
        bytes_in: 312,
        bytes_out: 2048,
        micros: 1234,
        arguments: None,
    }
}

/// So many calls end at once.
#[divan::bench(args = [1, 8, 64, 256])]
fn written_together(bencher: divan::Bencher<'_, '_>, calls: u64) {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let settings = AuditSettings {
        folder: folder.path().to_owned(),
        name: "hub".to_owned(),
        arguments: false,
        fsync: false,
        max_size: 64 * 1024 * 1024,
        keep: 1,
        on_failure: OnFailure::Block,
    };
    let log = AuditLog::open(settings).expect("the log is writable");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    bencher.counter(divan::counter::ItemsCount::new(calls)).bench_local(|| {
        runtime.block_on(async {
            let all: Vec<_> = (0..calls).map(|call| log.write(&record(call))).collect();
            let wait = async {
                for written in all {
                    assert_eq!(written.await, Recorded::Yes);
                }
            };
            tokio::select! {
                () = wait => {}
                () = log.confirm() => {}
            }
        });
    });
}
