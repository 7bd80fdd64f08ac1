//! Starting a process.

use std::{
    fs::{File, OpenOptions},
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{fs::OpenOptionsExt, net::UnixStream as StdUnixStream},
    },
    path::{Path, PathBuf},
    process::Stdio as StdStdio,
    sync::Arc,
};

use rustix::{
    pipe::{PipeFlags, pipe_with},
    process::Pid,
};
use tokio::{
    net::{UnixStream, unix::pipe},
    process::{Child, Command},
    sync::watch,
};
use tokio_util::task::TaskTracker;

use crate::{
    command::{Launch, StderrPolicy, StopGrace, find_command},
    error::{CommandNotFound, SpawnError},
    log_ring::LogRing,
    process::{Inner, Process, ProcessHandle, ProcessState, StopRequest},
    shim::{
        self, Shim,
        protocol::{StartRequest, Stdio, send_order},
    },
    stderr,
    sweep::{MARKER, Sweep},
    watcher::{Control, Watcher},
};

/// What a shell without `PATH` would search.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Starts a process, with a log of its own.
///
/// Quick, and no `await`: a missing command is known on return, a failure to execute it comes from
/// [`ProcessHandle::started`]. Its tasks run on `tasks` and end with the process.
///
/// # Errors
///
/// When the command cannot be found or executed, or the system lacks something.
///
/// # Panics
///
/// Outside a tokio runtime.
pub fn spawn(
    launch: &Launch,
    shim: &Shim,
    grace: StopGrace,
    tasks: &TaskTracker,
) -> Result<Process, SpawnError> {
    spawn_logging_to(Arc::default(), launch, shim, grace, tasks)
}

/// As [`spawn`], adding to a log that is already there: that of the run before, so that a restart loses nothing.
///
/// # Errors
///
/// As [`spawn`].
///
/// # Panics
///
/// As [`spawn`].
pub fn spawn_logging_to(
    ring: Arc<LogRing>,
    launch: &Launch,
    shim: &Shim,
    grace: StopGrace,
    tasks: &TaskTracker,
) -> Result<Process, SpawnError> {
    let failed = |source| SpawnError::from_io(&launch.name, source);
    let order = prepare(launch)?;
    let (stdio, stdin, stdout, captured) = connect(launch)?;
    let stdin = pipe::Sender::from_owned_fd(stdin).map_err(failed)?;
    let stdout = pipe::Receiver::from_owned_fd(stdout).map_err(failed)?;
    let captured = captured.map(pipe::Receiver::from_owned_fd).transpose().map_err(failed)?;

    let id = launch_id().map_err(failed)?;
    let program = order.program.clone();
    let (root, control) = match shim.path() {
        Some(path) => start_shim(launch, shim, path, order, stdio, &id)?,
        None => (start_bare(order, stdio, &id).map_err(|source| refused(&program, source))?, None),
    };
    let pid = root.id().and_then(|pid| Pid::from_raw(pid.try_into().ok()?));
    let pid = pid.expect("a child that was not waited for has its process id");

    let known = control.is_none().then(|| pid.as_raw_nonzero().get().unsigned_abs());
    let (state, seen) = watch::channel(ProcessState { pid: known, exit: None });
    let (wish, wished) = watch::channel(StopRequest::Run);
    let (captured, stderr) = match launch.stderr {
        StderrPolicy::Pipe => (None, captured),
        _ => (captured, None),
    };
    let drain = captured.map(|pipe| tasks.spawn(stderr::drain(pipe, Arc::clone(&ring))));
    let watcher = Watcher {
        name: launch.name.clone(),
        program,
        shim: shim.path().map(Path::to_owned),
        root,
        control,
        wished: Some(wished),
        state,
        grace,
        drain,
        sweep: Sweep::new(&id, pid),
        tasks: tasks.clone(),
    };
    tasks.spawn(watcher.run());
    let inner = Arc::new(Inner { wish, state: seen, ring });
    Ok(Process { stdin, stdout, stderr, handle: ProcessHandle { inner } })
}

/// How a failed `exec` is called, wherever it happened.
pub(crate) fn refused(program: &Path, source: io::Error) -> SpawnError {
    let program = program.to_owned();
    match source.kind() {
        io::ErrorKind::PermissionDenied => SpawnError::NotExecutable { program },
        _ => match SpawnError::from_io("", source) {
            SpawnError::OutOfFds { source, .. } => {
                SpawnError::OutOfFds { name: program.display().to_string(), source }
            }
            SpawnError::Io { source, .. } => SpawnError::Exec { program, source },
            other => other,
        },
    }
}

