//! Which level this system reaches.

use std::process::{Command, Stdio};

use crate::{Helper, Level, Policy, setup_failure};

/// What a system reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// The best level.
    pub level: Level,
    /// Why it is not better.
    pub reason: Option<String>,
}

/// Builds a sandbox of each level, best first, and runs nothing in it. Blocks for some milliseconds.
pub fn probe(helper: &Helper) -> Probe {
    let mut reason = None;
    for level in [Level::Full, Level::Partial] {
        match build(helper, level) {
            Ok(()) => return Probe { level, reason },
            Err(why) => {
                reason.get_or_insert(why);
            }
        }
    }
    Probe { level: Level::None, reason }
}

#[expect(clippy::disallowed_methods, reason = "a sandbox without a program, which is waited for")]
fn build(helper: &Helper, level: Level) -> Result<(), String> {
    let arguments = Helper::arguments(&Policy::new(level), []).map_err(|error| error.to_string())?;
    let mut command = Command::new(helper.path());
    command.args(arguments).current_dir("/").env_clear();
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let reason = output.status.code().and_then(|code| setup_failure(code, &stderr));
    Err(reason.map_or_else(|| output.status.to_string(), str::to_owned))
}
