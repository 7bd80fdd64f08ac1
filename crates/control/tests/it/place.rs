//! Where sockets are, and whose folders are trusted.

use std::{
    fs,
    os::unix::{fs::PermissionsExt, net::UnixListener},
    path::{Path, PathBuf},
};

use toolbay_control::{ControlClient, ControlError, Listener, SocketDirs};

fn files(path: &str) -> Vec<PathBuf> {
    vec![path.into()]
}

#[tokio::test]
async fn one_hub_per_configuration() {
    let home = tempfile::tempdir().unwrap();
    let dirs = SocketDirs::only(home.path());
    let place = dirs.place(&files("/a.json"));
    assert!(matches!(ControlClient::at(&place).await, Err(ControlError::NoHub)));
    let first = Listener::bind(&place).unwrap();
    assert!(matches!(Listener::bind(&place), Err(ControlError::Taken)));
    Listener::bind(&dirs.place(&files("/b.json"))).unwrap();
    ControlClient::at(&place).await.unwrap();
    drop(first);
    assert!(matches!(ControlClient::at(&place).await, Err(ControlError::NoHub)));
    Listener::bind(&place).unwrap();
}

#[test]
fn two_sets_of_files_are_two_places() {
    let dirs = SocketDirs::only(Path::new("/run"));
    let name = |files: &[&str]| {
        let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        dirs.place(&files).name().to_owned()
    };
    let all = [name(&[]), name(&["/a"]), name(&["/a", "/b"]), name(&["/a/b"]), name(&["/ab"])];
    for (index, one) in all.iter().enumerate() {
        assert!(all[index + 1..].iter().all(|other| other != one), "{all:?}");
    }
}

/// Clients start us with `HOME` and `PATH` and little else; a hub of a desktop has `XDG_RUNTIME_DIR`.
#[test]
fn a_small_environment_prefers_the_same_directories_as_a_large_one() {
    let large = SocketDirs::new(Some(Path::new("/run/elsewhere")), Path::new("/var/temp"));
    let small = SocketDirs::new(None, Path::new("/tmp"));
    assert_eq!(large.paths()[..small.paths().len()], *small.paths());
    assert_eq!(large.paths()[2], Path::new("/run/elsewhere/toolbay"), "looked at all the same");
    assert!(large.paths()[3].starts_with("/var/temp"));
}

#[tokio::test]
async fn the_first_directory_that_can_be_used_is_taken_and_all_are_looked_at() {
    let home = tempfile::tempdir().unwrap();
    let (missing, there) = (home.path().join("missing/toolbay"), home.path().join("there"));
    let place = SocketDirs::these(vec![missing.clone(), there.clone()]).place(&files("/a.json"));
    let _listener = Listener::bind(&place).unwrap();
    assert!(there.exists());
    // What is preferred later on does not hide what runs already.
    fs::create_dir_all(&missing).unwrap();
    ControlClient::at(&place).await.unwrap();
}

#[tokio::test]
async fn sockets_of_killed_hubs_are_removed_and_those_of_running_ones_are_not() {
    let home = tempfile::tempdir().unwrap();
    let dirs = SocketDirs::only(home.path());
    let running = dirs.place(&files("/running.json"));
    let _running = Listener::bind(&running).unwrap();
    let folder = home.path().join("toolbay");
    for extension in ["sock", "mcp"] {
        drop(UnixListener::bind(folder.join("dead").with_extension(extension)).unwrap());
    }
    fs::write(folder.join("dead.lock"), "").unwrap();
    fs::write(folder.join("dead.start"), "").unwrap();
    let _new = Listener::bind(&dirs.place(&files("/new.json"))).unwrap();
    let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with("dead")).collect();
    assert!(left.is_empty(), "{left:?}");
    ControlClient::at(&running).await.unwrap();
}

#[tokio::test]
async fn one_process_at_a_time_starts_a_hub() {
    let home = tempfile::tempdir().unwrap();
    let place = SocketDirs::only(home.path()).place(&files("/a.json"));
    let first = place.try_lock_start().unwrap();
    assert!(first.is_some());
    assert!(place.try_lock_start().unwrap().is_none());
    drop(first);
    assert!(place.try_lock_start().unwrap().is_some());
}

#[tokio::test]
async fn a_folder_that_others_could_have_made_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let place = SocketDirs::only(home.path()).place(&[]);
    let folder = home.path().join("toolbay");

    let elsewhere = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), &folder).unwrap();
    assert!(matches!(Listener::bind(&place), Err(ControlError::UnsafeDir { .. })));
    assert!(matches!(ControlClient::at(&place).await, Err(ControlError::UnsafeDir { .. })));
    // Another one serves instead, and what is in the first does not count.
    let second = SocketDirs::these(vec![folder.clone(), home.path().join("second")]).place(&[]);
    let _listener = Listener::bind(&second).unwrap();
    ControlClient::at(&second).await.unwrap();
    fs::remove_file(&folder).unwrap();

    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    Listener::bind(&place).unwrap();
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700, "closed to others");
}