/// Checks what can be checked before a process exists.
fn prepare(launch: &Launch) -> Result<StartRequest, SpawnError> {
    let cwd = launch.cwd.as_deref();
    if let Some(cwd) = cwd {
        check_directory(cwd)
            .map_err(|source| SpawnError::WorkingDirectory { cwd: cwd.to_owned(), source })?;
    }
    let path = launch.env.get("PATH".as_ref() as &std::ffi::OsStr);
    let has_no_path = path.is_none();
    let path = path.map_or(DEFAULT_PATH.as_ref(), |path| path.as_os_str());
    let program =
        find_command(&launch.command, path, cwd).map_err(|missing| match missing.not_executable {
            Some(program) => SpawnError::NotExecutable { program },
            None => SpawnError::NotFound(CommandNotFound { has_no_path, ..missing }),
        })?;
    Ok(StartRequest {
        program,
        cwd: launch.cwd.clone(),
        args: launch.args.clone(),
        env: launch.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
    })
}

fn check_directory(cwd: &Path) -> io::Result<()> {
    match cwd.metadata()?.is_dir() {
        true => Ok(()),
        false => Err(io::ErrorKind::NotADirectory.into()),
    }
}

type Ends = (Stdio, OwnedFd, OwnedFd, Option<OwnedFd>);

/// The server's ends, and ours: stdin, stdout, and stderr if it is captured.
///
/// Invariant: all are closed on `exec`, so no other child of the host, started meanwhile, can hold one open.
fn connect(launch: &Launch) -> Result<Ends, SpawnError> {
    let failed = |source| SpawnError::from_io(&launch.name, source);
    let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(|error| failed(error.into()));
    let (stdin, our_stdin) = pipe()?;
    let (our_stdout, stdout) = pipe()?;
    let (stderr, captured) = match &launch.stderr {
        StderrPolicy::Capture | StderrPolicy::Pipe => {
            let (ours, theirs) = pipe()?;
            (theirs, Some(ours))
        }
        StderrPolicy::Inherit => (io::stderr().as_fd().try_clone_to_owned().map_err(failed)?, None),
        StderrPolicy::Null => {
            (OpenOptions::new().write(true).open("/dev/null").map_err(failed)?.into(), None)
        }
        StderrPolicy::File(path) => (open_log(path)?.into(), None),
    };
    Ok((Stdio { stdin, stdout, stderr }, our_stdin, our_stdout, captured))
}

fn open_log(path: &PathBuf) -> Result<File, SpawnError> {
    let opened = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
    opened.map_err(|source| SpawnError::StderrFile { path: path.clone(), source })
}

/// Unguessable, so that no process can pass for another launch's.
fn launch_id() -> io::Result<String> {
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(io::Error::other)?;
    Ok(format!("{:032x}", u128::from_ne_bytes(id)))
}

/// Starts the shim, which finds its order waiting in the socket.
#[expect(clippy::disallowed_methods, reason = "this is where processes are started")]
fn start_shim(
    launch: &Launch,
    shim: &Shim,
    path: &Path,
    mut order: StartRequest,
    stdio: Stdio,
    id: &str,
) -> Result<(Child, Option<Control>), SpawnError> {
    let failed = |source| SpawnError::from_io(&launch.name, source);
    let broken = |problem: String| SpawnError::Shim { shim: path.to_owned(), problem };
    if shim.is_missing() {
        return Err(broken("this program does not call `shim::run_if_asked`".into()));
    }
    order.env.push((MARKER.into(), id.into()));
    let (ours, theirs) = StdUnixStream::pair().map_err(failed)?;
    send_order(&ours, &order, &stdio).map_err(failed)?;
    ours.set_nonblocking(true).map_err(failed)?;
    let control = Control::new(UnixStream::from_std(ours).map_err(failed)?);
    // The shim is us, so it gets our environment: it may need it to find its libraries.
    let child = Command::new(path)
        .arg0("toolbay")
        .args([shim::ARGUMENT, &launch.name, &shim::limits::for_servers()])
        .env(MARKER, id)
        .stdin(OwnedFd::from(theirs))
        .stdout(StdStdio::null())
        .stderr(StdStdio::null())
        .spawn()
        .map_err(|source| match SpawnError::from_io(&launch.name, source) {
            SpawnError::Io { source, .. } => broken(source.to_string()),
            other => other,
        })?;
    Ok((child, Some(control)))
}

/// Starts the server itself.
#[expect(clippy::disallowed_methods, reason = "this is where processes are started")]
fn start_bare(order: StartRequest, stdio: Stdio, id: &str) -> io::Result<Child> {
    let mut command = Command::new(order.program);
    command.args(order.args).env_clear().envs(order.env).env(MARKER, id);
    command.stdin(stdio.stdin).stdout(stdio.stdout).stderr(stdio.stderr);
    if let Some(cwd) = order.cwd {
        command.current_dir(cwd);
    }
    command.process_group(0).kill_on_drop(true).spawn()
}
