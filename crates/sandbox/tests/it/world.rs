//! What attacks aim at, and who attacks from where.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs,
    io::Write,
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use rustix::process::getuid;
use tempfile::TempDir;
use toolbay_sandbox::{Helper, Level, Limits, Policy};

const PROGRAM: &str = env!("CARGO_BIN_EXE_sandbox-test-program");
/// The user that attacks are made as, besides the super-user.
const ORDINARY: u32 = 1000;

/// A user and a level.
#[derive(Debug, Clone, Copy)]
pub(crate) struct From {
    pub(crate) user: u32,
    pub(crate) level: Level,
}

/// All users that this process can become, at each level that the kernel offers.
pub(crate) fn sandboxes() -> Vec<From> {
    let users = match getuid().as_raw() {
        0 => vec![0, ORDINARY],
        user => {
            eprintln!("not tested as the super-user: the tests run as {user}");
            vec![user]
        }
    };
    let mut found = Vec::new();
    for user in users {
        for level in [Level::Partial, Level::Full] {
            let world = World::new(user);
            let from = From { user, level };
            let output = world.run(from, world.policy(level), ["true"]);
            if output.status.success() {
                found.push(from);
            } else {
                let why = text(&output);
                assert!(level != Level::Full || !has_namespaces(&world, from), "{from:?} fails: {why}");
                eprintln!("not tested as {user} at level {level}: {why}");
            }
        }
    }
    found
}

/// Whether a user can make all namespaces of a full sandbox. Another program tries it, so that a defect of ours is not
/// taken for a system without them.
fn has_namespaces(world: &World, from: From) -> bool {
    let namespaces =
        ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--net", "--ipc", "true"];
    let from = From { level: Level::None, ..from };
    world.run(from, Policy::new(Level::None), namespaces).status.success()
}

pub(crate) fn text(output: &Output) -> String {
    let Output { stdout, stderr, status } = output;
    format!("{status}: {}{}", String::from_utf8_lossy(stdout), String::from_utf8_lossy(stderr))
}

/// Directories of a user: a project, a home with a secret, and a place for sockets.
pub(crate) struct World {
    pub(crate) directory: TempDir,
    pub(crate) program: PathBuf,
    user: u32,
}

impl World {
    pub(crate) fn new(user: u32) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let program = directory.path().join("bin/program");
        fs::create_dir(directory.path().join("bin")).unwrap();
        // Not by this process: another thread's child could hold it open for writing, and it could not be run.
        assert!(Command::new("cp").arg(PROGRAM).arg(&program).status().unwrap().success());
        for name in ["project", "project/.git", "home", "home/.ssh", "run"] {
            fs::create_dir(directory.path().join(name)).unwrap();
            chown(directory.path().join(name), Some(user), Some(user)).unwrap();
        }
        let world = Self { directory, program, user };
        for (name, content) in
            [("home/.ssh/id", "secret"), ("project/.git/config", "[core]"), ("project/file", "content")]
        {
            fs::write(world.path(name), content).unwrap();
            fs::set_permissions(world.path(name), fs::Permissions::from_mode(0o600)).unwrap();
            chown(world.path(name), Some(user), Some(user)).unwrap();
        }
        world
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn policy(&self, level: Level) -> Policy {
        Policy {
            read: vec![self.path("bin")],
            write: vec![self.path("project")],
            home: Some(self.path("home")),
            limits: Limits { processes: 64, memory: 200 << 20, file_size: 64 << 20, ..Limits::default() },
            ..Policy::new(level)
        }
    }

