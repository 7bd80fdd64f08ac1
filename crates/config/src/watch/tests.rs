//! When the system will not report.

use std::fs;

use notify::ErrorKind;
use tokio::time::timeout;

use super::*;

#[tokio::test]
async fn without_reports_files_are_polled_and_the_reason_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("toolbay.toml");
    let tasks = TaskTracker::new();
    let limit = Err(notify::Error::new(ErrorKind::MaxFilesWatch));
    let eyes = FileWatcher::with(std::slice::from_ref(&file), Arc::default(), limit);
    let mut watch = start(eyes, Arc::default(), &tasks);
    let WatchMethod::Polled { reason } = watch.way() else { panic!("{:?}", watch.way()) };
    assert!(reason.contains("max_user_watches"), "{reason}");

    for step in 0..3 {
        match step {
            0 | 1 => fs::write(&file, step.to_string()).unwrap(),
            _ => fs::remove_file(&file).unwrap(),
        }
        timeout(Duration::from_secs(10), watch.changed()).await.expect("a poll sees it");
    }
    drop(watch);
    tasks.close();
    timeout(Duration::from_secs(5), tasks.wait()).await.expect("nobody listens, so the task ends");
}
