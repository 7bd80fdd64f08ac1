//! Where sockets are, and whose folders are trusted.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use toolbay_control::{Client, ControlError, Listener, SocketDir};

#[tokio::test]
async fn one_hub_per_configuration() {
    let home = tempfile::tempdir().unwrap();
    let dir = SocketDir::new(Some(home.path()), Path::new("/nowhere"));
    let place = dir.place(Some(Path::new("/a.json")));
    assert!(matches!(Client::at(&place).await, Err(ControlError::NoHub)));
    let first = Listener::bind(&place).unwrap();
    assert!(matches!(Listener::bind(&place), Err(ControlError::Taken)));
    Listener::bind(&dir.place(Some(Path::new("/b.json")))).unwrap();
    Client::at(&place).await.unwrap();
    drop(first);
    assert!(matches!(Client::at(&place).await, Err(ControlError::NoHub)));
    Listener::bind(&place).unwrap();
}

#[tokio::test]
async fn without_a_runtime_folder_there_is_one_of_our_own() {
    let temp = tempfile::tempdir().unwrap();
    let place = SocketDir::new(None, temp.path()).place(None);
    let _listener = Listener::bind(&place).unwrap();
    let folders: Vec<_> = fs::read_dir(temp.path()).unwrap().map(|entry| entry.unwrap()).collect();
    let [folder] = &folders[..] else { panic!("{folders:?}") };
    assert!(folder.file_name().to_str().unwrap().starts_with("toolbay-"));
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

#[tokio::test]
async fn a_folder_that_others_could_have_made_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let dir = SocketDir::new(Some(home.path()), Path::new("/nowhere"));
    let folder = home.path().join("toolbay");

    let elsewhere = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), &folder).unwrap();
    assert!(matches!(Listener::bind(&dir.place(None)), Err(ControlError::UnsafeDir { .. })));
    assert!(matches!(Client::at(&dir.place(None)).await, Err(ControlError::UnsafeDir { .. })));
    fs::remove_file(&folder).unwrap();

    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    Listener::bind(&dir.place(None)).unwrap();
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700, "closed to others");
}
