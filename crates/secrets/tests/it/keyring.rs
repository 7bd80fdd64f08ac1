//! GNOME Keyring on a session bus of its own. Where it is not installed, these tests say so and do
//! nothing, unless the peers of the tests are: `cargo xtask peers` installs it with them.
#![expect(
    clippy::disallowed_methods,
    reason = "the bus and the keyring are processes that the tests stop and kill"
)]

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use toolbay_secrets::{BusAddress, KeyringPrompts, SecretsError, StoreKind, move_secrets};

use crate::support::{Place, assert_says, message};

const DEADLINE: Duration = Duration::from_secs(30);
const PASSWORD: &str = "login password";

/// A process that ends with the test.
struct Running(Child);

impl Running {
    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A session bus without services that it could start.
pub(crate) struct Desktop {
    directory: TempDir,
    bus: Running,
}

impl Desktop {
    /// None where the programs are missing.
    pub(crate) fn start() -> Option<Self> {
        for program in ["dbus-daemon", "gnome-keyring-daemon"] {
            if !std::env::split_paths("/usr/bin:/bin:/usr/local/bin").any(|path| path.join(program).exists())
            {
                let is_required = std::env::var_os("TOOLBAY_TEST_PEERS").is_some();
                assert!(!is_required, "{program} is not installed; run `cargo xtask peers`");
                eprintln!("skipped: {program} is not installed (apt-get install dbus gnome-keyring)");
                return None;
            }
        }
        let directory = tempfile::tempdir().unwrap();
        let config = directory.path().join("bus.conf");
        let socket = directory.path().join("bus");
        let text = format!(
            "<busconfig><type>session</type><listen>unix:path={}</listen><policy context=\"default\">\
             <allow send_destination=\"*\" eavesdrop=\"true\"/><allow eavesdrop=\"true\"/><allow own=\"*\"/>\
             </policy></busconfig>",
            socket.display()
        );
        fs::write(&config, text).unwrap();
        let mut command = Command::new("dbus-daemon");
        command.arg("--nofork").arg(format!("--config-file={}", config.display()));
        let bus = Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        wait_until("the bus is there", || socket.exists());
        Some(Self { directory, bus })
    }

    pub(crate) fn address(&self) -> String {
        format!("unix:path={}", self.directory.path().join("bus").display())
    }

    fn folder(&self, name: &str) -> PathBuf {
        let folder = self.directory.path().join(name);
        fs::create_dir_all(&folder).unwrap();
        crate::support::set_mode(&folder, 0o700);
        folder
    }

    /// The keyring as after a login with a password, which creates and unlocks it, or without one.
    async fn keyring(&self, password: Option<&str>) -> Running {
        let mut command = Command::new("gnome-keyring-daemon");
        command.args(["--foreground", "--components=secrets"]).args(password.map(|_| "--unlock"));
        command.env_clear().env("PATH", "/usr/bin:/bin").env("DBUS_SESSION_BUS_ADDRESS", self.address());
        for (variable, folder) in [("HOME", "home"), ("XDG_DATA_HOME", "data"), ("XDG_RUNTIME_DIR", "run")] {
            command.env(variable, self.folder(folder));
        }
        command.arg(format!("--control-directory={}", self.folder("control").display()));
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut daemon = Running(command.spawn().unwrap());
        let mut stdin = daemon.0.stdin.take().unwrap();
        stdin.write_all(password.unwrap_or_default().as_bytes()).unwrap();
        drop(stdin);
        self.wait_for_service().await;
        daemon
    }

    async fn wait_for_service(&self) {
        let place = self.place();
        let deadline = Instant::now() + DEADLINE;
        while let Err(error) = place.names().await {
            match error {
                SecretsError::NoKeyring { .. } if Instant::now() < deadline => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                SecretsError::Locked => return,
                error => panic!("{}", message::<()>(Err(error))),
            }
        }
    }

