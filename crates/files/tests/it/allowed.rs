//! Paths in and out of allowed directories.

use std::{
    fs,
    io::Read,
    os::unix::fs::{FileTypeExt, symlink},
    path::{Path, PathBuf},
};

use toolbay_files::{AccessError, AllowedDirectories, Protection, Secrets, WriteMode};

struct World {
    directory: tempfile::TempDir,
}

impl World {
    /// `project` and `other` are allowed, `outside` is not.
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for (path, content) in [
            ("project/src/main.rs", "fn main() {}"),
            ("project/.env", "TOKEN=1"),
            ("project/.git/config", "[core]"),
            ("other/file.txt", "other"),
            ("outside/secret.txt", "secret"),
        ] {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        Self { directory }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    fn text(&self, path: &str) -> String {
        self.path(path).to_str().unwrap().to_owned()
    }

    fn allowed(&self) -> AllowedDirectories {
        let (allowed, skipped) =
            AllowedDirectories::open([self.path("project"), self.path("other"), self.path("missing")]);
        assert_eq!(skipped.len(), 1);
        allowed.home(Some(self.path("other")))
    }
}

fn read(allowed: &AllowedDirectories, path: &str) -> Result<String, AccessError> {
    let mut content = String::new();
    allowed.find(path)?.open_file()?.read_to_string(&mut content).unwrap();
    Ok(content)
}

#[test]
fn absolute_relative_and_home_paths_are_found() {
    let world = World::new();
    let allowed = world.allowed();
    for path in ["src/main.rs", "./src/../src//main.rs", &world.text("project/src/main.rs")] {
        assert_eq!(read(&allowed, path).unwrap(), "fn main() {}", "{path}");
    }
    // A relative path is in the first directory that has it.
    assert_eq!(read(&allowed, "file.txt").unwrap(), "other");
    assert_eq!(read(&allowed, "~/file.txt").unwrap(), "other");
    let names: Vec<_> =
        allowed.entries(&allowed.find(".").unwrap()).unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, [".git", "src"], "secrets are not listed");
    // A new file is in the first directory that has its parent.
    fs::create_dir(world.path("other/sub")).unwrap();
    assert_eq!(allowed.place("sub/new").unwrap().path(), world.path("other/sub/new"));
    assert_eq!(allowed.place("new").unwrap().path(), world.path("project/new"));
}

#[test]
fn paths_that_lead_out_are_refused() {
    let world = World::new();
    let allowed = world.allowed();
    symlink(world.path("outside"), world.path("project/out")).unwrap();
    symlink("../../outside/secret.txt", world.path("project/src/up")).unwrap();
    symlink(world.path("nowhere"), world.path("project/dangling")).unwrap();
    for path in ["../outside/secret.txt", &world.text("outside/secret.txt"), "/etc/passwd"] {
        assert!(matches!(allowed.find(path), Err(AccessError::Outside { .. })), "{path}");
        assert!(matches!(allowed.place(path), Err(AccessError::Outside { .. })), "{path}");
    }
    for path in ["out/secret.txt", "src/up"] {
        assert!(matches!(allowed.find(path), Err(AccessError::LinkOutside { .. })), "{path}");
        assert!(matches!(allowed.place(path), Err(AccessError::LinkOutside { .. })), "{path}");
    }
    assert!(matches!(allowed.create_directories("out/new"), Err(AccessError::LinkOutside { .. })));
    assert!(matches!(allowed.place("dangling"), Err(AccessError::Missing { .. })));
    assert!(matches!(allowed.find("a\0b"), Err(AccessError::Nul)));
    let error = allowed.find("/etc/passwd").unwrap_err().to_string();
    let expected = format!(
        "Access denied - path outside allowed directories: /etc/passwd not in {}, {}",
        world.text("project"),
        world.text("other")
    );
    assert_eq!(error, expected);
}

#[test]
fn links_between_allowed_directories_are_followed() {
    let world = World::new();
    let allowed = world.allowed();
    symlink(world.path("other"), world.path("project/linked")).unwrap();
    symlink(world.path("project/src/main.rs"), world.path("project/absolute")).unwrap();
    assert_eq!(read(&allowed, "linked/file.txt").unwrap(), "other");
    assert_eq!(read(&allowed, "absolute").unwrap(), "fn main() {}");
    // A write changes what the link leads to, and the link stays.
    for (path, target) in [("linked/file.txt", "other/file.txt"), ("absolute", "project/src/main.rs")] {
        allowed.place(path).unwrap().write(b"new", WriteMode::Atomic, |_| Ok(())).unwrap();
        assert_eq!(fs::read_to_string(world.path(target)).unwrap(), "new");
    }
    assert!(fs::symlink_metadata(world.path("project/absolute")).unwrap().is_symlink());
}

