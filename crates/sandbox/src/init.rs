//! Process 1 of the sandbox: builds it, starts the program and reaps what it leaves.

use std::{
    env,
    ffi::{OsStr, OsString},
    io,
    os::unix::{
        ffi::OsStrExt,
        process::{CommandExt, ExitStatusExt},
    },
    path::Path,
    process::{Child, Command, ExitStatus},
};

use rustix::{
    io::Errno,
    process::{
        Signal, WaitOptions, getpid, set_child_subreaper, set_parent_process_death_signal, setsid, wait,
    },
};

use crate::{
    Level, Network, Policy, cgroup, file_rules, launch::exit_code, limits, loopback, mounts, namespaces,
    system_calls,
};

/// The argument that makes a program init.
pub(crate) const ARGUMENT: &str = "__sandbox-init";
/// What the names of the program's variables begin with until it is started.
pub(crate) const PROGRAM_VARIABLE: &str = "SANDBOXED_";

/// A function of a program that can run in a sandbox: see [`Policy::for_function`].
#[derive(Debug, Clone, Copy)]
pub struct Function {
    /// By which policies name it.
    pub name: &'static str,
    /// Returns the exit code of its process. It talks to the caller through the standard three files.
    pub run: fn() -> u8,
}

/// Runs the program that follows the policy and the cgroup in `arguments`. Without one, it only builds the sandbox.
pub(crate) fn run(mut arguments: impl Iterator<Item = OsString>, functions: &[Function]) -> io::Result<u8> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let policy: Policy = arguments
        .next()
        .and_then(|policy| serde_json::from_slice(policy.as_encoded_bytes()).ok())
        .ok_or(io::ErrorKind::InvalidInput)?;
    let cgroup = arguments.next().filter(|path| !path.is_empty());
    // A terminal of the caller is no terminal of the program: it could type commands there.
    setsid()?;
    if let Some(cgroup) = cgroup {
        cgroup::join(Path::new(&cgroup))?;
    }
    let function = match &policy.function {
        Some(name) => {
            let known = functions.iter().find(|function| function.name == name);
            Some(known.ok_or_else(|| io::Error::other(format!("this program has no function `{name}`")))?)
        }
        None => None,
    };
    confine(&policy)?;
    match (function, arguments.next()) {
        (Some(function), _) => Ok((function.run)()),
        (None, Some(program)) => start(&program, arguments),
        (None, None) => Ok(0),
    }
}

fn confine(policy: &Policy) -> io::Result<()> {
    let is_confined = policy.level == Level::Full;
    limits::apply(policy)?;
    if is_confined {
        let directory = match policy.function {
            Some(_) => "/".into(),
            None => env::current_dir()?,
        };
        if policy.network == Network::None && policy.function.is_none() {
            loopback::bring_up()?;
        }
        namespaces::enter_mounts()?;
        mounts::enter(policy)?;
        let outside =
            |error| io::Error::new(error, format!("`{}` is not in it: {error}", directory.display()));
        env::set_current_dir(&directory).map_err(|error| outside(error.kind()))?;
    } else {
        // Orphans stay below this process, where they are counted.
        set_child_subreaper(Some(getpid()))?;
    }
    if policy.level != Level::None {
        namespaces::drop_capabilities()?;
        let is_known = file_rules::apply(policy, is_confined)?;
        // Mounts alone confine a program at the full level.
        if !is_known && !is_confined {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "the kernel has no Landlock"));
        }
        system_calls::apply(policy.network, is_confined)?;
        if policy.function.is_some() {
            system_calls::apply_to_function()?;
        }
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "this is where programs in sandboxes are started")]
fn start(program: &OsStr, arguments: impl Iterator<Item = OsString>) -> io::Result<u8> {
    let mut command = Command::new(program);
    command.args(arguments).process_group(0).env_clear().envs(environment());
    match command.spawn() {
        Ok(child) => reap(&child),
        Err(error) => {
            eprintln!("{}: {error}", Path::new(program).display());
            Ok(if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 })
        }
    }
}

fn environment() -> impl Iterator<Item = (OsString, OsString)> {
    env::vars_os().filter_map(|(name, value)| {
        let name = name.as_bytes().strip_prefix(PROGRAM_VARIABLE.as_bytes())?;
        Some((OsStr::from_bytes(name).to_owned(), value))
    })
}

/// Waits for all children until the program itself has ended. What is left then ends with this process.
fn reap(program: &Child) -> io::Result<u8> {
    let program = i32::try_from(program.id()).ok();
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((child, status))) if Some(child.as_raw_nonzero().get()) == program => {
                return Ok(exit_code(ExitStatus::from_raw(status.as_raw())));
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}