    /// Starts a command as a user: in a sandbox, or as it is for [`Level::None`].
    pub(crate) fn command(&self, from: From, policy: &Policy, command: &[&OsStr]) -> Command {
        let environment: BTreeMap<OsString, OsString> = [("PATH", "/usr/bin:/bin"), ("VISIBLE", "1")]
            .map(|(name, value)| (name.into(), value.into()))
            .into();
        let (mut arguments, environment): (Vec<OsString>, _) = match from.level {
            Level::None => (command.iter().map(OsString::from).collect(), environment),
            _ => {
                let mut arguments = vec![self.program.clone().into_os_string()];
                arguments.extend(Helper::arguments(policy, command.iter().copied()).unwrap());
                (arguments, Helper::environment(environment))
            }
        };
        if getuid().as_raw() != from.user {
            let user = from.user.to_string();
            let become_user = ["setpriv", "--reuid", &user, "--regid", &user, "--clear-groups"];
            arguments.splice(..0, become_user.map(OsString::from));
        }
        let mut started = Command::new(&arguments[0]);
        started.args(&arguments[1..]).current_dir(self.path("project")).env_clear().envs(environment);
        started.env("PATH", "/usr/bin:/bin").stdin(Stdio::null());
        started
    }

    pub(crate) fn run<'a>(
        &self,
        from: From,
        policy: Policy,
        command: impl IntoIterator<Item = &'a str>,
    ) -> Output {
        let command: Vec<&OsStr> = command.into_iter().map(OsStr::new).collect();
        self.command(from, &policy, &command).output().unwrap()
    }

    /// Runs an attack of the test program.
    pub(crate) fn attack(&self, from: From, attack: &[&str]) -> Output {
        let program = self.program.to_str().unwrap();
        self.run(from, self.policy(from.level), [program].into_iter().chain(attack.iter().copied()))
    }

    /// As [`is_stopped`](Self::is_stopped), for attacks that cannot know whether they arrive.
    pub(crate) fn has_no_effect(&self, from: From, attack: &[&str], happened: impl Fn() -> bool) {
        let output = self.attack(From { level: Level::None, ..from }, attack);
        assert!(happened(), "control run of {attack:?} as {from:?}: {}", text(&output));
        let output = self.attack(from, attack);
        assert!(!happened(), "{attack:?} has an effect as {from:?}: {}", text(&output));
    }

    /// Checks that an attack succeeds without a sandbox, and that `happened` sees it; and that it is stopped in one.
    pub(crate) fn is_stopped(&self, from: From, attack: &[&str], happened: impl Fn() -> bool) {
        let without = From { level: Level::None, ..from };
        let output = self.attack(without, attack);
        assert!(
            output.status.success() && happened(),
            "control run of {attack:?} as {from:?}: {}",
            text(&output)
        );
        let output = self.attack(from, attack);
        assert!(!output.status.success(), "{attack:?} succeeds as {from:?}: {}", text(&output));
        assert_eq!(toolbay_sandbox::setup_failure(output.status.code().unwrap_or(0), &text(&output)), None);
        assert!(!happened(), "{attack:?} has an effect as {from:?}: {}", text(&output));
    }

    /// A process of the user outside, with a secret in its environment.
    pub(crate) fn victim(&self) -> Victim {
        let outside = From { user: self.user, level: Level::None };
        let script = "trap 'echo x' USR1; echo ready; while :; do sleep 0.05; done";
        let mut command =
            self.command(outside, &self.policy(Level::None), &["sh", "-c", script].map(OsStr::new));
        let mut process = command.env("TOKEN", "secret").stdout(Stdio::piped()).spawn().unwrap();
        let mut output = std::io::BufReader::new(process.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut output, &mut String::new()).unwrap();
        rustix::io::ioctl_fionbio(output.get_ref(), true).unwrap();
        Victim { process, output }
    }
}

pub(crate) struct Victim {
    pub(crate) process: Child,
    output: std::io::BufReader<std::process::ChildStdout>,
}

impl Victim {
    /// Whether it got a signal since the last time.
    pub(crate) fn was_signaled(&mut self) -> bool {
        std::thread::sleep(std::time::Duration::from_millis(150));
        let mut bytes = [0; 100];
        std::io::Read::read(&mut self.output, &mut bytes).is_ok_and(|length| length > 0)
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// Whether the kernel is at least of this version.
pub(crate) fn kernel_is(major: u32, minor: u32) -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(['.', '-']).filter_map(|number| number.parse::<u32>().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (major, minor)
}

/// Makes a file of everyone.
pub(crate) fn open_to_all(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
}

/// Writes a line that is shown with `--nocapture`.
pub(crate) fn report(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