#[test]
fn secrets_are_hidden_and_configuration_is_protected() {
    let world = World::new();
    let allowed = world.allowed();
    symlink(".env", world.path("project/notes.txt")).unwrap();
    for path in [".env", "notes.txt", ".git/config"] {
        assert!(matches!(allowed.find(path), Err(AccessError::Secret { .. })), "{path}");
        assert!(matches!(allowed.place(path), Err(AccessError::Secret { .. })), "{path}");
    }
    symlink(".git", world.path("project/harmless")).unwrap();
    for path in [".git/hooks", ".vscode", "toolbay.toml", "harmless/HEAD"] {
        assert!(matches!(allowed.place(path), Err(AccessError::Protected { .. })), "{path}");
    }
    assert!(matches!(allowed.create_directories(".git/hooks/x"), Err(AccessError::Protected { .. })));
    let open = allowed.clone().secrets(Secrets::Shown).protection(Protection::Allow);
    assert_eq!(read(&open, "notes.txt").unwrap(), "TOKEN=1");
    open.create_directories(".vscode/deep").unwrap();
    open.place(".vscode/deep/tasks.json").unwrap().write(b"{}", WriteMode::Atomic, |_| Ok(())).unwrap();
}

#[test]
fn things_are_created_and_moved() {
    let world = World::new();
    let allowed = world.allowed();
    assert!(matches!(allowed.place("a/b/c"), Err(AccessError::NoParent { .. })));
    allowed.create_directories("a/b").unwrap();
    allowed.create_directories("a/b").unwrap();
    allowed.place("a/b/c").unwrap().write(b"1", WriteMode::Atomic, |_| Ok(())).unwrap();
    let (from, to) = (allowed.place("a/b/c").unwrap(), allowed.place(&world.text("other/moved")).unwrap());
    from.rename(&to).unwrap();
    assert_eq!(read(&allowed, "moved").unwrap(), "1");
    let taken = allowed.place("src/main.rs").unwrap();
    assert!(matches!(to.rename(&taken), Err(AccessError::Exists { .. })));
    to.remove_file().unwrap();
    assert!(matches!(allowed.find("moved"), Err(AccessError::Missing { .. })));
    // The directories themselves are not to be replaced.
    assert!(matches!(allowed.place(&world.text("project")), Err(AccessError::Exists { .. })));
}

#[test]
fn copies_have_the_permissions_and_replace_nothing() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let allowed = world.allowed();
    fs::set_permissions(world.path("project/src/main.rs"), fs::Permissions::from_mode(0o750)).unwrap();
    let source = allowed.find("src/main.rs").unwrap();
    assert_eq!(allowed.place("copy").unwrap().copy_from(&source).unwrap(), 12);
    assert_eq!(fs::read_to_string(world.path("project/copy")).unwrap(), "fn main() {}");
    assert_eq!(fs::metadata(world.path("project/copy")).unwrap().permissions().mode() & 0o777, 0o750);
    assert!(matches!(allowed.place("copy").unwrap().copy_from(&source), Err(AccessError::Exists { .. })));
    assert_eq!(fs::read_dir(world.path("project")).unwrap().count(), 4, "no temporary file is left");
}

#[test]
fn only_regular_files_are_opened() {
    let world = World::new();
    let allowed = world.allowed();
    let fifo = world.path("project/fifo");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert!(matches!(read(&allowed, "fifo"), Err(AccessError::NotAFile { .. })));
    assert!(matches!(read(&allowed, "src"), Err(AccessError::NotAFile { .. })));
    let place = allowed.place("fifo").unwrap();
    assert!(matches!(place.write(b"x", WriteMode::InPlace, |_| Ok(())), Err(AccessError::NotAFile { .. })));
    assert!(fs::symlink_metadata(&fifo).unwrap().file_type().is_fifo());
    let file = allowed.find("src/main.rs").unwrap();
    assert!(matches!(allowed.entries(&file), Err(AccessError::NotADirectory { .. })));
    assert!(matches!(
        allowed.place("new").unwrap().copy_from(&allowed.find("fifo").unwrap()),
        Err(AccessError::NotAFile { .. })
    ));
}

#[test]
fn roots_of_clients_narrow_and_never_add() {
    let world = World::new();
    let allowed = world.allowed();
    let paths =
        |others: &[PathBuf]| -> Vec<PathBuf> { allowed.narrow(others).paths().map(Path::to_owned).collect() };
    assert_eq!(paths(&[world.path("project/src")]), [world.path("project/src")]);
    assert_eq!(paths(&[world.path("outside")]), Vec::<PathBuf>::new());
    assert_eq!(paths(&[world.directory.path().to_owned()]), [world.path("other"), world.path("project")]);
    assert!(allowed.narrow(&[world.path("project/src")]).find("../.env").is_err());
    symlink(world.path("outside"), world.path("project/link")).unwrap();
    assert!(allowed.narrow(&[world.path("project/link")]).is_empty(), "a link adds nothing");
    // What is protected stays so, whichever part of the directory is left.
    let narrow = allowed.narrow(&[world.path("project/.git")]);
    assert!(matches!(narrow.find("config"), Err(AccessError::Secret { .. })));
    assert!(matches!(narrow.place("HEAD"), Err(AccessError::Protected { .. })));
    assert!(narrow.entries(&narrow.find(".").unwrap()).unwrap().is_empty());
}
