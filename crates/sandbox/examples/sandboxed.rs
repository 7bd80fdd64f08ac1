//! Runs a command in a sandbox that may change the current directory: `sandboxed [--partial] COMMAND…`

use std::{ffi::OsString, process::Command};

use toolbay_sandbox::{Helper, Level, Policy, run_if_asked};

fn main() -> std::io::Result<()> {
    run_if_asked();
    let mut command: Vec<OsString> = std::env::args_os().skip(1).collect();
    let level = if command.first().is_some_and(|first| first == "--partial") {
        command.remove(0);
        Level::Partial
    } else {
        Level::Full
    };
    if command.first().is_some_and(|first| first == "--probe") {
        println!("{:?}", toolbay_sandbox::probe(&Helper::current_exe()));
        return Ok(());
    }
    let policy = Policy { write: vec![std::env::current_dir()?], ..Policy::new(level) };
    let arguments = Helper::arguments(&policy, command.iter().map(OsString::as_os_str))?;
    let mut helper = Command::new(Helper::current_exe().path());
    helper.args(arguments).env_clear().envs(Helper::environment(std::env::vars_os().collect()));
    std::process::exit(helper.status()?.code().unwrap_or(1));
}
