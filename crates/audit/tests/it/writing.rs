use std::{
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use toolbay_audit::{
    AuditLog, AuditRecord, AuditSettings, CallOutcome, OnFailure, RecordKind, Recorded, file_sets, verify,
};

pub(crate) fn settings(folder: &Path, max_size: u64, keep: usize) -> AuditSettings {
    AuditSettings {
        folder: folder.to_owned(),
        name: "hub".to_owned(),
        arguments: false,
        fsync: false,
        max_size,
        keep,
        on_failure: OnFailure::Block,
    }
}

pub(crate) fn log(folder: &Path, max_size: u64, keep: usize) -> AuditLog {
    AuditLog::open(settings(folder, max_size, keep)).unwrap()
}

pub(crate) fn record(call: u64, outcome: CallOutcome) -> AuditRecord<'static> {
    AuditRecord {
        kind: RecordKind::End,
        call,
        time: SystemTime::UNIX_EPOCH + Duration::from_millis(call),
        principal: "owner",
        client: Some("a \"client\"\n"),
        profile: None,
        method: "tools/call",
        server: Some("files"),
        target: Some("files__read"),
        own_name: Some("read"),
        rule: None,
        outcome: Some(outcome),
        bytes_in: 10,
        bytes_out: 20,
        micros: 30,
        arguments: Some(r#"{"a":1}"#),
    }
}

pub(crate) fn write(log: &AuditLog, record: &AuditRecord<'_>) -> Recorded {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let written = log.write(record);
        tokio::select! {
            written = written => written,
            () = log.confirm() => unreachable!("it does not end"),
        }
    })
}

#[test]
fn a_record_is_there_when_its_caller_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let log = log(folder.path(), u64::MAX, 1);
    for (index, outcome) in
        [CallOutcome::Success, CallOutcome::Denied, CallOutcome::Timeout].into_iter().enumerate()
    {
        assert_eq!(write(&log, &record(index as u64, outcome)), Recorded::Yes);
        let text = fs::read_to_string(folder.path().join("hub.ndjson")).unwrap();
        let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        assert_eq!(last["outcome"], outcome.as_str());
        assert_eq!((&last["seq"], &last["client"]), (&(index + 1).into(), &"a \"client\"\n".into()));
        assert_eq!(last["arguments"]["a"], 1);
    }
    assert_eq!(log.state().written, 3);
    // A second process writes files of its own, and whoever comes later continues the first.
    let other = self::log(folder.path(), u64::MAX, 1);
    assert_eq!(write(&other, &record(1, CallOutcome::Success)), Recorded::Yes);
    drop((log, other));
    let again = self::log(folder.path(), u64::MAX, 1);
    write(&again, &record(9, CallOutcome::Success));
    drop(again);
    let sets = file_sets(folder.path()).unwrap();
    assert_eq!(sets.iter().map(|set| set.name()).collect::<Vec<_>>(), ["hub", "hub-2"]);
    let found: Vec<u64> = sets.iter().map(|set| verify(set).unwrap().records).collect();
    assert_eq!(found, [4, 1]);
}

#[test]
fn all_that_waits_is_written_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let log = Arc::new(log(folder.path(), u64::MAX, 1));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let all: Vec<_> = (0..5000).map(|call| log.write(&record(call, CallOutcome::Success))).collect();
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
    log.write_later(&record(1, CallOutcome::Cancelled));
    drop(log);
    let set = file_sets(folder.path()).unwrap().remove(0);
    let found = verify(&set).unwrap();
    assert_eq!((found.records, found.problems), (5001, Vec::new()));
}

#[test]
fn an_unfinished_line_is_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    write(&log(folder.path(), u64::MAX, 1), &record(1, CallOutcome::Success));
    let path = folder.path().join("hub.ndjson");
    let mut text = fs::read(&path).unwrap();
    text.extend_from_slice(b"{\"seq\":2,\"prev\":\"0");
    fs::write(&path, text).unwrap();
    write(&log(folder.path(), u64::MAX, 1), &record(2, CallOutcome::Success));
    let found = verify(&file_sets(folder.path()).unwrap()[0]).unwrap();
    assert_eq!((found.records, found.problems), (2, Vec::new()));
}

/// The process was killed between the records and the head.
#[test]
fn a_head_that_is_older_is_no_problem() {
    let folder = tempfile::tempdir().unwrap();
    let head = folder.path().join("hub.head");
    write(&log(folder.path(), u64::MAX, 1), &record(1, CallOutcome::Success));
    let older = fs::read(&head).unwrap();
    write(&log(folder.path(), u64::MAX, 1), &record(2, CallOutcome::Success));
    fs::write(&head, older).unwrap();
    let set = file_sets(folder.path()).unwrap().remove(0);
    assert_eq!(verify(&set).unwrap().problems, Vec::<String>::new());
    write(&log(folder.path(), u64::MAX, 1), &record(3, CallOutcome::Success));
    let found = verify(&set).unwrap();
    assert_eq!((found.records, found.problems), (3, Vec::new()));
}

#[test]
fn what_cannot_be_written_blocks_or_is_counted() {
    for on_failure in [OnFailure::Block, OnFailure::Warn] {
        let folder = tempfile::tempdir().unwrap();
        // Files of one record each; the next one cannot be begun while the directory is gone.
        let log = AuditLog::open(AuditSettings { on_failure, ..settings(folder.path(), 1, 100) }).unwrap();
        assert_eq!(write(&log, &record(1, CallOutcome::Success)), Recorded::Yes);
        let aside = folder.path().with_extension("aside");
        fs::rename(folder.path(), &aside).unwrap();
        let written = write(&log, &record(2, CallOutcome::Success));
        let failure = log.state().failure.unwrap();
        assert!(failure.contains("cannot write the audit log"), "{failure}");
        match on_failure {
            OnFailure::Block => {
                assert_eq!(written, Recorded::Blocked(failure.clone()));
                assert_eq!(log.refusal(), Some(failure));
            }
            OnFailure::Warn => assert_eq!((written, log.refusal()), (Recorded::Yes, None)),
        }
        fs::rename(&aside, folder.path()).unwrap();
        assert_eq!(write(&log, &record(3, CallOutcome::Success)), Recorded::Yes);
        assert_eq!((log.state().failure, log.state().lost), (None, 1));
        drop(log);
        let text = fs::read_to_string(folder.path().join("hub.ndjson")).unwrap();
        assert!(text.contains(r#""event":"lost","records":1"#), "{text}");
        assert_eq!(verify(&file_sets(folder.path()).unwrap()[0]).unwrap().problems, Vec::<String>::new());
    }
}
