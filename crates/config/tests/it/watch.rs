//! Files that change, in a real file system.

use std::{
    fs::{self, File},
    io::Write,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    time::Duration,
};

use tempfile::TempDir;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::task::TaskTracker;
use toolbay_config::{ConfigWatch, WatchMethod, watch_files};

/// Longer than any debounce; enough for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Long enough for a report that should not come.
const SILENCE: Duration = Duration::from_millis(1200);

struct Stage {
    folder: TempDir,
    tasks: TaskTracker,
}

impl Stage {
    fn new() -> Self {
        Self { folder: TempDir::new().unwrap(), tasks: TaskTracker::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn watch(&self, names: &[&str]) -> ConfigWatch {
        let paths: Vec<PathBuf> = names.iter().map(|name| self.path(name)).collect();
        let watch = watch_files(&paths, &self.tasks);
        assert_eq!(watch.method(), WatchMethod::Reported);
        watch
    }
}

async fn expect_change(watch: &mut ConfigWatch, what: &str) {
    assert!(timeout(TIMEOUT, watch.changed()).await.is_ok(), "not reported: {what}");
}

async fn silent(watch: &mut ConfigWatch, what: &str) {
    assert!(timeout(SILENCE, watch.changed()).await.is_err(), "told without need: {what}");
}

#[tokio::test]
async fn a_file_is_made_written_replaced_and_removed() {
    let stage = Stage::new();
    let mut watch = stage.watch(&["a.toml", "b.json"]);
    stage.write("a.toml", "1");
    expect_change(&mut watch, "made").await;
    stage.write("a.toml", "2");
    expect_change(&mut watch, "rewritten").await;
    stage.write("b.json.tmp", "3");
    fs::rename(stage.path("b.json.tmp"), stage.path("b.json")).unwrap();
    expect_change(&mut watch, "put in place by a rename").await;
    stage.write("a.toml~", "4");
    fs::rename(stage.path("a.toml~"), stage.path("a.toml")).unwrap();
    expect_change(&mut watch, "replaced by a rename").await;
    fs::remove_file(stage.path("a.toml")).unwrap();
    expect_change(&mut watch, "removed").await;
    File::options().append(true).open(stage.path("b.json")).unwrap().write_all(b"5").unwrap();
    expect_change(&mut watch, "longer").await;
}

#[tokio::test]
async fn a_file_written_in_pieces_is_reported_once_complete() {
    let stage = Stage::new();
    stage.write("a.toml", "old");
    let mut watch = stage.watch(&["a.toml"]);
    let mut file = File::create(stage.path("a.toml")).unwrap();
    let writing = async {
        for piece in 0..8 {
            file.write_all(piece.to_string().as_bytes()).unwrap();
            sleep(Duration::from_millis(60)).await;
        }
    };
    let ((), ()) = tokio::join!(writing, expect_change(&mut watch, "written"));
    assert_eq!(fs::read_to_string(stage.path("a.toml")).unwrap(), "01234567");
    silent(&mut watch, "one time is enough").await;
}

#[tokio::test]
async fn a_file_that_keeps_changing_is_reported() {
    let stage = Stage::new();
    let mut watch = stage.watch(&["a.toml"]);
    let began = Instant::now();
    let writing = async {
        loop {
            stage.write("a.toml", "x");
            sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::select! {
        () = writing => {}
        () = expect_change(&mut watch, "it changes all the time") => {}
    }
    assert!(began.elapsed() < TIMEOUT);
}

#[tokio::test]
async fn folders_may_come_later() {
    let stage = Stage::new();
    let mut watch = stage.watch(&["config/toolbay/toolbay.toml"]);
    fs::create_dir_all(stage.path("config/toolbay")).unwrap();
    stage.write("config/toolbay/toolbay.toml", "1");
    expect_change(&mut watch, "folders and file").await;
    stage.write("config/toolbay/toolbay.toml", "2");
    expect_change(&mut watch, "rewritten").await;
}

#[tokio::test]
async fn a_folder_may_go_and_come_again() {
    let stage = Stage::new();
    fs::create_dir_all(stage.path("up/config")).unwrap();
    stage.write("up/config/a.toml", "1");
    let mut watch = stage.watch(&["up/config/a.toml"]);
    for round in 0..3 {
        fs::remove_dir_all(stage.path("up")).unwrap();
        expect_change(&mut watch, "removed").await;
        fs::create_dir_all(stage.path("up/config")).unwrap();
        stage.write("up/config/a.toml", "2");
        expect_change(&mut watch, "made again").await;
        stage.write("up/config/a.toml", "3");
        expect_change(&mut watch, "written again").await;
        // At once, so that only the new one is there when we look.
        fs::rename(stage.path("up/config"), stage.path(&format!("old{round}"))).unwrap();
        fs::create_dir(stage.path("up/config")).unwrap();
        stage.write("up/config/a.toml", "4");
        expect_change(&mut watch, "another folder").await;
        stage.write("up/config/a.toml", "5");
        expect_change(&mut watch, "written in the other folder").await;
        fs::rename(stage.path("up"), stage.path(&format!("older{round}"))).unwrap();
        fs::create_dir_all(stage.path("up/config")).unwrap();
        stage.write("up/config/a.toml", "6");
        expect_change(&mut watch, "another folder above").await;
    }
}

#[tokio::test]
async fn links_are_followed_and_may_turn() {
    let stage = Stage::new();
    for dir in ["home", "dotfiles", "other"] {
        fs::create_dir(stage.path(dir)).unwrap();
    }
    stage.write("dotfiles/a.toml", "1");
    stage.write("other/a.toml", "1");
    symlink("../dotfiles/a.toml", stage.path("home/a.toml")).unwrap();
    let mut watch = stage.watch(&["home/a.toml"]);
    stage.write("dotfiles/a.toml", "2");
    expect_change(&mut watch, "the target was written").await;
    symlink(stage.path("other/a.toml"), stage.path("home/new")).unwrap();
    fs::rename(stage.path("home/new"), stage.path("home/a.toml")).unwrap();
    expect_change(&mut watch, "the link was turned").await;
    stage.write("other/a.toml", "3");
    expect_change(&mut watch, "the new target was written").await;
    stage.write("dotfiles/a.toml", "4");
    silent(&mut watch, "nobody links there any more").await;
    // A link that leads nowhere yet.
    fs::remove_file(stage.path("other/a.toml")).unwrap();
    expect_change(&mut watch, "the target is gone").await;
    stage.write("other/a.toml", "5");
    expect_change(&mut watch, "the target is back").await;
}

/// As clusters deliver configurations: the file is a link into a folder that is a link, which is replaced.
#[tokio::test]
async fn a_link_in_the_middle_of_the_path_may_change() {
    let stage = Stage::new();
    for version in ["v1", "v2"] {
        fs::create_dir(stage.path(version)).unwrap();
        stage.write(&format!("{version}/a.toml"), version);
    }
    symlink("v1", stage.path("data")).unwrap();
    symlink("data/a.toml", stage.path("a.toml")).unwrap();
    let mut watch = stage.watch(&["a.toml"]);
    symlink("v2", stage.path("data.new")).unwrap();
    fs::rename(stage.path("data.new"), stage.path("data")).unwrap();
    expect_change(&mut watch, "the folder was turned").await;
    assert_eq!(fs::read_to_string(stage.path("a.toml")).unwrap(), "v2");
    stage.write("v2/a.toml", "v3");
    expect_change(&mut watch, "the new target was written").await;
}

#[tokio::test]
async fn other_files_and_reads_are_not_reported() {
    let stage = Stage::new();
    stage.write("a.toml", "1");
    let mut watch = stage.watch(&["a.toml", "no/such/folder/b.toml"]);
    stage.write("notes.txt", "1");
    fs::create_dir(stage.path("other")).unwrap();
    fs::read(stage.path("a.toml")).unwrap();
    fs::remove_file(stage.path("notes.txt")).unwrap();
    silent(&mut watch, "others").await;
}

#[tokio::test]
async fn many_changes_are_reported_once() {
    let stage = Stage::new();
    let mut watch = stage.watch(&["a.toml", "b.toml"]);
    for round in 0..200 {
        stage.write(if round % 2 == 0 { "a.toml" } else { "b.toml" }, &round.to_string());
    }
    expect_change(&mut watch, "many").await;
    silent(&mut watch, "again").await;
}

#[tokio::test]
async fn dropping_the_watch_ends_its_task() {
    let stage = Stage::new();
    let watch = stage.watch(&["a.toml"]);
    drop(watch);
    stage.tasks.close();
    timeout(TIMEOUT, stage.tasks.wait()).await.expect("the task ends");
}

/// Nothing that exists on the way is needed: paths of any kind can be watched.
#[tokio::test]
async fn odd_paths_are_no_trouble() {
    let tasks = TaskTracker::new();
    let stage = Stage::new();
    symlink("loop", stage.path("loop")).unwrap();
    stage.write("file", "");
    let paths = [
        PathBuf::from("/"),
        PathBuf::new(),
        stage.path("loop/a.toml"),
        stage.path("file/a.toml"),
        stage.path("x/../a.toml"),
        Path::new("/proc/self/no/such").to_owned(),
    ];
    let mut watch = watch_files(&paths, &tasks);
    fs::remove_file(stage.path("file")).unwrap();
    fs::create_dir(stage.path("file")).unwrap();
    expect_change(&mut watch, "a file became a folder").await;
    stage.write("file/a.toml", "1");
    expect_change(&mut watch, "with the file in it").await;
}