    /// A place whose secrets go to the keyring.
    pub(crate) fn place(&self) -> Place {
        let mut place = Place::new();
        place.config.buses = vec![BusAddress::from_variable(&self.address()).unwrap()];
        place.config.kind = Some(StoreKind::Keyring);
        place
    }
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !condition() {
        assert!(Instant::now() < deadline, "{what}: not within {DEADLINE:?}");
        thread::sleep(Duration::from_millis(10));
    }
}

fn contains(directory: &Path, text: &str) -> bool {
    let holds = |path: PathBuf| match path.is_dir() {
        true => contains(&path, text),
        false => fs::read(&path)
            .is_ok_and(|content| content.windows(text.len()).any(|part| part == text.as_bytes())),
    };
    fs::read_dir(directory).unwrap().any(|entry| holds(entry.unwrap().path()))
}

#[tokio::test]
async fn secrets_are_kept_in_the_keyring() {
    let Some(desktop) = Desktop::start() else { return };
    let daemon = desktop.keyring(Some(PASSWORD)).await;
    let mut place = desktop.place();
    // The keyring is the first choice, and the choice is recorded.
    place.config.kind = None;
    assert_eq!(place.open().await.unwrap().kind(), StoreKind::Keyring);
    assert_eq!(place.get("A").await.unwrap(), None);
    assert!(!place.remove("A").await.unwrap());
    let begun = Instant::now();
    place.set("B", "two\nlines ü").await.unwrap();
    place.set("A", "hidden-old").await.unwrap();
    place.set("A", "hidden-new").await.unwrap();
    println!("three secrets in the keyring: {:?}", begun.elapsed());
    assert_eq!(fs::read_to_string(place.path()).unwrap(), "toolbay-secrets 1 keyring\n");
    assert_eq!(place.get("A").await.unwrap().as_deref(), Some("hidden-new"));
    assert_eq!(place.get("B").await.unwrap().as_deref(), Some("two\nlines ü"));
    assert_eq!(place.names().await.unwrap(), "A B");
    assert!(!contains(&desktop.folder("data"), "hidden"));
    // They survive the keyring, and large ones fit.
    place.set("LARGE", &"x".repeat(64 * 1024)).await.unwrap();
    drop(daemon);
    let _daemon = desktop.keyring(Some(PASSWORD)).await;
    assert_eq!(place.get("A").await.unwrap().as_deref(), Some("hidden-new"));
    assert_eq!(place.get("LARGE").await.unwrap().unwrap().len(), 64 * 1024);
    assert!(place.remove("A").await.unwrap());
    assert_eq!(place.names().await.unwrap(), "B LARGE");
}

#[tokio::test]
async fn several_tasks_set_different_secrets_at_once() {
    let Some(desktop) = Desktop::start() else { return };
    let _daemon = desktop.keyring(Some(PASSWORD)).await;
    let place = desktop.place();
    let set =
        async |number: usize| place.set(&format!("N{number}"), &format!("value {number}")).await.unwrap();
    tokio::join!(set(0), set(1), set(2), set(3), set(4), set(5));
    for number in 0..6 {
        assert_eq!(place.get(&format!("N{number}")).await.unwrap(), Some(format!("value {number}")));
    }
    assert_eq!(place.names().await.unwrap(), "N0 N1 N2 N3 N4 N5");
}

#[tokio::test]
async fn a_locked_keyring_is_an_error_and_a_prompt_is_bounded() {
    let Some(desktop) = Desktop::start() else { return };
    drop(desktop.keyring(Some(PASSWORD)).await);
    let _daemon = desktop.keyring(None).await;
    let mut place = desktop.place();
    for result in [place.get("A").await.map(drop), place.set("A", "x").await, place.names().await.map(drop)] {
        assert_says(result, &["the desktop's keyring is locked; unlock it"]);
    }
    // It is the first choice though: a plain file in its place would be less safe.
    place.config.kind = None;
    assert_says(place.set("A", "x").await, &["is locked"]);
    assert!(!place.path().exists());
    // There is no desktop to show the prompt.
    place.config.prompts = KeyringPrompts::Within(Duration::from_secs(3));
    let begun = Instant::now();
    let error = place.set("A", "x").await.unwrap_err();
    assert!(matches!(error, SecretsError::Dismissed | SecretsError::KeyringTimeout { .. }), "{error}");
    println!("prompt without a desktop: {error} ({:?})", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(8));
}

#[tokio::test]
async fn a_bus_without_a_keyring_means_a_file() {
    let Some(desktop) = Desktop::start() else { return };
    let mut place = desktop.place();
    assert_says(
        place.set("A", "x").await,
        &["cannot be reached", "no program on the session bus offers the Secret Service"],
    );
    place.config.kind = None;
    assert_eq!(place.open().await.unwrap().kind(), StoreKind::PlainFile);
}

#[tokio::test]
async fn a_keyring_that_does_not_respond_is_an_error_within_seconds() {
    let Some(desktop) = Desktop::start() else { return };
    let daemon = desktop.keyring(Some(PASSWORD)).await;
    let mut place = desktop.place();
    place.set("A", "one").await.unwrap();
    let mut fresh = desktop.place();
    fresh.config.kind = None;
    for stopped in [&daemon, &desktop.bus] {
        stopped.signal(Signal::STOP);
        let begun = Instant::now();
        assert_says(place.get("A").await, &["did not respond within 5 s"]);
        // Not a reason to begin a plain file.
        assert_says(fresh.set("A", "x").await, &["did not respond within 5 s"]);
        assert!(begun.elapsed() < Duration::from_secs(15));
        assert!(!fresh.path().exists());
        stopped.signal(Signal::CONT);
    }
    assert_eq!(place.get("A").await.unwrap().as_deref(), Some("one"));
    // Secrets that are in the keyring are not looked for elsewhere.
    drop(daemon);
    drop(desktop);
    place.config.kind = None;
    assert_says(place.get("A").await, &["cannot be reached: no session bus"]);
    assert_says(place.set("A", "x").await, &["cannot be reached: no session bus"]);
}

#[tokio::test]
async fn items_of_other_programs_are_used_and_left_alone() {
    let Some(desktop) = Desktop::start() else { return };
    let _daemon = desktop.keyring(Some(PASSWORD)).await;
    let connection =
        zbus::connection::Builder::address(desktop.address().as_str()).unwrap().build().await.unwrap();
    let service = secret_service::SecretService::connect_with_existing(
        secret_service::EncryptionType::Plain,
        connection,
    )
    .await
    .unwrap();
    let collection = service.get_default_collection().await.unwrap();
    let create = async |attributes: &[(&'static str, &'static str)], secret: &[u8]| {
        let attributes = attributes.iter().copied().collect();
        collection.create_item("label", attributes, secret, false, "text/plain").await.unwrap();
    };
    create(&[("application", "other"), ("name", "A")], b"of another program").await;
    create(
        &[("application", "toolbay"), ("name", "BY_HAND"), ("xdg:schema", "org.freedesktop.Secret.Generic")],
        b"by hand",
    )
    .await;
    create(&[("application", "toolbay"), ("name", "BINARY")], b"\xff\0").await;
    create(&[("application", "toolbay"), ("name", "not a name")], b"x").await;
    let place = desktop.place();
    assert_eq!(place.get("A").await.unwrap(), None);
    assert_eq!(place.get("BY_HAND").await.unwrap().as_deref(), Some("by hand"));
    assert_says(
        place.get("BINARY").await,
        &["secret `BINARY` is not usable", "toolbay secret set BINARY", "it is not a text"],
    );
    assert_eq!(place.names().await.unwrap(), "BINARY BY_HAND");
    place.set("BY_HAND", "by us").await.unwrap();
    assert_eq!(place.get("BY_HAND").await.unwrap().as_deref(), Some("by us"));
    assert!(place.remove("BY_HAND").await.unwrap());
    assert_eq!(place.get("BY_HAND").await.unwrap(), None);
    let others = collection.search_items([("application", "other")].into()).await.unwrap();
    assert_eq!(others[0].get_secret().await.unwrap(), b"of another program");
}

#[tokio::test]
async fn secrets_move_to_the_keyring_and_back() {
    let Some(desktop) = Desktop::start() else { return };
    let _daemon = desktop.keyring(Some(PASSWORD)).await;
    let mut place = desktop.place();
    place.config.kind = Some(StoreKind::PlainFile);
    place.set("A", "one").await.unwrap();
    place.set("B", "two").await.unwrap();
    place.config.kind = None;
    assert_eq!(place.open().await.unwrap().kind(), StoreKind::PlainFile, "an existing file stays in use");
    assert_eq!(move_secrets(&place.config, StoreKind::Keyring).await.unwrap(), 2);
    assert_eq!(fs::read_to_string(place.path()).unwrap(), "toolbay-secrets 1 keyring\n");
    assert_eq!(place.open().await.unwrap().kind(), StoreKind::Keyring);
    assert_eq!(place.get("B").await.unwrap().as_deref(), Some("two"));
    assert_eq!(move_secrets(&place.config, StoreKind::PlainFile).await.unwrap(), 2);
    assert_eq!(place.get("B").await.unwrap().as_deref(), Some("two"));
    assert_eq!(desktop.place().names().await.unwrap(), "", "nothing is left in the keyring");
}
